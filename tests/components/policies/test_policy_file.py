"""Policy files: what they say, how they are saved, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mjrig.components.policies.policy_file import PolicyFile, TargetKind, given
from mjrig.core.errors import PolicyError, PropertyError
from tests.wording import regex
from tests.worlds import refused

FULL = """\
network: policy.onnx
joints: [hip, knee, wheel]
aliases: {foot: wheel}
timestep: 0.005
decimation: 4
phase: inside
state: float32
default: {hip: 0.1, knee: -1.5}
start: {duration: 1.0, kp: [80, 80, 0], kv: 3, target: default}
observation:
  clip: 100
  history: {length: 5, order: newest_first, fill: zeros, by: frame}
  terms:
    - {type: BaseAngularVelocity, scale: 0.25}
    - {type: CommandTerm, scale: [2, 2, 0.25], clip: [-1, 1], order: clip_then_scale}
    - {type: JointPositions, zero: [wheel]}
    - {type: GaitPhase, period: 0.8, form: cos_sin, history: 2}
action:
  mode: delta
  scale: {wheel: 5, default: 0.25}
  offset: default
  clip: [[-1, -2, -3], [1, 2, 3]]
  clip_target: ctrlrange
  targets: {wh.*: velocity}
command: {names: [vx, vy, wz], default: [0.5, 0, 0], schedule: [[0, 0, 0, 0], [1, 0.5, 0, 0]]}
recurrent: {h_in: h_out}
trained: {kp: 20, armature: [0.01, 0.02, 0.03], recovered: [armature]}
source: {stack: some_stack, notes: [read by hand]}
"""


def parsed(text: str) -> PolicyFile:
    return PolicyFile.parse(text, Path("policy.yaml"))


def test_values_are_spread_over_the_joints() -> None:
    said = parsed(FULL)
    assert said.default.tolist() == [0.1, -1.5, 0.0]
    assert said.action_recipe.scale.tolist() == [0.25, 0.25, 5.0]
    assert said.target_kinds == (TargetKind.POSITION, TargetKind.POSITION, TargetKind.VELOCITY)
    assert given(said.start, "kp").tolist() == [80, 80, 0]
    assert given(said.trained, "armature").tolist() == [0.01, 0.02, 0.03]
    assert given(said.trained, "kv") is None


def test_what_is_saved_is_read_back(tmp_path: Path) -> None:
    said = parsed(FULL)
    said.save(tmp_path / "policy.yaml")
    again = PolicyFile.load(tmp_path / "policy.yaml")
    assert again.to_data() == said.to_data()
    assert again.folder() == tmp_path


def test_float32_targets_keep_the_default_pose_in_float32() -> None:
    assert parsed(FULL).pose.tolist() == [float(np.float32(0.1)), -1.5, 0.0]
    exact = FULL.replace("mode: delta", "dtype: float64")
    assert parsed(exact).pose.tolist() == [0.1, -1.5, 0.0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("policy.onnx", "policy.onx",
         "1:10: network: policy.network: must end in .onnx or .pt … .yaml, … "
         "'policy.onx'"),
        ("[hip, knee, wheel]", "[hip, hip]", "2:15: joints: policy.joints: 'hip' is listed twice"),
        ("decimation: 4", "decimaton: 4",
         "5:1: decimaton: PolicyFile has no property 'decimaton'; did … 'decimation'?"),
        ("decimation: 4", "decimation: 0",
         "5:13: decimation: policy.decimation: must be >= 1 steps, got 0"),
        ("phase: inside", "phase: between",
         "6:8: phase: policy.phase: must be one of before, inside, after; … 'between'"),
        ("{hip: 0.1,", "{hop: 0.1,",
         "8:11: default: policy.default: 'hop' matches no joint; did … 'hip'?"),
        ("[80, 80, 0]", "[80]",
         "9:28: start.kp: policy.start.kp: must have 3 values, one … 1; … hip, knee, "
         "wheel"),
        ("type: CommandTerm", "type: Command",
         "15:14: observation.terms[1]: policy.observation.terms[1]: there is no "
         "observation … 'Command'; … 'CommandTerm'?"),
        ("clip: [-1, 1]", "clip: [1, -1]",
         "15:54: observation.terms[1].clip: policy.observation.terms[1].clip: the lower "
         "bound is … [1, -1]"),
        ("wh.*: velocity", "wh.*: speed",
         "24:19: action.targets: policy.action.targets: must be one of position, "
         "velocity, effort, got 'speed' … 'wh.*'"),
        ("wh.*: velocity", "foot: velocity",
         "24:12: action.targets: policy.action.targets: 'foot' matches no joint; "
         "available: hip, knee, wheel"),
        ("offset: default", "offset: none",
         "21:11: action.offset: policy.action.offset: must be numbers or … 'none'"),
        ("default: [0.5, 0, 0]", "default: [0.5, 0]",
         "25:41: command.default: policy.command.default: must have 3 values, got [0.5, 0]"),
        ("schedule: [[0, 0, 0, 0], [1, 0.5, 0, 0]]", "ranges: [[-1, 1], [0, 0], [1, -1]]",
         "25:62: command.ranges: policy.command.ranges: must have the lowest … [[-1, "
         "1], [0, 0], [1, -1]]"),
        ("[1, 0.5, 0, 0]]", "[0, 0.5, 0, 0]]",
         "25:64: command.schedule: policy.command.schedule: must have ascending times, "
         "got [[0, 0, 0, 0], [0, 0.5, 0, 0]]"),
        ("aliases: {foot: wheel}", "aliases: !!python/object:os.system {}",
         "3:10: aliases: the tag !!python/object:os.system is not … YAML"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place(old: str, new: str, message: str) -> None:
    assert old in FULL
    with refused(PolicyError, f"policy.yaml:{message}"):
        parsed(FULL.replace(old, new))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "policy: needs a network: policy.onnx"),
        ({"network": "a.onnx"}, "policy: needs joints: the names …"),
        (
            {"network": "a.onnx", "joints": ["a"]},
            "policy: needs observation.terms: what the network …",
        ),
    ],
)
def test_what_must_be_there(data: dict[str, Any], message: str, tmp_path: Path) -> None:
    with refused(PropertyError, message):
        PolicyFile.from_data(data).save(tmp_path / "policy.yaml")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["", "[]", "text"])
def test_a_file_that_is_no_mapping_is_refused(text: str) -> None:
    with pytest.raises(PolicyError, match="^" + regex("policy.yaml:1:1: must be a mapping, … ")):
        parsed(text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none.yaml"
    with refused(PolicyError, f"{path}: cannot be read: No such …"):
        PolicyFile.load(path)


def test_a_motion_comes_from_one_place() -> None:
    text = FULL + "motion: {file: clip.npz, from_network: true}\n"
    with pytest.raises(PolicyError, match=regex("give a file or from_network, …")):
        parsed(text)
