"""Small networks and policy files made for tests."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import mjrig
from mjrig.components import PDController, Policy, PolicyFile
from tests.networks import onnx, save, tensor, value
from tests.worlds import arm, make_robot

JOINTS = ["shoulder", "elbow"]


def linear(path: Path, weights: npt.ArrayLike, *, size: Any = None, leave: str = "") -> Path:
    """action = obs · weights, of shape (observation, action); `leave` is another open input."""
    matrix = np.asarray(weights, np.float32)
    nodes = [onnx.helper.make_node("MatMul", ["obs", "w"], ["actions"])]
    inputs = [value("obs", [1, size or matrix.shape[0]])]
    inputs += [value(leave, [1, 3])] if leave else []
    return save(
        path, nodes, inputs, [value("actions", [1, matrix.shape[1]])], [tensor("w", matrix)], None
    )


def idle(path: Path, joints: int) -> Path:
    """Zeros, whatever it sees and however much of it."""
    nodes = [
        onnx.helper.make_node("ReduceSum", ["obs"], ["sum"], keepdims=1),
        onnx.helper.make_node("MatMul", ["sum", "w"], ["actions"]),
    ]
    weights = [tensor("w", np.zeros((1, joints)))]
    return save(
        path, nodes, [value("obs", [1, "n"])], [value("actions", [1, joints])], weights, None
    )


def counting(path: Path, size: int, joints: int = 2) -> Path:
    """action = h, h ← h + 1: what it gives is how often it ran."""
    nodes = [
        onnx.helper.make_node("Add", ["h_in", "one"], ["h_out"]),
        onnx.helper.make_node("ReduceSum", ["obs"], ["sum"], keepdims=1),
        onnx.helper.make_node("Mul", ["sum", "zero"], ["none"]),
        onnx.helper.make_node("Add", ["h_in", "none"], ["actions"]),
    ]
    inputs = [value("obs", [1, size]), value("h_in", [1, joints])]
    outputs = [value("actions", [1, joints]), value("h_out", [1, joints])]
    return save(path, nodes, inputs, outputs, [tensor("one", 1.0), tensor("zero", 0.0)], None)


def policy_data(**said: Any) -> dict[str, Any]:
    """A policy on the arm's two joints that sees positions, unless told otherwise."""
    data: dict[str, Any] = {
        "network": "policy.onnx",
        "joints": JOINTS,
        "observation": {"terms": [{"type": "JointPositions"}]},
    }
    return data | said


def write(folder: Path, **said: Any) -> Path:
    """A policy file; its network is the identity unless there is one already."""
    data = policy_data(**said)
    if not (folder / "policy.onnx").exists() and data["network"] == "policy.onnx":
        linear(folder / "policy.onnx", np.eye(len(data["joints"])))
    PolicyFile.from_data(data).save(folder / "policy.yaml")
    return folder / "policy.yaml"


def make(
    folder: Path,
    *,
    xml: str | None = None,
    pd: Mapping[str, Any] | None = None,
    policy: Mapping[str, Any] | None = None,
    actor: Mapping[str, Any] | None = None,
    **said: Any,
) -> tuple[mjrig.World, mjrig.Articulation, Policy]:
    """A world with an arm under PD, and a policy on it."""
    own = Policy(file=str(write(folder, **said)), **(policy or {}))
    parts = [PDController(**pd) if pd is not None else PDController(kp=10, kv=1), own]
    world, robot = make_robot(xml or arm(), *parts, **(actor or {}))
    return world, robot, policy_of(robot)


def policy_of(robot: mjrig.Articulation) -> Policy:
    """The policy of a robot."""
    found = robot.components[-1]
    assert isinstance(found, Policy)
    return found


def constants(*values: float) -> dict[str, Any]:
    """An observation of numbers that never change."""
    return {"terms": [{"type": "Constant", "values": list(values)}]}
