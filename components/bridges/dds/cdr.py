"""CDR of messages with texts and sequences: a writer and a reader, little endian."""

import struct

import numpy as np

from mjrig.arrays import FloatArray

HEADER = b"\x00\x01\x00\x00"
#: Most elements of a sequence that is read.
LONGEST = 10_000


class CdrWriter:
    """Appends values with the alignment that CDR asks for."""

    def __init__(self) -> None:
        self._out = bytearray()

    def _align(self, size: int) -> None:
        self._out += b"\0" * (-len(self._out) % size)

    def int32(self, value: int) -> "CdrWriter":
        """A signed number of four bytes."""
        self._align(4)
        self._out += struct.pack("<i", value)
        return self

    def uint32(self, value: int) -> "CdrWriter":
        """An unsigned number of four bytes."""
        self._align(4)
        self._out += struct.pack("<I", value)
        return self

    def text(self, value: str) -> "CdrWriter":
        """A text."""
        raw = value.encode() + b"\0"
        self.uint32(len(raw))
        self._out += raw
        return self

    def doubles(self, values: FloatArray, *, counted: bool) -> "CdrWriter":
        """Numbers of eight bytes; `counted`: a sequence, otherwise an array."""
        if counted:
            self.uint32(len(values))
        if len(values):
            self._align(8)
            self._out += np.ascontiguousarray(values, dtype="<f8").tobytes()
        return self

    def texts(self, values: list[str]) -> "CdrWriter":
        """A sequence of texts."""
        self.uint32(len(values))
        for value in values:
            self.text(value)
        return self

    def message(self) -> bytes:
        """The message, with its header."""
        return HEADER + bytes(self._out)


class CdrReader:
    """Reads what a CdrWriter appends; whatever does not fit is a ValueError.

    Raises:
        ValueError: it is no little-endian CDR.
    """

    def __init__(self, message: bytes) -> None:
        if message[:2] != HEADER[:2]:
            raise ValueError(f"its encoding is {message[:2].hex()}, not little-endian CDR")
        self._raw, self._at = message[4:], 0

    def _take(self, size: int, align: int) -> bytes:
        self._at += -self._at % align
        found = self._raw[self._at : self._at + size]
        if len(found) != size:
            raise ValueError("it ends too early")
        self._at += size
        return found

    def int32(self) -> int:
        """A signed number of four bytes."""
        return int(struct.unpack("<i", self._take(4, 4))[0])

    def uint32(self) -> int:
        """An unsigned number of four bytes."""
        return int(struct.unpack("<I", self._take(4, 4))[0])

    def count(self) -> int:
        """The length of a sequence."""
        found = self.uint32()
        if found > LONGEST:
            raise ValueError(f"a sequence has {found} elements")
        return found

    def text(self) -> str:
        """A text."""
        raw = self._take(self.count(), 1)
        return raw.rstrip(b"\0").decode(errors="replace")

    def texts(self) -> list[str]:
        """A sequence of texts."""
        return [self.text() for _ in range(self.count())]

    def doubles(self) -> FloatArray:
        """A sequence of numbers of eight bytes."""
        n = self.count()
        if not n:
            return np.zeros(0)
        return np.frombuffer(self._take(8 * n, 8), dtype="<f8").astype(np.float64)
