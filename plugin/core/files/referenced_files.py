"""The files that a model file refers to: included models, meshes, textures, height fields."""

import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from mjrig.core.errors import PropertyError
from mjrig.core.files.paths import read_limited, shortened

MAX_BYTES = 64_000_000
MAX_FILES = 1000
#: Names of files times the folders they could be in.
MAX_PLACES = 200_000
_FOLDERS = ("meshdir", "texturedir", "assetdir")
_MODELS = ("include", "model", "attach")
_PACKAGE = "package://"
#: A file name with a line break or a tab as it stands: XML parsers disagree about these.
_BROKEN_NAME = re.compile(
    r"""\b(?:file\w*|(?:mesh|texture|asset)dir)\s*=\s*(?:"[^"\t\r\n]*[\t\r\n]|'[^'\t\r\n]*[\t\r\n])"""
)

#: What every name of a file stands in or behind, in small letters.
_NAMING = (b"file", b"config")


@dataclass(frozen=True)
class FileReference:
    """A file name in a model, and one place where MuJoCo may look for it."""

    inside: Path
    text: str
    path: Path

    @property
    def is_resource(self) -> bool:
        """Whether it begins like an address, `file:///x`: where that leads is up to MuJoCo."""
        start = self.text.replace("\\", "/").removeprefix(_PACKAGE).partition("/")[0]
        return ":" in start

    @property
    def exists_or_absolute(self) -> bool:
        """Whether this is a place it could be read from."""
        return os.path.isabs(self.text) or os.path.lexists(self.path)


@dataclass
class _Contents:
    """What one file says: names of files, of models, and folders to look in."""

    names: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)


def model_files(
    path: Path, may_read: Callable[[Path], bool] = os.path.isfile
) -> list[FileReference]:
    """Everything an MJCF or URDF file refers to, through any number of included files.

    A name is listed with every folder that MuJoCo's rules could mean, so none is missed. Meshes of
    a URDF are listed by their bare names: how their addresses are resolved is up to the caller.

    Args:
        path: the model.
        may_read: which of the included files are looked into.

    Raises:
        PropertyError: a file is not XML that every reader reads alike.
    """
    if path.suffix.lower() == ".mjb":
        return []  # holds everything itself
    found: dict[Path, _Contents] = {}
    waiting = [path]
    while waiting:
        for file in waiting:
            if len(found) == MAX_FILES:
                raise PropertyError(f"{path.name!r} includes more than {MAX_FILES} files")
            found[file] = _contents(file)
        waiting = list(_included(found, may_read))
    references = _references(found)
    listed: list[FileReference] = []
    for reference in references:
        listed.append(reference)
        if len(listed) > MAX_PLACES:
            raise PropertyError(f"{path.name!r} names files in more than {MAX_PLACES} places")
    return listed


def check_regular(path: Path) -> None:
    """Make sure that MuJoCo will not wait for a pipe or a device that a model includes.

    Raises:
        PropertyError: it refers to something that exists and is neither a file nor a folder.
    """
    try:
        content = read_limited(path, MAX_BYTES).lower()
        names_files = any(word in content for word in _NAMING)
        references = model_files(path) if names_files else []
    except (PropertyError, OSError):
        return  # MuJoCo tells what is wrong with it
    for reference in references:
        try:
            mode = os.stat(reference.path).st_mode
        except (OSError, ValueError):
            continue
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise PropertyError(
                f"{reference.inside.name!r} refers to {shortened(reference.text)!r}, "
                "which is not a regular file"
            )


def _included(found: dict[Path, _Contents], may_read: Callable[[Path], bool]) -> Iterator[Path]:
    """Files that are included and not read yet; any of the folders so far may be meant."""
    folders = list(dict.fromkeys(path.parent for path in found))
    names = list(dict.fromkeys(name for file in found.values() for name in file.models))
    if len(folders) * len(names) > MAX_PLACES:
        raise PropertyError(f"included models are named in more than {MAX_PLACES} places")
    # One file under many names: `../out/../out/x.xml` leads to where `../out/x.xml` does.
    known = {os.path.realpath(path) for path in found}
    for place in dict.fromkeys(folder / name for name in names for folder in folders):
        real = os.path.realpath(place)
        if real not in known and may_read(place):
            known.add(real)
            yield place


def _references(found: dict[Path, _Contents]) -> Iterator[FileReference]:
    places = {path.parent for path in found}
    inner = {"", *(folder for file in found.values() for folder in file.folders)}
    folders = sorted({place / folder for place in places for folder in inner})
    for path, file in found.items():
        for text in dict.fromkeys(file.names):
            plain = text.replace("\\", "/")
            bare = plain.rpartition("/")[2]  # what is left where paths are stripped
            for name in sorted({text, plain, bare, text.removeprefix(_PACKAGE)}):
                yield from (FileReference(path, text, folder / name) for folder in folders)


def _contents(path: Path) -> _Contents:
    """What a file names, by its tags as MuJoCo compares them: any case, namespaces ignored."""
    made = _Contents()
    is_urdf = path.suffix.lower() == ".urdf"

    def start(tag: str, attributes: dict[str, str]) -> None:
        kind = tag.rpartition(":")[2].lower()
        if kind in _MODELS and attributes.get("file"):
            made.models.append(attributes["file"])
        if kind == "compiler":
            made.folders += [attributes[name] for name in _FOLDERS if attributes.get(name)]
        for name, value in attributes.items():
            if value and is_urdf and name == "filename":
                made.names.append(value.replace("\\", "/").rpartition("/")[2])
            elif value and (name.startswith("file") or (kind == "config" and name == "value")):
                made.names.append(value)

    try:
        text = read_limited(path, MAX_BYTES).decode("utf-8")
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise PropertyError(f"{path.name!r} has a DOCTYPE, which is not allowed in a model")
        if _BROKEN_NAME.search(text):
            raise PropertyError(f"{path.name!r} has a line break or a tab in the name of a file")
        parser = expat.ParserCreate("utf-8")
        parser.StartElementHandler = start
        parser.Parse(text, True)
    except (expat.ExpatError, ValueError, OSError) as error:
        if isinstance(error, PropertyError):
            raise
        raise PropertyError(f"{path.name!r} cannot be read: {error}") from error
    return made
