"""Scenes for workers: as text with a local folder, or bundled with every file they need."""

import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path, PurePosixPath

from mjrig.core.errors import MjrigError, SceneError
from mjrig.core.files.paths import is_in_package
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.scene.editing.file_watch import files_of
from mjrig.core.scene.editing.scene import Scene

_SCENE = "scene.yaml"
#: Largest bundle; more is taken for a mistake.
MAX_BYTES = 1_000_000_000
Pairs = tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class LocalScene:
    """A scene for workers that see the same files; `digest` is a hash of their contents."""

    text: str
    base: Path
    vars: Pairs
    sandbox: Path | None
    trusted: tuple[Path, ...]
    digest: str

    @classmethod
    def of(cls, scene: Scene, extra: Sequence[Path] = ()) -> "LocalScene":
        """A scene as it is now, with what was not saved; `extra` files count in the digest."""
        text, overrides = scene.to_text(), tuple(sorted(scene.reading.vars.items()))
        sandbox = scene.reading.sandbox
        files = [*_files(scene), *_whole(extra)]
        hashes = sorted(sha256(_content(path)).hexdigest() for path in files)
        digest = sha256("\n".join([text, repr(overrides), *hashes]).encode()).hexdigest()
        base = Path(os.path.abspath(scene.base))
        root = sandbox.root if sandbox else None
        return cls(text, base, overrides, root, scene.reading.trusted, digest)

    def locate(self, file: Path) -> Path:
        """Where one of the extra files is: where it was."""
        return file

    def load(self) -> Scene:
        """The scene.

        Raises:
            SceneError: it cannot be read any more.
        """
        sandbox = self.sandbox if self.sandbox is not None else False
        return Scene.parse(
            self.text, self.base, vars=dict(self.vars), sandbox=sandbox, trust=self.trusted
        )


@dataclass(frozen=True)
class Bundle:
    """A scene with every file it needs, for workers on other machines.

    It is unpacked once per machine into a cache. `light` is the same without contents: it works
    wherever the bundle was unpacked before, which `is_here` reports.
    """

    text: str
    folder: str
    vars: Pairs
    digest: str
    #: Files besides the scene's: where they are here, and where in the bundle.
    extra: tuple[tuple[Path, str], ...]
    files: tuple[tuple[str, bytes], ...] = field(repr=False)
    #: Whether the modules it brings may be run.
    trusted: bool = False

    @classmethod
    def of(cls, scene: Scene, extra: Sequence[Path] = ()) -> "Bundle":
        """Pack a scene as it is now, with what was not saved.

        Raises:
            SceneError: a file is named by an absolute path: it would not be found elsewhere.
        """
        _refuse_absolute(scene)
        base = Path(os.path.abspath(scene.base))
        paths = sorted({*_files(scene), *_whole(extra)})
        top = Path(os.path.commonpath([base, *(p.parent for p in paths)]))
        if (size := sum(path.stat().st_size for path in paths)) > MAX_BYTES:
            raise SceneError(
                f"the scene's files have {size} bytes; a bundle takes at most {MAX_BYTES}"
            )
        files = tuple((p.relative_to(top).as_posix(), _content(p)) for p in paths)
        local = LocalScene.of(scene, extra)
        folder = base.relative_to(top).as_posix()
        places = tuple((p, Path(os.path.abspath(p)).relative_to(top).as_posix()) for p in extra)
        trusted = bool(local.trusted)
        return cls(local.text, folder, local.vars, local.digest, places, files, trusted)

    def light(self) -> "Bundle":
        """Without contents: small enough to send with every batch of tasks."""
        return replace(self, files=())

    @property
    def is_here(self) -> bool:
        """Whether this machine can load it."""
        return bool(self.files) or self.root.is_dir()

    @property
    def root(self) -> Path:
        """Where it is unpacked."""
        return _cache() / self.digest[:32]

    def load(self) -> Scene:
        """The scene, unpacked before if need be.

        Raises:
            SceneError: it is not here, or cannot be unpacked.
        """
        self.unpack()
        trust = self.root if self.trusted else False
        return Scene.parse(self.text, self.root / self.folder, vars=dict(self.vars), trust=trust)

    def locate(self, file: Path) -> Path:
        """Where one of the extra files is, unpacked."""
        return self.root / dict(self.extra)[file]

    def unpack(self) -> None:
        """Put the files where `load` finds them; nothing to do if they are there.

        Raises:
            SceneError: the contents are not here.
        """
        if self.root.is_dir():
            return
        if not self.files:
            raise SceneError(f"the bundle {self.digest[:8]} is not on this machine")
        cache = _cache()
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Beside its place and moved there whole: another process may do the same at this moment.
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            made = Path(folder, "bundle")
            (made / self.folder).mkdir(parents=True)
            for name, content in self.files:
                if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                    raise SceneError(f"the bundle has a file {name!r} outside of itself")
                path = made / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            try:
                made.rename(self.root)
            except OSError:
                if not self.root.is_dir():
                    raise


def _files(scene: Scene) -> list[Path]:
    """Every file of a scene but its own, absolute; those of packages are on every machine."""
    own = scene.path or scene.base / _SCENE
    found = []
    for path in files_of(own, scene) - {own}:
        if is_in_package(path) or not path.is_file():
            continue
        found.append(Path(os.path.abspath(path)))
    return sorted(found)


def _refuse_absolute(scene: Scene) -> None:
    for obj in scene._family():
        for prop in obj.properties():
            for file in prop.files(obj):
                if file.is_absolute():
                    raise SceneError(
                        f"{_label(obj)}.{prop.name}: {str(file)!r} is an absolute path, which "
                        "other machines do not have; name it relative to the scene"
                    )
    for part in scene.included_scenes():
        _refuse_absolute(part)


def _label(obj: HasProperties) -> str:
    return obj.label


def _whole(extra: Sequence[Path]) -> list[Path]:
    """Files, and those in folders: a robot's log may be one."""
    paths = [Path(os.path.abspath(p)) for p in extra]
    inside = [sorted(f for f in p.rglob("*") if f.is_file()) if p.is_dir() else [p] for p in paths]
    return [file for files in inside for file in files]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise MjrigError(f"{path}: cannot be read: {error.strerror}") from error


def _cache() -> Path:
    if given := os.environ.get("XDG_CACHE_HOME"):
        return Path(given) / "mjrig" / "bundles"
    folder = "Library/Caches" if sys.platform == "darwin" else ".cache"
    return Path.home() / folder / "mjrig" / "bundles"
