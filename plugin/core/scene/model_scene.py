"""Model files opened as scenes, actor names from files, and file names relative to a scene."""

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mjrig.core.errors import SceneError
from mjrig.core.files.paths import (
    Content,
    content_of,
    head_of,
    is_in_package,
    kind_of,
    root_element,
)
from mjrig.core.names import unique
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.scalar_kinds import FilePath
from mjrig.core.scene.actor_description import MODELS

#: File names that describe nothing; the folder's name is used instead.
_VAGUE = ("scene", "model", "robot", "main", "index")
#: Suffixes that each kind of model may have; none: decided by the content alone.
_SUFFIXES = {
    Content.XML: (".xml", ".mjcf", ".urdf", ""),
    Content.MJB: (".mjb",),
    Content.ZIP: (".mjz", ".zip"),
}
_ROOTS = ("mujoco", "robot")


def holds_model(path: Path) -> bool:
    """Whether a file is a model rather than a scene, by its content.

    Raises:
        SceneError: it is neither, or a model whose name says something else.
    """
    head = head_of(path)
    kind = kind_of(head)
    if kind is Content.RECORDING:
        raise SceneError(
            f"{path}:1:1: is a recording, not a scene or model; `mjrig info` shows it, "
            "`mjrig replay` replays it"
        )
    if kind not in _SUFFIXES:
        if head and path.suffix.lower() == ".mjb":
            raise SceneError(f"{path}:1:1: is not a compiled MuJoCo model, despite its suffix")
        return False
    known = _SUFFIXES[kind]
    root = root_element(head) if kind is Content.XML else ""
    if root and root not in _ROOTS:
        what = "a fragment that MJCF files include" if root == "mujocoinclude" else "no model"
        raise SceneError(
            f"{path}:1:1: is {what}: its root element is <{root}>, not <mujoco> or <robot>"
        )
    if path.suffix.lower() not in known:
        what = "a MuJoCo model (XML)" if kind is Content.XML else str(kind)
        raise SceneError(
            f"{path}:1:1: holds {what}, despite its suffix; rename it to {path.stem}{known[0]}"
        )
    return True


def actor_name(value: str, taken: Iterable[str] = ()) -> str:
    """A name for an actor made from a file: letters, digits, _ and -, and not taken."""
    path = Path(value)
    stem = path.stem
    if stem.lower() in _VAGUE and path.parent.name:
        stem = path.parent.name
    plain = unicodedata.normalize("NFKD", stem.replace("ß", "ss"))
    plain = plain.encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", plain).strip("_-")
    if not name:
        name = "actor"
    elif not name[0].isalpha():
        name = f"_{name}"
    return unique(name, list(taken))


def refuse_model(target: Path) -> None:
    """Refuse to write a scene over a model, or into a new file that is named like one.

    Raises:
        SceneError: it would; the message has a name that is fine.
    """
    kind = content_of(target)
    is_model = kind in _SUFFIXES and target.suffix.lower() in (*MODELS, "")
    if is_model or (target.suffix.lower() in MODELS and not target.exists()):
        what = "is a model, and a scene is" if is_model else "is the name of a model; a scene is"
        raise SceneError(
            f"{target}: {what} written to a file of its own, such as {target.with_suffix('.yaml')}"
        )


def moved(file: Path, old: Path, new: Path, *, shorten: bool = False) -> Path:
    """How a scene in the folder `new` names a file that one in `old` calls `file`.

    A name that leads to no file stays, and an absolute one, unless it is to be shortened and the
    file lies in the new folder or below.
    """
    if is_in_package(file) or ":" in file.parts[0]:
        return file
    whole, folder = os.path.abspath(old / file), os.path.abspath(new)
    if file.is_absolute():
        below = shorten and Path(whole).is_relative_to(folder)
        return Path(Path(whole).relative_to(folder).as_posix()) if below else file
    if os.path.abspath(old) == folder or not os.path.exists(whole):
        return file
    try:
        return Path(Path(os.path.relpath(whole, folder)).as_posix())
    except ValueError:  # on another drive there is no relative path
        return Path(whole)


@dataclass(frozen=True)
class NamedFile:
    """A file that an object of a scene names in one of its properties."""

    obj: HasProperties
    name: str
    file: Path

    @property
    def place(self) -> tuple[int, str, bool, str]:
        """Where it is named; where several are, the file is part of it."""
        prop = self.obj.property_named(self.name)
        several = not isinstance(prop, FilePath)
        return id(self.obj), self.name, several, str(self.file) if several else ""

    def move(self, old: Path, new: Path, *, shorten: bool) -> None:
        """Name the file that it means in the folder `old` as a scene in `new` does."""
        name = moved(self.file, old, new, shorten=shorten)
        if name != self.file:
            self.obj.property_named(self.name).rename_file(self.obj, self.file, str(name))

    def put_back(self) -> None:
        """Name the file as it did."""
        if self.obj.__dict__[self.name] != self.file:
            self.obj.property_named(self.name).assign(self.obj, str(self.file))


def named_files(objects: Iterable[HasProperties]) -> Iterator[NamedFile]:
    """Every file that they name."""
    for obj in objects:
        for prop in obj.properties():
            yield from (NamedFile(obj, prop.name, file) for file in prop.files(obj))
