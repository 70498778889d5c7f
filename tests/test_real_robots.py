"""Robots of several vendors stand or hold for five seconds, with the gains their vendors give."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components import PDController
from mjrig.core.arrays import FloatArray
from tests.places import SHARED

MODELS = SHARED / "robots" / "models"
needs_robots = pytest.mark.skipif(
    not MODELS.is_dir(), reason="no shared/robots beside the checkout"
)
SECONDS = 5.0
#: How long a humanoid stays up on stiff joints alone, before it needs a policy [s].
BEFORE_IT_FALLS = 0.3
Values = float | Mapping[str, float]


@dataclass(frozen=True)
class Robot:
    """How one robot is set up, with numbers of its vendor.

    Without `kp` the model's own position actuators hold it: no controller, they are driven
    directly. Gains and poses are those of the vendor's configuration or of the recorded stand.
    """

    timestep: float
    #: How many motors a PDController binds.
    motors: int = 0
    kp: Values = 0.0
    kv: Values = 0.0
    joints: Mapping[str, float] = field(default_factory=dict)
    keyframe: str = ""
    #: Height of the floating base at the start; None: as the model says.
    height: float | None = None
    #: How far a joint may be from where it is held [rad].
    sags: float = 0.1
    #: Whether its ankles are too soft to balance: m·g·h is above what kp gives per radian.
    falls: bool = False


LEGS = {".*_thigh_joint": 0.8, ".*_calf_joint": -1.5}
STANCE = {".*_hip_pitch_joint": -0.1, ".*_knee_joint": 0.3, ".*_ankle_pitch_joint": -0.2}
ROBOTS = {
    "g1_12dof_rlgym": Robot(
        0.002,
        motors=12,
        kp={".*_hip_.*": 100, ".*_knee_joint": 150, ".*_ankle_.*": 40},
        kv={".*_knee_joint": 4, "default": 2},
        joints=STANCE,
        falls=True,
    ),
    "g1_29dof_unitree": Robot(
        0.002,
        motors=29,
        kp={".*_hip_.*": 100, ".*_knee.*": 150, "waist_.*": 200, "default": 40},
        kv={".*_hip_.*": 2, ".*_knee.*": 4, ".*_ankle_.*": 2, "waist_.*": 5, "default": 10},
        joints=STANCE,
        height=0.79,
        falls=True,
    ),
    "g1_menagerie": Robot(0.002, keyframe="stand"),
    "go1_playground": Robot(0.004, keyframe="home", sags=0.25),
    "go2_menagerie": Robot(0.005, motors=12, kp=80, kv=3, joints=LEGS, height=0.33),
    "go2_stairs_rlgym": Robot(0.005, motors=12, kp=80, kv=3, joints=LEGS, height=0.33),
    "go2_unitree": Robot(0.005, motors=12, kp=80, kv=3, joints=LEGS, height=0.33),
    "go2w_unitree": Robot(
        0.005,
        motors=16,
        kp={".*_wheel": 0, "default": 70},
        kv={".*_wheel": 0.5, "default": 5},
        joints={"F[LR]_thigh_joint": 0.5, "R[LR]_thigh_joint": 0.8, ".*_calf_joint": -1.5},
        height=0.42,
        sags=0.15,
    ),
    "h1_rlgym": Robot(
        0.002,
        motors=10,
        kp={".*_ankle.*": 40, ".*_knee.*": 200, "default": 150},
        kv={".*_knee.*": 4, "default": 2},
        joints={".*_hip_pitch_joint": -0.1, ".*_knee_joint": 0.3, ".*_ankle_joint": -0.2},
        falls=True,
    ),
    "leap_cube_playground": Robot(0.002, keyframe="home", sags=0.15),
    "panda_menagerie": Robot(0.002, keyframe="home"),
    "shadow_right_menagerie": Robot(0.002),
    "t1_12dof_booster": Robot(
        0.002,
        motors=12,
        kp={".*_Ankle_.*": 50, "default": 200},
        kv={".*_Ankle_.*": 1, "default": 5},
        joints={".*_Hip_Pitch": -0.2, ".*_Knee_Pitch": 0.4, ".*_Ankle_Pitch": -0.25},
        height=0.72,
        falls=True,
    ),
}


def make(name: str, model: Path | None = None) -> mjrig.World:
    """A scene with this robot alone, at its start."""
    robot = ROBOTS[name]
    scene = mjrig.Scene()
    scene.assign({"sim": {"timestep": robot.timestep}})
    actor = add(scene, name, model or MODELS / name / "scene.xml")
    world = mjrig.World(scene)
    assert len(world[actor.name].bindings) == robot.motors
    if robot.height is not None and floats(world):
        world.data.qpos[2] = robot.height
        mujoco.mj_forward(world.model, world.data)
    return world


def add(scene: mjrig.Scene, name: str, model: Path) -> mjrig.Actor:
    robot = ROBOTS[name]
    actor = scene.add_actor(name, model=model, keyframe=robot.keyframe, joints=dict(robot.joints))
    if robot.motors:
        actor.add_component(PDController(kp=robot.kp, kv=robot.kv))
    return actor


def floats(world: mjrig.World) -> bool:
    return bool(world.model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE)


def angles(world: mjrig.World) -> FloatArray:
    """The hinges that are held: all but wheels."""
    model = world.model
    held = [
        j
        for j in range(model.njnt)
        if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_HINGE and "wheel" not in model.joint(j).name
    ]
    found: FloatArray = world.data.qpos[model.jnt_qposadr[held]].copy()
    return found


def upright(world: mjrig.World) -> float:
    """Cosine of the base's tilt."""
    _, x, y, _ = world.data.qpos[3:7]
    return float(1.0 - 2.0 * (x * x + y * y))


def run(world: mjrig.World, seconds: float) -> None:
    world.step(round(seconds / world.timestep))
    assert world.events == ()
    assert world.time == pytest.approx(seconds, abs=world.timestep)  # a divergence starts over


@needs_robots
def test_no_robot_is_left_out() -> None:
    assert sorted(ROBOTS) == sorted(path.name for path in MODELS.iterdir() if path.is_dir())


@needs_robots
@pytest.mark.parametrize("name", [n for n, robot in ROBOTS.items() if not robot.falls])
def test_a_robot_stands_or_holds(name: str) -> None:
    world = make(name)
    before, height = angles(world), world.data.qpos[2]
    run(world, SECONDS)
    assert np.abs(angles(world) - before).max() < ROBOTS[name].sags
    if floats(world):
        assert upright(world) > 0.99
        assert world.data.qpos[2] == pytest.approx(height, abs=0.05)
        assert np.abs(world.data.qvel[:6]).max() < 0.05


@needs_robots
@pytest.mark.parametrize("name", [n for n, robot in ROBOTS.items() if not robot.motors])
def test_motors_under_pd_hold_with_the_gains_of_the_models_own_servos(name: str) -> None:
    scene = mjrig.Scene()
    scene.assign({"sim": {"timestep": ROBOTS[name].timestep}})
    add(scene, name, MODELS / name / "scene.xml").use_motors()
    world = mjrig.World(scene)
    assert len(world[name].bindings) > 0
    before = angles(world)
    run(world, SECONDS)
    assert np.abs(angles(world) - before).max() < max(0.1, ROBOTS[name].sags)


@needs_robots
@pytest.mark.parametrize("name", [n for n, robot in ROBOTS.items() if robot.falls])
def test_a_humanoid_stays_up_at_first(name: str) -> None:
    """Nobody balances it: stiff joints alone keep it up for a moment."""
    world = make(name)
    before, height = angles(world), world.data.qpos[2]
    run(world, BEFORE_IT_FALLS)
    assert upright(world) > 0.98
    assert world.data.qpos[2] == pytest.approx(height, abs=0.1)  # it starts a little above
    assert np.abs(angles(world) - before).max() < 0.2  # and lands on its feet


@needs_robots
@pytest.mark.parametrize("name", [n for n, robot in ROBOTS.items() if robot.falls])
def test_a_humanoid_on_its_stand_holds_its_pose(name: str, tmp_path: Path) -> None:
    world = make(name, on_a_stand(name, tmp_path))
    before = angles(world)
    run(world, SECONDS)
    assert np.abs(angles(world) - before).max() < ROBOTS[name].sags
    assert np.abs(world.data.qvel).max() < 0.01


def on_a_stand(name: str, folder: Path) -> Path:
    """The model with its base held, half a metre up, as vendors hang their robots."""
    source = MODELS / name
    spec = mujoco.MjSpec.from_file(str(source / "scene.xml"))
    root = spec.worldbody.first_body()
    spec.delete(root.joints[0])
    root.pos[2] += 0.5
    spec.meshdir = str(source.resolve() / spec.meshdir)
    path = folder / "stand.xml"
    path.write_text(spec.to_xml())
    return path


@needs_robots
def test_two_robots_in_one_scene_run_side_by_side() -> None:
    scene = mjrig.Scene()
    add(scene, "go2_unitree", MODELS / "go2_unitree" / "scene.xml")
    arm = add(scene, "panda_menagerie", MODELS / "panda_menagerie" / "scene.xml")
    arm.assign({"pose": {"position": [2.0, 0.0, 0.0]}})
    sim = {"timestep": 0.002, "integrator": "implicitfast", "cone": "pyramidal", "impratio": 1}
    scene.assign({"sim": sim})
    world = mjrig.World(scene)
    assert [len(robot.bindings) for robot in world.articulations.values()] == [12, 0]
    before = world.data.qpos[world[arm.name].model_map.qpos].copy()
    run(world, 1.0)
    assert np.abs(world.data.qpos[world[arm.name].model_map.qpos] - before).max() < 0.05
    assert upright(world) > 0.99
