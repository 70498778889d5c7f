"""CDR, the encoding of ROS 2 and DDS: messages with texts and sequences, little endian."""

import struct
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray

#: CDR, little endian.
HEADER = b"\x00\x01\x00\x00"
#: Most elements of a sequence that is read.
LONGEST = 10_000


class CdrWriter:
    """Appends values with the alignment of CDR."""

    def __init__(self) -> None:
        self._out = bytearray()

    def _align(self, size: int) -> None:
        if padding := -len(self._out) % size:
            self._out += bytes(padding)

    def int32(self, value: int) -> Self:
        """A signed number of four bytes."""
        self._align(4)
        self._out += struct.pack("<i", value)
        return self

    def uint32(self, value: int) -> Self:
        """An unsigned number of four bytes."""
        self._align(4)
        self._out += struct.pack("<I", value)
        return self

    def stamp(self, nanoseconds: int) -> Self:
        """A builtin_interfaces/Time."""
        seconds, rest = divmod(nanoseconds, 1_000_000_000)
        return self.int32(seconds).uint32(rest)

    def text(self, value: str) -> Self:
        """A text."""
        raw = value.encode() + b"\0"
        self.uint32(len(raw))
        self._out += raw
        return self

    def texts(self, values: Sequence[str]) -> Self:
        """A sequence of texts."""
        self.uint32(len(values))
        for value in values:
            self.text(value)
        return self

    def array(self, values: npt.NDArray[Any]) -> Self:
        """Little-endian numbers; the message's type determines how many."""
        if values.size:
            self._align(values.itemsize)
            self._out += values.tobytes()
        return self

    def sequence(self, values: npt.NDArray[Any]) -> Self:
        """Little-endian numbers after their count."""
        return self.uint32(values.size).array(values)

    def message(self) -> bytes:
        """The message, with its header."""
        return HEADER + self._out


class JointStateWriter:
    """Writes sensor_msgs/JointState of some joints, whose names are encoded once."""

    def __init__(self, joints: Sequence[str]) -> None:
        names = CdrWriter().texts(joints).message()[len(HEADER) :]
        self._names = np.frombuffer(names + b"\0" * (-len(names) % 4), "<u4")

    def message(self, nanoseconds: int, rows: Sequence[FloatArray]) -> bytes:
        """Positions, velocities and efforts at a time; empty arrays for none."""
        out = CdrWriter().stamp(nanoseconds).text("").array(self._names)
        for values in rows:
            out.sequence(np.asarray(values, "<f8"))
        return out.message()


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
