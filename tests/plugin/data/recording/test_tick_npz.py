"""The layout that keeps a run by policy ticks."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.data.recording.recording import ActorRecording, Recording
from mjrig.data.recording.tick_npz import read
from tests.plugin.lab.replay.recorded import biped, tick_arrays, write_ticks
from tests.wording import mentions
from tests.worlds import refused


def load(path: Path, **hints: object) -> tuple[Recording, ActorRecording]:
    found = read(path, hints)
    assert found is not None
    return found, next(iter(found.actors.values()))


def test_a_file_becomes_a_recording(tmp_path: Path) -> None:
    run, actor = load(write_ticks(tmp_path / "a.npz"))
    assert (run.timestep, run.steps, actor.name) == (0.002, 100, "biped")
    assert [(j.name, j.kind) for j in actor.joints[:2]] == [("", "free"), ("left_hip", "hinge")]
    assert actor.step.tolist() == [*range(31), *range(40, 101, 10)]
    assert actor.commands is not None and actor.efforts is not None
    assert actor.commands.step.tolist() == list(range(0, 100, 10))
    assert actor.efforts.effort.shape == (30, 4)
    assert actor.plant.joints["kp"]["left_knee"] == 80.0
    assert actor.plant.overall["integrator"] == "Euler"


def test_it_is_replayed_to_the_bit(tmp_path: Path) -> None:
    result = mjrig.replay(write_ticks(tmp_path / "a.npz"), biped())
    assert (result.verdict, result.bit_exact) == ("matches", True)


def test_targets_are_put_into_the_actuators_columns(tmp_path: Path) -> None:
    arrays = tick_arrays()
    order = [2, 0, 3, 1]  # policy joint → actuator
    names = ["right_hip", "left_hip", "right_knee", "left_knee"]
    path = write_ticks(
        tmp_path / "a.npz",
        policy_target=arrays["policy_target"][:, order],
        meta_policy_to_actuator=order,
        meta_joint_names_policy=names,
        meta_kp=[1.0, 2.0, 3.0, 4.0],
    )
    _, actor = load(path)
    assert actor.commands is not None
    assert np.array_equal(actor.commands.position, arrays["policy_target"])
    assert actor.plant.joints["kp"]["right_knee"] == 3.0


def test_twice_as_many_targets_are_positions_and_velocities(tmp_path: Path) -> None:
    targets = np.arange(80.0).reshape(10, 8).astype(np.float32)
    _, actor = load(write_ticks(tmp_path / "a.npz", policy_target=targets))
    assert actor.commands is not None
    assert np.array_equal(actor.commands.velocity, targets[:, 4:])


def test_gains_that_are_the_policys_own_are_the_scenes(tmp_path: Path) -> None:
    path = write_ticks(
        tmp_path / "a.npz",
        gain_tick=np.array([0, 3], np.int32),
        gain_kp=np.array([[200.0] * 4, [80.0] * 4]),
        gain_kd=np.array([[9.0] * 4, [3.0] * 4]),
    )
    _, actor = load(path)
    stand, own = actor.gain_changes
    assert stand.gains is not None and stand.gains["kv"].tolist() == [9.0] * 4
    assert (own.step, own.gains) == (30, None)


def test_a_hint_names_the_robot(tmp_path: Path) -> None:
    assert load(write_ticks(tmp_path / "a.npz"), robot="robot")[1].name == "robot"


def test_other_files_are_not_claimed(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", qpos=np.zeros(3))
    (tmp_path / "a.npz").write_text("no archive")
    assert read(tmp_path / "other.npz", {}) is None
    assert read(tmp_path / "a.npz", {}) is None
    assert read(tmp_path / "a.csv", {}) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tick_qvel": None}, "lacks the array tick_qvel"),
        ({"meta_tau_dofs": "gone", "meta_actuator_names": ["left_hip", "m1", "m2", "m3"]},
         "the joint of the … 'm1' … meta.tau_dofs …"),
        ({"meta": "{"}, "meta is not JSON: Expecting property … 1 … 2 … 1)"),
        ({"meta": "[]"}, "meta is not a JSON …"),
        ({"qpos0": np.zeros(3)}, "qpos0 must have shape (11,), got (3,)"),
        ({"tick_qpos": np.full((10, 11), np.nan)}, "tick_qpos[0, 0] is not finite"),
        ({"policy_target": np.zeros((10, 5))},
         "policy_target must have shape (10, 4), got (10, 5)"),
        ({"policy_step": np.arange(10)[::-1]}, "policy_step must grow from 0 to … 100"),
        ({"meta_nq": 12}, "5 joints do not make … 12 … 10 …"),
        ({"meta_n_physics_steps": 0}, "meta.n_physics_steps must be a whole … >= 1, … 0"),
        ({"meta_timestep": 0.0}, "meta.timestep must be > 0 and < 1000 s, got 0.0"),
        ({"meta_tau_dofs": [6, 7]},
         "meta.tau_dofs does not name one … 4 …"),
        ({"meta_policy_to_actuator": [0, 0, 1, 2]},
         "meta.policy_to_actuator does not name one …"),
        ({"meta_joint_names_policy": ["left_knee", "left_hip", "right_hip", "right_knee"]},
         "meta.joint_names_policy and meta.policy_to_actuator contradict each other: "
         "left_knee … left_hip"),
        ({"meta_joint_names_policy": ["left_hip"] * 4},
         "meta.joint_names_policy has 'left_hip' twice"),
        ({"meta_joint_names_mj": "root"},
         "meta.joint_names_mj must be a list … 'root'"),
        ({"meta_kp": [80, 80]}, "meta.kp must be a number … 4 … [80, 80]"),
        ({"meta_kd": float("nan")}, "meta.kd must be a number … 4 … nan"),
        ({"policy_obs": np.full((10, 3), np.inf)}, "policy_obs[0, 0] is not finite"),
        ({"policy_cmd": np.zeros((9, 3))}, "policy_cmd must have shape (10, 3), got (9, 3)"),
        ({"policy_step": np.array(0)}, "policy_step must have shape (1,), got ()"),
        ({"head_qvel": None}, "lacks the array head_qvel"),
        ({"gain_tick": np.array([0])}, "lacks the array gain_kp"),
    ],
)  # fmt: skip
def test_a_broken_file_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = write_ticks(tmp_path / "a.npz", **changes)
    with refused(mjrig.RecordingError, f"{path}: {message}"):
        read(path, {})


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    path = write_ticks(tmp_path / "a.npz")
    data = bytearray(path.read_bytes())
    at = data.find(b"tick_qpos") + 200
    data[at : at + 400] = bytes(400)
    path.write_bytes(bytes(data))
    with pytest.raises(mjrig.RecordingError, match=r"a\.npz: is damaged: tick_qpos: "):
        read(path, {})


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    path = write_ticks(tmp_path / "a.npz", policy_cmd=np.array([{}, []], dtype=object))
    recording = read(path, {})
    assert recording is not None
    assert any(mentions(n, "policy_cmd is skipped: it holds Python …") for n in recording.notes)
    path = write_ticks(tmp_path / "a.npz", policy_target=np.array([{}, []], dtype=object))
    with pytest.raises(mjrig.RecordingError, match="policy_target: holds Python objects"):
        read(path, {})


@pytest.mark.parametrize("suffix", ["", "_motor", "_act"])
def test_actuators_are_known_by_name_without_tau_dofs(suffix: str, tmp_path: Path) -> None:
    joints = ["left_hip", "left_knee", "right_hip", "right_knee"]
    named = [f"{j}{suffix}" for j in joints]
    path = write_ticks(tmp_path / "a.npz", meta_tau_dofs="gone", meta_actuator_names=named)
    found = read(path, {})
    assert found is not None and list(found.actors["biped"].driven) == joints
