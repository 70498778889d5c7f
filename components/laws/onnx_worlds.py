"""An ONNX file whose tensors take many worlds where the file says one.

Exports often fix the size of the batch to 1. The size is part of the declared shapes of inputs and
outputs only, so a copy of the file with other shapes runs many worlds at once; whether its nodes
agree is for the caller to try.
"""

from collections.abc import Mapping

from mjrig.components.laws.protobuf import field, pieces, text

_GRAPH, _INPUT, _OUTPUT, _SHAPES_BETWEEN = 7, 11, 12, 13
#: Name of the open size.
_WORLDS = b"worlds"


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
