"""PD on a robot: numbers, gears, limits, precision, and gains that change while it runs."""

from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig import Source
from mjrig.components import PDController, PIDController
from mjrig.core.properties.per_actuator import Origin, origins
from tests.worlds import GRIPPER, MOTORS, arm, bare, hinge, make_robot, pd_of, refused

GEARS = [1.0, 3.0, 6.33, 0.1, -2.0]


def geared(gear: float, gain: float = 1.0) -> str:
    return hinge(f'<general name="drive" joint="swing" gear="{gear}" gainprm="{gain}"/>')


# The law ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "state", "expected"),
    [
        ([1.0, 0.0, 0.0], [0.25, 0.0], 7.5),
        ([-1.0, 0.0, 0.0], [0.25, 0.0], -12.5),
        ([0.0, 0.0, 0.0], [0.0, 3.0], -6.0),
        ([0.0, 1.0, 0.0], [0.0, 3.0], -4.0),
        ([0.0, 0.0, 1.25], [0.0, 0.0], 1.25),
        ([1.0, 0.5, 0.25], [0.5, -0.5], 7.25),
        ([5.0, 0.0, 0.0], [0.0, 0.0], 20.0),
        ([-5.0, 0.0, 0.0], [0.0, 0.0], -20.0),
    ],
)
def test_the_effort_by_hand(command: list[float], state: list[float], expected: float) -> None:
    world, robot = make_robot(hinge(), PDController(kp=10, kv=2, torque_limit=20))
    world.data.qpos[0], world.data.qvel[0] = state
    target, velocity, feedforward = command
    robot.set_targets(target, velocity=velocity, feedforward=feedforward)
    robot.apply_controls()
    assert world.data.ctrl.tolist() == [expected]


def test_defaults_are_100_5_and_200() -> None:
    _, robot = make_robot(hinge(), PDController())
    pd = pd_of(robot)
    assert (pd.kp.tolist(), pd.kv.tolist(), pd.torque_limit.tolist()) == ([100], [5], [200])


@pytest.mark.parametrize("execution", ["python", "compiled"])
@pytest.mark.parametrize("controller", [PDController, PIDController])
def test_textbook_order_is_summed_from_left_to_right(
    controller: type[PDController], execution: str
) -> None:
    if execution == "compiled":
        pytest.importorskip("numba")
    random = np.random.default_rng(6)
    own = controller(order="textbook", torque_limit=np.inf)
    world, robot = make_robot(hinge(), own, execution=execution)
    pd, differs = pd_of(robot), 0
    for _ in range(200):
        kp, kv = random.uniform(0, 300, 2)
        q, qd, target, velocity, feedforward = random.normal(size=5)
        pd.set_gains(kp, kv, np.inf)
        world.data.qpos[0], world.data.qvel[0] = q, qd
        robot.set_targets(target, velocity=velocity, feedforward=feedforward)
        robot.apply_controls()
        expected = feedforward + kp * (target - q) + kv * (velocity - qd)
        assert world.data.ctrl[0] == expected
        differs += expected != ((kp * target + kv * velocity) + feedforward) + (-kp * q - kv * qd)
    assert differs > 50


def test_textbook_order_is_never_native() -> None:
    reason = "order: textbook is not the order MuJoCo sums in"
    world, robot = make_robot(hinge(), PDController(order="textbook"), execution="auto")
    support = robot.controllers[0].supports()["native"]
    assert (support.available, support.reason) == (False, reason)
    assert world.execution in ("compiled", "python")
    assert reason in robot.controllers[0].execution.reason
    with pytest.raises(mjrig.ExecutionError, match=reason):
        make_robot(hinge(), PDController(order="textbook"), execution="native")


def test_the_order_can_be_changed_while_it_runs() -> None:
    world, robot = make_robot(hinge(), PDController(kp=3.3, torque_limit=np.inf))
    robot.set_targets(0.7)
    world.data.qpos[0] = 0.1
    found = []
    for order in ("engine", "textbook"):
        pd_of(robot).order = order
        robot.apply_controls()
        found.append(world.data.ctrl[0])
    assert found == [3.3 * 0.7 + -3.3 * 0.1, 3.3 * (0.7 - 0.1)]
    assert found[0] != found[1]


def test_float64_has_the_engines_bits() -> None:
    random = np.random.default_rng(5)
    world, robot = make_robot(hinge(), PDController(torque_limit=np.inf))
    pd = pd_of(robot)
    for _ in range(200):
        kp, kv = random.uniform(0, 300, 2)
        q, qd, target, velocity, feedforward = random.normal(size=5)
        pd.set_gains(kp, kv, np.inf)
        world.data.qpos[0], world.data.qvel[0] = q, qd
        robot.set_targets(target, velocity=velocity, feedforward=feedforward)
        robot.apply_controls()
        expected = ((kp * target + kv * velocity) + feedforward) + ((-kp) * q + (-kv) * qd)
        assert world.data.ctrl[0] == expected


@pytest.mark.parametrize("gear", GEARS)
def test_with_a_gear_the_law_has_the_engines_bits_in_actuator_space(gear: float) -> None:
    random = np.random.default_rng(6)
    kp, kv = 80.0, 3.0
    world, robot = make_robot(geared(gear), PDController(kp=kp, kv=kv, torque_limit=np.inf))
    for _ in range(50):
        q, qd, target, velocity, feedforward = random.normal(size=5)
        world.data.qpos[0], world.data.qvel[0] = q, qd
        robot.set_targets(target, velocity=velocity, feedforward=feedforward)
        robot.apply_controls()
        k, d, g = kp / (gear * gear), kv / (gear * gear), gear
        expected = ((k * (target * g) + d * (velocity * g)) + feedforward / g) + (
            (-k) * (q * g) + (-d) * (qd * g)
        )
        assert world.data.ctrl[0] == expected
        assert robot.effort[0] == pytest.approx(
            feedforward + kp * (target - q) + kv * (velocity - qd), rel=1e-12
        )


def test_float32_has_the_bits_of_training_stacks() -> None:
    random = np.random.default_rng(7)
    world, robot = make_robot(hinge(), PDController(kp=80.3, kv=3.1, precision="float32"))
    kp, kv = np.float32(80.3), np.float32(3.1)
    for _ in range(100):
        values = random.normal(size=5)
        world.data.qpos[0], world.data.qvel[0] = values[:2]
        robot.set_targets(values[2], velocity=values[3], feedforward=values[4])
        robot.apply_controls()
        q, qd, target, velocity, feedforward = values.astype(np.float32)
        expected = (feedforward + kp * (target - q)) + kv * (velocity - qd)
        assert expected.dtype == np.float32
        assert world.data.ctrl[0] == float(np.clip(expected, -200, 200))


def test_precision_can_be_changed_live() -> None:
    world, robot = make_robot(hinge(), PDController(kp=80.3, kv=0))
    pd = pd_of(robot)
    robot.set_targets(0.1)
    seen = []
    for precision in ("float64", "float32", "float64"):
        pd.assign({"precision": precision})
        robot.apply_controls()
        seen.append(float(world.data.ctrl[0]))
    assert seen[0] == seen[2] == 80.3 * 0.1
    assert seen[1] == float(np.float32(80.3) * np.float32(0.1))


# Gear and gain ----------------------------------------------------------------------------------


@pytest.mark.parametrize("gear", GEARS)
@pytest.mark.parametrize("gain", [1.0, 0.5, -4.0])
def test_stiffness_at_the_joint_does_not_depend_on_gear_and_gain(gear: float, gain: float) -> None:
    world, robot = make_robot(geared(gear, gain), PDController(kp=10, kv=2))
    world.data.qvel[0] = 0.5
    robot.set_targets(1.0, feedforward=3.0)
    robot.apply_controls()
    assert robot.effort == pytest.approx([12.0], rel=1e-12)
    assert world.data.ctrl == pytest.approx([12.0 / (gear * gain)], rel=1e-12)
    mujoco.mj_forward(world.model, world.data)
    assert world.data.qfrc_actuator == pytest.approx([12.0], rel=1e-12)


@pytest.mark.parametrize("gear", GEARS)
def test_the_motion_does_not_depend_on_the_gear(gear: float) -> None:
    paths = []
    for each in (1.0, gear):
        world, robot = make_robot(geared(each), PDController(kp=20, kv=1, torque_limit=5))
        robot.set_targets(1.0)
        world.step(300)
        paths.append(float(world.data.qpos[0]))
    assert paths[0] == pytest.approx(paths[1], rel=1e-9)


@pytest.mark.parametrize("gear", GEARS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_torque_limit_is_at_the_joint(gear: float, sign: float) -> None:
    world, robot = make_robot(geared(gear), PDController(kp=100, kv=0, torque_limit=7))
    robot.set_targets(sign)
    world.step()
    assert robot.raw_effort == pytest.approx([sign * 100.0])
    assert robot.effort == pytest.approx([sign * 7.0])
    assert robot.applied_effort == pytest.approx([sign * 7.0])


def test_gears_of_one_robot_may_differ() -> None:
    xml = arm('<motor name="a" joint="shoulder" gear="3"/><motor name="b" joint="elbow"/>')
    world, robot = make_robot(xml, PDController(kp=9, kv=0))
    robot.set_targets(1.0)
    robot.apply_controls()
    assert world.data.ctrl == pytest.approx([3.0, 9.0])
    assert robot.effort == pytest.approx([9.0, 9.0])


def test_a_pinned_position_actuator_takes_the_effort_as_its_ctrl() -> None:
    xml = hinge('<position name="drive" joint="swing" kp="50"/>')
    pd = PDController(actuators="drive", allow_non_motor=True, kp=10, kv=0)
    world, robot = make_robot(xml, pd)
    robot.set_targets(0.5)
    robot.apply_controls()
    assert world.data.ctrl.tolist() == [5.0]


# Targets ----------------------------------------------------------------------------------------


def test_targets_beyond_the_joint_range_are_followed_by_default() -> None:
    world, robot = make_robot(hinge(joint='range="-1 1"'), PDController(kp=10, kv=0))
    robot.set_targets(3.0)
    robot.apply_controls()
    assert world.data.ctrl.tolist() == [30.0]


@pytest.mark.parametrize(("target", "effort"), [(3.0, 10.0), (-3.0, -5.0), (0.2, 2.0)])
def test_targets_can_be_clamped_to_the_joint_range(target: float, effort: float) -> None:
    pd = PDController(kp=10, kv=0, clamp_targets=True)
    world, robot = make_robot(hinge(joint='range="-0.5 1"'), pd)
    robot.set_targets(target)
    robot.apply_controls()
    assert world.data.ctrl.tolist() == [effort]
    assert robot.setpoints.position.tolist() == [target]


def test_clamping_leaves_joints_without_a_range() -> None:
    world, robot = make_robot(hinge(), PDController(kp=10, kv=0, clamp_targets=True))
    robot.set_targets(3.0)
    robot.apply_controls()
    assert world.data.ctrl.tolist() == [30.0]


# Live changes -----------------------------------------------------------------------------------


def ctrl_after(robot: mjrig.Articulation, world: mjrig.World) -> list[float]:
    robot.apply_controls()
    return [float(c) for c in world.data.ctrl]


def test_a_gain_takes_effect_on_the_next_step() -> None:
    world, robot = make_robot(arm(), PDController(kp=10, kv=0))
    pd = pd_of(robot)
    robot.set_targets(1.0)
    seen = [ctrl_after(robot, world)]
    pd.kp = {"a": 20, "default": 5}
    seen.append(ctrl_after(robot, world))
    pd.torque_limit = 8
    seen.append(ctrl_after(robot, world))
    assert seen == [[10, 10], [20, 5], [8, 5]]


def test_a_default_reaches_what_is_not_explicit() -> None:
    world, robot = make_robot(arm(), PDController(kp={"a": 10}, default_kp=30, kv=0))
    pd = pd_of(robot)
    robot.set_targets(1.0)
    seen = [ctrl_after(robot, world)]
    pd.default_kp = 40
    seen.append(ctrl_after(robot, world))
    assert seen == [[10, 30], [10, 40]]


def test_a_default_damping_and_limit_reach_the_next_step_too() -> None:
    world, robot = make_robot(arm(), PDController(kp=0))
    pd = pd_of(robot)
    world.data.qvel[:] = 1.0
    pd.default_kv = 7
    assert ctrl_after(robot, world) == [-7.0, -7.0]
    pd.default_torque_limit = 3
    assert ctrl_after(robot, world) == [-3.0, -3.0]


def test_set_gains_makes_all_three_explicit() -> None:
    _, robot = make_robot(arm(), PDController())
    pd = pd_of(robot)
    pd.set_gains([1, 2], [3, 4], [5, 6])
    pd.assign({"default_kp": 99, "default_kv": 99, "default_torque_limit": 99})
    assert (pd.kp.tolist(), pd.kv.tolist(), pd.torque_limit.tolist()) == ([1, 2], [3, 4], [5, 6])
    for name in ("kp", "kv", "torque_limit"):
        assert origins(pd, name) == (Origin.EXPLICIT, Origin.EXPLICIT)


def test_set_gains_takes_scalars_for_all() -> None:
    _, robot = make_robot(arm(), PDController())
    pd_of(robot).set_gains(1, 2, np.inf)
    assert pd_of(robot).torque_limit.tolist() == [np.inf, np.inf]


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        (([1], [1, 2], [1, 2]), "robot.PDController.kp: must have 2 values, one … 1"),
        (([1, 2], [1, 2, 3], [1, 2]), "robot.PDController.kv: must have 2 values, one … 3"),
        (([1, 2], [1, 2], [[1, 2]]),
         "robot.PDController.torque_limit: must have 2 values, one … (1, 2)"),
        (([1, -2], [1, 2], [1, 2]), "robot.PDController.kp: must be >= 0 N·m/rad, got -2 for 'b'"),
        (([1, 2], [1, np.nan], [1, 2]), "robot.PDController.kv: must be a number, … nan … 'b'"),
    ],
)  # fmt: skip
def test_gains_that_do_not_fit_change_nothing(gains: tuple[Any, Any, Any], message: str) -> None:
    _, robot = make_robot(arm(), PDController(kp=10, kv=1))
    pd = pd_of(robot)
    before = dict(vars(pd))
    with refused(ValueError, message):
        pd.set_gains(*gains)
    assert vars(pd).keys() == before.keys()
    for name in ("kp", "kv", "torque_limit", "_authored"):
        assert vars(pd)[name] is before[name]


def test_set_gains_before_bind_spreads_scalars_at_bind() -> None:
    pd = PDController()
    pd.set_gains(1, 2, 3)
    _, robot = make_robot(arm(), pd)
    assert pd_of(robot).kp.tolist() == [1.0, 1.0]


def test_gains_are_read_only_arrays() -> None:
    _, robot = make_robot(arm(), PDController())
    with pytest.raises(ValueError, match="read-only"):
        pd_of(robot).kp[0] = 3.0


def test_a_patch_merges_and_never_enables() -> None:
    _, robot = make_robot(arm(), PDController(kp=10, enabled=False))
    pd = pd_of(robot)
    pd.patch(kp={"elbow": 80})
    assert pd.kp.tolist() == [10.0, 80.0]
    assert not pd.enabled


def test_a_patch_is_all_or_nothing() -> None:
    _, robot = make_robot(arm(), PDController(kp=10, kv=1))
    pd = pd_of(robot)
    message = "robot.PDController.kv: 'elbwo' matches no actuator or … 'robot'; … 'elbow'?"
    with refused(mjrig.PropertyError, message):
        pd.patch(kp={"elbow": 80}, kv={"elbwo": 2})
    assert (pd.kp.tolist(), pd.kv.tolist()) == ([10, 10], [1, 1])


def test_setpoints_changed_while_disabled_are_followed_when_enabled() -> None:
    world, robot = make_robot(hinge(), PDController(kp=10, kv=0))
    pd = pd_of(robot)
    robot.set_targets(1.0)
    robot.apply_controls()
    pd.enabled = False
    robot.set_targets(2.0)
    robot.apply_controls()
    pd.enabled = True
    assert ctrl_after(robot, world) == [20.0]


def test_a_setpoint_written_into_the_array_is_followed() -> None:
    world, robot = make_robot(hinge(), PDController(kp=10, kv=0))
    seen = []
    for target in (1.0, 2.0, 2.0, -1.0):
        robot.setpoints.position[0] = target
        seen += ctrl_after(robot, world)
    assert seen == [10.0, 20.0, 20.0, -10.0]


# Telemetry --------------------------------------------------------------------------------------


def test_raw_effort_of_a_disabled_controller_is_what_is_sent() -> None:
    _, robot = make_robot(hinge(), PDController(kp=10, kv=0))
    robot.set_targets(1.0)
    robot.apply_controls()
    pd_of(robot).enabled = False
    robot.apply_controls()
    assert robot.raw_effort.tolist() == robot.effort.tolist() == [1.0]


def test_raw_effort_of_several_controllers_is_in_binding_order() -> None:
    first = PDController(actuators="b", kp=1, kv=0, torque_limit=0)
    _, robot = make_robot(arm(), first, PDController(actuators="a", kp=2, kv=0, torque_limit=0))
    robot.set_targets(1.0)
    robot.apply_controls()
    assert robot.raw_effort.tolist() == [2.0, 1.0]
    assert robot.effort.tolist() == [0.0, 0.0]


def test_reset_forgets_the_effort() -> None:
    world, robot = make_robot(hinge(), PDController())
    robot.set_targets(1.0)
    world.step()
    world.reset()
    assert robot.raw_effort.tolist() == [0.0]


# Tendons ----------------------------------------------------------------------------------------


def test_a_tendon_and_joints_under_one_law() -> None:
    pd = PDController(transmissions="all", kp=10, kv=1)
    world, robot = make_robot(arm(MOTORS + '<motor name="t" tendon="cable"/>'), pd)
    world.data.qpos[:], world.data.qvel[:] = [0.2, 0.4], [1.0, -1.0]
    robot.set_targets({"a": 1.0, "b": 1.0, "t": 1.0})
    world.step()
    assert robot.raw_effort == pytest.approx([7.0, 7.0, 5.5])


def test_a_tendons_gear_is_inside_its_length() -> None:
    pd = PDController(transmissions="all", kp=10, kv=0)
    world, robot = make_robot(arm('<general name="t" tendon="cable" gear="2" gainprm="4"/>'), pd)
    robot.set_targets(1.0)
    world.step()
    assert world.data.ctrl == pytest.approx([2.5])
    assert robot.effort == pytest.approx([10.0])
    assert world.data.actuator_force == pytest.approx([10.0])


# Without an articulation ------------------------------------------------------------------------


def test_a_controller_works_on_a_bare_model() -> None:
    model, data = bare(arm())
    pd = PDController(kp=10, kv=0)
    pd.bind(model, data, [1, 0])
    pd.setpoints.position[:] = [1.0, 2.0]
    pd.compute_and_apply(model, data, mjrig.Source.SCRIPT)
    assert data.ctrl.tolist() == [10.0, 20.0]
    assert (pd.is_bound, pd.num_bindings) == (True, 2)


def test_a_bare_controller_starts_at_the_pose() -> None:
    model, data = bare(arm(MOTORS + '<motor name="t" tendon="cable"/>'))
    data.qpos[:] = [0.2, 0.4]
    mujoco.mj_forward(model, data)
    pd = PDController(transmissions="all")
    pd.bind(model, data, range(3))
    assert pd.setpoints.position == pytest.approx([0.2, 0.4, 0.4])
    pd.compute_and_apply(model, data, Source.SCRIPT)
    assert data.ctrl == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)


def test_a_bare_controller_follows_live_edits() -> None:
    model, data = bare(arm())
    pd = PDController(kp=10, kv=0)
    pd.bind(model, data, [0, 1])
    pd.setpoints.write(1.0)
    pd.kp = 30
    pd.actuators = "elbow"
    pd.compute_and_apply(model, data, Source.SCRIPT)
    assert pd.num_bindings == 1
    assert data.ctrl.tolist() == [0.0, 30.0]


def test_a_bare_controller_refuses_what_cannot_be_and_stays() -> None:
    model, data = bare(arm())
    pd = PDController(kp=10, kv=0)
    pd.bind(model, data, [0, 1])
    message = "PDController.actuators: 'wrist' matches no actuator or joint of 'model'; "
    with refused(mjrig.BindingError, message + "available: a, shoulder, b, elbow"):
        pd.actuators = "wrist"
    assert pd.num_bindings == 2


def test_a_bare_controller_owns_only_the_ids_it_was_given() -> None:
    model, data = bare(arm())
    pd = PDController()
    pd.bind(model, data, [1])
    assert [b.actuator for b in pd.bindings] == ["b"]


def test_a_bare_controller_leaves_other_ctrl_alone() -> None:
    model, data = bare(GRIPPER)
    data.ctrl[:] = 9.0
    pd = PDController(kp=10, kv=0)
    pd.bind(model, data, [0, 1])
    pd.compute_and_apply(model, data, Source.SCRIPT)
    assert data.ctrl.tolist() == [0.0, 9.0]


def test_an_unbound_controller_says_so() -> None:
    model, data = bare(arm())
    message = "PDController is not bound: put … bind it"
    with refused(mjrig.BindingError, message):
        PDController().compute_and_apply(model, data, Source.SCRIPT)


def test_an_unbound_controller_has_no_effort_and_can_be_reset() -> None:
    pd = PDController()
    pd.reset()
    assert pd.raw_effort.tolist() == []
    assert not pd.is_bound


def test_a_bare_controller_has_the_bits_of_one_on_an_actor() -> None:
    world, robot = make_robot(arm(option=""), PDController())
    robot.set_targets(0.5)
    world.step(100)
    model, data = bare(arm(option=""))
    pd = PDController()
    pd.bind(model, data, [0, 1])
    pd.setpoints.position[:] = 0.5
    for _ in range(100):
        pd.compute_and_apply(model, data, Source.SCRIPT)
        mujoco.mj_step(model, data)
    assert np.array_equal(world.data.qpos, data.qpos)
