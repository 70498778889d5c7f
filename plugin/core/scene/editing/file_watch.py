"""FileWatch: the files of a scene, and which of them changed on disk."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

from mjrig.core.errors import MjrigError, PropertyError
from mjrig.core.files.paths import model_files
from mjrig.core.files.sandbox import Sandbox
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.scene.scene_description import SceneDescription
from mjrig.core.scene.scene_file import decoded, read_scene_file
from mjrig.core.yaml_text.yaml_document import Document

# Watch --------------------------------------------------------------------------------------------


_WATCH_INTERVAL = 0.5
_SCENES = (".yaml", ".yml")
Signature = dict[Path, tuple[int, int, int] | None]


def watch(
    check: Callable[[], str],
    files: Callable[[], Iterable[Path]],
    show: Callable[[str], None],
    *,
    title: str,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], str] = lambda: time.strftime("%H:%M:%S"),
) -> NoReturn:
    """Check, show the result, wait for a change, forever.

    Args:
        check: what is done; an MjrigError it raises is shown like its result.
        files: the files it depends on, called after every check.
        show: takes a text.
        title: printed above every result, with the time.
        sleep: waits for some seconds; raise from it to end.
        clock: the time of day.
    """
    while True:
        before = signature(files())
        try:
            result = check()
        except MjrigError as error:
            result = " ".join(str(error).split())
        show(f"--- {clock()} {title}\n{result}\n")
        # Changes during a check trigger another one at once.
        watched = signature(files()) | before
        while signature(watched) == watched:
            sleep(_WATCH_INTERVAL)


def signature(files: Iterable[Path]) -> Signature:
    """Metadata that shows that a file changed; None for a missing file."""
    found: Signature = {}
    for path in files:
        try:
            about = os.stat(path)
            found[path] = (about.st_mtime_ns, about.st_size, about.st_ino)
        except (OSError, ValueError):
            found[path] = None
    return found


def files_of(
    path: Path, scene: SceneDescription | None, sandbox: Sandbox | None = None
) -> set[Path]:
    """Every file a scene depends on, as far as known; none that its sandbox refuses.

    Args:
        path: the scene file.
        scene: the scene read from it; None: it is invalid, and its text is searched.
        sandbox: of a scene that is invalid.
    """
    if scene is not None:
        return {path} | files_named(scene)
    return {path} | _with_parts(_mentioned(path, set(), sandbox), sandbox)


def files_named(scene: SceneDescription) -> set[Path]:
    """Every file a scene names, through included files and models; without its own."""
    return _with_parts(_named(scene), scene.reading.sandbox)


def watched_files(scene: SceneDescription) -> set[Path]:
    """Every file whose change changes the world: those of `files_of`, and the networks of policies.

    A policy is a YAML file of its own; what looks like a file name in it and is one, counts.
    """
    own = {scene.path} if scene.path is not None else set()
    named, sandbox = files_named(scene) | own, scene.reading.sandbox
    parts = {p for f in named if f.suffix in _SCENES for p in _mentioned(f, set(), sandbox)}
    return named | {part for part in parts if os.path.isfile(part)}


def _with_parts(files: Iterable[Path], sandbox: Sandbox | None) -> set[Path]:
    found: set[Path] = set()
    for file in files:
        if file not in found and file.suffix.lower() not in _SCENES and os.path.isfile(file):
            found |= _parts_of_model(file, sandbox)
        found.add(file)
    return found


def _named(scene: SceneDescription) -> Iterator[Path]:
    """The files of a scene that was read, and of those it includes."""
    for obj in scene._family():
        if "_module_file" in vars(type(obj)):  # a class in a module beside the scene
            yield vars(type(obj))["_module_file"]
        for prop in obj.properties():
            for file in prop.files(obj):
                yield from _place(obj, file)
    for part in scene.included_scenes():
        yield from _named(part)


def _place(obj: HasProperties, name: Path) -> Iterator[Path]:
    gate, path = obj.gate(), obj.folder() / name
    try:
        yield HasProperties.find_file(obj, name)
    except PropertyError:
        with suppress(PropertyError):
            if gate is not None:
                gate.admit(path, name)
            yield path  # it may be created


def _mentioned(path: Path, seen: set[Path], sandbox: Sandbox | None) -> Iterator[Path]:
    """What looks like a file name in a scene that cannot be read as one."""
    seen.add(path)
    try:
        data = Document(decoded(read_scene_file(path), path), str(path)).data
    except (MjrigError, OSError, ValueError):
        return
    for text in _texts(data):
        name = Path(text)
        if 1 < len(name.suffix) <= 5 and "\n" not in text:
            file = path.parent / name
            if sandbox is not None and not sandbox.holds(file):
                continue
            yield file
            if name.suffix in _SCENES and file not in seen:
                yield from _mentioned(file, seen, sandbox)


def _texts(data: object) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for value in data.values():
            yield from _texts(value)
    elif isinstance(data, list):
        for item in data:
            yield from _texts(item)


def _parts_of_model(path: Path, sandbox: Sandbox | None) -> set[Path]:
    if path.suffix.lower() not in (".xml", ".mjcf", ".urdf"):
        return set()
    try:
        if sandbox is not None and sandbox.holds(path):  # mjrig's own models are outside
            sandbox.admit_model(path)
        return {r.path for r in model_files(path) if os.path.isfile(r.path)}
    except PropertyError:
        return set()


# File watch ---------------------------------------------------------------------------------------


#: Time between two looks at the files [s].
INTERVAL = 1.0
#: A larger file counts as changed by its size and time alone [bytes].
_LARGE = 50_000_000
_About = tuple[int, int, int] | None


@dataclass(frozen=True)
class _Known:
    about: _About
    digest: bytes


class FileWatch:
    """Looks at files once a second; what was only touched, or is still being written, is not told.

    A file has been written to the end when two looks find it alike.
    """

    def __init__(self) -> None:
        self._known: dict[Path, _Known] = {}
        self._moving: Signature = {}
        self._due = 0.0

    def is_due(self, now: float) -> bool:
        """Whether it is time for another look."""
        return now >= self._due

    def follow(self, files: Iterable[Path]) -> None:
        """Watch these files from now on; those watched before as they were then."""
        wanted = set(files)
        new = signature(wanted - self._known.keys())
        self._known = {p: known for p, known in self._known.items() if p in wanted}
        self._known |= {p: _Known(about, _digest(p, about)) for p, about in new.items()}

    def look(self, now: float) -> list[Path]:
        """The files whose content changed since the last time they were told."""
        self._due = now + INTERVAL
        present = signature(self._known)
        moving = {p: about for p, about in present.items() if about != self._known[p].about}
        still = [p for p, about in moving.items() if about and self._moving.get(p) == about]
        self._moving = moving
        return [p for p in still if self._is_new(p, present[p])]

    def _is_new(self, path: Path, about: _About) -> bool:
        before = self._known[path].digest
        digest = _digest(path, about)
        self._known[path] = _Known(about, digest)
        return digest != before


def _digest(path: Path, about: _About) -> bytes:
    if about is None:
        return b""
    if about[1] > _LARGE:
        return repr(about).encode()
    try:
        return sha256(path.read_bytes()).digest()
    except OSError:
        return b""
