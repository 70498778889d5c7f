"""ONNX files for many worlds: the declared sizes change, and nothing else."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mjrig.components.laws.onnx_file import OnnxFile, for_worlds
from tests.networks import onnx, save, tensor, value


def network(folder: Path, random: np.random.Generator) -> tuple[Path, int, int]:
    """A linear network for one world, of random size; its path and sizes."""
    size, out = int(random.integers(1, 300)), int(random.integers(1, 40))
    nodes = [onnx.helper.make_node("MatMul", ["obs", "w"], ["actions"])]
    path = save(
        folder / "one.onnx", nodes, [value("obs", [1, size])], [value("actions", [1, out])],
        [tensor("w", random.normal(size=(size, out)))], {"note": "x" * int(random.integers(300))},
    )  # fmt: skip
    return path, size, out


def dims(model: Any) -> list[list[Any]]:
    """Declared sizes of inputs and outputs."""
    return [
        [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim]
        for v in (*model.graph.input, *model.graph.output)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_only_the_sizes_change(tmp_path: Path, seed: int) -> None:
    path, size, out = network(tmp_path, np.random.default_rng(seed))
    content = path.read_bytes()
    made = onnx.load_from_string(for_worlds(content, {"obs": 0, "actions": 0}))
    assert dims(made) == [["worlds", size], ["worlds", out]]
    for tensors in (made.graph.input, made.graph.output):
        for one in tensors:
            one.type.tensor_type.shape.dim[0].dim_value = 1
    assert made == onnx.load_from_string(content)
    assert onnx.load_from_string(for_worlds(content, {})) == onnx.load_from_string(content)


def test_weights_beside_the_file_are_found(tmp_path: Path) -> None:
    path, size, _ = network(tmp_path, np.random.default_rng(0))
    model = onnx.load(str(path))
    onnx.save(
        model, str(path), save_as_external_data=True, location="weights.bin", size_threshold=0
    )
    assert (tmp_path / "weights.bin").is_file()
    one = OnnxFile(path)
    many = OnnxFile(path, for_worlds(path.read_bytes(), {"obs": 0, "actions": 0}))
    rows = np.random.default_rng(1).normal(size=(5, size)).astype(np.float32)
    (together,) = many.session.run(None, {"obs": rows})
    alone = [one.session.run(None, {"obs": row[None]})[0][0] for row in rows]
    np.testing.assert_allclose(together, alone, rtol=1e-5, atol=1e-5)


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(ValueError, match="not a protobuf message"):
        for_worlds(b"\xff" * 20, {"obs": 0})
