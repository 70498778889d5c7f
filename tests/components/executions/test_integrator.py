"""The integral as a state of MuJoCo's integrator, and setpoints asked at every stage."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components import PIDController
from tests.places import SHARED
from tests.worlds import make_world, refused

GOLDEN = SHARED / "golden" / "basilisk"
FILES = sorted(GOLDEN.glob("*.npz"))
ARM = """
<mujoco>
  <option gravity="0 0 0"/>
  <worldbody>
    <body name="arm">
      <geom name="arm" type="capsule" size="0.1" fromto="0 0 0 0 0 1"/>
      <joint name="arm" axis="1 0 0"/>
    </body>
  </worldbody>
  <actuator><motor name="arm" joint="arm"/></actuator>
</mujoco>
"""
INERTIA = 12.818745224197553


def ramp_world(
    kp: float, ki: float, kv: float, dt: float, end: float, time: float, **sim: Any
) -> mjrig.World:
    """The arm under PID with an integrated integral, following a ramp."""
    controller = PIDController(kp=kp, ki=ki, kv=kv, torque_limit=np.inf, integration="integrator")
    options = {"integrator": "RK4", "timestep": dt, **sim}
    world = make_world(ARM, [controller], sim=options, execution="auto")
    world["robot"].follow(lambda t: ([end * t / time], [end / time], None))
    return world


@pytest.mark.skipif(not FILES, reason="no shared/golden beside the checkout")
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_basilisks_documented_trajectories_are_reproduced(path: Path) -> None:
    with np.load(path) as file:
        recorded = {n: file[n] for n in file.files}
    gains = (float(recorded[f"meta_{n}"]) for n in ("kp", "ki", "kd"))
    settings = (float(recorded[f"meta_{n}"]) for n in ("dt", "qf", "tf"))
    world = ramp_world(*gains, *settings)
    for q, qd, integral in zip(recorded["q"], recorded["qd"], recorded["integral"], strict=True):
        assert world.data.qpos[0] == pytest.approx(q, abs=1e-9)
        assert world.data.qvel[0] == pytest.approx(qd, abs=1e-9)
        assert world.data.act[0] == pytest.approx(integral, abs=1e-9)
        world.step()


def test_basilisks_unit_test_done_right() -> None:
    """Formula at every step; position and velocity within 1 %; an integral that grows."""
    kp, ki, kv, dt, end, time = 1.0, 0.02, 2.0, 0.1, np.pi / 2, 100.0
    world = ramp_world(kp, ki, kv, dt, end, time)
    model, data = world.model, world.data
    assert float(model.body_inertia[-1, 0]) > 0.0
    for k in range(1000):
        world["robot"].apply_controls()
        mujoco.mj_forward(model, data)
        now = k * dt
        formula = (
            kp * (end * now / time - data.qpos[0])
            + kv * (end / time - data.qvel[0])
            + ki * data.act[0]
        )
        assert data.qfrc_actuator[0] == pytest.approx(formula, abs=1e-9)
        assert world["robot"].applied_effort[0] == pytest.approx(formula, abs=1e-9)
        world.step()
    assert data.qpos[0] == pytest.approx(end, rel=0.01)
    assert data.qvel[0] == pytest.approx(end / time, rel=0.01)
    assert data.qpos[0] == pytest.approx(1.5712890885, abs=1e-8)
    assert data.qvel[0] == pytest.approx(0.0157000160, abs=1e-8)
    assert data.act[0] == pytest.approx(0.02701529, abs=1e-6)


def test_the_callback_is_there_only_during_a_step() -> None:
    world = ramp_world(1.0, 0.02, 2.0, 0.1, 1.0, 10.0)
    seen: list[Any] = []
    world["robot"].follow(
        lambda t: (seen.append(mujoco.get_mjcb_control()) or [t], None, None)  # type: ignore[func-returns-value]
    )
    assert mujoco.get_mjcb_control() is None
    world.step(2)
    assert any(callback is not None for callback in seen)
    assert mujoco.get_mjcb_control() is None


def test_the_callback_is_removed_after_an_error() -> None:
    world = ramp_world(1.0, 0.02, 2.0, 0.1, 1.0, 10.0)

    def fails(t: float) -> tuple[Any, ...]:
        if t > 0.04:
            raise RuntimeError("no more targets")
        return ([0.0], None, None)

    world["robot"].follow(fails)
    with pytest.raises(RuntimeError, match="no more targets"):
        world.step(5)
    assert mujoco.get_mjcb_control() is None


def test_another_world_stepped_meanwhile_is_left_alone() -> None:
    world = ramp_world(1.0, 0.02, 2.0, 0.1, 1.0, 10.0)
    other = ramp_world(1.0, 0.02, 2.0, 0.1, 1.0, 10.0)
    other["robot"].follow(None)
    before = other.data.ctrl.copy()

    def steps_the_other(t: float) -> tuple[Any, ...]:
        mujoco.mj_forward(other.model, other.data)
        return ([t], [1.0], None)

    world["robot"].follow(steps_the_other)
    world.step(3)
    np.testing.assert_array_equal(other.data.ctrl, before)


def test_the_stages_of_a_step_see_their_own_time() -> None:
    times: list[float] = []
    world = ramp_world(1.0, 0.02, 2.0, 0.1, 1.0, 10.0)
    world["robot"].follow(lambda t: (times.append(t) or [t], None, None))  # type: ignore[func-returns-value]
    times.clear()
    world.step()
    assert {round(t, 6) for t in times} == {0.0, 0.05, 0.1}


def test_python_cannot_run_it() -> None:
    message = (
        "robot.PIDController cannot run in python: "
        "integration: integrator needs MuJoCo's integrator"
    )
    with refused(mjrig.ExecutionError, message):
        make_world(ARM, [PIDController(integration="integrator")], execution="python")


@pytest.mark.parametrize("execution", ["auto", "native", "compiled"])
def test_every_other_execution_compiles_a_pid_actuator(execution: str) -> None:
    world = make_world(ARM, [PIDController(ki=1, integration="integrator")], execution=execution)
    assert world.execution == "native"
    assert (world.model.nu, world.model.na) == (3, 1)


def test_an_implicit_integrator_needs_the_users_word() -> None:
    controller = PIDController(ki=1, integration="integrator")
    with pytest.raises(mjrig.ExecutionError, match="would integrate the gains implicitly"):
        make_world(ARM, [controller], sim={"integrator": "implicitfast"}, execution="auto")
    options = {"integrator": "implicitfast", "actuation": "implicit"}
    world = make_world(ARM, [controller.copy()], sim=options, execution="auto")
    assert world.execution == "native"


def test_a_trajectory_moves_python_controllers_once_per_step() -> None:
    world = make_world(ARM, [PIDController(kp=5, kv=1)], execution="python")
    world["robot"].follow(lambda t: ([0.5 + t], [1.0], [2.0]))
    world.step(3)
    assert world["robot"].setpoints.values[:, 0].tolist() == [0.5 + 2 * 0.002, 1.0, 2.0]


def test_what_is_no_trajectory_is_refused_at_once() -> None:
    world = make_world(ARM, [PIDController()])
    with pytest.raises(ValueError, match="a trajectory gives position, velocity and feedforward"):
        world["robot"].follow(lambda t: ([0.0],))


# Found by review ----------------------------------------------------------------------------------


def test_a_hold_wins_over_a_trajectory_at_every_stage() -> None:
    xml = ARM.replace("</mujoco>", '<keyframe><key name="home" qpos="0.25"/></keyframe></mujoco>')
    controller = PIDController(kp=5, ki=1, kv=1, integration="integrator")
    world = make_world(xml, [controller], sim={"integrator": "RK4"}, execution="auto")
    robot = world["robot"]
    robot.follow(lambda t: ([2.0], None, None))
    robot.hold("home")
    world.step(10)
    assert robot.setpoints.position.tolist() == [0.25]
    assert world.data.ctrl[0] == 0.25


def test_a_trajectory_respects_leases() -> None:
    world = make_world(ARM, [PIDController()])
    lease = world["robot"].take(mjrig.Source.UI, holder="window")
    with pytest.raises(mjrig.LeaseError, match="'arm' is held by 'window'"):
        world["robot"].follow(lambda t: ([1.0], None, None))
    lease.release()
    world["robot"].follow(lambda t: ([1.0], None, None))


def test_what_is_not_finite_at_a_stage_is_held_back() -> None:
    world = ramp_world(1.0, 0.02, 2.0, 0.1, 1.0, 10.0)
    world["robot"].follow(lambda t: ([np.nan if t > 0.04 else 0.3], None, None))
    world.step(3)
    assert np.isfinite(world.data.ctrl).all()
    assert {e.kind for e in world.events} == {"non-finite setpoint"}


def test_stages_are_asked_while_events_are_watched() -> None:
    ends = []
    for watching in (False, True):
        controller = PIDController(kp=1, ki=0.02, kv=2, integration="integrator")
        world = make_world(
            ARM, [controller], sim={"integrator": "RK4", "timestep": 0.1},
            execution="auto", pause_on_event=watching,
        )  # fmt: skip
        world["robot"].follow(lambda t: ([0.1 * t], [0.1], None))
        world.step(100)
        ends.append(float(world.data.qpos[0]))
    assert ends[0] == ends[1]
