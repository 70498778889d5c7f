"""The control surface: inputs by coordinate and degree of freedom."""

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components import PDController
from tests.wording import regex
from tests.worlds import make_world

FLOATING = """
<mujoco>
  <option gravity="0 0 0"/>
  <worldbody>
    <body name="base" pos="0 0 1" euler="30 20 10">
      <freejoint name="root"/>
      <geom type="box" size=".1 .2 .3" pos=".3 .2 .1" mass="2"/>
      <body name="arm" pos=".5 0 0">
        <joint name="shoulder" axis="0 1 0"/>
        <geom type="capsule" size=".05" fromto="0 0 0 .4 0 0" mass="1"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="motor" joint="shoulder"/></actuator>
</mujoco>
"""
LONE = FLOATING.partition('<body name="arm"')[0] + "</body></worldbody></mujoco>"
MUSCLE = """
<mujoco>
  <worldbody>
    <body><joint name="elbow" axis="0 1 0" limited="true" range="-90 90"/>
      <geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/></body>
  </worldbody>
  <actuator><muscle name="biceps" joint="elbow" lengthrange="-1 1" ctrlrange="0 1" ctrllimited="true"/></actuator>
</mujoco>
"""  # noqa: E501


def test_layouts_are_those_of_qpos_and_qvel() -> None:
    control = make_world(FLOATING)["robot"].control
    assert control.target_q.shape == (8,)
    assert control.target_qd.shape == control.feedforward.shape == control.force.shape == (7,)
    assert control.activation.shape == (0,)


def test_position_targets_start_at_the_pose_with_unit_quaternions() -> None:
    world = make_world(FLOATING, [PDController()])
    target = world["robot"].control.target_q
    np.testing.assert_allclose(target, world.data.qpos)
    assert np.linalg.norm(target[3:7]) == pytest.approx(1.0)


def test_targets_are_the_setpoints_in_another_layout() -> None:
    robot = make_world(FLOATING, [PDController()])["robot"]
    robot.control.target_q[7] = 0.4
    robot.control.target_qd[6] = 0.5
    robot.control.feedforward[6] = 0.6
    robot.apply_controls()
    assert robot.setpoints.values[:, 0].tolist() == [0.4, 0.5, 0.6]
    robot.set_targets({"motor": -0.2})
    assert robot.control.target_q[7] == -0.2


def test_a_kept_array_still_commands() -> None:
    world = make_world(FLOATING, [PDController()])
    robot = world["robot"]
    target = robot.control.target_q
    for value in (0.1, 0.2):
        target[7] = value
        world.step()
        assert robot.setpoints.position[0] == value


def test_force_on_a_scalar_dof_is_applied_to_it() -> None:
    world = make_world(FLOATING)
    world["robot"].control.force[6] = 0.3
    world.step()
    assert world.data.qfrc_applied.tolist() == [0, 0, 0, 0, 0, 0, 0.3]


def test_a_pure_force_on_a_rotated_body_with_an_offset_centre_of_mass_turns_nothing() -> None:
    world = make_world(LONE)
    world["robot"].control.force[:] = [1, 2, 3, 0, 0, 0]
    world["robot"].apply_controls()
    mujoco.mj_forward(world.model, world.data)
    np.testing.assert_allclose(world.data.qacc[3:], 0.0, atol=1e-12)
    world.step()
    np.testing.assert_allclose(world.data.qvel[3:], 0.0, atol=1e-12)
    np.testing.assert_allclose(
        world.data.qvel[:3], np.array([1, 2, 3]) / 2.0 * world.timestep, rtol=1e-9
    )


def test_a_pure_torque_is_about_the_centre_of_mass() -> None:
    world = make_world(LONE)
    world["robot"].control.force[:] = [0, 0, 0, 0.1, 0.2, 0.3]
    world["robot"].apply_controls()
    mujoco.mj_forward(world.model, world.data)
    mujoco.mj_subtreeVel(world.model, world.data)
    world.step()
    mujoco.mj_forward(world.model, world.data)
    mujoco.mj_subtreeVel(world.model, world.data)
    np.testing.assert_allclose(world.data.subtree_linvel[1], 0.0, atol=1e-6)


def test_activation_drives_the_muscles() -> None:
    world = make_world(MUSCLE)
    world["robot"].control.activation[0] = 0.7
    world.step()
    assert world.data.ctrl.tolist() == [0.7]


@pytest.mark.parametrize("value", [-0.1, 1.1, np.nan])
def test_an_activation_outside_its_range_is_refused(value: float) -> None:
    world = make_world(MUSCLE)
    world["robot"].control.activation[0] = value
    with pytest.raises(ValueError, match=regex("activation of 'biceps' must be 0 … 1, …")):
        world.step()


def test_clear_zeroes_all_but_the_position_targets() -> None:
    world = make_world(FLOATING, [PDController()], joints={"shoulder": 0.3})
    control = world["robot"].control
    control.target_q[7], control.target_qd[6], control.feedforward[6] = 1.0, 2.0, 3.0
    control.force[:] = 1.0
    world.step()
    control.clear()
    world.step()
    assert world["robot"].setpoints.values[:, 0].tolist() == [0.3, 0.0, 0.0]
    assert not world.data.qfrc_applied.any()
    assert not world.data.xfrc_applied.any()
    assert np.linalg.norm(control.target_q[3:7]) == pytest.approx(1.0)


def test_a_reset_forgets_what_was_written() -> None:
    world = make_world(FLOATING, [PDController()])
    control = world["robot"].control
    control.force[6] = 1.0
    world.step()
    world.reset()
    world.step()
    assert not control.force.any()
    assert not world.data.qfrc_applied.any()


def test_a_lease_protects_against_the_control_surface_too() -> None:
    world = make_world(FLOATING, [PDController()])
    control = world["robot"].control
    lease = world["robot"].take(mjrig.Source.POLICY, holder="walk")
    control.target_q[7] = 1.0
    with pytest.raises(mjrig.LeaseError, match="'motor' is held by 'walk'"):
        world.step()
    lease.release()
    world.step()
    assert world["robot"].setpoints.position[0] == 1.0


def test_the_last_writer_wins_whatever_the_layout() -> None:
    world = make_world(FLOATING, [PDController()])
    robot = world["robot"]
    robot.control.target_q[7] = 0.9
    robot.set_targets({"motor": 0.1})
    world.step()
    assert robot.setpoints.position[0] == 0.1


def test_forces_are_in_snapshots() -> None:
    world = make_world(FLOATING)
    control = world["robot"].control
    control.force[6] = 1.0
    world.step()
    snapshot = world.snapshot()
    control.force[6] = 0.0
    world.step()
    world.restore(snapshot)
    assert control.force[6] == 1.0
    assert world.data.qfrc_applied[6] == 1.0


def test_a_force_that_is_not_finite_is_refused() -> None:
    world = make_world(FLOATING)
    world["robot"].control.force[2] = np.nan
    with pytest.raises(ValueError, match=regex("force[2] is nan; must be …")):
        world.step()
