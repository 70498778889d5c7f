"""Assets: what can be dropped into a scene, from folders and registered types; example scenes."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from mjrig.core.control.controller import ArticulationController
from mjrig.core.errors import MjrigError, PropertyError
from mjrig.core.properties import registry
from mjrig.core.properties.component import ActorComponent, Component
from mjrig.core.scene.actor_description import Prop
from mjrig.core.scene.actuator import Actuator
from mjrig.core.scene.editing.scene import Scene
from mjrig.editor.assets.file_kinds import KINDS, MODEL, FileKindError, classify, in_package
from mjrig.editor.session.user_files import config_folder, read_settings, write_settings
from mjrig.editor.text import error_text, matches, tr

# Assets -------------------------------------------------------------------------------------------


#: How deep, and for how many files, a folder is searched.
DEPTH, FILES = 6, 5000
_SKIPPED = ("__pycache__", "node_modules", "site-packages", "build")

GROUPS = ("Models", "Scenes", "Controllers", "Actuators", "Props", "Other components", "Presets",
          "Recordings and policies")  # fmt: skip
#: The groups of what can be added to an actor.
COMPONENT_GROUPS = ("Controllers", "Actuators", "Other components")
_GROUP_OF = {
    MODEL: "Models",
    "scene": "Scenes",
    "preset": "Presets",
    "recording": "Recordings and policies",
    "policy": "Recordings and policies",
}


@dataclass(frozen=True)
class Asset:
    """One thing to drop: `kind` and `value` are what is dragged."""

    kind: str
    name: str
    value: str
    group: str
    #: Its description.
    doc: str = ""
    #: Where it was found.
    root: str = ""
    #: The file itself; None for a type.
    path: Path | None = None


@dataclass(frozen=True)
class Root:
    """A folder that is searched."""

    label: str
    folder: Path


@dataclass(frozen=True)
class FoundAssets:
    """The result of a search."""

    assets: tuple[Asset, ...] = ()
    #: What was left out, and why.
    notes: tuple[str, ...] = ()


# Folders ----------------------------------------------------------------------------------------


def bundled_roots() -> list[Root]:
    """The folders that come with mjrig."""
    config = Path(str(files("mjrig.config")))
    roots = [Root(tr("mjrig assets"), Path(str(files("mjrig.assets"))))]
    return roots + [
        Root(tr("mjrig {kind}", kind=n), config / n) for n in ("scenes", "parts", "gains")
    ]


def roots_of(scene: Scene, own: Iterable[Path] = ()) -> list[Root]:
    """All folders for a scene: the bundled ones, the scene's own, and those of the user."""
    roots = bundled_roots()
    if scene.path is not None:
        roots.append(Root(tr("scene folder"), Path(os.path.abspath(scene.base))))
    roots += [Root(folder.name or str(folder), folder) for folder in own]
    seen: dict[str, Root] = {}
    for root in roots:
        if root.folder.is_dir():
            seen.setdefault(os.path.realpath(root.folder), root)
    return list(seen.values())


def scan(root: Root, stop: Callable[[], bool] = lambda: False) -> FoundAssets:
    """The files of a folder and the folders in it that can be dropped."""
    assets: list[Asset] = []
    notes: list[str] = []
    for count, path in enumerate(_walk(root.folder, notes)):
        if stop():
            break
        if count == FILES:
            notes.append(
                tr(
                    "{folder}: only the first {count} files were looked at",
                    folder=root.label,
                    count=FILES,
                )
            )
            break
        try:
            kind = classify(path)
        except FileKindError:
            continue  # an unrelated XML or YAML file
        inside = path.relative_to(root.folder).as_posix()
        value = in_package(path) if kind == MODEL else None
        assets.append(
            Asset(kind, path.name, value or str(path), _GROUP_OF[kind], inside, root.label, path)
        )
    return FoundAssets(tuple(assets), tuple(notes))


def _walk(folder: Path, notes: list[str]) -> Iterator[Path]:
    """Files whose names can mean something, folder by folder; hidden folders are left out."""
    for here, folders, names in os.walk(folder):
        depth = len(Path(here).relative_to(folder).parts)
        kept = [n for n in folders if not n.startswith(".") and n not in _SKIPPED]
        if depth >= DEPTH and kept:
            notes.append(tr("{folder}: folders below it were not looked at", folder=here))
            kept = []
        folders[:] = sorted(kept)
        for name in sorted(names):
            if Path(name).suffix.lower() in KINDS:
                yield Path(here, name)


# Types ------------------------------------------------------------------------------------------


def component_types() -> FoundAssets:
    """The registered types that can be added to a scene directly."""
    assets: list[Asset] = []
    notes: list[str] = []
    for name in registry.names():
        try:
            cls = registry.get(name, Component)
        except PropertyError:
            continue  # a part of components, not one itself
        except MjrigError as error:
            notes.append(error_text(error))
            continue
        group = _family(cls)
        if group is not None:
            kind = "prop" if group == "Props" else "component"
            doc = (cls.__doc__ or "").strip().partition("\n")[0]
            assets.append(Asset(kind, name, name, group, doc, registry.module_of(name)))
    return FoundAssets(tuple(assets), tuple(notes))


def _family(cls: type[Component]) -> str | None:
    if issubclass(cls, ArticulationController):
        return "Controllers"
    if issubclass(cls, Actuator):
        return "Actuators"
    if issubclass(cls, Prop):
        return "Props"
    return tr("Other components") if issubclass(cls, ActorComponent) else None


# The user's own folders -------------------------------------------------------------------------


def _settings() -> Path:
    return config_folder() / "assets.json"


def own_folders() -> list[Path]:
    """The folders that the user added."""
    found = read_settings(_settings()).get("folders", [])
    return [Path(f) for f in found if isinstance(f, str)] if isinstance(found, list) else []


def add_folder(folder: Path) -> None:
    """Search a folder from now on.

    Raises:
        PropertyError: it is not a folder.
        OSError: the settings cannot be written.
    """
    folder = Path(os.path.abspath(folder.expanduser()))
    if not folder.is_dir():
        raise PropertyError(tr("there is no folder {folder!r}", folder=str(folder)))
    _write_folders([*(f for f in own_folders() if f != folder), folder])


def remove_folder(folder: Path) -> None:
    """Search a folder no longer.

    Raises:
        OSError: the settings cannot be written.
    """
    _write_folders([f for f in own_folders() if f != folder])


def _write_folders(folders: list[Path]) -> None:
    write_settings(_settings(), {"folders": [str(f) for f in folders]})


# The shelf ---------------------------------------------------------------------------------------


@dataclass
class AssetShelf:
    """All assets of a window; folders are searched in the background."""

    assets: tuple[Asset, ...] = ()
    notes: tuple[str, ...] = ()
    _thread: threading.Thread | None = None
    _search: object = field(default_factory=object)

    @property
    def is_searching(self) -> bool:
        """Whether more may come."""
        return self._thread is not None and self._thread.is_alive()

    def wait(self) -> None:
        """Wait until the search is over."""
        if self._thread is not None:
            self._thread.join()

    def search(self, scene: Scene) -> None:
        """Search all folders again; results appear folder by folder."""
        roots = roots_of(scene, own_folders())
        self._search = token = object()
        self.assets, self.notes = (), ()
        self._thread = threading.Thread(
            target=self._run, args=(roots, token), name="mjrig-assets", daemon=True
        )
        self._thread.start()

    def _run(self, roots: list[Root], token: object) -> None:
        self._take(component_types(), token)
        for root in roots:
            self._take(scan(root, lambda: self._search is not token), token)

    def _take(self, found: FoundAssets, token: object) -> None:
        if self._search is not token:
            return  # a newer search is on
        known = {a.path.resolve() for a in self.assets if a.path is not None}
        new = [a for a in found.assets if a.path is None or a.path.resolve() not in known]
        self.notes += found.notes
        self.assets += tuple(new)

    def listed(self, words: str = "", root: str = "", group: str = "") -> dict[str, list[Asset]]:
        """The assets by group, those that have all the words; of one folder or group if given."""
        chosen = [
            a
            for a in self.assets
            if matches(words, f"{a.name} {a.doc} {a.group}")
            and (not root or a.root == root)
            and (not group or a.group == group)
        ]
        by_group = {g: [a for a in chosen if a.group == g] for g in GROUPS}
        return {g: assets for g, assets in by_group.items() if assets}


# Examples -----------------------------------------------------------------------------------------
# The example scenes that come with mjrig, with what they show in a sentence.


#: Scenes whose names begin so are for measurements.
_BENCHMARK = "bench_"


@dataclass(frozen=True)
class Example:
    """One scene: its file, its name in words, and the comment at the top of the file."""

    path: Path
    title: str
    about: str


def examples() -> list[Example]:
    """All of them, the one that moves by itself first."""
    folder = Path(str(files("mjrig.config"))) / "scenes"
    paths = [p for p in sorted(folder.glob("*.yaml")) if not p.name.startswith(_BENCHMARK)]
    found = [Example(p, p.stem.replace("_", " "), _heading(p)) for p in paths]
    return sorted(found, key=lambda example: "trot" not in example.title)


def _heading(path: Path) -> str:
    """The comment a file begins with."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# ").strip())
    return " ".join(" ".join(lines).split())
