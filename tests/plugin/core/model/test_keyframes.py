"""Keyframes of the scene, and states captured from a running world."""

from pathlib import Path

import numpy as np
import pytest

import mjrig
from mjrig.core.scene.scene_sections import Keyframe
from tests.plugin.composing import scene_of
from tests.worlds import ROVER, hinge, make_robot, refused

TURNED = {"position": [10.0, 0.0, 0.0], "euler_deg": [0.0, 0.0, 90.0]}
FILTER = '<general name="drive" joint="swing" dyntype="filter" dynprm="0.1"/>'
PID = '<pid name="p" joint="swing" kp="1" kv="1" input="pos vel ff"/>'
PD = "components: [{type: PDController, actuators: turn, kp: 5, kv: 0.1}]"


def test_a_keyframe_of_the_scene_stands_beside_the_models() -> None:
    crouch = {"name": "crouch", "joints": {"turn": 0.4}, "velocities": {"turn": 2}}
    world, robot = make_robot(ROVER, keyframes=[crouch], keyframe="crouch")
    assert robot.keyframes == ("home", "drive", "far", "crouch")
    assert world.data.qpos.tolist() == [0, 0, 0.5, 1, 0, 0, 0, 0.4]
    assert world.data.qvel[6] == 2
    world.reset("home")
    world.reset("crouch")
    assert world.data.qpos[7] == 0.4


def test_one_of_the_same_name_replaces_the_models() -> None:
    world, robot = make_robot(ROVER, keyframes=[{"name": "home", "joints": {"turn": 1}}])
    world.reset("home")
    assert world.data.qpos.tolist() == [0, 0, 0.5, 1, 0, 0, 0, 1]
    assert robot.keyframes == ("home", "drive", "far")


def test_free_joints_are_in_the_actors_own_frame_unless_absolute() -> None:
    there: dict[str, object] = {"name": "there", "joints": {"root": [1, 0, 0, 1, 0, 0, 0]},
             "velocities": {"root": [1, 0, 0, 0, 0, 1]}}  # fmt: skip
    world, _ = make_robot(ROVER, keyframes=[there], keyframe="there", pose=TURNED)
    half = np.sqrt(0.5)
    assert world.data.qpos[:7] == pytest.approx([10, 1, 0, half, 0, 0, half])
    assert world.data.qvel[:6] == pytest.approx([0, 1, 0, 0, 0, 1])
    there["absolute"] = True
    world, _ = make_robot(ROVER, keyframes=[there], keyframe="there", pose=TURNED)
    assert world.data.qpos[:7].tolist() == [1, 0, 0, 1, 0, 0, 0]
    assert world.data.qvel[:6].tolist() == [1, 0, 0, 0, 0, 1]


def test_activations_and_controls_are_by_actuator() -> None:
    wound = {"name": "wound", "activations": {"drive": 0.6}, "controls": {"p": [1, 2, 3]}}
    world, robot = make_robot(hinge(FILTER + PID), keyframes=[wound], keyframe="wound")
    assert world.data.act.tolist() == [0.6]
    world.step()
    assert world.data.ctrl.tolist() == [0, 1, 2, 3]
    assert robot.setpoints.position.tolist() == [0, 1]


def test_controls_that_are_not_given_are_seeded() -> None:
    both = '<position name="a" joint="swing" kp="1"/><position name="b" joint="swing" kp="1"/>'
    key = {"name": "k", "joints": {"swing": 0.3}, "controls": {"a": 0.1}}
    world, robot = make_robot(hinge(both), keyframes=[key], keyframe="k")
    assert robot.setpoints.position.tolist() == [0.1, 0.3]
    world.step()
    assert world.data.ctrl.tolist() == [0.1, 0.3]


def test_a_keyframe_of_the_scene_can_be_held() -> None:
    world, robot = make_robot(ROVER, keyframes=[{"name": "k", "controls": {"turn": 0.2}}])
    robot.hold("k")
    world.step()
    assert world.data.ctrl.tolist() == [0.2]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("name: k, joints: {trun: 1}",
         "5:28: actors[0].keyframes[0].joints: dog.keyframes[0].joints: 'dog' has no "
         "joint 'trun'; did … 'turn'?"),
        ("name: k, joints: {turn: [1, 2]}",
         "5:34: actors[0].keyframes[0].joints: dog.keyframes[0].joints: 'turn' is a "
         "hinge joint … 1 … 2"),
        ("name: k, joints: {root: 1}",
         "5:34: actors[0].keyframes[0].joints: dog.keyframes[0].joints: 'root' is a "
         "free joint … 7 … 1"),
        ("name: k, joints: {root: [0, 0, 0, 0, 0, 0, 0]}",
         "5:34: actors[0].keyframes[0].joints: dog.keyframes[0].joints: the quaternion "
         "of 'root' must …"),
        ("name: k, velocities: {turm: 1}",
         "5:32: actors[0].keyframes[0].velocities: dog.keyframes[0].velocities: 'dog' "
         "has no joint 'turm'; did … 'turn'?"),
        ("name: k, activations: {turn: 1}",
         "5:33: actors[0].keyframes[0].activations: dog.keyframes[0].activations: 'dog' "
         "has no actuator with … 'turn'; …"),
        ("name: k, controls: {turn: [1, 2]}", "5:36: actors[0].keyframes[0].controls: "
         "dog.keyframes[0].controls: 'turn' takes 1 number, got 2"),
        ("joints: {turn: 1}", "5:9: actors[0].keyframes[0]: dog.keyframes[0]: needs a name"),
    ],
)  # fmt: skip
def test_a_keyframe_that_does_not_fit_is_refused_at_its_place(
    tmp_path: Path, line: str, message: str
) -> None:
    text = f"actors:\n  - {{name: dog, model: rover.xml, keyframes: [\n        {{{line}}}]}}\n"
    scene = scene_of(tmp_path, "# a line\n" + text, rover=ROVER)
    with refused(mjrig.SceneError, f"{tmp_path / 'scene.yaml'}:{message}"):
        mjrig.World(scene)


def test_two_keyframes_of_one_name_are_refused() -> None:
    message = "robot.keyframes[1].name: 'k' is already the name …"
    with refused(mjrig.PropertyError, message):
        make_robot(ROVER, keyframes=[{"name": "k"}, {"name": "k"}])


# Captured ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("pose", ["", "pose: {position: [1, 2, 0.35], euler_deg: [3, 40, 5]},"])
@pytest.mark.parametrize("execution", ["python", "native"])
def test_a_captured_state_comes_back_to_the_bit(tmp_path: Path, pose: str, execution: str) -> None:
    text = f"actors:\n  - {{name: dog, model: rover.xml, {pose} keyframe: home, {PD}}}\n"
    scene = scene_of(tmp_path, text, rover=ROVER)
    world = mjrig.World(scene, execution)
    world["dog"].set_targets({"turn": 1.0})
    world.step(237)
    qpos, qvel = world.data.qpos.copy(), world.data.qvel.copy()
    scene["dog"].add_keyframe(world["dog"].capture("seen"))
    scene.save()
    for how in ("python", "native"):
        again = mjrig.World(tmp_path / "scene.yaml", how)
        again.reset("seen")
        assert np.array_equal(again.data.qpos, qpos)
        assert np.array_equal(again.data.qvel, qvel)
    assert ("absolute" in (tmp_path / "scene.yaml").read_text()) == bool(pose)


def test_captured_activations_and_commands_come_back() -> None:
    world, robot = make_robot(hinge(FILTER + PID))
    robot.set_targets({"drive": 0.5, "p": 0.2}, velocity={"p": 0.1})
    world.step(50)
    seen = robot.capture("seen")
    assert set(seen.controls) == {"drive", "p"}
    other, again = make_robot(hinge(FILTER + PID), keyframes=[seen.to_data()], keyframe="seen")
    assert np.array_equal(other.data.act, world.data.act)
    assert np.array_equal(again.setpoints.values, robot.setpoints.values)
    other.step(20)
    world.step(20)
    assert np.array_equal(other.data.qpos, world.data.qpos)


def test_only_velocities_that_are_not_zero_are_captured() -> None:
    _, robot = make_robot(ROVER)
    seen = robot.capture("seen")
    assert dict(seen.velocities) == {}
    assert seen.joints["turn"] == (0.0,) and len(seen.joints["root"]) == 7


def test_a_keyframe_replaces_one_of_its_name() -> None:
    actor = mjrig.Scene().add_actor("a", model="a.xml")
    actor.add_keyframe(Keyframe(name="k", joints={"j": 1}))
    actor.add_keyframe(Keyframe(name="l"))
    actor.add_keyframe(Keyframe(name="k", joints={"j": 2}))
    assert [k.name for k in actor.keyframes] == ["k", "l"]
    assert actor.keyframes[0].joints["j"] == (2.0,)
