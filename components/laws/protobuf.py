"""Protobuf, as far as ONNX files need it: the fields of a message, and messages made of them."""

from collections.abc import Iterator

#: Bytes of a varint: more are no number.
_LONGEST = 10
_BYTES = 2


def fields(content: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Numbers and values of a message.

    Raises:
        ValueError: it is none.
    """
    return ((number, value) for number, value, _ in pieces(content))


def pieces(content: memoryview) -> Iterator[tuple[int, int | memoryview, memoryview]]:
    """Number, value and encoded form of every field.

    Raises:
        ValueError: it is no message.
    """
    at = 0
    while at < len(content):
        start = at
        tag, at = _varint(content, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = _varint(content, at)
            yield number, value, content[start:at]
            continue
        if wire == _BYTES:
            size, at = _varint(content, at)
        else:
            size = {1: 8, 5: 4}.get(wire, -1)
        if size < 0 or at + size > len(content):
            raise ValueError("not a protobuf message")
        at += size
        yield number, content[at - size : at], content[start:at]


def field(number: int, content: bytes) -> bytes:
    """A field of bytes, a text or a message, in its encoded form."""
    return _encoded(number << 3 | _BYTES) + _encoded(len(content)) + content


def text(value: memoryview | int) -> str:
    """A field as text."""
    return bytes(value).decode() if isinstance(value, memoryview) else ""


def _varint(content: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for i in range(_LONGEST):
        if at + i >= len(content):
            break
        byte = content[at + i]
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value, at + i + 1
    raise ValueError("not a protobuf message")


def _encoded(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
