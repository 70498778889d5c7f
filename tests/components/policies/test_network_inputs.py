"""Networks with several inputs: vectors, images and a state, each from its own terms."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mjrig.components.policies.network import Image, input_shape
from mjrig.core.errors import BindingError, MjrigError
from tests.components.policies.small import make
from tests.components.policies.terms.test_eyes import ROBOT
from tests.networks import onnx, save, tensor, value
from tests.wording import mentions, regex

XML = ROBOT.replace("DATA", "depth")
EYE = {"type": "DepthImage", "camera": "eye", "size": [8, 5], "far": 3.0, "input": "depth"}
SCAN = {"type": "HeightScan", "extent": [0.4, 0.2], "resolution": 0.2, "input": "scan"}
ROWS, COLUMNS = 5, 8


def seeing(path: Path, shapes: dict[str, list[Any]], sizes: dict[str, int]) -> dict[str, Any]:
    """A network whose action is the sum of weighted inputs and of its state, which counts."""
    random = np.random.default_rng(5)
    weights = {name: random.normal(size=(sizes[name], 1)).astype(np.float32) for name in shapes}
    nodes, rows = [], ["h_in"]
    for name in shapes:
        nodes += [
            onnx.helper.make_node("Reshape", [name, "flat"], [f"{name}_row"]),
            onnx.helper.make_node("MatMul", [f"{name}_row", f"{name}_w"], [f"{name}_y"]),
        ]
        rows.append(f"{name}_y")
    nodes += [
        onnx.helper.make_node("Sum", rows, ["actions"]),
        onnx.helper.make_node("Add", ["h_in", "one"], ["h_out"]),
    ]
    constants = [tensor(f"{name}_w", matrix) for name, matrix in weights.items()]
    constants += [tensor("one", 1.0), onnx.numpy_helper.from_array(np.array([1, -1]), "flat")]
    inputs = [value(name, shape) for name, shape in shapes.items()]
    outputs = [value("actions", [1, 1]), value("h_out", [1, 1])]
    save(path, nodes, [*inputs, value("h_in", [1, 1])], outputs, constants, None)
    return weights


def terms(frames: int) -> list[dict[str, Any]]:
    return [{"type": "JointPositions", "history": 2}, {**EYE, "history": frames},
            {"type": "Constant", "values": [0.3, -0.7]}, SCAN]  # fmt: skip


@pytest.mark.parametrize(
    ("frames", "depth", "scan"),
    [
        (1, [1, 1, ROWS, COLUMNS], [1, 2, 3]),
        (3, [1, 3, ROWS, COLUMNS], [1, 1, 2, 3]),
        (3, [1, ROWS, COLUMNS, 3], ["batch", 6]),
        (2, [2, ROWS, COLUMNS], [2, 3]),
        (2, ["batch", 2, "rows", "columns"], [6]),
        (2, [1, 2, 1, ROWS, COLUMNS], [1, 2, 3, 1]),
        (4, [1, 4 * ROWS * COLUMNS], [1, "n"]),
    ],
)
def test_every_input_has_its_terms(
    tmp_path: Path, frames: int, depth: list[Any], scan: list[Any]
) -> None:
    sizes = {"obs": 4, "depth": frames * ROWS * COLUMNS, "scan": 6}
    shapes = {"scan": scan, "obs": [1, 4], "depth": depth}
    weights = seeing(tmp_path / "policy.onnx", shapes, sizes)
    world, _, policy = make(
        tmp_path, xml=XML, joints=["turn"], decimation=2, observation={"terms": terms(frames)}
    )
    world.step(9)
    seen = policy.observation.astype(np.float64)
    q, image, rest, ground = np.split(seen, np.cumsum([2, frames * ROWS * COLUMNS, 2]))
    assert len(np.unique(image.round(4))) > 10  # another arrangement would not go unnoticed
    image = image.reshape(frames, ROWS, COLUMNS)
    if depth[-1] == frames and frames > 1:  # channels last
        image = np.stack(list(image), axis=-1)
    wanted = np.concatenate([q, rest]) @ weights["obs"] + ground @ weights["scan"]
    wanted = wanted + image.reshape(-1) @ weights["depth"] + (policy.ticks - 1)
    assert policy.ticks == 5
    np.testing.assert_allclose(policy.action, wanted.astype(np.float32), rtol=1e-5, atol=1e-5)


def test_frames_of_one_input_stand_beside_images_of_another(tmp_path: Path) -> None:
    sizes = {"obs": 9, "depth": ROWS * COLUMNS}
    shapes = {"obs": [1, 3, 3], "depth": [1, ROWS, COLUMNS]}
    seeing(tmp_path / "policy.onnx", shapes, sizes)
    found = {"terms": [{"type": "JointPositions", "history": 3}, {**EYE, "history": 1},
                       {"type": "Constant", "values": [0.3, -0.7], "history": 3}],
             "history": {"length": 3, "by": "frame"}}  # fmt: skip
    world, _, policy = make(tmp_path, xml=XML, joints=["turn"], observation=found)
    world.data.qpos[7] = 0.2
    world.step(4)
    frames = policy.observation[:9].reshape(3, 3)
    np.testing.assert_allclose(frames[:, 1:], [[0.3, -0.7]] * 3, rtol=1e-6)
    assert frames[0, 0] != frames[2, 0]
    found["terms"][2]["history"] = 2  # type: ignore[index]
    with pytest.raises(BindingError, match=regex("one length for all … 3, 2")):
        make(tmp_path, xml=XML, joints=["turn"], observation=found)


@pytest.mark.parametrize(
    ("depth", "text"),
    [
        ([1, COLUMNS, ROWS], "takes 'depth' of shape [1, 8, 5], and … 5 … 8 …"),
        ([1, 2, ROWS, COLUMNS], "has an image of 5 … 8 …"),
        ([1, 39], "takes 'depth' of shape [1, 39]"),
    ],
)  # fmt: skip
def test_an_image_of_another_shape_is_refused(tmp_path: Path, depth: list[Any], text: str) -> None:
    sizes = {"obs": 1, "depth": int(np.prod(depth))}
    seeing(tmp_path / "policy.onnx", {"obs": [1, 1], "depth": depth}, sizes)
    found = {"terms": [{"type": "JointPositions"}, EYE]}
    with pytest.raises(MjrigError) as caught:
        make(tmp_path, xml=XML, joints=["turn"], observation=found)
    assert mentions(str(caught.value), text) and "DepthImage 40" in str(caught.value)


def test_a_vector_of_another_size_is_refused_by_the_name_of_its_input(tmp_path: Path) -> None:
    seeing(tmp_path / "policy.onnx", {"obs": [1, 1], "goal": [1, 3]}, {"obs": 1, "goal": 3})
    goal = {"type": "Constant", "values": [1.0, 2.0], "input": "goal"}
    found = {"terms": [{"type": "JointPositions"}, goal]}
    with pytest.raises(MjrigError, match=regex("takes 'goal' of shape [1, 3], and … 2 …")):
        make(tmp_path, xml=XML, joints=["turn"], observation=found)


def test_an_image_never_fills_an_input_that_only_has_its_number_of_values() -> None:
    image = Image(2, 4, 6)
    assert input_shape([1, 6, 4, 2], 48, image) is None
    assert input_shape([1, 2, 6, 4], 48, image) is None
    assert input_shape([1, 4, 6, 2], 48, image) is not None
    assert input_shape([1, "t", 6], 18, None) is not None
    assert input_shape([1, 5], 6, None) is None
    assert input_shape(["n"], 6, None) is not None
