"""The graph of an ONNX file: nodes, constants and where weights lie, without running anything.

onnxruntime runs a network but does not show it; the file is protobuf, of which this reads what is
needed.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.laws.onnx_bytes import fields, text

_GRAPH, _NODE, _INITIALIZER = 7, 1, 5
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
            if number == _GRAPH and isinstance(value, memoryview):
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
