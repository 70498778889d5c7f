"""The bytes of an ONNX file: the fields of its messages, and a copy of it for many worlds.

A file is protobuf, of which this has as much as is needed. Exports often fix the size of the batch
to 1. The size is part of the declared shapes of inputs and outputs only, so a copy with other
shapes runs many worlds at once; whether its nodes agree is for the caller to try.
"""

from collections.abc import Iterator, Mapping

#: Bytes of a varint: more are no number.
_LONGEST = 10
_BYTES = 2
_GRAPH, _INPUT, _OUTPUT, _SHAPES_BETWEEN = 7, 11, 12, 13
#: Name of the open size.
_WORLDS = b"worlds"


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


def for_worlds(content: bytes, axes: Mapping[str, int]) -> bytes:
    """The file with an open size at the axes of these inputs and outputs.

    Raises:
        ValueError: it is no ONNX file.
    """
    return b"".join(
        field(_GRAPH, _graph(value, axes))
        if number == _GRAPH and isinstance(value, memoryview)
        else bytes(whole)
        for number, value, whole in pieces(memoryview(content))
    )


def _graph(content: memoryview, axes: Mapping[str, int]) -> bytes:
    found = []
    for number, value, whole in pieces(content):
        if number in (_INPUT, _OUTPUT) and isinstance(value, memoryview):
            found.append(field(number, _tensor(value, axes)))
        elif number != _SHAPES_BETWEEN:  # onnxruntime finds those by itself
            found.append(bytes(whole))
    return b"".join(found)


def _tensor(content: memoryview, axes: Mapping[str, int]) -> bytes:
    """A ValueInfoProto: name 1, type 2 → tensor type 1 → shape 2 → dimensions 1."""
    name = next((text(v) for n, v, _ in pieces(content) if n == 1), "")
    if name not in axes:
        return bytes(content)
    return _inside(content, (2, 1, 2), axes[name])


def _inside(content: memoryview, path: tuple[int, ...], axis: int) -> bytes:
    if not path:
        sizes = [bytes(whole) for number, _, whole in pieces(content) if number == 1]
        sizes[axis] = field(1, field(2, _WORLDS))
        return b"".join(sizes)
    return b"".join(
        field(number, _inside(value, path[1:], axis))
        if number == path[0] and isinstance(value, memoryview)
        else bytes(whole)
        for number, value, whole in pieces(content)
    )
