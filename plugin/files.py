"""Files: written whole or not at all, and found by the names a scene uses."""

import os
import tempfile
from importlib.resources import files
from pathlib import Path

from mjrig.errors import PropertyError
from mjrig.names import suggestion

PACKAGE = "package:"


def write_atomically(path: Path, text: str) -> None:
    """Replace a file in one go: a crash leaves the old one or the new one, never a part."""
    path = Path(os.path.realpath(path))  # a link stays one
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            os.chmod(name, path.stat().st_mode)
        else:
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(name, 0o666 & ~umask)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def is_in_package(name: Path) -> bool:
    """Whether a file name says `package:…`."""
    return name.as_posix().startswith(PACKAGE)


def find_file(name: Path, base: Path) -> Path:
    """The file a scene means: absolute, relative to `base`, or `package:module/path`.

    Raises:
        PropertyError: there is no such file; the message names the nearest one.
    """
    if is_in_package(name):
        return _in_package(name.as_posix())
    path = name if name.is_absolute() else base / name
    if not os.path.isfile(path):  # unlike Path's, it takes a name of any length
        near = path.parent
        names = [p.name for p in near.iterdir() if p.is_file()] if near.is_dir() else []
        hint = f"; {suggestion(path.name, sorted(names))}" if names else ""
        missing = "" if near.is_dir() else f"; the folder {str(near)!r} does not exist"
        raise PropertyError(f"there is no file {str(path)!r}{hint}{missing}")
    return path


def _in_package(text: str) -> Path:
    module, _, inside = text.removeprefix(PACKAGE).partition("/")
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
