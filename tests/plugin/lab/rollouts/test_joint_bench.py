"""A bench gives the response of a robot that hangs still, and says why a joint stays short."""

from importlib.resources import files
from pathlib import Path

import mujoco
import numpy as np
import pytest

from mjrig.components import PDController, PIDController
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import BindingError
from mjrig.core.sim.world import World
from mjrig.lab.rollouts.joint_bench import Bench, Response, ResponseRecorder, bound, respond
from mjrig.lab.rollouts.signals import Kind, Signal
from tests.worlds import GRIPPER, hinge, make_world, refused

QUADRUPED = Path(str(files("mjrig.config").joinpath("scenes", "quadruped.yaml")))
#: A rod that hangs to the side: gravity pulls with 9.81 · 0.2 N·m at rest.
ROD = """
<mujoco>
  <compiler angle="radian" autolimits="true"/>
  <option timestep="0.001"/>
  <worldbody>
    <body name="rod">
      <joint name="swing" axis="0 1 0" {joint}/>
      <inertial pos="0.2 0 0" mass="1" diaginertia="0.05 0.05 0.05"/>
    </body>
  </worldbody>
  <actuator><motor name="drive" joint="swing"/></actuator>
</mujoco>"""


def one(xml: str, controller: PDController, signal: Signal | None = None) -> Response:
    bench = Bench(make_world(xml, [controller]))
    (found,) = bench.run("robot", ["drive"], signal or Signal())
    return found


def causes(xml: str, controller: PDController, signal: Signal | None = None) -> list[str]:
    return [cause.kind for cause in one(xml, controller, signal).causes]


def test_a_joint_of_known_inertia_overshoots_as_its_damping_ratio_says() -> None:
    # I = 0.5, kp = 50: ω = 10 rad/s, critical kv = 10; kv = 5 is ζ = 0.5.
    found = one(hinge(), PDController(kp=50, kv=5), Signal(duration=3.0)).metrics
    assert found is not None
    assert found.overshoot == pytest.approx(0.163, abs=0.01)
    assert found.saturation == 0.0
    assert found.steady_state_error == pytest.approx(0.0, abs=1e-4)


def test_a_held_base_is_a_fixed_base() -> None:
    """The same sag as a model without the free joint, with contacts off."""
    bench = Bench(World(QUADRUPED))
    (found,) = bench.run("quadruped", ["FL_thigh"], Signal(duration=1.0))
    spec = mujoco.MjSpec.from_file(
        str(files("mjrig.assets").joinpath("quadruped", "quadruped.xml"))
    )
    home = np.array(spec.key("home").qpos)[7:]
    for key in list(spec.keys):
        spec.delete(key)
    spec.delete(spec.joint("root"))
    model = spec.compile()
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(model)
    data.qpos[:] = home
    stiff = np.array([150, 150, 220] * 4)
    limit = np.array([33.5, 33.5, 45] * 4)
    target = home.copy()
    for k in range(2000):
        target[1] = home[1] + (0.1 if k >= 1000 else 0.0)
        effort = stiff * (target - data.qpos) - 5 * data.qvel
        data.ctrl[:] = np.clip(effort, -limit, limit)
        mujoco.mj_step(model, data)
    assert found.trace is not None
    assert found.trace.position[-1] == pytest.approx(data.qpos[1], abs=1e-6)


def test_joints_are_tested_one_after_the_other_from_one_state() -> None:
    bench = Bench(World(QUADRUPED))
    names = ["FL_hip", "FL_calf"]
    both = bench.run("quadruped", names, Signal(duration=0.3))
    alone = bench.run("quadruped", names[1:], Signal(duration=0.3))
    together = bench.run("quadruped", names, Signal(duration=0.3), together=True)
    assert [r.actuator for r in both] == names
    assert both[1].trace is not None and alone[0].trace is not None
    assert np.array_equal(both[1].trace.position, alone[0].trace.position)
    assert together[1].trace is not None
    assert not np.array_equal(together[1].trace.position, alone[0].trace.position)


def test_what_commands_is_taken_off() -> None:
    world = World(QUADRUPED.parent / "quadruped_trot.yaml")
    bench = Bench(world)
    (found,) = bench.run("quadruped", ["FL_hip"], Signal(duration=0.3))
    assert found.trace is not None
    assert found.trace.target[0] == pytest.approx(found.trace.target[-1])


# Causes -----------------------------------------------------------------------------------------


def test_gravity_is_named_with_its_share() -> None:
    found = one(ROD.format(joint=""), PDController(kp=100, kv=10), Signal(duration=3.0))
    assert found.metrics is not None and found.metrics.steady_state_error is not None
    assert found.metrics.steady_state_error < 0.0  # it hangs below
    (cause,) = found.causes
    assert (cause.kind, cause.where, cause.unit) == ("gravity sag", "robot.drive", "N·m")
    assert cause.evidence["kp"] == 100
    assert cause.evidence["error"] == -found.metrics.steady_state_error
    assert cause.evidence["sag"] == pytest.approx(cause.evidence["error"], rel=0.01)
    assert cause.here == pytest.approx(100 * cause.evidence["sag"])


def test_saturation_is_named_first() -> None:
    found = causes(
        ROD.format(joint='damping="1"'), PDController(kp=100, kv=1, torque_limit=0.5), _LONG
    )
    assert found[0] == "saturation"


def test_dry_friction_is_named() -> None:
    xml = hinge(joint='frictionloss="4"')  # it creeps, as MuJoCo's friction does
    moving, friction = one(xml, PDController(kp=50, kv=10), _LONG).causes
    assert (moving.kind, friction.kind) == ("moving", "dry friction")
    assert (moving.here, moving.unit) == (pytest.approx(4.68, abs=0.005), "s")


def test_a_joint_limit_is_named() -> None:
    xml = hinge(joint='range="-1 0.05"')
    assert causes(xml, PDController(kp=50, kv=10), _LONG) == ["joint limit"]


def test_a_lower_joint_limit_is_named() -> None:
    xml = hinge(joint='range="-0.05 1"')
    down = Signal(amplitude=-0.1, duration=3.0)
    assert causes(xml, PDController(kp=50, kv=10), down) == ["joint limit"]


def test_contact_of_a_running_robot_is_named_and_not_called_friction() -> None:
    world = World(QUADRUPED)
    robot = world["quadruped"]
    world.step(300)
    binding = bound(robot, "FL_calf")
    recorder = ResponseRecorder(robot, [binding])
    robot.set_targets({"FL_calf": float(robot.setpoints.position[2]) + 0.1})
    for _ in range(1000):
        world.step()
        recorder.take(world.time)
    (trace,) = recorder.traces()
    found = respond(world, robot, binding, trace, Signal(amplitude=0.1))
    named = [cause.kind for cause in found.causes]
    assert "contact" in named and "dry friction" not in named


def test_a_spring_is_named() -> None:
    xml = hinge(joint='stiffness="20"')
    assert causes(xml, PDController(kp=50, kv=10), _LONG) == ["joint spring"]


def test_a_damper_is_no_spring() -> None:
    xml = ROD.format(joint='damping="5"')
    found = causes(xml, PDController(kp=10, kv=20), Signal(duration=0.05))
    assert "joint spring" not in found


def test_a_spring_of_a_tendon_is_not_the_joints_own() -> None:
    fixed = '<fixed stiffness="20" springlength="0"><joint joint="swing" coef="1"/></fixed>'
    xml = hinge().replace("</mujoco>", f"<tendon>{fixed}</tendon></mujoco>")
    assert causes(xml, PDController(kp=50, kv=10), _LONG) == ["tendon springs"]


# Before and after the signal --------------------------------------------------------------------


@pytest.mark.parametrize(("kp", "kv"), [(20.0, 0.4), (10.0, 20.0), (50.0, 5.0)])
def test_a_response_is_that_of_a_still_joint_however_short_the_test(kp: float, kv: float) -> None:
    """Compared with plain MuJoCo, from rest in equilibrium and over a long time."""
    xml = ROD.format(joint="")
    found = one(xml, PDController(kp=kp, kv=kv, torque_limit=1e3), Signal(duration=0.5)).metrics
    position = _plain_step(xml, kp, kv)
    final, start = position[-1], position[0]
    share = (position - start) / (final - start)
    time = 0.001 * np.arange(len(share))
    first = int(np.argmax(share >= 0.9)) + 1
    ten, ninety = np.interp([0.1, 0.9], share[:first], time[:first])
    outside = np.flatnonzero(np.abs(share - 1.0) > 0.02)[-1]
    assert found is not None
    assert found.rise_time == pytest.approx(ninety - ten, rel=0.02)
    assert found.overshoot == pytest.approx(max(share.max() - 1.0, 0.0), abs=0.01)
    assert found.settling_time == pytest.approx(time[outside + 1], rel=0.05)


def _plain_step(xml: str, kp: float, kv: float) -> FloatArray:
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    positions = []
    for k in range(60_000):
        target = 0.1 if k >= 40_000 else 0.0
        data.ctrl[0] = kp * (target - data.qpos[0]) - kv * data.qvel[0]
        if k >= 40_000:
            positions.append(float(data.qpos[0]))
        mujoco.mj_step(model, data)
    return np.array(positions)


def test_a_joint_that_never_rests_says_so_and_has_no_numbers() -> None:
    found = one(ROD.format(joint=""), PDController(kp=100, kv=0))
    assert found.metrics is None and found.trace is None
    assert found.problem.startswith("never at rest: 30 s after the start it still moves at ")


def test_without_stiffness_nothing_pulls() -> None:
    assert causes(hinge(), PDController(kp=0, kv=10)) == ["no stiffness"]


def test_an_integral_removes_the_sag() -> None:
    pid = PIDController(kp=100, kv=10, ki=200)
    found = one(ROD.format(joint=""), pid, Signal(duration=5.0))
    assert found.metrics is not None
    assert found.metrics.steady_state_error == pytest.approx(0.0, abs=1e-4)
    assert found.causes == ()


# Refusals ---------------------------------------------------------------------------------------


def test_divergence_is_told_instead_of_numbers() -> None:
    found = one(hinge(inertia=0.001), PDController(kp=1e6, kv=1e4, torque_limit=1e9))
    assert found.metrics is None
    assert "diverged" in found.problem


def test_an_unknown_actuator_is_refused_with_the_nearest() -> None:
    bench = Bench(make_world(hinge(), [PDController()]))
    with refused(BindingError, "robot has no actuator 'driv'; … 'drive'?"):
        bench.run("robot", ["driv"], Signal())


def test_an_actuator_without_a_law_is_refused() -> None:
    bench = Bench(make_world(GRIPPER, [PDController(actuators="leg")]))
    with refused(BindingError, "robot.grip: drives the tendon 'grip', not …"):
        bench.run("robot", ["grip"], Signal())


def test_a_run_can_be_stopped() -> None:
    bench = Bench(World(QUADRUPED))
    asked = iter([False, True])
    found = bench.run(
        "quadruped", ["FL_hip", "FR_hip"], Signal(Kind.SINE, duration=0.1), stop=lambda: next(asked)
    )
    assert [r.actuator for r in found] == ["FL_hip"]


_LONG = Signal(duration=3.0)
