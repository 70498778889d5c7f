"""Messages of ROS 2 as bytes: JointState and arrays of numbers."""

import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

HEADER = b"\x00\x01\x00\x00"
#: Types of arrays → their message and numpy's letters.
ARRAYS = {
    "f8": ("std_msgs/msg/Float64MultiArray", "float64"),
    "f4": ("std_msgs/msg/Float32MultiArray", "float32"),
    "i8": ("std_msgs/msg/Int64MultiArray", "int64"),
    "u1": ("std_msgs/msg/UInt8MultiArray", "uint8"),
}
_LAYOUT = (
    "\n" + "=" * 80 + "\nMSG: std_msgs/MultiArrayLayout\nMultiArrayDimension[] dim\n"
    "uint32 data_offset\n" + "=" * 80 + "\nMSG: std_msgs/MultiArrayDimension\nstring label\n"
    "uint32 size\nuint32 stride\n"
)


def array_definition(letter: str) -> str:
    """The definition of an array's message."""
    return f"MultiArrayLayout layout\n{ARRAYS[letter][1]}[] data\n{_LAYOUT}"


def array_message(values: npt.NDArray[np.generic]) -> bytes:
    """One row of numbers."""
    start = HEADER + struct.pack("<III", 0, 0, values.size)
    pad = -(len(start) - len(HEADER)) % min(values.itemsize, 8) if values.size else 0
    return start + b"\0" * pad + np.ascontiguousarray(values).tobytes()


def array_offset(letter: str) -> int:
    """Where the numbers of a message begin."""
    return 4 + 12 + (-12 % int(letter[1]))


class JointStateWriter:
    """Messages of some joints; names and counts are encoded once."""

    def __init__(self, names: Sequence[str]) -> None:
        names_part = bytearray()
        for name in names:
            text = name.encode() + b"\0"
            names_part += b"\0" * (-len(names_part) % 4)
            names_part += struct.pack("<I", len(text)) + text
        self._names = struct.pack("<I", len(names)) + bytes(names_part)

    def message(self, nanoseconds: int, parts: Sequence[npt.NDArray[np.float64]]) -> bytes:
        """Positions, velocities and efforts at a time; empty arrays for none."""
        sec, rest = divmod(nanoseconds, 1_000_000_000)
        body = bytearray(struct.pack("<iI", sec, rest) + struct.pack("<I", 1) + b"\0")
        body += b"\0" * (-len(body) % 4)
        body += self._names
        for values in parts:
            body += b"\0" * (-len(body) % 4)
            body += struct.pack("<I", len(values))
            if len(values):
                body += b"\0" * (-len(body) % 8)
                body += np.ascontiguousarray(values, dtype="<f8").tobytes()
        return HEADER + bytes(body)
