"""Small actuator networks made for tests, and the same in numpy."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

onnx: Any = __import__("pytest").importorskip("onnx")
Float32 = npt.NDArray[np.float32]


def tensor(name: str, values: npt.ArrayLike) -> Any:
    return onnx.numpy_helper.from_array(np.asarray(values, np.float32), name)


def value(name: str, shape: list[Any]) -> Any:
    return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)


def save(
    path: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], weights: list[Any],
    metadata: dict[str, Any] | None,
) -> Path:  # fmt: skip
    graph = onnx.helper.make_graph(nodes, "net", inputs, outputs, weights)
    opset = [onnx.helper.make_opsetid("", 17)]
    model = onnx.helper.make_model(graph, opset_imports=opset, ir_version=9)
    if metadata is not None:
        entry = model.metadata_props.add()
        entry.key, entry.value = "metadata", json.dumps(metadata)
    onnx.save(model, str(path))
    return path


def mlp(path: Path, columns: int, metadata: dict[str, Any] | None = None, width: int = 5) -> Any:
    """tanh MLP columns → width → 1; returns its numpy twin."""
    random = np.random.default_rng(columns)
    a = random.normal(size=(columns, width)).astype(np.float32)
    b = random.normal(size=(width, 1)).astype(np.float32)
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "a"], ["h"]),
        onnx.helper.make_node("Tanh", ["h"], ["t"]),
        onnx.helper.make_node("MatMul", ["t", "b"], ["y"]),
    ]
    save(
        path, nodes, [value("x", ["n", columns])], [value("y", ["n", 1])],
        [tensor("a", a), tensor("b", b)], metadata,
    )  # fmt: skip
    return lambda x: np.tanh(x @ a) @ b


def lstm(
    path: Path,
    metadata: dict[str, Any] | None = None,
    hidden: int = 4,
    *,
    batch_first: bool = False,
) -> None:
    """One LSTM layer and a linear head; `batch_first`: the input is (n, 1, 2), not (1, n, 2)."""
    random = np.random.default_rng(7)
    weights = [
        tensor("w", random.normal(size=(1, 4 * hidden, 2))),
        tensor("r", random.normal(size=(1, 4 * hidden, hidden))),
        tensor("b", random.normal(size=(1, 8 * hidden))),
        tensor("head", random.normal(size=(hidden, 1))),
        onnx.numpy_helper.from_array(np.array([0, 1]), "axes"),
    ]
    nodes = [
        onnx.helper.make_node(
            "LSTM", ["x", "w", "r", "b", "", "h_in", "c_in"], ["all", "h_out", "c_out"],
            hidden_size=hidden,
        ),
        onnx.helper.make_node("Squeeze", ["all", "axes"], ["rows"]),
        onnx.helper.make_node("MatMul", ["rows", "head"], ["y"]),
    ]  # fmt: skip
    state = [1, "n", hidden]
    shape: list[Any] = [1, "n", 2]
    if batch_first:
        shape = ["n", 1, 2]
        nodes.insert(0, onnx.helper.make_node("Transpose", ["x"], ["turned"], perm=[1, 0, 2]))
        nodes[1].input[0] = "turned"
    inputs = [value("x", shape), value("h_in", state), value("c_in", state)]
    outputs = [value("y", ["n", 1]), value("h_out", state), value("c_out", state)]
    save(path, nodes, inputs, outputs, weights, metadata)


def gru(path: Path, metadata: dict[str, Any], hidden: int = 4) -> None:
    """One GRU layer and a linear head, input columns as the metadata says."""
    random = np.random.default_rng(9)
    columns = len(metadata["input_columns"])
    weights = [
        tensor("w", random.normal(size=(1, 3 * hidden, columns))),
        tensor("r", random.normal(size=(1, 3 * hidden, hidden))),
        tensor("b", random.normal(size=(1, 6 * hidden))),
        tensor("head", random.normal(size=(hidden, 1))),
        onnx.numpy_helper.from_array(np.array([0, 1]), "axes"),
    ]
    nodes = [
        onnx.helper.make_node(
            "GRU", ["x", "w", "r", "b", "", "h_in"], ["all", "h_out"],
            hidden_size=hidden, linear_before_reset=1,
        ),
        onnx.helper.make_node("Squeeze", ["all", "axes"], ["rows"]),
        onnx.helper.make_node("MatMul", ["rows", "head"], ["y"]),
    ]  # fmt: skip
    state = [1, "n", hidden]
    inputs = [value("x", [1, "n", columns]), value("h_in", state)]
    outputs = [value("y", ["n", 1]), value("h_out", state)]
    save(path, nodes, inputs, outputs, weights, metadata)
