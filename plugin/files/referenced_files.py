"""The files that a model file refers to: included models, meshes, textures, height fields."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from mjrig.errors import PropertyError
from mjrig.files.paths import read_limited

MAX_BYTES = 64_000_000
MAX_FILES = 1000
_FOLDERS = ("meshdir", "texturedir", "assetdir")
_MODELS = ("include", "model", "attach")


@dataclass(frozen=True)
class FileReference:
    """A file name in a model, and one place where MuJoCo may look for it."""

    inside: Path
    text: str
    path: Path

    @property
    def exists_or_absolute(self) -> bool:
        """Whether this is a place it could be read from."""
        return os.path.isabs(self.text) or os.path.lexists(self.path)


def model_files(
    path: Path, may_read: Callable[[Path], bool] = os.path.isfile
) -> list[FileReference]:
    """Everything an MJCF or URDF file refers to, through any number of included files.

    A name is listed with every folder that MuJoCo's rules could mean, so none is missed.

    Args:
        path: the model.
        may_read: which of the included files are looked into.

    Raises:
        PropertyError: a file is not XML that every reader reads alike.
    """
    if path.suffix.lower() == ".mjb":
        return []  # holds everything itself
    roots: dict[Path, Any] = {}
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file in roots:
            continue
        if len(roots) == MAX_FILES:
            raise PropertyError(f"{path.name!r} includes more than {MAX_FILES} files")
        roots[file] = _parsed(file)
        names = [e.get("file", "") for e in roots[file].iter() if e.tag in _MODELS]
        folders = {path.parent, file.parent}
        waiting += [f for n in names for d in folders if n and may_read(f := d / n)]
    return list(_references(roots))


def _references(roots: dict[Path, Any]) -> Iterator[FileReference]:
    places = {path.parent for path in roots}
    inner = {""}
    for root in roots.values():
        inner |= {e.get(n, "") for e in root.iter("compiler") for n in _FOLDERS}
    folders = sorted({place / folder for place in places for folder in inner})
    for path, root in roots.items():
        for text in _names(root):
            plain = text.replace("\\", "/")
            bare = plain.rpartition("/")[2]  # what is left where paths are stripped
            for name in sorted({text, plain, bare, text.removeprefix("package://")}):
                yield from (FileReference(path, text, folder / name) for folder in folders)


def _names(root: Any) -> Iterator[str]:
    """Every attribute that can name a file: `file`, `fileright`, `filename`, a plugin's values."""
    for element in root.iter():
        for name, value in element.attrib.items():
            if value and (name.startswith("file") or (element.tag == "config" and name == "value")):
                yield value


def _parsed(path: Path) -> Any:
    try:
        text = read_limited(path, MAX_BYTES).decode("utf-8")
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise PropertyError(f"{path.name!r} has a DOCTYPE, which is not allowed in a model")
        return ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, OSError) as error:
        if isinstance(error, PropertyError):
            raise
        raise PropertyError(f"{path.name!r} cannot be read: {error}") from error
