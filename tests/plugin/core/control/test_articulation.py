"""The order of one step, components that come and go, holds, seeds and broken numbers."""

from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig import Source
from mjrig.components import ArticulationController, PassthroughController, PDController
from tests.worlds import (
    GRIPPER,
    MOTORS,
    ZOO,
    arm,
    hinge,
    make_robot,
    make_world,
    make_worlds,
    pd_of,
    refused,
)

BENT = '<key name="bent" qpos="0.5 -0.4"/>'
LOADED = '<key name="loaded" qpos="0 0" ctrl="7 8"/>'


class Constant(ArticulationController):
    """Writes one number, and counts how often it was asked."""

    value: float
    calls: list[Source]

    def prepare(self) -> None:
        self.value = 1.5
        self.calls = []

    def compute_and_apply(self, model: Any, data: Any, source: Source) -> None:
        self.calls.append(source)
        data.ctrl[[b.ctrl_address for b in self.bindings]] = self.value


def constant(robot: mjrig.Articulation, **values: object) -> Constant:
    controller = Constant(**values)
    robot.add_component(controller)
    return controller


# Who writes what --------------------------------------------------------------------------------


def test_every_actuator_is_written_every_step() -> None:
    world, robot = make_robot(ZOO, PDController())
    for _ in range(2):
        world.data.ctrl[:] = np.nan
        robot.apply_controls()
        assert np.isfinite(world.data.ctrl).all()
    assert not world.events


def test_an_actuator_nobody_owns_gets_its_setpoint_unscaled() -> None:
    world, robot = make_robot(arm('<motor name="a" joint="shoulder" gear="5"/>'))
    robot.setpoints.position[:] = 0.25
    robot.apply_controls()
    assert world.data.ctrl.tolist() == [0.25]


def test_an_actuator_never_commanded_is_written_zero() -> None:
    world, robot = make_robot(arm())
    world.data.ctrl[:] = 9.0
    robot.apply_controls()
    assert world.data.ctrl.tolist() == [0.0, 0.0]


def test_a_tendon_gripper_next_to_a_leg_keeps_working() -> None:
    world, robot = make_robot(GRIPPER, PDController())
    robot.set_targets({"knee": 0.3, "grip": 0.05})
    world.step(2000)
    assert world.data.qpos == pytest.approx([0.3, 0.05], abs=1e-3)


def test_several_controllers_own_disjoint_actuators() -> None:
    first = PDController(actuators="a", kp=10, kv=0)
    world, robot = make_robot(arm(), first, PDController(actuators="b", kp=20, kv=0))
    robot.set_targets({"a": 1.0, "b": 1.0})
    robot.apply_controls()
    assert world.data.ctrl.tolist() == [10.0, 20.0]


def test_an_overlap_is_refused_naming_both() -> None:
    message = (
        "robot: actuator 'b' is claimed by components[0] PDController ('.*') … "
        "components[1] PassthroughController ('b', 'x|b'); …"
    )
    with refused(mjrig.BindingError, message):
        make_robot(arm(), PDController(), PassthroughController(actuators=["b", "x|b"]))


def test_a_disabled_controller_falls_through() -> None:
    world, robot = make_robot(arm(), PDController(enabled=False))
    robot.setpoints.position[:] = [0.1, 0.2]
    robot.apply_controls()
    assert world.data.ctrl.tolist() == [0.1, 0.2]


def test_disabling_and_enabling_live_needs_no_other_change() -> None:
    world, robot = make_robot(arm(), PDController(kp=10, kv=0))
    pd = pd_of(robot)
    robot.set_targets(1.0)
    seen = []
    for enabled in (True, False, True):
        pd.enabled = enabled
        robot.apply_controls()
        seen.append(world.data.ctrl.tolist())
    assert seen == [[10.0, 10.0], [1.0, 1.0], [10.0, 10.0]]


def test_a_disabled_controller_still_owns_its_actuators() -> None:
    _, robot = make_robot(arm(), PDController(enabled=False))
    with pytest.raises(mjrig.BindingError, match="is claimed by"):
        robot.add_component(PDController())


def test_a_controller_is_told_the_source() -> None:
    _, robot = make_robot(arm())
    controller = constant(robot)
    robot.apply_controls()
    with robot.take(Source.POLICY):
        robot.apply_controls()
    assert controller.calls == [Source.SCRIPT, Source.POLICY]


def test_a_pid_actuator_is_driven_by_input_name() -> None:
    actuators = '<pid name="p" joint="shoulder" kp="10" kv="1" input="pos vel ff"/>' + (
        '<pid name="r" joint="elbow" kp="10" kv="1" input="vel ff"/>'
    )
    world, robot = make_robot(arm(actuators))
    robot.set_targets({"p": 1.0}, velocity={"p": 2.0, "r": 4.0}, feedforward={"p": 3.0, "r": 5.0})
    robot.apply_controls()
    assert world.data.ctrl.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_an_orientation_actuator_takes_its_own_inputs() -> None:
    world, robot = make_robot(ZOO)
    binding = next(b for b in robot.actuators if b.actuator == "orientation")
    robot.setpoints.inputs["orientation"][:] = [0.5, 0.5, 0.5, 0.5]
    robot.apply_controls()
    own = world.data.ctrl[binding.ctrl_address : binding.ctrl_address + binding.ctrl_count]
    assert own.tolist() == [0.5, 0.5, 0.5, 0.5]


def test_an_actor_without_actuators_steps() -> None:
    world, robot = make_robot(hinge(""), PDController())
    assert world.step(3) == 3
    assert robot.actuator_names == ()
    for values in (robot.effort, robot.raw_effort, robot.applied_effort, robot.position):
        assert values.shape == (0,)


# Seeds ------------------------------------------------------------------------------------------


def test_controlled_setpoints_start_at_the_pose() -> None:
    _, robot = make_robot(arm(), PDController(), joints={"shoulder": 0.4, "elbow": -0.2})
    assert robot.setpoints.position.tolist() == [0.4, -0.2]


def test_nothing_snaps_to_zero_after_a_reset() -> None:
    world, robot = make_robot(arm(), PDController(), joints={"shoulder": 0.4})
    robot.set_targets({"shoulder": 1.0}, velocity=1.0, feedforward=2.0)
    world.step(50)
    world.reset()
    assert robot.setpoints.values.tolist() == [[0.4, 0.0], [0.0, 0.0], [0.0, 0.0]]
    world.step(50)
    assert np.array_equal(world.data.qpos, [0.4, 0.0])


def test_a_keyframe_reset_seeds_from_the_key() -> None:
    world, robot = make_robot(arm(keys=BENT), PDController())
    world.reset("bent")
    assert robot.setpoints.position.tolist() == [0.5, -0.4]


def test_a_component_added_later_starts_at_the_current_pose() -> None:
    world, robot = make_robot(arm())
    robot.set_targets({"a": 2.0})
    world.step(200)
    robot.add_component(PDController())
    assert np.array_equal(robot.setpoints.position, world.data.qpos)
    assert world.data.qpos[0] > 0.01


def test_direct_setpoints_start_at_the_keys_ctrl() -> None:
    world, robot = make_robot(arm(keys=LOADED))
    world.reset("loaded")
    assert robot.setpoints.position.tolist() == [7.0, 8.0]


def test_a_pids_inputs_start_at_the_keys_ctrl() -> None:
    xml = arm(
        '<pid name="p" joint="shoulder" kp="1" kv="1" input="pos vel ff"/>',
        keys='<key name="k" ctrl="1 2 3"/>',
    )
    _, robot = make_robot(xml, keyframe="k")
    assert robot.setpoints.values[:, 0].tolist() == [1.0, 2.0, 3.0]


def test_direct_position_actuators_start_at_their_length() -> None:
    actuators = '<position name="p" joint="shoulder" gear="2"/><position name="t" tendon="cable"/>'
    _, robot = make_robot(arm(actuators), joints={"shoulder": 0.3, "elbow": 0.2})
    assert robot.setpoints.position == pytest.approx([0.6, 0.4])


def test_a_velocity_input_does_not_start_at_the_length() -> None:
    xml = arm('<pid name="p" joint="shoulder" kp="0" kv="1" input="vel"/>')
    _, robot = make_robot(xml, joints={"shoulder": 0.3})
    assert robot.setpoints.position.tolist() == [0.0]


def test_direct_motors_start_at_zero() -> None:
    _, robot = make_robot(arm(), joints={"shoulder": 0.3})
    assert robot.setpoints.position.tolist() == [0.0, 0.0]


def test_an_orientation_starts_at_the_identity() -> None:
    _, robot = make_robot(ZOO)
    assert robot.setpoints.inputs["orientation"].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_a_tendon_law_starts_at_the_length_of_the_pose() -> None:
    pd = PDController(transmissions="all")
    _, robot = make_robot(
        arm('<motor name="t" tendon="cable"/>'), pd, joints={"shoulder": 0.3, "elbow": 0.2}
    )
    assert robot.setpoints.position == pytest.approx([0.4])


def test_a_tendon_law_added_later_starts_at_the_length_of_the_present_state() -> None:
    world, robot = make_robot(arm('<motor name="t" tendon="cable"/>'))
    robot.set_targets(5.0)
    world.step(100)
    robot.add_component(PDController(transmissions="all"))
    shoulder, elbow = world.data.qpos
    assert robot.setpoints.position == pytest.approx([shoulder + 0.5 * elbow], abs=1e-12)


def test_clear_returns_to_the_pose_of_the_last_reset() -> None:
    world, robot = make_robot(arm(keys=BENT), PDController())
    world.reset("bent")
    robot.set_targets(2.0, velocity=1.0, feedforward=1.0)
    world.step(100)
    robot.clear()
    assert robot.setpoints.values.tolist() == [[0.5, -0.4], [0.0, 0.0], [0.0, 0.0]]


def test_clear_returns_tendons_and_quaternions_to_the_reset_pose() -> None:
    pd = PDController(actuators="tendon", transmissions="all")
    world, robot = make_robot(ZOO, pd, joints={"hinge": 0.2})
    robot.set_targets({"tendon": 1.0})
    robot.setpoints.inputs["orientation"][:] = [0.0, 1.0, 0.0, 0.0]
    world.step(20)
    robot.clear()
    column = robot.actuator_names.index("tendon")
    assert robot.setpoints.position[column] == pytest.approx(0.2)
    assert robot.setpoints.inputs["orientation"].tolist() == [1.0, 0.0, 0.0, 0.0]


# Holds ------------------------------------------------------------------------------------------


def test_a_hold_wins_over_every_command() -> None:
    world, robot = make_robot(arm(keys=BENT), PDController(kp=100, kv=10))
    robot.hold("bent")
    robot.set_targets(3.0)
    robot.apply_controls()
    assert robot.setpoints.position.tolist() == [0.5, -0.4]
    assert world.data.ctrl.tolist() == [50.0, -40.0]


def test_a_hold_injects_no_state() -> None:
    world, robot = make_robot(arm(keys=BENT), PDController())
    robot.hold("bent")
    robot.apply_controls()
    assert not world.data.qpos.any()
    world.step(3000)
    assert world.data.qpos == pytest.approx([0.5, -0.4], abs=1e-2)


def test_a_hold_wins_over_the_holder_of_a_lease() -> None:
    world, robot = make_robot(arm(keys=BENT), PDController())
    lease = robot.take(Source.POLICY)
    robot.hold("bent")
    lease.set_targets(2.0)
    world.step()
    assert robot.setpoints.position.tolist() == [0.5, -0.4]


def test_a_released_hold_leaves_the_setpoints() -> None:
    world, robot = make_robot(arm(keys=BENT), PDController())
    robot.hold("bent")
    world.step()
    robot.release_hold()
    world.step()
    assert robot.setpoints.position.tolist() == [0.5, -0.4]
    robot.set_targets(1.0)
    world.step()
    assert robot.setpoints.position.tolist() == [1.0, 1.0]


def test_a_hold_says_its_name_until_it_ends() -> None:
    world, robot = make_robot(arm(keys=BENT), PDController())
    robot.hold("bent")
    assert robot.held == "bent"
    world.reset()
    assert robot.held == ""


def test_a_hold_pins_tendons_at_the_length_of_the_keys_pose() -> None:
    pd = PDController(transmissions="all")
    _, robot = make_robot(arm('<motor name="t" tendon="cable"/>', keys=BENT), pd)
    robot.hold("bent")
    robot.apply_controls()
    assert robot.setpoints.position == pytest.approx([0.3])


def test_a_hold_pins_orientations() -> None:
    xml = ZOO.replace("</mujoco>", '<keyframe><key name="zero"/></keyframe></mujoco>')
    world, robot = make_robot(xml)
    robot.hold("zero")
    robot.setpoints.inputs["orientation"][:] = [0.0, 1.0, 0.0, 0.0]
    world.step()
    assert robot.setpoints.inputs["orientation"].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_a_hold_of_an_unknown_key_is_refused() -> None:
    _, robot = make_robot(arm(keys=BENT))
    with refused(mjrig.BindingError, "robot has no keyframe 'bend'; … 'bent'?"):
        robot.hold("bend")
    assert robot.held == ""


def test_a_hold_of_the_second_robot_never_touches_the_first() -> None:
    xml = arm(keys=BENT)
    options = {"components": [PDController()]}
    world = make_worlds({"one": xml, "two": xml}, one=options, two={"components": [PDController()]})
    world["two"].hold("bent")
    world.step(2000)
    assert np.array_equal(world.data.qpos[:2], [0.0, 0.0])
    assert world.data.qpos[2:] == pytest.approx([0.5, -0.4], abs=1e-2)


# Numbers that are not finite --------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_non_finite_setpoint_becomes_the_last_finite_one(bad: float) -> None:
    world, robot = make_robot(arm(), PDController(kp=10, kv=0))
    robot.set_targets({"a": 0.5, "b": 0.25})
    robot.apply_controls()
    robot.setpoints.position[0] = bad
    robot.apply_controls()
    assert world.data.ctrl.tolist() == [5.0, 2.5]
    assert robot.setpoints.position.tolist() == [0.5, 0.25]
    assert [e.message for e in world.events] == [
        f"robot.shoulder: position setpoint is {bad}; the last finite one, 0.5, is used"
    ]


@pytest.mark.parametrize("row", ["velocity", "feedforward"])
def test_the_event_names_row_joint_and_actuator(row: str) -> None:
    world, robot = make_robot(arm(), PDController())
    getattr(robot.setpoints, row)[1] = np.nan
    world.step()
    (event,) = world.events
    assert (event.actor, event.kind, event.actuator, event.joint, event.time) == (
        "robot",
        "non-finite setpoint",
        "b",
        "elbow",
        0.0,
    )
    assert event.message.startswith(f"robot.elbow: {row} setpoint is nan")
    assert str(event).startswith("t=0.0000 s: robot.elbow: ")


def test_before_any_command_the_last_finite_setpoint_is_the_pose() -> None:
    world, robot = make_robot(arm(), PDController(), joints={"shoulder": 0.3})
    robot.setpoints.position[:] = np.nan
    world.step()
    assert robot.setpoints.position.tolist() == [0.3, 0.0]


def test_a_broken_setpoint_survives_a_component_added_in_between() -> None:
    world, robot = make_robot(arm(), PDController(actuators="a"))
    robot.set_targets({"a": 0.5})
    world.step()
    robot.setpoints.position[0] = np.nan
    robot.add_component(PDController(actuators="b"))
    world.step()
    assert robot.setpoints.position[0] == 0.5


def test_a_non_finite_input_becomes_the_last_finite_one() -> None:
    world, robot = make_robot(ZOO)
    robot.setpoints.inputs["orientation"][1] = np.nan
    world.step()
    assert robot.setpoints.inputs["orientation"].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert [e.message for e in world.events] == [
        "robot.orientation: input is not finite; the last finite one is used"
    ]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_non_finite_effort_holds_the_last_finite_ctrl(bad: float) -> None:
    world, robot = make_robot(arm())
    controller = constant(robot, actuators="a")
    robot.set_targets({"b": 0.25})
    world.step()
    controller.value = bad
    world.step()
    assert world.data.ctrl.tolist() == [1.5, 0.25]
    (event,) = world.events
    assert event.message.startswith("robot.shoulder: effort is not finite; ")


def test_an_effort_that_was_never_finite_is_held_at_the_reset_ctrl() -> None:
    world, robot = make_robot(arm())
    constant(robot).value = np.nan
    world.step()
    assert world.data.ctrl.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("clamps", [[], [{"type": "MaxEffort", "max_effort": 3}]])
@pytest.mark.parametrize("decimation", [1, 3])
@pytest.mark.parametrize("execution", ["python", "compiled", "auto"])
def test_an_effort_that_overflows_is_held_whatever_limits_it(
    execution: str, decimation: int, clamps: list[dict[str, object]]
) -> None:
    pytest.importorskip("numba", reason="needs the extra 'fast'")
    pd = PDController(kp=1e300, kv=0, torque_limit=7, clamps=clamps, decimation=decimation)
    world = make_world(hinge(), [pd], execution=execution)
    robot = world["robot"]
    robot.setpoints.feedforward[:] = 0.25
    world.step(3)
    before, counts = world.data.ctrl.tolist(), clamp_counts(robot)
    robot.set_targets(1e10)
    with np.errstate(over="ignore"):
        world.step(3)
    assert world.data.ctrl.tolist() == before
    assert clamp_counts(robot) == counts
    held = "effort is not finite; the last finite ctrl is held"
    assert [e.message for e in world.events] == [f"robot.swing: {held}"] * 3
    assert world.execution != "native"


def clamp_counts(robot: mjrig.Articulation) -> list[list[int]]:
    return [count.tolist() for count in pd_of(robot).clamp_counts.values()]


@pytest.mark.parametrize("execution", ["python", "native", "compiled", "auto"])
@pytest.mark.parametrize("field", ["qpos", "qvel"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1e11])
def test_a_state_that_is_not_finite_is_one_event(execution: str, field: str, value: float) -> None:
    pytest.importorskip("numba", reason="needs the extra 'fast'")
    world = make_world(arm(), [PDController()], execution=execution)
    world.step(2)
    getattr(world.data, field)[1] = value
    with np.errstate(all="ignore"):
        world.step(2)
    assert [(e.kind, e.joint) for e in world.events] == [("diverged", "elbow")]


@pytest.mark.parametrize("gear", [1.0, 100.0, 1e-3])
def test_setpoints_that_no_ctrl_can_hold_are_refused_alike(gear: float) -> None:
    pytest.importorskip("numba", reason="needs the extra 'fast'")
    motor = f'<motor name="drive" joint="swing" gear="{gear}"/>'
    found = []
    for execution in ("python", "native", "compiled"):
        world = make_world(hinge(motor), [PDController(kp=1, kv=0.1)], execution=execution)
        store = world["robot"].setpoints
        for row, value in ((store.position, 1e9), (store.feedforward, 1e8), (store.velocity, 9e9)):
            row[:] = value
            world.step()
            row[:] = 0.1
            world.step()
        found.append((world.data.qpos.tolist(), [str(e) for e in world.events]))
    assert found[0] == found[1] == found[2]
    assert len(found[0][1]) == {1.0: 0, 100.0: 2, 1e-3: 1}[gear]


def test_only_the_latest_thousand_events_are_kept() -> None:
    world, robot = make_robot(hinge())
    constant(robot).value = np.nan
    world.step(1200)
    assert len(world.events) == 1000
    assert world.events[0].time == pytest.approx(0.2)


def test_an_actuator_without_joint_is_named_itself() -> None:
    world, robot = make_robot(GRIPPER)
    robot.set_targets({"grip": np.nan})
    world.step()
    (event,) = world.events
    assert (event.actuator, event.joint) == ("grip", "")
    assert event.message.startswith("robot.grip: ")


# Components on a running world ------------------------------------------------------------------


def test_adding_keeps_the_setpoints_of_the_others() -> None:
    world, robot = make_robot(arm(), PDController(actuators="a"))
    robot.set_targets({"a": 0.5}, velocity={"a": 0.1})
    world.step(10)
    robot.add_component(PDController(actuators="b"))
    assert robot.setpoints.values[:, 0].tolist() == [0.5, 0.1, 0.0]


def test_adding_what_does_not_fit_changes_nothing() -> None:
    world, robot = make_robot(arm(), PDController(actuators="a"))
    newcomer = PDController(actuators="b", kp={"nothing": 1})
    message = "robot.PDController_2.kp: 'nothing' matches no actuator or … 'robot'; …"
    with refused(mjrig.PropertyError, message):
        robot.add_component(newcomer)
    assert len(robot.components) == 1
    assert not newcomer.is_bound
    assert newcomer.label == "PDController"
    world.step()


def test_a_component_that_was_refused_may_be_added_elsewhere() -> None:
    _, robot = make_robot(arm(), PDController())
    newcomer = PDController()
    with pytest.raises(mjrig.BindingError):
        robot.add_component(newcomer)
    _, other = make_robot(arm())
    other.add_component(newcomer)
    assert newcomer.num_bindings == 2


def test_a_controller_whose_attach_fails_is_not_left_bound() -> None:
    class Fussy(PDController):
        def attach(self, articulation: object) -> None:
            raise mjrig.BindingError("not here")

    _, robot = make_robot(arm())
    fussy = Fussy()
    with refused(mjrig.BindingError, "not here"):
        robot.add_component(fussy)
    assert not fussy.is_bound
    fussy.actuators = "b"
    assert robot.components == ()


def test_one_component_cannot_be_on_two_actors() -> None:
    _, robot = make_robot(arm(), PDController())
    _, other = make_robot(arm())
    message = "robot.PDController already belongs to robot; … copy"
    with refused(mjrig.BindingError, message):
        other.add_component(robot.components[0])


def test_removing_hands_its_actuators_to_the_direct_path() -> None:
    world, robot = make_robot(arm(), PDController(), joints={"shoulder": 0.3})
    pd = pd_of(robot)
    robot.remove_component(pd)
    robot.apply_controls()
    assert world.data.ctrl.tolist() == [0.0, 0.0]
    assert not pd.is_bound
    assert robot.controllers == ()


def test_removing_keeps_the_memory_of_the_others() -> None:
    world, robot = make_robot(arm(), PDController(actuators="a"), PDController(actuators="b"))
    robot.set_targets({"b": 0.5})
    world.step(5)
    before = pd_of(robot, 1).raw_effort.tolist()
    robot.remove_component(robot.components[0])
    assert pd_of(robot).raw_effort.tolist() == before
    assert robot.setpoints.position[1] == 0.5


def test_a_removed_component_can_be_added_again() -> None:
    world, robot = make_robot(arm(), PDController(kp=10, kv=0))
    pd = pd_of(robot)
    robot.remove_component(pd)
    robot.add_component(pd)
    robot.set_targets(1.0)
    robot.apply_controls()
    assert world.data.ctrl.tolist() == [10.0, 10.0]


def test_removing_what_is_not_there_is_refused() -> None:
    _, robot = make_robot(arm())
    pd = PDController()
    with refused(mjrig.BindingError, f"{pd!r} is not a component … 'robot'"):
        robot.remove_component(pd)


def test_a_pattern_edited_live_moves_the_ownership() -> None:
    world, robot = make_robot(arm(), PDController(actuators="a", kp=10, kv=0))
    pd = pd_of(robot)
    pd.actuators = "b"
    robot.set_targets({"a": 1.0, "b": 1.0})
    robot.apply_controls()
    assert world.data.ctrl.tolist() == [1.0, 10.0]
    assert [b.actuator for b in pd.bindings] == ["b"]


def test_a_pattern_edited_live_seeds_what_is_new_only() -> None:
    world, robot = make_robot(arm(), PDController(actuators="a"), joints={"elbow": 0.2})
    robot.set_targets({"a": 0.5})
    pd_of(robot).actuators = ".*"
    assert robot.setpoints.position.tolist() == [0.5, 0.2]
    assert world.step() == 1


def test_pattern_and_gains_may_be_edited_together() -> None:
    _, robot = make_robot(arm(), PDController(actuators="a", kp={"a": 1}))
    pd = pd_of(robot)
    pd.assign({"actuators": "b", "kp": {"b": 3}})
    assert pd.kp.tolist() == [3.0]


@pytest.mark.parametrize("pattern", ["nothing", "a|b"])
def test_a_pattern_that_cannot_be_leaves_everything_as_it_was(pattern: str) -> None:
    world, robot = make_robot(
        arm(), PDController(actuators="a", kp=10, kv=0), PDController(actuators="b", kp=20, kv=0)
    )
    pd = pd_of(robot)
    with pytest.raises(mjrig.BindingError):
        pd.actuators = pattern
    assert pd.actuators == ("a",)
    assert [b.actuator for b in pd.bindings] == ["a"]
    robot.set_targets(1.0)
    robot.apply_controls()
    assert world.data.ctrl.tolist() == [10.0, 20.0]


def test_gains_that_do_not_fit_the_new_pattern_undo_it() -> None:
    _, robot = make_robot(arm(), PDController(kp={"shoulder": 1, "default": 2}))
    pd = pd_of(robot)
    message = "robot.PDController.kp: 'shoulder' matches no actuator or … 'robot'; …"
    with refused(mjrig.PropertyError, message):
        pd.actuators = "b"
    assert pd.actuators == (".*",)
    assert pd.kp.tolist() == [1.0, 2.0]


def test_other_components_keep_their_setpoints_when_one_is_edited() -> None:
    _, robot = make_robot(
        arm(MOTORS + '<motor name="c" joint="elbow"/>'),
        PDController(actuators="a"),
        PDController(actuators="b"),
    )
    robot.set_targets({"b": 0.7})
    pd_of(robot).actuators = ["a", "c"]
    assert robot.setpoints.position[1] == 0.7


def test_components_are_found_by_type_name_and_short_form() -> None:
    _, robot = make_robot(arm(), PDController())
    assert robot.part("PDController") is robot.part("pd") is robot.components[0]
    message = "robot has no component 'pid'; did you mean 'PDController'?"
    with pytest.raises(mjrig.PropertyError) as info:
        robot.part("pid")
    assert str(info.value) in (message, "robot has no component 'pid'; has: PDController")


# Telemetry --------------------------------------------------------------------------------------

LIMITED = '<motor name="drive" joint="swing" gear="2" ctrlrange="-15 15" forcerange="-12 12"/>'


def test_raw_effort_effort_and_applied_effort_each_mean_their_limits() -> None:
    xml = hinge(LIMITED, joint='actuatorfrcrange="-20 20"')
    world, robot = make_robot(xml, PDController(kp=100, kv=0, torque_limit=40))
    robot.set_targets(1.0)
    world.step()
    assert robot.raw_effort.tolist() == [100.0]
    assert robot.effort.tolist() == [40.0]
    assert robot.applied_effort.tolist() == [20.0]
    assert world.data.qfrc_actuator.tolist() == [20.0]


@pytest.mark.parametrize(
    ("actuator", "joint", "applied"),
    [
        ('<motor name="drive" joint="swing" gear="2" ctrlrange="-15 15"/>', "", 30.0),
        ('<motor name="drive" joint="swing" gear="2" forcerange="-12 12"/>', "", 24.0),
        ('<motor name="drive" joint="swing" gear="2"/>', 'actuatorfrcrange="-9 9"', 9.0),
        ('<motor name="drive" joint="swing" gear="-2" ctrlrange="-15 10"/>', "", 30.0),
    ],
)
def test_applied_effort_is_what_the_joint_gets(actuator: str, joint: str, applied: float) -> None:
    world, robot = make_robot(hinge(actuator, joint=joint), PDController(kp=100, kv=0))
    robot.set_targets(1.0)
    world.step()
    assert robot.effort == pytest.approx([100.0])
    assert robot.applied_effort == pytest.approx([applied])
    assert world.data.qfrc_actuator == pytest.approx([applied])


def test_position_and_velocity_are_per_binding() -> None:
    pd = PDController(transmissions="all")
    world, robot = make_robot(arm(MOTORS + '<motor name="t" tendon="cable"/>'), pd)
    robot.set_targets({"a": 0.5})
    world.step(10)
    mujoco.mj_forward(world.model, world.data)
    (q0, q1), (v0, v1) = world.data.qpos, world.data.qvel
    assert robot.position == pytest.approx([q0, q1, q0 + 0.5 * q1])
    assert robot.velocity == pytest.approx([v0, v1, v0 + 0.5 * v1])


def test_a_robot_shows_what_it_is() -> None:
    world = make_world(arm(), [PDController()])
    assert repr(world["robot"]) == "Articulation('robot', 2 actuators, 1 components)"
