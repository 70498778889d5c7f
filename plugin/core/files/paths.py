"""Paths: files found next to a scene, read within limits, their types, and the files they name."""

import errno
import os
import re
import site
import stat
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Protocol
from xml.parsers import expat

from mjrig.core.errors import PropertyError
from mjrig.core.names import nearest, suggestion

# File types --------------------------------------------------------------------------------------
# File types by the first bytes: a MuJoCo model, an archive, a recording, or another file.


#: Suffixes of model files.
MODELS = (".xml", ".mjcf", ".urdf", ".mjb", ".mjz", ".zip")
_HEAD = 65_536
_MJB = (54321).to_bytes(4, "little")
_HDF5 = b"\x89HDF\r\n\x1a\n"
_ZIPS = (b"PK\x03\x04", b"PK\x05\x06")
_BOM = b"\xef\xbb\xbf"


class _RootFound(Exception):
    """Ends the parsing; its text is the name."""


class Content(StrEnum):
    """Kinds of files that have a mark at the beginning."""

    XML = "XML"
    MJB = "a compiled model"
    ZIP = "an archive"
    RECORDING = "a recording"
    OTHER = "something else"


def content_of(path: Path) -> Content:
    """The kind of a file; OTHER where it has no mark or cannot be read."""
    return kind_of(head_of(path))


def kind_of(head: bytes) -> Content:
    """The kind of a file that begins with these bytes."""
    if head.startswith(_MJB):
        return Content.MJB
    if head.startswith(_ZIPS):
        return Content.ZIP
    if head.startswith(_HDF5):
        return Content.RECORDING
    text = head.removeprefix(_BOM).lstrip()
    # No YAML document begins with a `<` that a letter, `!` or `?` follows and is a mapping.
    begins_a_tag = text[1:2].isalpha() or text[1:2] in (b"!", b"?", b"_")
    return Content.XML if text.startswith(b"<") and begins_a_tag else Content.OTHER


def root_element(head: bytes) -> str:
    """The root element of an XML text, without its namespace; empty: none was found."""
    parser = expat.ParserCreate(namespace_separator="}")

    def start(tag: str, attributes: dict[str, str]) -> None:
        raise _RootFound(tag.rpartition("}")[2])

    parser.StartElementHandler = start
    try:
        parser.Parse(head, False)
    except _RootFound as found:
        return str(found)
    except (expat.ExpatError, ValueError, LookupError):  # the latter two: an unknown encoding
        pass
    return ""


def head_of(path: Path) -> bytes:
    """The first bytes of a regular file; a pipe or a device is not waited for. None: empty."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):  # ValueError: a name no file can have
        return b""
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return os.read(descriptor, _HEAD) if is_file else b""
    finally:
        os.close(descriptor)


# Packages -----------------------------------------------------------------------------------------
# Where the files of a package are, found without importing it: naming one must not run its code.
#
# Packages are looked for where they are installed, never in the current folder or beside a scene.


OWN = "mjrig"
_EDITABLE = "__editable__"


def package_folders(module: str, more: Iterable[Path] = ()) -> list[Path]:
    """The folders of a package that is installed or already imported; none if there is none.

    Args:
        module: its import name: `mjrig.assets`.
        more: folders to look in besides, which the user trusts.
    """
    names = module.split(".")
    if not all(name.isidentifier() for name in names):
        return []
    places: Sequence[str] = [*installed_folders(), *map(str, more)]
    for i in range(len(names)):
        places = _inside(".".join(names[: i + 1]), places)
        if not places:
            return []
    return [Path(place) for place in places]


def _inside(name: str, places: Sequence[str]) -> list[str]:
    imported = sys.modules.get(name)
    if imported is not None:
        return list(getattr(imported, "__path__", ()))
    spec = PathFinder.find_spec(name, places) or _editable(name)
    return [] if spec is None else list(spec.submodule_search_locations or ())


def _editable(name: str) -> ModuleSpec | None:
    """What `pip install -e` links to, by the finders it installs; they import nothing."""
    for finder in sys.meta_path:
        if getattr(finder, "__module__", "").startswith(_EDITABLE):
            found = finder.find_spec(name, None)
            if found is not None:
                return found
    return None


@cache
def installed_folders() -> tuple[str, ...]:
    """The folders that packages are installed in, and those their `.pth` files add."""
    users = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    fixed = [sysconfig.get_path(kind) for kind in ("purelib", "platlib")]
    waiting = [*site.getsitepackages(), *users, *fixed]
    found: dict[str, None] = {}
    while waiting:
        folder = waiting.pop(0)
        if folder not in found and Path(folder).is_dir():
            found[folder] = None
            waiting += _added_by_pth(Path(folder))
    return tuple(found)


def _added_by_pth(folder: Path) -> list[str]:
    lines: list[str] = []
    for file in sorted(folder.glob("*.pth")):
        try:
            lines += file.read_text("utf-8").splitlines()
        except (OSError, ValueError):
            continue
    code = ("#", "import ", "import\t")
    return [
        str(folder / line.strip()) for line in lines if line.strip() and not line.startswith(code)
    ]


# Paths --------------------------------------------------------------------------------------------


PACKAGE = "package:"


class Gate(Protocol):
    """The policy that decides which files may be read."""

    def admit(self, path: Path, said: object) -> None:
        """Refuse a file by raising PropertyError."""

    def admit_model(self, path: Path) -> None:
        """Refuse a model for a file it refers to by raising PropertyError."""

    def admit_package(self, module: str) -> None:
        """Refuse the files of a package by raising PropertyError."""


def read_limited(path: Path, limit: int) -> bytes:
    """The content of a regular file; a pipe or a device is not waited for.

    Raises:
        OSError: it cannot be read, is not a regular file, or has more than `limit` bytes.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        about = os.fstat(descriptor)
        if stat.S_ISDIR(about.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(about.st_mode):
            raise OSError(None, "Not a regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            # As much as it says that it has: asking for the limit takes the memory for it.
            content = file.read(about.st_size + 1) if about.st_size <= limit else b""
            if len(content) > about.st_size:  # it has grown, or does not say, as in /proc
                content += file.read(limit + 1 - len(content))
    finally:
        os.close(descriptor)
    size = max(about.st_size, len(content))
    if size > limit:
        raise OSError(None, f"has {size} bytes; at most {limit} are read")
    return content


def is_in_package(name: Path) -> bool:
    """Whether a file name has the form `package:…`."""
    return name.as_posix().startswith(PACKAGE)


def find_file(
    name: Path, base: Path, gate: Gate | None = None, trusted: Iterable[Path] = ()
) -> Path:
    """The file a scene names: absolute, relative to `base`, or `package:module/path`.

    Args:
        name: as the scene writes it.
        base: the scene's folder.
        gate: decides which files may be read; None: all may.
        trusted: folders in which packages are looked for besides the installed ones.

    Raises:
        PropertyError: there is no such file, the message names the nearest one; or the gate
            refuses it, before anything is looked up.
    """
    if is_in_package(name):
        return _in_package(name.as_posix(), gate, trusted)
    path = name if name.is_absolute() else base / name
    if gate is not None:
        gate.admit(path, name)
    if not os.path.isfile(path):  # unlike Path's, it takes a name of any length
        raise PropertyError(f"there is no file {str(path)!r}{nearest_files(path)}")
    return path


def shortened(text: str, limit: int = 300) -> str:
    """A long text without its middle, for messages."""
    half = limit // 2
    return text if len(text) <= limit else f"{text[:half]}…{text[-half:]}"


def nearest_files(path: Path, suffixes: Iterable[str] | None = None) -> str:
    """What could be meant by a file that is not there: `; did you mean 'x'?`, or what there is.

    Args:
        path: the file.
        suffixes: of files that are listed where none has a similar name; None: any.
    """
    folder = path.parent
    if not os.path.isdir(folder):
        return f"; the folder {str(folder)!r} does not exist"
    try:
        entries = (entry for entry in os.scandir(folder) if entry.is_file())
        names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
    except OSError:  # it may not be listed
        return ""
    if suffixes is not None and nearest(path.name[:255], names) is None:
        ends = tuple(suffixes)
        names = [name for name in names if name.lower().endswith(ends)]
    return f"; {suggestion(path.name[:255], names)}" if names else ""


def _in_package(text: str, gate: Gate | None, trusted: Iterable[Path]) -> Path:
    module, _, inside = text.removeprefix(PACKAGE).partition("/")
    if gate is not None:
        gate.admit_package(module)
    folders = package_folders(module, trusted)
    if not folders:
        raise PropertyError(f"there is no installed package {shortened(module)!r}")
    for folder in folders:
        path = folder / inside
        # The links in a package are its own: an editable installation consists of them.
        if gate is not None and not Path(os.path.normpath(path)).is_relative_to(folder):
            raise PropertyError(f"{inside!r} leads outside of the package {module!r}")
        if os.path.isfile(path):
            return path
    raise PropertyError(f"the package {module!r} has no file {shortened(inside)!r}")


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a file is in a folder or below, links followed."""
    try:
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
    except (OSError, ValueError):  # a name no file can have
        return False


# Referenced files --------------------------------------------------------------------------------
# The files that a model file refers to: included models, meshes, textures, height fields.


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
