"""The scripted trot: its geometry, its lease and its memory."""

import math

import numpy as np
import pytest

import mjrig
from mjrig import Source
from mjrig.components import PDController, TrotGait
from mjrig.components.controllers.trot_gait import JOINTS, LEGS
from tests.worlds import arm, make_robot, refused


def legs() -> str:
    """Twelve hinges on a fixed base, named as the gait wants them, and a tail."""
    bodies = '<body><joint name="tail"/><geom size="0.05" contype="0" conaffinity="0"/></body>'
    motors = ""
    for i, leg in enumerate(LEGS):
        for j, joint in enumerate(JOINTS):
            name = f"{leg}_{joint}"
            bodies += (
                f'<body pos="{i} {j} 0"><joint name="{name}" axis="0 1 0" armature="0.1"/>'
                '<geom size="0.05" contype="0" conaffinity="0"/></body>'
            )
            motors += f'<motor name="{name}" joint="{name}"/>'
    return f"""
    <mujoco>
      <option timestep="0.001" gravity="0 0 0"/>
      <worldbody>{bodies}</worldbody>
      <actuator>{motors}<position name="tail" joint="tail"/></actuator>
    </mujoco>"""


def gait_of(robot: mjrig.Articulation) -> TrotGait:
    found = robot.components[-1]
    assert isinstance(found, TrotGait)
    return found


def foot(gait: TrotGait, thigh: float, calf: float) -> tuple[float, float]:
    """Foot relative to the thigh axis, from the joint angles."""
    a, b = gait.thigh_length, gait.calf_length
    return (
        -a * math.sin(thigh) - b * math.sin(thigh + calf),
        -a * math.cos(thigh) - b * math.cos(thigh + calf),
    )


# Geometry ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [0.0, 0.05, 0.1, 0.19])
def test_feet_in_stance_sweep_back_at_the_height(t: float) -> None:
    gait = TrotGait(frequency=2.5, step_length=0.12, height=0.29)
    thigh, calf = gait.targets(t)[1:3]
    x, z = foot(gait, thigh, calf)
    assert z == pytest.approx(-0.29)
    assert x == pytest.approx(0.12 * (0.5 - 2.0 * 2.5 * t))


def test_feet_in_swing_are_lifted() -> None:
    gait = TrotGait(frequency=2.5, lift=0.06, height=0.29)
    x, z = foot(gait, *gait.targets(0.3)[1:3])
    assert [x, z] == pytest.approx([0.0, -0.23], abs=1e-12)


def test_diagonal_legs_move_together_and_half_a_stride_apart() -> None:
    gait = TrotGait(frequency=2.5)
    now, later = gait.targets(0.07).reshape(4, 3), gait.targets(0.27).reshape(4, 3)
    assert now[0] == pytest.approx(now[3])
    assert now[1] == pytest.approx(now[2])
    assert now[0] == pytest.approx(later[1])


def test_targets_repeat_every_stride() -> None:
    gait = TrotGait(frequency=2.0)
    assert gait.targets(0.1) == pytest.approx(gait.targets(0.6))


def test_a_height_out_of_reach_stretches_the_leg() -> None:
    gait = TrotGait(height=1.0, step_length=0.0, lift=0.0)
    assert np.isfinite(gait.targets(0.1)).all()
    assert gait.targets(0.1)[1:3] == pytest.approx([0.0, 0.0])


# On a robot -------------------------------------------------------------------------------------


def test_it_starts_from_the_pose_and_fades_in() -> None:
    world, robot = make_robot(legs(), PDController(), TrotGait(fade=0.5), joints={".*_calf": -1.0})
    start = robot.setpoints.position[:12].copy()
    world.step()
    assert np.array_equal(robot.setpoints.position[:12], start)
    world.step(600)
    assert robot.setpoints.position[:12] == pytest.approx(gait_of(robot).targets(0.6), abs=1e-6)


def test_it_moves_only_the_legs() -> None:
    world, robot = make_robot(legs(), PDController(), TrotGait(fade=0))
    before = robot.setpoints.position[12]
    world.step(50)
    assert robot.setpoints.position[12] == before
    assert not robot.setpoints.velocity.any()


def test_it_holds_the_legs_while_it_trots() -> None:
    _, robot = make_robot(legs(), PDController(), TrotGait())
    message = "robot: 'FL_hip' is held by 'robot.TrotGait' (SCRIPT); release …"
    with refused(mjrig.LeaseError, message):
        robot.set_targets({"FL_hip": 0.5})
    robot.set_targets({"tail": 0.5})


def test_disabled_it_lets_go() -> None:
    world, robot = make_robot(legs(), PDController(), TrotGait(fade=0))
    world.step(20)
    gait_of(robot).enabled = False
    before = robot.setpoints.position.tolist()
    world.step(20)
    assert robot.setpoints.position.tolist() == before
    robot.set_targets({"FL_hip": 0.5})


def test_enabling_it_while_somebody_holds_a_leg_is_refused() -> None:
    _, robot = make_robot(legs(), PDController(), TrotGait(enabled=False))
    with robot.take(Source.UI, actuators="RR_calf"):
        message = "robot: 'RR_calf' is held by 'ui' (UI); release …"
        with refused(mjrig.LeaseError, message):
            gait_of(robot).enabled = True
    assert not gait_of(robot).enabled
    gait_of(robot).enabled = True


def test_removed_it_lets_go_and_can_come_back() -> None:
    world, robot = make_robot(legs(), PDController(), TrotGait(fade=0))
    gait = gait_of(robot)
    robot.remove_component(gait)
    robot.set_targets({".*_hip": 0.1})
    robot.add_component(gait)
    world.step(30)
    assert robot.source is Source.SCRIPT
    assert len(robot.setpoints.leases) == 1


def test_a_robot_without_such_legs_is_refused() -> None:
    message = "robot.TrotGait: needs an actuator 'FL_hip'; available: …"
    with refused(mjrig.BindingError, message):
        make_robot(arm(), TrotGait())


def test_a_hold_wins_over_the_gait() -> None:
    key = '<keyframe><key name="stand"/></keyframe></mujoco>'
    world, robot = make_robot(legs().replace("</mujoco>", key), PDController(), TrotGait(fade=0))
    robot.hold("stand")
    world.step(50)
    assert not robot.setpoints.position.any()


def test_a_reset_begins_again() -> None:
    world, robot = make_robot(legs(), PDController(), TrotGait(fade=0.1))
    world.step(150)
    first = robot.setpoints.position.tolist()
    world.reset()
    assert not robot.setpoints.position.any()
    world.step(150)
    assert robot.setpoints.position.tolist() == first


def test_a_snapshot_holds_where_in_the_gait_it_is() -> None:
    world, robot = make_robot(legs(), PDController(), TrotGait(fade=0.3))
    world.step(123)
    saved = world.snapshot()
    world.step(200)
    future = robot.setpoints.position.tolist(), world.data.qpos.tolist()
    world.reset()
    world.step(10)
    world.restore(saved)
    world.step(200)
    assert (robot.setpoints.position.tolist(), world.data.qpos.tolist()) == future
