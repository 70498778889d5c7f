"""Paths: files read with a size limit and found by the names that a scene uses.

Files of installed packages are found without importing the package: no code of it runs.
Packages are searched where they are installed, never in the current folder or next to a scene.
"""

import errno
import os
import site
import stat
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Protocol

from mjrig.core.errors import PropertyError
from mjrig.core.names import nearest, suggestion

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
# Files: read with a limit, and found by the names a scene uses.


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
