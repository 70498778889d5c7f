"""Files: read with a limit, written whole or not at all, and found by the names a scene uses."""

import errno
import os
import shutil
import stat
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Protocol

from mjrig.errors import PropertyError
from mjrig.names import suggestion

PACKAGE = "package:"


class Gate(Protocol):
    """The policy that decides which files may be read."""

    def admit(self, path: Path, said: object) -> None:
        """Refuse a file by raising PropertyError."""

    def admit_model(self, path: Path) -> None:
        """Refuse a model for a file it refers to by raising PropertyError."""

    def admit_package(self, module: str, inside: str) -> None:
        """Refuse a file of a package by raising PropertyError."""


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
            content = file.read(limit + 1) if about.st_size <= limit else b""
    finally:
        os.close(descriptor)
    size = max(about.st_size, len(content))
    if size > limit:
        raise OSError(None, f"has {size} bytes; at most {limit} are read")
    return content


def write_atomically(path: Path, text: str, *, backup: bool = False) -> None:
    """Replace a file in one go: a crash leaves the old one or the new one, never a part.

    Args:
        path: the file.
        text: the new content.
        backup: keep the previous content in `path~`.
    """
    path = Path(os.path.realpath(path))  # a link stays one
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            os.chmod(name, path.stat().st_mode)
            if backup:
                _keep(path)
        else:
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(name, 0o666 & ~umask)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def backup_of(path: Path) -> Path:
    """Where the previous version of a file is kept: `scene.yaml~`, beside the file itself."""
    real = Path(os.path.realpath(path))
    return real.with_name(real.name + "~")


def _keep(path: Path) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    try:
        shutil.copy2(path, name)
        os.replace(name, backup_of(path))
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def is_in_package(name: Path) -> bool:
    """Whether a file name has the form `package:…`."""
    return name.as_posix().startswith(PACKAGE)


def find_file(name: Path, base: Path, gate: Gate | None = None) -> Path:
    """The file a scene names: absolute, relative to `base`, or `package:module/path`.

    Raises:
        PropertyError: there is no such file, the message names the nearest one; or the gate
            refuses it, before anything is looked up.
    """
    if is_in_package(name):
        return _in_package(name.as_posix(), gate)
    path = name if name.is_absolute() else base / name
    if gate is not None:
        gate.admit(path, name)
    if not os.path.isfile(path):  # unlike Path's, it takes a name of any length
        near = path.parent
        names = [p.name for p in near.iterdir() if p.is_file()] if near.is_dir() else []
        hint = f"; {suggestion(path.name, sorted(names))}" if names else ""
        missing = "" if near.is_dir() else f"; the folder {str(near)!r} does not exist"
        raise PropertyError(f"there is no file {str(path)!r}{hint}{missing}")
    return path


def _in_package(text: str, gate: Gate | None) -> Path:
    module, _, inside = text.removeprefix(PACKAGE).partition("/")
    if gate is not None:
        gate.admit_package(module, inside)
    try:
        root = files(module)
    except (ModuleNotFoundError, TypeError, ValueError) as error:
        raise PropertyError(f"there is no package {module!r} ({error})") from None
    for part in inside.split("/"):
        root = root.joinpath(part)
    path = Path(str(root))
    if not os.path.isfile(path):
        raise PropertyError(f"the package {module!r} has no file {inside!r}")
    return path
