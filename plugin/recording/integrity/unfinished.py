"""HDF5 files whose writer was killed or is still writing, seen as finished ones.

HDF5 itself opens them in its single-writer-multiple-reader mode only, and there it reads damaged
parts over and over again, for hours. What the writer flushed is consistent, so it is enough to say
in the first block of the file, the superblock, that nobody writes, and that the file ends where it
ends.
"""

import io
import os
from pathlib import Path

SIGNATURE = b"\x89HDF\r\n\x1a\n"
#: Places in a superblock: version (3), size of an address, flags, end of the file, checksum.
_VERSION, _ADDRESS, _FLAGS, _END, _CHECKSUM, _SIZE = 8, 9, 11, 28, 44, 48
#: Flags: a writer is open, and allows concurrent readers.
_WRITING, _READABLE = 1, 4
_MASK = 0xFFFFFFFF


def head_of(path: Path) -> bytes:
    """The superblock, or what there is of it."""
    with path.open("rb") as stream:
        return stream.read(_SIZE)


def is_unfinished(head: bytes) -> bool:
    """Whether a writer did not close the file."""
    return len(head) == _SIZE and head[_VERSION] >= 3 and bool(head[_FLAGS] & _WRITING)


def is_readable(head: bytes) -> bool:
    """Whether the writer of an unfinished file came so far that there is something to read."""
    return bool(head[_FLAGS] & _READABLE) and head[_ADDRESS] == 8


def is_whole(head: bytes) -> bool:
    """Whether the superblock has its checksum."""
    return int.from_bytes(head[_CHECKSUM:], "little") == lookup3(head[:_CHECKSUM])


class FinishedView(io.RawIOBase):
    """A file to read from, whose superblock says that it is finished.

    Args:
        path: an unfinished file with a whole superblock.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("rb", buffering=0)
        head = bytearray(self._file.read(_SIZE))
        head[_FLAGS] &= ~(_WRITING | _READABLE)
        head[_END : _END + 8] = os.fstat(self._file.fileno()).st_size.to_bytes(8, "little")
        self._head = bytes(head[:_CHECKSUM]) + lookup3(bytes(head[:_CHECKSUM])).to_bytes(
            4, "little"
        )

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: object) -> int:
        place = self._file.tell()
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        count = self._file.readinto(view) or 0
        if place < _SIZE:
            part = self._head[place : place + count]
            view[: len(part)] = part
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def lookup3(data: bytes) -> int:
    """The checksum of HDF5's own records: Bob Jenkins' hash `lookup3`."""
    a = b = c = (0xDEADBEEF + len(data)) & _MASK
    words = [
        int.from_bytes(data[i : i + 4].ljust(4, b"\0"), "little") for i in range(0, len(data), 4)
    ]
    words += [0] * (-len(words) % 3)
    for i in range(0, len(words), 3):
        a, b, c = (a + words[i]) & _MASK, (b + words[i + 1]) & _MASK, (c + words[i + 2]) & _MASK
        if i + 3 < len(words):
            a, b, c = _mixed(a, b, c)
    return _last_mixed(a, b, c) if words else c


def _turned(value: int, by: int) -> int:
    return ((value << by) | (value >> (32 - by))) & _MASK


def _mixed(a: int, b: int, c: int) -> tuple[int, int, int]:
    for by in (4, 6, 8, 16, 19, 4):
        a = ((a - c) & _MASK) ^ _turned(c, by)
        c = (c + b) & _MASK
        a, b, c = b, c, a
    return a, b, c


def _last_mixed(a: int, b: int, c: int) -> int:
    for by in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - _turned(b, by)) & _MASK
        a, b, c = b, c, a
    return b
