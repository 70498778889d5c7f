"""ONNX files: session and metadata (extra `policy`), the graph, and a copy for many worlds.

onnxruntime runs a network but does not show it. The file is protobuf; this module reads the
fields that are needed, without running anything. Exports often fix the size of the batch to
1. That size is part of the declared shapes of inputs and outputs only, so a copy with other
shapes runs many worlds at once; the caller must try whether the nodes agree.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import MissingExtraError, PropertyError
from mjrig.core.files.decoding import decoding

# Onnx file ----------------------------------------------------------------------------------------
# OnnxFile: an ONNX session and its metadata (extra `policy`).


#: Option of onnxruntime: folder of the weights of a file that is given as bytes.
_BESIDE = "session.model_external_initializers_file_folder_path"


class OnnxFile:
    """A loaded network; every error names the file and the tensor or key.

    Args:
        content: the file as it is to be run, if not as it is stored.

    Raises:
        PropertyError: the file is missing or not a network.
        MissingExtraError: onnxruntime is not installed.
    """

    def __init__(self, path: Path, content: bytes | None = None) -> None:
        try:
            onnxruntime = import_module("onnxruntime")
        except ImportError as error:
            raise MissingExtraError("a network", "policy", error) from error
        self.path = path
        if not path.is_file():
            raise PropertyError(f"there is no network file {str(path)!r}")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4  # errors are raised, not printed as well
        if content is not None:  # weights may lie in files beside it
            options.add_session_config_entry(_BESIDE, str(path.parent))
        with decoding(path.name, problem="not a network", error=PropertyError):
            self.session = onnxruntime.InferenceSession(
                str(path) if content is None else content,
                options,
                providers=["CPUExecutionProvider"],
            )
        self.metadata = _metadata(self.session.get_modelmeta().custom_metadata_map)
        self.inputs = [i.name for i in self.session.get_inputs()]
        self.outputs = [o.name for o in self.session.get_outputs()]

    def error(self, problem: str) -> PropertyError:
        """A PropertyError that names the file."""
        return PropertyError(f"{self.path.name}: {problem}")

    def output_type(self, name: str) -> str:
        """The type of an output, as onnxruntime writes it: `tensor(float)`."""
        return next((o.type for o in self.session.get_outputs() if o.name == name), "")

    def shape(self, name: str) -> list[Any]:
        """The declared shape of an input or output; unknown sizes are texts or None.

        Raises:
            PropertyError: there is none of that name.
        """
        for tensor in (*self.session.get_inputs(), *self.session.get_outputs()):
            if tensor.name == name:
                return list(tensor.shape)
        raise self.error(
            f"has no tensor {name!r}; inputs: {', '.join(self.inputs)}; "
            f"outputs: {', '.join(self.outputs)}"
        )

    def expect(self, name: str, wanted: list[int | None]) -> None:
        """Check a tensor's shape; None stands for any size.

        Raises:
            PropertyError: the shape does not fit.
        """
        shape = self.shape(name)
        fits = len(shape) == len(wanted) and all(
            w is None or not isinstance(s, int) or s == w
            for s, w in zip(shape, wanted, strict=True)
        )
        if not fits:
            text = [("any" if w is None else w) for w in wanted]
            raise self.error(f"tensor {name!r} has shape {shape}, expected {text}")

    def number(self, *keys: str, default: float) -> float:
        """The first of these metadata keys that is there, as a finite non-zero number.

        Raises:
            PropertyError: it is not.
        """
        for key in keys:
            if key in self.metadata:
                try:
                    value = float(self.metadata[key])
                except (TypeError, ValueError):
                    value = math.nan
                if not math.isfinite(value) or value == 0.0:
                    raise self.error(
                        f"metadata {key!r} must be finite and not zero, got {self.metadata[key]!r}"
                    )
                return value
        return default


def _metadata(raw: Mapping[str, str]) -> dict[str, Any]:
    """One property `metadata` that holds JSON, or one property per key."""
    if "metadata" in raw:
        try:
            found = json.loads(raw["metadata"])
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            return found
    return {key: _decoded(text) for key, text in raw.items()}


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


# Onnx bytes ---------------------------------------------------------------------------------------
# The bytes of an ONNX file: the fields of its messages, and a copy of it for many worlds.
#
# A file is protobuf, of which this has as much as is needed. Exports often fix the size of the
# batch to 1. The size is part of the declared shapes of inputs and outputs only, so a copy with
# other shapes runs many worlds at once; whether its nodes agree is for the caller to try.


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


def _encoded_field(number: int, content: bytes) -> bytes:
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
        _encoded_field(_GRAPH, _graph(value, axes))
        if number == _GRAPH and isinstance(value, memoryview)
        else bytes(whole)
        for number, value, whole in pieces(memoryview(content))
    )


def _graph(content: memoryview, axes: Mapping[str, int]) -> bytes:
    found = []
    for number, value, whole in pieces(content):
        if number in (_INPUT, _OUTPUT) and isinstance(value, memoryview):
            found.append(_encoded_field(number, _tensor(value, axes)))
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
        sizes[axis] = _encoded_field(1, _encoded_field(2, _WORLDS))
        return b"".join(sizes)
    return b"".join(
        _encoded_field(number, _inside(value, path[1:], axis))
        if number == path[0] and isinstance(value, memoryview)
        else bytes(whole)
        for number, value, whole in pieces(content)
    )


# Onnx graph ---------------------------------------------------------------------------------------
# The graph of an ONNX file: nodes, constants and where weights lie, without running anything.
#
# onnxruntime runs a network but does not show it; the file is protobuf, of which this reads what is
# needed.


_GRAPH_FIELD, _NODE, _INITIALIZER = 7, 1, 5
_DTYPES = {1: "<f4", 7: "<i8", 6: "<i4", 11: "<f8"}
_LAYERS = ("Gemm", "MatMul", "LSTM", "GRU", "RNN", "Conv")


@dataclass(frozen=True)
class GraphNode:
    """One operation."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass
class OnnxGraph:
    """Nodes in order, small constants by name, and files beside it that hold weights."""

    nodes: list[GraphNode] = field(default_factory=list)
    constants: dict[str, FloatArray] = field(default_factory=dict)
    beside: list[str] = field(default_factory=list)

    def consumers(self, name: str) -> list[GraphNode]:
        """The operations that take a value."""
        return [node for node in self.nodes if name in node.inputs]

    def normalises(self, observation: str) -> bool:
        """Whether an input is shifted and scaled before the first layer takes it."""
        reached, queue = set(), [(observation, 0)]
        while queue:
            name, stage = queue.pop()
            if (name, stage) in reached:
                continue
            reached.add((name, stage))
            for node in self.consumers(name):
                if node.kind in _LAYERS:
                    if stage == 2:
                        return True
                    continue
                after = stage
                after = 1 if node.kind == "Sub" and stage == 0 else after
                after = 2 if node.kind in ("Div", "Mul") and stage == 1 else after
                queue += [(output, after) for output in node.outputs]
        return False

    def subtracted(self, name: str, size: int) -> FloatArray | None:
        """The constant that is subtracted from an input, of that size; None: there is none."""
        seen, queue = set(), [name]
        while queue:
            value = queue.pop()
            if value in seen:
                continue
            seen.add(value)
            for node in self.consumers(value):
                others = [i for i in node.inputs if i != value]
                if node.kind == "Sub" and node.inputs[0] == value and others:
                    found = self.constants.get(others[0])
                    if found is not None and found.size == size:
                        return found.reshape(-1)
                if node.kind in ("Identity", "Squeeze", "Unsqueeze", "Reshape", "Cast"):
                    queue += node.outputs
        return None


def read_graph(path: Path) -> OnnxGraph:
    """The graph of a file; an empty one where the file is none that is understood."""
    found = OnnxGraph()
    try:
        content = memoryview(path.read_bytes())
        for number, value in fields(content):
            if number == _GRAPH_FIELD and isinstance(value, memoryview):
                _read_graph(value, found)
    except (OSError, ValueError, IndexError, UnicodeDecodeError):
        return OnnxGraph()
    return found


def _read_graph(content: memoryview, found: OnnxGraph) -> None:
    for number, value in fields(content):
        if number == _NODE and isinstance(value, memoryview):
            _read_node(value, found)
        elif number == _INITIALIZER and isinstance(value, memoryview):
            _read_tensor(value, found)


def _read_node(content: memoryview, found: OnnxGraph) -> None:
    inputs, outputs, kind = [], [], ""
    tensors = []
    for number, value in fields(content):
        if not isinstance(value, memoryview):
            continue
        if number == 1:
            inputs.append(text(value))
        elif number == 2:
            outputs.append(text(value))
        elif number == 4:
            kind = text(value)
        elif number == 5:
            tensors += [v for n, v in fields(value) if n == 5 and isinstance(v, memoryview)]
    if kind == "Constant" and tensors and outputs:
        _read_tensor(tensors[0], found, outputs[0])
    found.nodes.append(GraphNode(kind, tuple(inputs), tuple(outputs)))


def _read_tensor(content: memoryview, found: OnnxGraph, name: str = "") -> None:
    kind, raw, floats = 0, None, []
    for number, value in fields(content):
        if isinstance(value, int):
            kind = value if number == 2 else kind
        elif number == 8:
            name = name or text(value)
        elif number == 9:
            raw = value
        elif number == 4:
            floats.append(value)
        elif number == 13:
            entry = {n: text(v) for n, v in fields(value) if isinstance(v, memoryview)}
            if entry.get(1) == "location" and entry.get(2) not in found.beside:
                found.beside.append(entry.get(2, ""))
    if kind not in _DTYPES:
        return
    with np.errstate(invalid="ignore"):  # a signalling NaN of a damaged file
        if raw is not None and len(raw) % np.dtype(_DTYPES[kind]).itemsize == 0:
            found.constants[name] = np.frombuffer(raw, _DTYPES[kind]).astype(np.float64)
        elif floats:
            found.constants[name] = np.frombuffer(b"".join(floats), "<f4").astype(np.float64)
