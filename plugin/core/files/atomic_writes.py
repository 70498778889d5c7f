"""Atomic writes: a file is replaced completely or not at all, by one process at a time.

The lock is on the open folder: it ends with the process that holds it and leaves no file.
On systems without such locks, files are written without one.
"""

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from mjrig.core.errors import MjrigError

# Replacing ----------------------------------------------------------------------------------------
# Files that appear whole or not at all: written beside their place, then put there in one go.


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


# Writing ------------------------------------------------------------------------------------------
# Files written whole or not at all, one process at a time.
#
# The lock is on the open folder: it ends with the process that holds it, however that ends, and
# leaves nothing behind. Where the system has no such locks, writing goes on without.


fcntl: Any
try:
    fcntl = import_module("fcntl")
except ImportError:  # Windows
    fcntl = None

#: How long to wait for another process that is writing in the same folder.
PATIENCE_S = 10.0
_PAUSE_S = 0.005
#: The end of the names of unfinished files.
_UNFINISHED = ".mjrig"


def write_atomically(path: Path, text: str, *, backup: bool = False) -> None:
    """Replace a file in one go: a crash leaves the old one or the new one, never a part.

    Args:
        path: the file.
        text: the new content.
        backup: keep the previous content in `path~`.

    Raises:
        OSError: it cannot be written, or another process does not stop writing there.
    """
    with folder_lock(path) as lock:
        lock.replace(text, backup=backup)


@contextmanager
def folder_lock(path: Path) -> Iterator["FolderLock"]:
    """Keep others from writing in the folder of a file while it is looked at and replaced.

    Raises:
        OSError: there is no such folder, or another process holds the lock for too long.
    """
    real = Path(os.path.realpath(path))  # a link stays one
    if fcntl is None:
        yield FolderLock(real, held=False)
        return
    folder = os.open(real.parent, os.O_RDONLY)
    try:
        held = _locked(folder, real.parent)
        try:
            yield FolderLock(real, held=held)
        finally:
            if held:
                fcntl.flock(folder, fcntl.LOCK_UN)  # also for a child that inherited it
    finally:
        os.close(folder)


def _locked(folder: int, name: Path) -> bool:
    """Lock an open folder; False where its file system has no locks."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)  # pyrefly: ignore[missing-attribute]
            return True
        except BlockingIOError:
            if time.monotonic() > end:
                raise OSError(
                    errno.EAGAIN, f"another process has been writing in {str(name)!r} for long"
                ) from None
        except OSError:
            return False
        time.sleep(_PAUSE_S)


class FolderLock:
    """The right to replace a file; `held` is false where there are no locks."""

    def __init__(self, path: Path, *, held: bool) -> None:
        self.path, self.held = path, held

    def replace(self, text: str, *, backup: bool = False) -> None:
        """Replace the file in one go; what killed processes left of it is removed.

        Raises:
            OSError: it cannot be written; the old one is intact.
        """
        if self.held:  # whoever was writing these is gone
            for name in (self.path, backup_of(self.path)):
                self._remove_unfinished(name.name[:100])
        with replacing_file(self.path, suffix=_UNFINISHED) as beside:
            with open(beside, "wb") as file:
                file.write(text.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
            if backup and self.path.exists():
                self._keep()

    def _remove_unfinished(self, name: str) -> None:
        for left in self.path.parent.glob(f".{_literal(name)}.*{_UNFINISHED}"):
            with suppress(OSError):
                left.unlink()

    def _keep(self) -> None:
        kept = backup_of(self.path)
        with replacing_file(kept, suffix=_UNFINISHED, like=self.path) as beside:
            shutil.copy2(self.path, beside)


def why_not_written(path: Path, error: OSError) -> str:
    """Why a file could not be written, as one sentence that names it."""
    if not path.parent.exists():
        return f"{path}: there is no folder {str(path.parent)!r}; make it first"
    return f"{path}: cannot be written: {error.strerror}"


def backup_of(path: Path) -> Path:
    """Where the previous version of a file is kept: `scene.yaml~`, beside the file itself."""
    real = Path(os.path.realpath(path))
    return real.with_name(real.name + "~")


def _literal(name: str) -> str:
    """A name for `glob` that matches itself only."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
