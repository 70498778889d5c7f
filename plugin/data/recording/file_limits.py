"""Limits of files that are read: their kind, and how many bytes they may unpack to."""

import os
import stat
from pathlib import Path

from mjrig.core.errors import RecordingError

#: A file may hold so many bytes of numbers however small it is, and so many times its own size.
LEAST, TIMES = 64 << 20, 100
#: Numbers become float64 when they are used.
NUMBER = 8


def most_bytes(size: int) -> int:
    """The bytes of numbers that are read of a file of some size, whatever it says it holds."""
    return max(LEAST, TIMES * size)


def check_size(path: Path, count: int) -> None:
    """Refuse more bytes than a file of its size may hold.

    Raises:
        RecordingError: it holds more.
    """
    most = most_bytes(os.stat(path).st_size)
    if count > most:
        raise RecordingError(
            f"{path}: says that it holds {count} bytes of numbers; at most {most} are read of a "
            "file of its size"
        )


def check_regular(path: Path) -> None:
    """Refuse what would be waited for, or never ends: pipes, devices, sockets.

    Raises:
        RecordingError: it is one of them, or is not there.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        raise RecordingError(f"{path}: there is no such file") from None
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise RecordingError(f"{path}: is not a regular file")
