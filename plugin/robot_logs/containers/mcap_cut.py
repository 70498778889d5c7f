"""MCAP files that end too early: where they are cut, and what is left of the chunk that is cut."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

MAGIC = b"\x89MCAP0\r\n"
#: Kinds of records.
FOOTER, MESSAGE, CHUNK = 0x02, 0x05, 0x06
#: What every record begins with: its kind, and how many bytes follow.
_RECORD = struct.Struct("<BQ")
#: What a chunk begins with: its first and last time, size and checksum; the name of its
#: compression, and the size of the packed messages, follow.
_TIMES, _NAME, _SIZE = struct.Struct("<QQQI"), struct.Struct("<I"), struct.Struct("<Q")


@dataclass(frozen=True)
class Cut:
    """Where a file ends inside a record, or behind its last one.

    Attributes:
        place: of the record that is not whole; the size of the file: all are whole.
        kind: of that record; None: all are whole, or not even its beginning is there.
        there: bytes of it that are there.
        size: bytes that it has.
        before: whether messages come before it.
        finished: nothing is missing; the recorder ended the file.
    """

    place: int
    kind: int | None
    there: int
    size: int
    before: bool
    finished: bool = False

    def said(self) -> str:
        """Why no message can be read of the file."""
        if self.finished and not self.before:
            return "has no message"
        if self.before:
            return "is cut off or damaged: no message can be read of it"
        if self.kind == CHUNK:
            return (
                f"is cut off inside its first chunk, of which {self.there} of {self.size} bytes "
                "are there: nothing of it can be read"
            )
        return "is cut off before its first message: nothing of it can be read"


def cut_of(path: Path) -> Cut:
    """Where a file is cut, by the sizes of its records."""
    total, before = path.stat().st_size, False
    with path.open("rb") as stream:
        place = len(MAGIC)
        while True:
            stream.seek(place)
            head = stream.read(_RECORD.size)
            if len(head) < _RECORD.size:
                return Cut(place, None, len(head), 0, before)
            kind, size = _RECORD.unpack(head)
            there = total - place - _RECORD.size
            if there < size:
                return Cut(place, kind, there, size, before)
            if kind == FOOTER:
                return Cut(total, None, 0, 0, before, finished=True)
            before |= kind in {MESSAGE, CHUNK}
            place += _RECORD.size + size


class UpToCut:
    """A file up to where it is cut, the messages of a cut chunk unpacked as if it had none."""

    def __init__(self, stream: BinaryIO, cut: Cut) -> None:
        self._stream, self._left = stream, cut.place
        self._rest = BytesIO()
        if cut.kind == CHUNK:
            stream.seek(cut.place + _RECORD.size)
            self._rest = BytesIO(_unpacked(stream.read()))
        stream.seek(0)

    def read(self, size: int) -> bytes:
        """The next bytes."""
        if not self._left:
            return self._rest.read(size)
        data = self._stream.read(min(size, self._left))
        self._left -= len(data)
        return data


def _unpacked(chunk: bytes) -> bytes:
    """The records of a chunk that is cut, as far as they can be unpacked."""
    try:
        (length,) = _NAME.unpack_from(chunk, _TIMES.size)
        start = _TIMES.size + _NAME.size
        compression = chunk[start : start + length].decode()
        packed = chunk[start + length + _SIZE.size :]
        unpack = {"": bytes, "zstd": _zstd, "lz4": _lz4}.get(compression)
        return b"" if unpack is None else unpack(packed)
    except (struct.error, UnicodeDecodeError):
        return b""


def _zstd(packed: bytes) -> bytes:
    module = import_module("zstandard")
    return _as_far_as_it_goes(module.ZstdDecompressor().decompressobj().decompress, packed)


def _lz4(packed: bytes) -> bytes:
    return _as_far_as_it_goes(import_module("lz4.frame").LZ4FrameDecompressor().decompress, packed)


def _as_far_as_it_goes(decompress: Callable[[bytes], bytes], packed: bytes) -> bytes:
    try:
        return decompress(packed)
    except Exception:  # each package has errors of its own; what is damaged gives no message
        return b""
