"""The bundled robots: each scene loads, stands, walks or grips, and does so the same every time."""

import math
from importlib.resources import files

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.lab.check.preflight import findings

SCENES = ("pendulum", "quadruped", "quadruped_trot", "humanoid", "arm")


def world_of(scene: str) -> mjrig.World:
    folder = files("mjrig.config").joinpath("scenes")
    return mjrig.World(str(folder.joinpath(f"{scene}.yaml")))


def tilt(world: mjrig.World, body: str) -> float:
    """Angle between the body's z axis and up [rad]."""
    return math.acos(min(1.0, float(world.data.body(body).xmat[8])))


def base(world: mjrig.World, robot: str) -> str:
    """Name of the robot's first body with a free joint."""
    model = world.model
    joint = next(j for j in world[robot].model_map.joint_ids if model.jnt_type[j] == 0)
    return str(model.body(model.jnt_bodyid[joint]).name)


def touching(world: mjrig.World, part: str) -> set[str]:
    """Bodies with `part` in their name that touch something."""
    model, found = world.model, set()
    for contact in world.data.contact:
        for geom in contact.geom:
            name = str(model.body(model.geom_bodyid[geom]).name)
            if part in name:
                found.add(name)
    return found


@pytest.mark.parametrize("scene", SCENES)
def test_each_scene_loads_and_steps_without_events(scene: str) -> None:
    world = world_of(scene)
    world.step(200)
    assert world.events == ()
    assert np.isfinite(world.data.qpos).all()


@pytest.mark.parametrize("scene", SCENES)
def test_no_scene_has_warnings(scene: str) -> None:
    assert [str(f) for f in findings(world_of(scene))] == []


@pytest.mark.parametrize("scene", SCENES)
def test_the_same_scene_twice_has_identical_bits(scene: str) -> None:
    states = []
    for _ in range(2):
        world = world_of(scene)
        world.step(300)
        size = mujoco.mj_stateSize(world.model, mujoco.mjtState.mjSTATE_INTEGRATION)
        state = np.empty(size)
        mujoco.mj_getState(world.model, world.data, state, int(mujoco.mjtState.mjSTATE_INTEGRATION))
        states.append(state.tobytes())
    assert states[0] == states[1]


@pytest.mark.parametrize("scene", ["quadruped_trot", "humanoid", "arm"])
def test_a_rewound_scene_has_the_same_future(scene: str) -> None:
    world = world_of(scene)
    world.step(200)
    saved = world.snapshot()
    world.step(300)
    future = world.snapshot().integration
    world.restore(saved)
    world.step(300)
    assert np.array_equal(world.snapshot().integration, future)


@pytest.mark.parametrize(
    ("scene", "bound", "skipped"),
    [
        ("pendulum", 1, []),
        ("quadruped", 12, []),
        ("humanoid", 29, []),
        ("arm", 6, [("gripper", "drives the tendon 'grip', not a joint")]),
    ],
)
def test_each_robot_has_its_actuators(
    scene: str, bound: int, skipped: list[tuple[str, str]]
) -> None:
    robot = world_of(scene)[scene]
    assert (len(robot.bindings), robot.bindings.skipped) == (bound, skipped)
    assert robot.controllers[0].num_bindings == bound


def test_some_motors_have_a_ctrlrange_and_some_a_gear() -> None:
    arm, dog = world_of("arm")["arm"], world_of("quadruped")["quadruped"]
    assert all(b.ctrl_range is not None for b in dog.bindings)
    assert any(b.gear != 1.0 for b in arm.bindings)


def test_the_pendulum_reaches_its_target() -> None:
    world = world_of("pendulum")
    world["pendulum"].set_targets(0.5)
    world.step(3000)
    assert world.data.qpos[0] == pytest.approx(0.5, abs=0.05)


def test_the_quadruped_stands() -> None:
    world = world_of("quadruped")
    trunk = base(world, "quadruped")
    start = world.data.body(trunk).xpos.copy()
    for _ in range(5):
        world.step(1000)
        assert np.abs(world.data.body(trunk).xpos - start).max() < 0.01
        assert tilt(world, trunk) < math.radians(2.0)


def test_the_quadruped_trots() -> None:
    world = world_of("quadruped_trot")
    trunk = base(world, "quadruped")
    start = world.data.body(trunk).xpos.copy()
    for _ in range(12):
        world.step(500)
        assert tilt(world, trunk) < math.radians(20.0)
        assert world.data.body(trunk).xpos[2] > 0.2
    assert world.data.body(trunk).xpos[0] - start[0] >= 1.5


def test_the_humanoid_stands_on_both_feet() -> None:
    world = world_of("humanoid")
    pelvis = base(world, "humanoid")
    start = float(world.data.body(pelvis).xpos[2])
    for _ in range(3):
        world.step(1000)
        assert tilt(world, pelvis) < math.radians(5.0)
        assert float(world.data.body(pelvis).xpos[2]) == pytest.approx(start, abs=0.03)
        assert len(touching(world, "foot") or touching(world, "ankle")) == 2


def test_the_arm_holds_its_pose() -> None:
    world = world_of("arm")
    start = world["arm"].position.copy()
    world.step(2000)
    assert world["arm"].position == pytest.approx(start, abs=0.05)


def test_the_gripper_closes_when_commanded_next_to_a_pd_arm() -> None:
    world = world_of("arm")
    robot = world["arm"]
    opening = world.data.tendon("arm/grip").length
    world.step(500)
    assert float(opening[0]) == pytest.approx(0.08, abs=0.005)
    robot.set_targets({"gripper": 0.0})
    world.step(1500)
    assert float(opening[0]) < 0.01


def test_a_grip_follows_its_command_while_the_arm_moves() -> None:
    world = world_of("arm")
    robot = world["arm"]
    robot.set_targets({"elbow": 1.5, "gripper": 0.04})
    world.step(2000)
    assert float(world.data.tendon("arm/grip").length[0]) == pytest.approx(0.04, abs=0.005)
    elbow = robot.actuator_names.index("elbow")
    assert robot.position[elbow] == pytest.approx(1.5, abs=0.05)
