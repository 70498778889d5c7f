"""`units: degrees` and `mocap_bodies` in a scene."""

import math
from pathlib import Path

import mujoco
import numpy as np
import pytest

import mjrig
from tests.worlds import refused

MODEL = """<mujoco><worldbody>
  <body name="cart"><joint name="slide" type="slide"/><geom size=".1"/>
    <body name="pole"><joint name="swing"/><geom size=".1"/></body></body>
  <body name="aim" mocap="true" pos="1 0 0" quat="0 1 0 0"/>
</worldbody></mujoco>"""


def world_of(folder: Path, **actor: object) -> mjrig.World:
    (folder / "m.xml").write_text(MODEL)
    scene = mjrig.Scene.load(folder / "m.xml")
    scene["m"].assign(actor)
    (folder / "s.yaml").unlink(missing_ok=True)
    scene.save(folder / "s.yaml")
    return mjrig.World(folder / "s.yaml")  # read from the text again


def test_degrees_are_for_hinges_only(tmp_path: Path) -> None:
    given = {"joints": {".*": 30}, "joint_velocities": {".*": 90}}
    assert world_of(tmp_path, **given).data.qpos.tolist() == [30.0, 30.0]
    world = world_of(tmp_path, units="degrees", **given)
    assert world.data.qpos.tolist() == [30.0, math.radians(30)]
    assert world.data.qvel.tolist() == [90.0, math.radians(90)]


def test_keyframes_stay_in_radians(tmp_path: Path) -> None:
    key = [{"name": "home", "joints": {"swing": 0.5}}]
    world = world_of(tmp_path, units="degrees", keyframes=key, keyframe="home")
    assert world.data.qpos.tolist() == [0.0, 0.5]


def test_a_mocap_body_starts_where_the_scene_says(tmp_path: Path) -> None:
    pose = {"position": [0, 0, 2], "euler_deg": [0, 0, 90]}
    aim = {"body": "aim", "position": [0, 1, 0], "quaternion": [1, 0, 0, 0]}
    world = world_of(tmp_path, pose=pose, mocap_bodies=[aim])
    half = math.sqrt(0.5)
    for _ in range(2):
        np.testing.assert_allclose(world.data.mocap_pos, [[-1, 0, 2]], atol=1e-12)
        np.testing.assert_allclose(world.data.mocap_quat, [[half, 0, 0, half]], atol=1e-12)
        world.step(3)
        world.reset()
    world = world_of(tmp_path, mocap_bodies=[{"body": "aim", "position": [0, 1, 0]}])
    assert world.data.mocap_quat.tolist() == [[0, 1, 0, 0]]  # what is not given stays


def test_a_body_that_is_no_mocap_body_is_named(tmp_path: Path) -> None:
    message = "actors[0].mocap_bodies[0].body: m.mocap_bodies[0].body: 'm' has no mocap body "
    with pytest.raises(mjrig.SceneError) as info:
        world_of(tmp_path, mocap_bodies=[{"body": "amm"}])
    assert str(info.value).endswith(message + "'amm'; did you mean 'aim'?")


def test_mocap_bodies_follow_a_rename(tmp_path: Path) -> None:
    world = world_of(tmp_path, mocap_bodies=[{"body": "aim", "position": [0, 1, 0]}])
    scene = world.scene
    scene.rename("m.aim", "goal")
    assert scene["m"].mocap_bodies[0].body == "goal"
    assert mjrig.World(scene).data.mocap_pos.tolist() == [[0, 1, 0]]
    assert scene.remove("m.goal", dependents="remove")
    assert scene["m"].mocap_bodies == ()


def test_a_compiled_model_takes_them_too(tmp_path: Path) -> None:
    model = mujoco.MjModel.from_xml_string(MODEL)
    mujoco.mj_saveModel(model, str(tmp_path / "m.mjb"), None)
    scene = mjrig.Scene.load(tmp_path / "m.mjb")
    scene["m"].assign({"mocap_bodies": [{"body": "aim", "position": [3, 0, 0]}]})
    assert mjrig.World(scene).data.mocap_pos.tolist() == [[3, 0, 0]]


def test_units_are_one_of_two(tmp_path: Path) -> None:
    with refused(mjrig.PropertyError, "m.units: must be one of … 'deg'"):
        world_of(tmp_path, units="deg")
