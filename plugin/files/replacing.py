"""Files that appear whole or not at all: written beside their place, then put there in one go."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from mjrig.errors import MjrigError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """As `replacing_file`, with its folder made, and with an error of ours.

    Raises:
        MjrigError: it cannot be written there; names the file.
    """
    with cannot_be_written(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing_file(path) as beside:
            yield beside


@contextmanager
def cannot_be_written(path: Path, then: str = "") -> Iterator[None]:
    """Make an error of the operating system one of ours.

    Args:
        path: what is written in the block.
        then: what else a user should know.

    Raises:
        MjrigError: the block failed to write.
    """
    try:
        yield
    except OSError as error:
        what = error.strerror or " ".join(str(error).split())
        raise MjrigError(f"{path}: cannot be written: {what}{then}") from error


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A stream that becomes the file when the block ends.

    An error in the block, a full disk included, leaves what was there before and nothing else.

    Raises:
        OSError: it cannot be written there.
    """
    if path.exists() and not path.is_file():  # a device or a pipe is not replaced
        with path.open("wb") as stream:
            yield stream
        return
    with replacing_file(path) as beside, beside.open("w+b") as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def replacing_file(
    path: Path, *, suffix: str | None = None, like: Path | None = None
) -> Iterator[Path]:
    """The name of an empty file that becomes `path` when the block ends; as `replacing`.

    For writers that open files themselves.

    Args:
        path: the file.
        suffix: the end of that name; None: that of `path`.
        like: the file whose permissions it gets; None: those of the one it replaces.

    Raises:
        OSError: it cannot be written there.
    """
    path = Path(os.path.realpath(path))  # a link stays one
    prefix = f".{path.stem[:100]}." if suffix is None else f".{path.name[:100]}."
    end = path.suffix if suffix is None else suffix
    handle, name = tempfile.mkstemp(prefix=prefix, suffix=end, dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
        model = path if like is None else like
        os.chmod(name, model.stat().st_mode if model.exists() else usual_mode())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def usual_mode() -> int:
    """The permissions of a new file."""
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
