"""Policies that take turns: each is checked while it was in charge."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components import PDController, Policy, PolicySwitch
from mjrig.data.recording.readers import read_recording
from mjrig.data.recording.recorder import Recorder
from mjrig.data.recording.recording import Recording
from mjrig.lab.replay.diagnosis.diagnose import diagnose_policy
from tests.components.policies.small import counting, linear, write
from tests.worlds import arm, make_robot

TERMS = [{"type": "JointPositions"}, {"type": "JointVelocities", "scale": 0.3},
         {"type": "LastAction"}]  # fmt: skip
pytest.importorskip("h5py")


def policy(folder: Path, name: str, seed: int, scale: float = 0.3, extra: bool = False) -> str:
    """A network of its own that sees positions, velocities and what it did."""
    (folder / name).mkdir(exist_ok=True)
    terms = [dict(term) for term in TERMS]
    terms[1]["scale"] = scale
    terms += [{"type": "Constant", "values": [0.5]}] if extra else []
    weights = np.random.default_rng(seed).normal(size=(6 + extra, 2))
    linear(folder / name / "policy.onnx", 0.4 * weights)
    joints = ["elbow", "shoulder"] if extra else ["shoulder", "elbow"]
    return str(write(folder / name, observation={"terms": terms}, joints=joints, decimation=5))


def switched(folder: Path, **second: Any) -> tuple[mjrig.World, Any, PolicySwitch]:
    """Two policies and a pause between them."""
    a = policy(folder, "a", 1)
    given: dict[str, Any] = {"seed": 2, "extra": True, **second}
    b = policy(folder, "b", **given)
    options = [{"name": "a", "file": a}, {"name": "rest", "after": 0.15},
               {"name": "b", "file": b, "after": 0.2}]  # fmt: skip
    switch = PolicySwitch(options=options, blend=0.02)
    world, robot = make_robot(arm(), PDController(kp=10, kv=1), switch)
    found = robot.components[-1]
    assert isinstance(found, PolicySwitch)
    return world, robot, found


@pytest.fixture
def recorded(tmp_path: Path) -> Recording:
    world, _, _ = switched(tmp_path)
    world.data.qpos[:2] = 0.4, -0.3
    with Recorder(world, tmp_path / "run.h5"):
        world.step(round(0.5 / world.model.opt.timestep))
    return read_recording(tmp_path / "run.h5")


def test_policies_that_took_turns_agree_with_their_recording(
    recorded: Recording, tmp_path: Path
) -> None:
    world, robot, switch = switched(tmp_path)
    assert diagnose_policy(recorded, world, "", None) == ([], [])
    assert switch.enabled and robot.components[-1] is switch


@pytest.mark.parametrize(
    ("change", "what"),
    [({"scale": 0.45}, "observation scale"), ({"seed": 3}, "network")],
)
def test_a_change_of_one_policy_is_found_in_its_turns(
    recorded: Recording, tmp_path: Path, change: dict[str, Any], what: str
) -> None:
    world, _, _ = switched(tmp_path, **change)
    found, _ = diagnose_policy(recorded, world, "", None)
    assert [f.kind for f in found if f.is_cause] == [what]
    assert all(f.where.split(":")[0] == "b" and not f.edits for f in found)


def test_answers_keep_the_memory_of_each(tmp_path: Path) -> None:
    files = []
    for name in "ab":
        (tmp_path / name).mkdir()
        counting(tmp_path / name / "policy.onnx", 2)
        files.append(str(write(tmp_path / name)))
    options = [{"name": n, "file": f} for n, f in zip("ab", files, strict=True)]
    _, robot = make_robot(arm(), PDController(kp=10, kv=1), PolicySwitch(options=options))
    rows = np.zeros((6, 3), np.float32)
    rows[:, 0] = 0, 0, 1, 0, 1, 1
    switch: Any = robot.components[-1]
    assert switch.answers(rows)[:, 0].tolist() == [0, 1, 0, 2, 1, 2]


def test_options_that_the_scene_has_not_are_named(recorded: Recording, tmp_path: Path) -> None:
    options = [{"name": "a", "file": policy(tmp_path, "a", 1)}]
    world, _ = make_robot(arm(), PDController(kp=10, kv=1), PolicySwitch(options=options))
    found, notes = diagnose_policy(recorded, world, "", None)
    assert not found
    assert notes == ["the policies: options 2 were recorded, which the scene has not: a"]


def test_a_switch_that_is_off_leaves_the_joints_alone(tmp_path: Path) -> None:
    world, robot, switch = switched(tmp_path)
    switch.enabled = False
    world.step(10)
    assert switch.ticks == 0
    robot.add_component(Policy(file=str(tmp_path / "a" / "policy.yaml")))
    world.step(10)
    robot.remove_component(robot.components[-1])
    switch.enabled = True
    world.step(10)
    assert switch.ticks > 0
