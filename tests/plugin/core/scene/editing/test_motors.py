"""`use_motors: true` in a scene."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

import mjrig
from tests.wording import regex
from tests.worlds import arm, pd_of, refused

SERVOS = (
    '<position name="a" joint="shoulder" kp="20" kv="1" gear="2"/>'
    '<position name="b" joint="elbow" kp="9" kv=".3" forcerange="-1 1"/>'
)
TEXT = "mjrig: 1\nactors:\n  - name: arm\n    model: arm.xml\n    use_motors: true  # theirs\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "arm.xml").write_text(arm(SERVOS, option=""))
    return tmp_path


def world_of(folder: Path, text: str = TEXT, execution: str = "auto") -> mjrig.World:
    return mjrig.World(mjrig.Scene.parse(text, folder), execution)


def test_the_key_is_read_saved_and_set(folder: Path) -> None:
    (folder / "s.yaml").write_text(TEXT)
    scene = mjrig.Scene.load(folder / "s.yaml")
    assert scene["arm"].use_motors
    scene.save()
    assert (folder / "s.yaml").read_text() == TEXT
    scene.set("arm.use_motors", False)
    assert not scene["arm"].use_motors
    assert "use_motors: false  # theirs\n" in scene.to_text()
    scene["arm"].use_motors()  # in Python: written out
    assert "type: PDController" in scene.to_text()


@pytest.mark.parametrize("integrator", ["Euler", "implicit", "implicitfast"])
def test_motors_move_as_the_position_actuators_did(folder: Path, integrator: str) -> None:
    sim = f"sim: {{integrator: {integrator}}}\n"
    world = world_of(folder, TEXT + sim)
    robot = world["arm"]
    assert [b.kind for b in robot.actuators] == ["motor", "motor"]
    assert pd_of(robot).kp.tolist() == [80.0, 9.0]
    bare = mujoco.MjModel.from_xml_path(str(folder / "arm.xml"))
    bare.opt.integrator = world.model.opt.integrator
    data = mujoco.MjData(bare)
    robot.set_targets({"shoulder": 0.3, "elbow": -0.4})
    data.ctrl[:] = 0.6, -0.4  # a position actuator's setpoint is its length, gear included
    world.step(500)
    mujoco.mj_step(bare, data, 500)
    assert np.abs(world.data.qpos - data.qpos).max() < 1e-9


def test_controllers_of_the_actor_drive_the_motors_they_match(folder: Path) -> None:
    own = "    components:\n      - {type: PDController, actuators: b, kp: 7, kv: 1}\n"
    robot = world_of(folder, TEXT + own)["arm"]
    first, second = pd_of(robot), pd_of(robot, 1)
    assert [b.actuator for b in first.bindings] == ["b"] and first.kp.tolist() == [7.0]
    assert [b.actuator for b in second.bindings] == ["a"] and second.kp.tolist() == [80.0]
    every = "    components:\n      - {type: PDController, kp: 7, kv: 1}\n"
    robot = world_of(folder, TEXT + every)["arm"]
    assert len(robot.controllers) == 1 and pd_of(robot).kp.tolist() == [7.0, 7.0]


def test_copies_are_converted_too(folder: Path) -> None:
    world = world_of(folder, TEXT + "    replicate: {count: 2}\n")
    assert [pd_of(r).kp.tolist() for r in world.articulations.values()] == [[80.0, 9.0]] * 2


def test_where_it_cannot_be_done_it_is_an_error(folder: Path) -> None:
    (folder / "arm.xml").write_text(arm())
    message = "<text>:5:17: actors[0].use_motors: arm: '.*' matches no position actuator; "
    with refused(mjrig.SceneError, message + "available: none"):
        world_of(folder)
    model = mujoco.MjModel.from_xml_path(str(folder / "arm.xml"))
    mujoco.mj_saveModel(model, str(folder / "arm.mjb"), None)
    with pytest.raises(
        mjrig.SceneError, match=regex("arm.use_motors: an .mjb is already compiled")
    ):
        world_of(folder, TEXT.replace(".xml", ".mjb"))


def test_gains_that_no_component_has_are_not_set(folder: Path) -> None:
    scene = mjrig.Scene.parse(TEXT, folder)
    with pytest.raises(mjrig.PropertyError, match=regex("under use_motors the gains are …")):
        scene.set("arm.PDController.kp", 3)
