"""Messages of a fixed size: numpy records, and CDR on the wire.

The layout of a record is a tuple of (name, type, count): a numpy type code, or another layout.
From it come the C struct, which checksums are computed over, and CDR, in which the fields
travel.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.data.robot_logs.cdr import HEADER

Field = tuple[str, Any, int]
Layout = tuple[Field, ...]
Bytes = npt.NDArray[np.uint8]


@cache
def c_struct(layout: Layout) -> np.dtype[Any]:
    """The C struct: natural alignment, trailing padding."""
    fields = []
    for name, kind, count in layout:
        inner = kind if isinstance(kind, str) else c_struct(kind)
        fields.append((name, inner, (count,)) if count > 1 else (name, inner))
    return np.dtype(fields, align=True)


class Codec:
    """Turns records of one layout into CDR and back; both are copies by index.

    Args:
        layout: the fields.
        has_crc: whether the last field is a checksum.
    """

    def __init__(self, layout: Layout, *, has_crc: bool = False) -> None:
        self.layout, self.has_crc = layout, has_crc
        self.dtype = c_struct(layout)
        pairs = list(_places(layout, 0, _Cursor()))
        self._cdr = np.concatenate([np.arange(n) + at for at, _, n in pairs]) + len(HEADER)
        self._c = np.concatenate([np.arange(n) + at for _, at, n in pairs])
        #: Bytes of a message, with header.
        self.size = int(self._cdr.max()) + 1

    def record(self) -> Any:
        """A record of zeros; fields by name."""
        return np.zeros((), dtype=self.dtype)

    def encode(self, record: Any) -> bytes:
        """A message; the checksum is computed."""
        if self.has_crc:
            record["crc"] = self.expected_crc(record)
        raw = record.reshape(1).view(np.uint8)
        out = np.zeros(self.size, dtype=np.uint8)
        out[: len(HEADER)] = np.frombuffer(HEADER, dtype=np.uint8)
        out[self._cdr] = raw[self._c]
        return out.tobytes()

    def decode(self, message: bytes) -> Any:
        """The record of a message.

        Raises:
            ValueError: it has another size or encoding.
        """
        if message[:2] != HEADER[:2]:
            raise ValueError(f"its encoding is {message[:2].hex()}, not little-endian CDR")
        if not self.size <= len(message) <= self.size + 3:  # a writer may pad to four bytes
            raise ValueError(f"it has {len(message)} bytes instead of {self.size}")
        given = np.frombuffer(message, dtype=np.uint8)
        raw = np.zeros(self.dtype.itemsize, dtype=np.uint8)
        raw[self._c] = given[self._cdr]
        return raw.view(self.dtype)[0]

    def expected_crc(self, record: Any) -> int:
        """The checksum that a record should have."""
        raw, clean = record.reshape(1).view(np.uint8), np.zeros(self.dtype.itemsize, dtype=np.uint8)
        clean[self._c] = raw[self._c]  # padding counts, and is zero on the robot
        return checksum(clean)


class _Cursor:
    """The position in a CDR body: no padding but what alignment asks for."""

    def __init__(self) -> None:
        self.at = 0

    def take(self, size: int, count: int) -> int:
        self.at += -self.at % size
        began = self.at
        self.at += size * count
        return began


def _places(layout: Layout, base: int, cursor: _Cursor) -> Iterator[tuple[int, int, int]]:
    """CDR offset, C offset and size of every run of numbers."""
    dtype = c_struct(layout)
    fields: Any = dtype.fields
    for name, kind, count in layout:
        start = base + int(fields[name][1])
        if isinstance(kind, str):
            size = np.dtype(kind).itemsize
            yield cursor.take(size, count), start, size * count
        else:
            for k in range(count):
                yield from _places(kind, start + k * c_struct(kind).itemsize, cursor)


# Checksum ---------------------------------------------------------------------------------------

_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def checksum(raw: Bytes) -> int:
    """CRC-32/MPEG-2 over all little-endian words of a struct but the last, high byte first."""
    import zlib

    words: Any = raw.view("<u4")[:-1]
    # zlib's is the reflected one: reverse the bits of every byte before, and of the result.
    reflected = zlib.crc32(words.byteswap().tobytes().translate(_REVERSED)) ^ 0xFFFFFFFF
    return int.from_bytes(reflected.to_bytes(4, "little").translate(_REVERSED), "big")


def idl_type(name: str, layout: Layout, inner: dict[int, Any] | None = None) -> Any:
    """The DDS type of a layout, whose samples are ready bytes.

    Args:
        name: `package.msg.dds_.Name_`.
        inner: types of nested layouts by id of the layout; filled here.
    """
    import types as python_types
    from dataclasses import dataclass

    from cyclonedds.idl import IdlStruct, annotations
    from cyclonedds.idl import types as idl_types

    types: Any = idl_types  # its generics are known at run time only

    # NOTE: uint8 must be declared as byte: the type code of uint8 ends programs on cyclonedds 0.10.
    kinds: dict[str, Any] = {
        "u1": types.byte, "i1": types.int8, "u2": types.uint16, "i2": types.int16,
        "u4": types.uint32, "i4": types.int32, "f4": types.float32,
    }  # fmt: skip
    known = {} if inner is None else inner
    annotated: dict[str, Any] = {}
    for field, kind, count in layout:
        if isinstance(kind, str):
            found = kinds[kind]
        else:
            if id(kind) not in known:
                below = NAMES[id(kind)]
                known[id(kind)] = idl_type(name.rsplit(".", 1)[0] + f".{below}", kind, known)
            found = known[id(kind)]
        annotated[field] = types.array[found, count] if count > 1 else found

    def body(namespace: dict[str, Any]) -> None:
        namespace["__annotations__"] = annotated

    made = python_types.new_class(name.rsplit(".", 1)[1], (IdlStruct,), {"typename": name}, body)
    made = annotations.final(annotations.autoid("sequential")(dataclass(made)))
    return made


#: Names of the types of nested layouts, by id of the layout.
NAMES: dict[int, str] = {}


def named(name: str, *fields: Field) -> Layout:
    """A layout that is nested in others, with the name of its type."""
    layout = tuple(fields)
    NAMES[id(layout)] = name
    return layout


def sample_type(idl: Any) -> Any:
    """Make samples of a DDS type carry bytes: encoding by fields would take milliseconds."""

    def serialize(self: Any, *_: Any, **__: Any) -> bytes:
        ready: bytes = self.payload
        return ready

    def deserialize(cls: Any, data: Any, *_: Any, **__: Any) -> Any:
        made = cls.__new__(cls)
        made.payload = bytes(data)
        return made

    idl.serialize = serialize
    idl.deserialize = idl.deserialize_key = classmethod(deserialize)
    return idl


def sample(idl: Any, payload: bytes) -> Any:
    """A sample that is sent as these bytes."""
    made = idl.__new__(idl)
    made.payload = payload
    return made
