"""The binding table, and each warning."""

import math

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.check import findings, joint_inertia, report, rows
from mjrig.components import PassthroughController, PDController
from tests.worlds import GRIPPER, MOTORS, ZOO, arm, hinge, make_robot, make_world, pd_of

SOFT = {"kp": 1.0, "kv": 0.1}


def warnings(xml: str, *components: mjrig.ActorComponent) -> list[str]:
    return [str(f) for f in findings(make_world(xml, components))]


def motor(attributes: str = "") -> str:
    return f'<motor name="drive" joint="swing" {attributes}/>'


# Warnings ---------------------------------------------------------------------------------------


def test_a_scene_in_order_has_no_warnings() -> None:
    assert warnings(hinge(), PDController(**SOFT)) == []


def test_two_owned_actuators_on_one_joint() -> None:
    xml = hinge(motor() + '<motor name="spare" joint="swing"/>')
    assert warnings(xml, PDController(**SOFT)) == [
        "robot.swing: two or more owned actuators act on this joint: drive, spare; "
        "each applies its full effort"
    ]


def test_two_owners_on_one_joint() -> None:
    xml = hinge(motor() + '<motor name="spare" joint="swing"/>')
    pair = [PDController(actuators=name, **SOFT) for name in ("drive", "spare")]
    assert len(warnings(xml, *pair)) == 1


def test_an_actuator_nobody_owns_on_the_same_joint_is_fine() -> None:
    xml = hinge(motor() + '<motor name="spare" joint="swing"/>')
    assert warnings(xml, PDController(actuators="drive", **SOFT)) == []


def test_no_limit_anywhere() -> None:
    assert warnings(hinge(), PDController(torque_limit=math.inf, **SOFT)) == [
        "robot.drive: has no effort limit, neither here nor in the model"
    ]


@pytest.mark.parametrize(
    ("attributes", "joint"),
    [
        ('ctrlrange="-1 1"', ""),
        ('forcerange="-1 1"', ""),
        ("", 'actuatorfrcrange="-1 1"'),
    ],
)
def test_a_limit_in_the_model_is_a_limit(attributes: str, joint: str) -> None:
    xml = hinge(motor(attributes), joint=joint)
    assert warnings(xml, PDController(torque_limit=math.inf, **SOFT)) == []


@pytest.mark.parametrize(
    ("attributes", "joint", "name", "bound"),
    [
        ('gear="2" ctrlrange="-15 15"', "", "ctrlrange", "30"),
        ('gear="2" forcerange="-12 12"', "", "forcerange", "24"),
        ('gear="-2" forcerange="-12 10"', "", "forcerange", "20"),
        ('gear="2"', 'actuatorfrcrange="-9 9"', "actuatorfrcrange", "9"),
        ('ctrlrange="0 10"', "", "ctrlrange", "0"),
    ],
)
def test_a_torque_limit_above_the_models(
    attributes: str, joint: str, name: str, bound: str
) -> None:
    xml = hinge(motor(attributes), joint=joint)
    assert warnings(xml, PDController(torque_limit=40, **SOFT)) == [
        f"robot.drive: torque limit 40 N·m is above the model's {name} ({bound} N·m), which wins"
    ]


def test_a_torque_limit_equal_to_the_models_is_fine() -> None:
    xml = hinge(motor('gear="2" ctrlrange="-20 20"'))
    assert warnings(xml, PDController(torque_limit=40, **SOFT)) == []


def test_a_slides_limit_is_in_newton() -> None:
    xml = hinge(motor('forcerange="-1 1"'), joint='type="slide"')
    assert warnings(xml, PDController(torque_limit=40, **SOFT)) == [
        "robot.drive: torque limit 40 N is above the model's forcerange (1 N), which wins"
    ]


def test_a_disabled_controller_sends_radians_as_torque() -> None:
    assert warnings(arm(), PDController(enabled=False, **SOFT)) == [
        "robot.PDController: is disabled: position setpoints in rad go as torque to a, b"
    ]


def test_a_disabled_passthrough_changes_nothing() -> None:
    assert warnings(arm(), PassthroughController(enabled=False)) == []


def test_a_controller_that_owns_nothing() -> None:
    assert warnings(GRIPPER, PDController(actuators="gr.*")) == [
        "robot.PDController: owns no actuator: nothing its patterns match can be bound"
    ]


# Stability --------------------------------------------------------------------------------------

INERTIA, STEP = 0.01, 0.001


@pytest.mark.parametrize(
    ("kp", "kv", "warning"),
    [
        (0.0, 9.0, None),
        (0.0, 11.0, "explicit PD is close to its stability bound: kv·dt/I = 1.1, bound 2"),
        (0.0, 21.0, "explicit PD is unstable: kv·dt/I = 2.1, bound 2; "
         "lower the gain or the timestep"),
        (19000.0, 0.0, None),
        (30000.0, 0.0, "explicit PD is close to its stability bound: "
         "kp·dt²/I + 2·kv·dt/I = 3, bound 4"),
        (30000.0, 6.0, "explicit PD is unstable: kp·dt²/I + 2·kv·dt/I = 4.2, bound 4; "
         "lower the gain or the timestep"),
    ],
)  # fmt: skip
def test_stability_is_judged_by_both_numbers(kp: float, kv: float, warning: str | None) -> None:
    found = warnings(hinge(inertia=INERTIA), PDController(kp=kp, kv=kv))
    assert found == ([] if warning is None else [f"robot.drive: {warning}"])


def growth(kp: float, kv: float) -> float:
    """By how much the peak speed of a pushed hinge grows from 60 steps to the next 60."""
    pd = PDController(kp=kp, kv=kv, torque_limit=math.inf)
    world, robot = make_robot(hinge(inertia=INERTIA), pd)
    robot.set_targets(0.0)
    world.data.qvel[0] = 1e-9
    speeds = []
    for _ in range(120):
        world.step()
        speeds.append(abs(float(world.data.qvel[0])))
    return max(speeds[60:]) / max(speeds[:60])


@pytest.mark.parametrize(
    ("kp_share", "kv_share"), [(0.0, 1.0), (1.0, 0.0), (0.5, 0.5), (0.9, 0.1), (0.1, 0.9)]
)
def test_the_bound_is_where_motion_begins_to_grow(kp_share: float, kv_share: float) -> None:
    kp, kv = kp_share * 4.0 * INERTIA / STEP**2, kv_share * 2.0 * INERTIA / STEP
    assert growth(0.99 * kp, 0.99 * kv) < 1.1
    assert growth(1.01 * kp, 1.01 * kv) > 2.0


def test_gear_does_not_change_the_judgement() -> None:
    plain = warnings(hinge(inertia=INERTIA), PDController(kp=0, kv=11))
    geared = warnings(hinge(motor('gear="6.33"'), inertia=INERTIA), PDController(kp=0, kv=11))
    assert plain == geared != []


def test_inertia_counts_armature_and_what_hangs_on_the_joint() -> None:
    world = make_world(arm())
    mass = np.zeros((2, 2))
    mujoco.mj_fullM(world.model, world.data, mass)
    expected = 1.0 / np.diag(np.linalg.inv(mass))
    assert joint_inertia(world.model, world.data) == pytest.approx(expected)


def test_a_live_edit_is_judged_at_once() -> None:
    world, robot = make_robot(hinge(inertia=INERTIA), PDController(**SOFT))
    assert findings(world) == []
    pd_of(robot).kv = 100
    assert len(findings(world)) == 1


# Table ------------------------------------------------------------------------------------------


def test_the_table_has_every_actuator_in_id_order() -> None:
    _, robot = make_robot(ZOO, PDController())
    table = rows(robot)
    assert [r.actuator for r in table] == [b.actuator for b in robot.actuators]


def test_a_bound_row_has_gains_owner_and_execution() -> None:
    _, robot = make_robot(arm(), PDController(kp=[3, 4], kv=2, torque_limit=5))
    row = rows(robot)[1]
    assert row.gains == {"kp": 4.0, "kv": 2.0, "torque_limit": 5.0}
    assert (row.owner, row.execution, row.reason) == ("PDController", "python", "")
    assert (row.joint, row.kind, row.gear) == ("elbow", "motor", 1.0)


@pytest.mark.parametrize(
    ("component", "reason"),
    [
        (PDController(actuators="a"), "no controller owns it"),
        (PDController(enabled=False), "PDController is disabled"),
    ],
)
def test_a_row_driven_directly_says_why(component: PDController, reason: str) -> None:
    _, robot = make_robot(arm(), component.copy())
    row = rows(robot)[1]
    assert (row.owner, row.execution, row.reason) == ("setpoint, directly", "", reason)


def test_a_skipped_row_has_its_reason_and_target() -> None:
    _, robot = make_robot(GRIPPER, PDController())
    row = rows(robot)[1]
    assert row.joint == "tendon grip"
    assert row.reason == "drives the tendon 'grip', not a joint"


def test_the_report_has_tables_execution_and_warnings() -> None:
    xml = arm(MOTORS + '<position name="grip" tendon="cable" kp="40"/>')
    world = make_world(xml, [PDController(actuators=["a", "grip.*"], torque_limit=math.inf)])
    text = report(world).splitlines()
    assert text[0] == "robot: 3 actuators, 1 bound to a law"
    assert "    b: no controller owns it" in text
    assert "    grip: drives the tendon 'cable', not a joint" in text
    assert "robot.PDController runs as python: asked for" in text
    assert text[-2:] == [
        "warnings: 1",
        "  robot.a: has no effort limit, neither here nor in the model",
    ]


def test_a_report_without_warnings_says_none() -> None:
    assert report(make_world(hinge(), [PDController(**SOFT)])).endswith("warnings: none")
