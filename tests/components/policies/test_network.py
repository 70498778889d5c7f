"""Networks: recurrent states, motions inside of them, TorchScript."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mjrig.components.policies.network import OnnxNetwork
from mjrig.components.policies.policy_file import PolicyFile
from mjrig.components.policies.policy_loop import load_network
from mjrig.core.errors import BindingError, PolicyError
from tests.components.policies.small import constants, counting, make, policy_data
from tests.networks import onnx, save, tensor, value
from tests.wording import regex
from tests.worlds import refused


def said(**other: Any) -> PolicyFile:
    return PolicyFile.from_data(policy_data(**other))


def carrying(path: Path, inputs: list[str], outputs: list[str], sizes: Any = (2, 2)) -> Path:
    """A network that hands each of its states on; the action is the observation."""
    nodes = [onnx.helper.make_node("Identity", ["obs"], ["actions"])]
    nodes += [
        onnx.helper.make_node("Tile", [i, f"n_{o}"], [o])
        for i, o in zip(inputs, outputs, strict=True)
    ]
    times = [
        onnx.numpy_helper.from_array(np.array([1, sizes[1] // sizes[0]]), f"n_{o}") for o in outputs
    ]
    states = [value(name, [1, sizes[0]]) for name in inputs]
    results = [value(name, [1, sizes[1]]) for name in outputs]
    return save(
        path, nodes, [value("obs", [1, 2]), *states], [value("actions", [1, 2]), *results], times,
        None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("taken", "given"),
    [("h_in", "h_out"), ("state", "next_state"), ("h", "hn"), ("in_h", "out_h"), ("c", "c_out")],
)
def test_states_are_found_by_their_names(taken: str, given: str, tmp_path: Path) -> None:
    network = OnnxNetwork(carrying(tmp_path / "net.onnx", [taken], [given]), said())
    assert list(network.memory()["_state"]) == [taken]


def test_states_may_be_said(tmp_path: Path) -> None:
    path = carrying(tmp_path / "net.onnx", ["x", "y"], ["u", "v"])
    with pytest.raises(PolicyError, match=regex("also takes x, y, which nothing feeds")):
        OnnxNetwork(path, said())
    network = OnnxNetwork(path, said(recurrent={"x": "u", "y": "v"}))
    assert list(network.memory()["_state"]) == ["x", "y"]


def test_states_of_two_shapes_are_refused(tmp_path: Path) -> None:
    path = carrying(tmp_path / "net.onnx", ["h_in"], ["h_out"], sizes=(2, 4))
    message = "net.onnx: recurrent: 'h_in' has shape [1, 2] but 'h_out' has [1, 4]"
    with refused(PolicyError, message):
        OnnxNetwork(path, said())


def test_memory_is_kept_reset_and_restored(tmp_path: Path) -> None:
    network = OnnxNetwork(counting(tmp_path / "net.onnx", 2), said())
    seen = np.zeros(2, dtype=np.float32)
    network.run(seen, 0)
    kept = network.memory()
    assert network.run(seen, 1).tolist() == [1, 1]
    network.restore(kept)
    assert network.run(seen, 1).tolist() == [1, 1]
    network.reset()
    assert network.run(seen, 0).tolist() == [0, 0]


def test_a_bad_output_leaves_the_memory(tmp_path: Path) -> None:
    network = OnnxNetwork(counting(tmp_path / "net.onnx", 2), said())
    network.run(np.zeros(2, dtype=np.float32), 0)
    assert not np.isfinite(network.run(np.full(2, np.nan, dtype=np.float32), 1)).any()
    assert network.run(np.zeros(2, dtype=np.float32), 2).tolist() == [1, 1]


# Motions inside ---------------------------------------------------------------------------------


def moving(path: Path) -> Path:
    """A network with a motion inside: joint k is at frame + k; the action is the observation."""
    nodes = [
        onnx.helper.make_node("Identity", ["obs"], ["actions"]),
        onnx.helper.make_node("Add", ["time_step", "each"], ["joint_pos"]),
        onnx.helper.make_node("Mul", ["joint_pos", "zero"], ["joint_vel"]),
        onnx.helper.make_node("Identity", ["places"], ["body_pos_w"]),
        onnx.helper.make_node("Identity", ["turns"], ["body_quat_w"]),
    ]
    weights = [
        tensor("each", [[0.0, 1.0]]),
        tensor("zero", 0.0),
        tensor("places", np.arange(6.0).reshape(1, 2, 3)),
        tensor("turns", [[[1, 0, 0, 0], [0, 1, 0, 0]]]),
    ]
    outputs = [
        value("actions", [1, 4]), value("joint_pos", [1, 2]), value("joint_vel", [1, 2]),
        value("body_pos_w", [1, 2, 3]), value("body_quat_w", [1, 2, 4]),
    ]  # fmt: skip
    inputs = [value("obs", [1, 4]), value("time_step", [1, 1])]
    return save(path, nodes, inputs, outputs, weights, None)


def test_the_motion_of_a_network_is_that_of_the_tick(tmp_path: Path) -> None:
    moving(tmp_path / "policy.onnx")
    file = said(time_step="time_step", motion={"from_network": True, "bodies": ["a", "b"]})
    network = OnnxNetwork(tmp_path / "policy.onnx", file)
    assert network.reference(3)["joint_pos"].tolist() == [[3, 4]]
    assert network.reference(0)["joint_pos"].tolist() == [[0, 1]]


# TorchScript ------------------------------------------------------------------------------------


def torch_module(path: Path) -> Path:
    """action = obs + how often it ran, kept in a buffer of the module."""
    torch = pytest.importorskip("torch")

    class Counting(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("runs", torch.zeros(1))

        def forward(self, x):  # type: ignore[no-untyped-def]
            out = x + self.runs
            self.runs += 1.0
            return out

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.trace(Counting(), torch.zeros(1, 2)).save(str(path))
    return path


def test_a_torchscript_network_keeps_its_buffers(tmp_path: Path) -> None:
    torch_module(tmp_path / "policy.pt")
    said_so: dict[str, Any] = {"network": "policy.pt", "observation": constants(1.0, 2.0)}
    world, _, policy = make(tmp_path, **said_so)
    world.step(2)
    first = policy.action.tolist()
    state = world.snapshot()
    world.step(2)
    later = policy.action.tolist()
    assert (np.array(later) - first).tolist() == [2, 2]
    world.restore(state)
    world.step(2)
    assert policy.action.tolist() == later
    world.reset()
    world.step(2)
    assert policy.action.tolist() == first


def test_a_file_that_is_no_torchscript_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "policy.pt").write_bytes(b"nothing")
    with pytest.raises(BindingError, match=r"policy\.pt: not a TorchScript file"):
        make(tmp_path, network="policy.pt", observation=constants(1.0, 2.0))


def test_without_torch_it_says_what_to_do(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "policy.pt").write_bytes(b"nothing")
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    file = said(network="policy.pt")
    file.save(tmp_path / "policy.yaml")
    message = "policy.pt: needs PyTorch, which is not … ONNX"
    with refused(PolicyError, message):
        load_network(file)
