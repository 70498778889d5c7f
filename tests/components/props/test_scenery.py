"""Ground, lights and cameras as props, and the bundled parts made of them."""

from importlib.resources import files
from pathlib import Path

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components import BoxProp, CameraProp, GroundProp, LightProp
from mjrig.components.props.scenery import looking_at
from mjrig.core.model.model_source import load
from mjrig.core.scene.actor_description import Prop
from mjrig.core.sim.mujoco_export import export
from tests.conftest import HINGE
from tests.worlds import refused


def world_with(prop: Prop, **actor: object) -> mjrig.World:
    scene = mjrig.Scene()
    scene.add_actor("thing", prop=prop).assign(actor)
    return mjrig.World(scene)


# Ground -----------------------------------------------------------------------------------------


def test_the_ground_is_an_infinite_plane_of_squares() -> None:
    model = world_with(GroundProp(tile=0.25, friction=0.7, rgb1=[1, 0, 0], rgb2=[0, 0, 1])).model
    geom = model.geom("thing/geom")
    assert geom.type[0] == mujoco.mjtGeom.mjGEOM_PLANE
    assert geom.size[:2].tolist() == [0, 0]
    assert geom.friction[0] == 0.7
    assert model.mat_texrepeat.tolist() == [[2, 2]]  # two squares of 25 cm: half a metre
    pixels = model.tex_data.reshape(-1, model.tex_nchannel[0])
    assert sorted({tuple(p) for p in pixels.tolist()}) == [(0, 0, 255), (255, 0, 0)]


def test_the_ground_may_be_raised_and_tilted() -> None:
    pose = {"position": [0, 0, 0.5], "euler_deg": [10, 0, 0]}
    data = world_with(GroundProp(), pose=pose).data
    assert data.geom_xpos[0].tolist() == [0, 0, 0.5]
    assert data.geom_xmat[0][8] == pytest.approx(np.cos(np.radians(10)))


# Lights -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("directional", mujoco.mjtLightType.mjLIGHT_DIRECTIONAL),
        ("point", mujoco.mjtLightType.mjLIGHT_POINT),
        ("spot", mujoco.mjtLightType.mjLIGHT_SPOT),
    ],
)
def test_a_light_is_of_its_kind_and_shines_where_it_is_turned(kind: str, number: int) -> None:
    prop = LightProp(
        kind=kind, direction=[0, 0, -2], castshadow=False, diffuse=[0.5, 0.25, 1], ambient=[0, 1, 0]
    )
    world = world_with(prop, pose={"position": [0, 0, 3], "euler_deg": [0, 90, 0]})
    light = world.model.light("thing/light")
    assert light.type[0] == number
    assert not light.castshadow[0]
    assert (light.diffuse.tolist(), light.ambient.tolist()) == ([0.5, 0.25, 1], [0, 1, 0])
    assert world.data.light_xpos[0].tolist() == [0, 0, 3]
    assert world.data.light_xdir[0] == pytest.approx([-1, 0, 0])


def test_a_spot_has_a_cone() -> None:
    assert world_with(LightProp(kind="spot", cutoff=20)).model.light_cutoff[0] == 20


def test_only_a_spot_has_a_cone() -> None:
    with refused(mjrig.PropertyError, "LightProp.cutoff: is for kind: spot …"):
        LightProp(cutoff=20)


# Cameras ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", [[1, 0, 0], [-1, 2, 0.5], [0, 0, 1], [0, 0, -3], [1e-3, 1, -1]])
def test_a_camera_looks_at_its_point_with_z_up(point: list[float]) -> None:
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, looking_at(np.array(point, dtype=float)))
    right, up, back = matrix.reshape(3, 3).T
    assert -back == pytest.approx(np.array(point) / np.linalg.norm(point))
    assert right[2] == pytest.approx(0.0, abs=1e-12)  # the horizon is level
    assert up[2] >= -1e-12


def test_a_camera_straight_down_has_x_at_the_top() -> None:
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, looking_at(np.array([0.0, 0.0, -1.0])))
    assert matrix.reshape(3, 3)[:, 1] == pytest.approx([1, 0, 0], abs=1e-12)


def test_a_camera_has_its_view_and_follows_its_pose() -> None:
    prop = CameraProp(fovy=60, resolution=[320, 200])
    world = world_with(prop, pose={"position": [1, 2, 3], "euler_deg": [0, 0, 90]})
    camera = world.model.camera("thing/camera")
    assert (camera.fovy[0], world.model.cam_resolution[0].tolist()) == (60, [320, 200])
    assert world.data.cam_xpos[0].tolist() == [1, 2, 3]
    assert -world.data.cam_xmat[0].reshape(3, 3)[:, 2] == pytest.approx([0, 1, 0])


@pytest.mark.parametrize(
    ("prop", "message"),
    [
        ("{type: CameraProp, look_at: [0, 0, 0]}", "3:51: actors[0].prop.look_at: "
         "eye.prop.look_at: must not be zero"),
        ("{type: CameraProp, fovy: 180}", "3:48: actors[0].prop.fovy: eye.prop.fovy: must be "
         "<= 179 deg, got 180"),
        ("{type: CameraProp, resolution: [640, 0.5]}", "3:60: actors[0].prop.resolution: "
         "eye.prop.resolution: must be >= 1 px, got 0.5"),
        ("{type: CameraProp, resolution: [640, 1.5]}", "3:60: actors[0].prop.resolution: "
         "eye.prop.resolution: must be whole numbers, got 1.5"),
        ("{type: LightProp, kind: bulb}",
         "3:47: actors[0].prop.kind: eye.prop.kind: must be one of directional, point, "
         "spot; … 'bulb'"),
        ("{type: LightProp, direction: [0, 0, 0]}", "3:52: actors[0].prop.direction: "
         "eye.prop.direction: must not be zero"),
        ("{type: GroundProp, tile: 0}", "3:48: actors[0].prop.tile: eye.prop.tile: must be > 0 m, "
         "got 0"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_where_it_stands(prop: str, message: str) -> None:
    with refused(mjrig.SceneError, f"<text>:{message}"):
        mjrig.Scene.parse(f"mjrig: 1\nactors:\n  - {{name: eye, prop: {prop}}}\n")


# On a moving body -------------------------------------------------------------------------------


@pytest.mark.parametrize("prop", [CameraProp(look_at=[0, 0, -1]), LightProp(), BoxProp(mass=2)])
def test_a_prop_can_be_carried(prop: Prop) -> None:
    """Its spec hangs on a body like any other, and moves with it."""
    host = mujoco.MjSpec.from_string(HINGE)
    child = load(mjrig.Actor(name="thing", prop=prop))
    frame = host.body("rod").add_frame(pos=[0, 0, -0.5])
    host.attach(child, prefix="thing/", frame=frame)
    model = host.compile()
    data = mujoco.MjData(model)
    data.qpos[0] = np.pi / 2  # the rod points along −x
    mujoco.mj_forward(model, data)
    places = (*data.cam_xpos, *data.light_xpos, *data.xpos[2:])
    assert places[0] == pytest.approx([-0.5, 0, 0], abs=1e-9)
    directions = (
        *-data.cam_xmat.reshape(-1, 3, 3)[:, :, 2],
        *data.light_xdir,
        *-data.xmat[2:, 2::3],
    )
    assert directions[0] == pytest.approx([-1, 0, 0], abs=1e-9)


# Bundled parts ----------------------------------------------------------------------------------


def lab() -> Path:
    return Path(str(files("mjrig.config").joinpath("parts").joinpath("lab.yaml")))


def test_the_lab_loads_alone() -> None:
    world = mjrig.World(lab())
    assert list(world.articulations)[:4] == ["floor", "lamp", "view", "table"]
    top = world.data.geom("table/geom")
    assert top.xpos[2] + 0.02 == pytest.approx(0.6)
    feet = [world.data.geom(f"table_leg_{i}/geom").xpos[2] - 0.28 for i in range(4)]
    assert feet == pytest.approx([0.0] * 4)
    centre = np.array([0.7, 0.0, 0.6]) - world.data.cam_xpos[0]
    forward = -world.data.cam_xmat[0].reshape(3, 3)[:, 2]
    assert forward @ centre / np.linalg.norm(centre) > 0.99  # the camera sees the table


def test_the_lab_is_a_part_of_a_scene() -> None:
    text = f"""\
mjrig: 1
include: [{{file: {lab()}, prefix: lab_}}]
actors:
  - name: cup
    pose: {{position: [0.7, 0, 0.68]}}
    prop: {{type: CylinderProp, free: true, radius: 0.04, mass: 0.3}}
"""
    world = mjrig.World(mjrig.Scene.parse(text))
    world.step(1000)
    assert world.data.qpos[2] == pytest.approx(0.65, abs=1e-3)


def test_props_are_exported(tmp_path: Path) -> None:
    export(mjrig.Scene.load(lab()), tmp_path / "lab.xml")
    read = mujoco.MjModel.from_xml_path(str(tmp_path / "lab.xml"))
    world = mjrig.World(lab())
    assert (read.ngeom, read.ncam, read.nlight) == (6, 1, 1)
    assert np.array_equal(read.geom_size, world.model.geom_size)
    assert np.array_equal(read.geom_rgba, world.model.geom_rgba)


def gripper(keyframe: str) -> mjrig.World:
    scene = mjrig.Scene()
    model = "package:mjrig.assets/gripper/gripper.xml"
    scene.add_actor("gripper", model=model, keyframe=keyframe)
    return mjrig.World(scene)


@pytest.mark.parametrize(("keyframe", "opening"), [("open", 0.08), ("closed", 0.0)])
def test_the_gripper_starts_and_stays_as_its_keyframe_says(keyframe: str, opening: float) -> None:
    world = gripper(keyframe)
    assert world["gripper"].setpoints.position.tolist() == [opening]
    world.step(500)
    assert world.data.qpos == pytest.approx([opening / 2] * 2, abs=1e-4)


def test_the_gripper_closes_on_a_box_and_holds_it() -> None:
    scene = mjrig.Scene()
    scene.assign({"sim": {"timestep": 0.001}})
    model = "package:mjrig.assets/gripper/gripper.xml"
    scene.add_actor(
        "gripper",
        model=model,
        keyframe="open",
        pose={"position": [0, 0, 1], "euler_deg": [180, 0, 0]},
    )
    box = {"type": "BoxProp", "free": True, "size": [0.03, 0.03, 0.03], "mass": 0.05}
    scene.add_actor("box", prop=box, pose={"position": [0, 0, 0.879]})
    world = mjrig.World(scene)
    world["gripper"].set_targets({"opening": 0.0})
    world.step(80)  # closed before it has fallen out
    world.step(1500)
    grasp = world.data.site("gripper/grasp").xpos
    assert np.linalg.norm(world.data.body("box/body").xpos - grasp) < 0.05
    assert world.data.qpos[0] == pytest.approx(0.015, abs=2e-3)


def test_the_arm_has_a_place_for_a_tool() -> None:
    model = mujoco.MjModel.from_xml_path(
        str(files("mjrig.assets").joinpath("arm").joinpath("arm.xml"))
    )
    assert model.body(model.site("flange").bodyid[0]).name == "hand"
