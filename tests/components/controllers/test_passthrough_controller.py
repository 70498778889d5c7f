"""Setpoints straight to the actuators it owns."""

import pytest

import mjrig
from mjrig import Source
from mjrig.components import PassthroughController, PDController
from tests.wording import regex
from tests.worlds import GRIPPER, ZOO, arm, bare, make_robot, refused


def test_setpoints_go_to_ctrl_unscaled() -> None:
    xml = arm('<motor name="a" joint="shoulder" gear="5"/><position name="b" joint="elbow"/>')
    world, robot = make_robot(xml, PassthroughController())
    robot.set_targets({"a": 0.25, "b": 0.5})
    robot.apply_controls()
    assert world.data.ctrl.tolist() == [0.25, 0.5]


def test_it_is_what_an_actuator_without_an_owner_gets_anyway() -> None:
    states = []
    for components in ((), (PassthroughController(),)):
        world, robot = make_robot(GRIPPER, *components)
        robot.set_targets({"leg": 0.1, "grip": 0.02})
        world.step(100)
        states.append(world.data.qpos.tolist())
    assert states[0] == states[1]


def test_it_owns_any_single_input_actuator() -> None:
    _, robot = make_robot(ZOO, PassthroughController())
    skipped = [name for name, _ in robot.controllers[0].bindings.skipped]
    assert skipped == ["pid", "orientation"]


def test_it_keeps_other_controllers_away() -> None:
    _, robot = make_robot(arm(), PassthroughController(actuators="a"))
    with pytest.raises(mjrig.BindingError, match="^" + regex("robot: actuator 'a' is claimed by ")):
        robot.add_component(PDController())
    robot.add_component(PDController(actuators="b"))


def test_its_setpoints_start_as_those_of_direct_actuators() -> None:
    xml = arm('<motor name="a" joint="shoulder"/><position name="b" joint="elbow"/>')
    _, robot = make_robot(xml, PassthroughController(), joints={"shoulder": 0.3, "elbow": 0.2})
    assert robot.setpoints.position == pytest.approx([0.0, 0.2])


def test_a_position_actuator_may_be_named_literally() -> None:
    _, robot = make_robot(GRIPPER, PassthroughController(actuators="grip"))
    assert [b.actuator for b in robot.controllers[0].bindings] == ["grip"]


def test_an_actuator_with_several_inputs_is_refused_by_name() -> None:
    message = "robot.PassthroughController: 'pid' is a pid actuator … 3 …"
    with refused(mjrig.BindingError, message):
        make_robot(ZOO, PassthroughController(actuators="pid"))


def test_disabling_it_changes_nothing() -> None:
    world, robot = make_robot(arm(), PassthroughController(enabled=False))
    robot.set_targets(0.5)
    robot.apply_controls()
    assert world.data.ctrl.tolist() == [0.5, 0.5]


def test_raw_effort_is_the_effort() -> None:
    world, robot = make_robot(arm(), PassthroughController())
    robot.set_targets(0.5)
    world.step()
    assert robot.raw_effort.tolist() == robot.effort.tolist() == [0.5, 0.5]


def test_it_works_on_a_bare_model() -> None:
    model, data = bare(arm())
    controller = PassthroughController()
    controller.bind(model, data, [0, 1])
    controller.setpoints.position[:] = [1.0, 2.0]
    controller.compute_and_apply(model, data, Source.SCRIPT)
    assert data.ctrl.tolist() == [1.0, 2.0]
