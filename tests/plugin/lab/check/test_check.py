"""The binding table, the report, and who drives what."""

import json
import math
from importlib.resources import files

import pytest

import mjrig
from mjrig.components import PassthroughController, PDController
from mjrig.core.findings import error, note, warning
from mjrig.lab.check.preflight import described, exit_code, findings, report, report_data, rows
from mjrig.lab.report.content import GOOD, ReportFindings
from tests.preflight import SOFT, edits, facts, findings_of, found, warnings
from tests.wording import matches, mentions
from tests.worlds import GRIPPER, MOTORS, ZOO, arm, hinge, make_robot, make_world, pd_of

TWO = '<motor name="drive" joint="swing"/><motor name="spare" joint="swing"/>'
BUNDLED = ("pendulum", "quadruped", "humanoid", "arm")


@pytest.mark.parametrize("scene", BUNDLED)
def test_the_bundled_scenes_have_no_findings(scene: str) -> None:
    folder = files("mjrig.config").joinpath("scenes")
    assert findings(mjrig.World(str(folder.joinpath(f"{scene}.yaml")))) == []


def test_a_scene_in_order_has_no_warnings() -> None:
    assert warnings(hinge(), PDController(**SOFT)) == []


# Who drives what --------------------------------------------------------------------------------


def test_two_owned_actuators_on_one_joint() -> None:
    assert facts("two-actuators", hinge(TWO), PDController(**SOFT)) == [
        (["robot.swing"], ["drive", "spare"], None)
    ]


def test_two_owners_on_one_joint() -> None:
    pair = [PDController(actuators=name, **SOFT) for name in ("drive", "spare")]
    assert len(findings_of("two-actuators", hinge(TWO), *pair)) == 1


def test_a_motor_nobody_owns_on_the_same_joint_is_fine() -> None:
    assert findings_of("two-actuators", hinge(TWO), PDController(actuators="drive", **SOFT)) == []


def test_a_position_actuator_beside_a_law_holds_the_joint_twice() -> None:
    xml = hinge(TWO.replace('motor name="spare"', 'position name="servo"'))
    (finding,) = findings_of("two-actuators", xml, PDController(**SOFT))
    assert finding.paths == ["robot.swing"]
    assert finding.here == ["drive (motor)", "servo (position)"]
    assert edits(finding) == ["robot.removed: add servo"]


def test_two_position_actuators_hold_a_joint_twice() -> None:
    servos = '<position name="a" joint="swing"/><position name="b" joint="swing"/>'
    assert len(findings_of("two-actuators", hinge(servos))) == 1
    servo_and_damper = (
        '<position name="a" joint="swing"/><damper name="b" joint="swing" ctrlrange="0 1"/>'
    )
    assert findings_of("two-actuators", hinge(servo_and_damper)) == []


def test_a_disabled_controller_sends_radians_as_torque() -> None:
    (finding,) = found(make_world(arm(), [PDController(enabled=False, **SOFT)]), "disabled")
    assert (finding.where, finding.evidence["motors"]) == ("robot.PDController", ["a", "b"])
    assert [str(edit) for edit in finding.edits] == ["robot.PDController.enabled: true"]


def test_a_disabled_passthrough_changes_nothing() -> None:
    assert findings_of("disabled", arm(), PassthroughController(enabled=False)) == []


def test_a_controller_that_owns_nothing() -> None:
    (finding,) = findings_of("owns-nothing", GRIPPER, PDController(actuators="gr.*"))
    assert (finding.paths, edits(finding)) == (["robot.PDController"], [])
    assert mentions(finding.evidence["reason"], "grip drives … 'grip'")


def test_a_controller_on_a_model_without_actuators() -> None:
    (finding,) = findings_of("owns-nothing", arm(""), PDController())
    assert finding.paths == ["robot.PDController"]
    assert edits(finding) == ["robot.actuators: add {type: MotorActuator, joint: .*}"]


def test_joints_without_any_actuator() -> None:
    (finding,) = findings_of("no-actuators", arm(""))
    assert (finding.paths, finding.here) == (["robot"], 2)
    assert edits(finding) == ["robot.actuators: add {type: MotorActuator, joint: .*}"]
    assert findings_of("no-actuators", hinge("")) == []  # a door, not a robot


def test_motors_without_a_controller() -> None:
    (finding,) = findings_of("no-controller", arm())
    assert (finding.paths, finding.here) == (["robot"], ["a", "b"])
    assert edits(finding) == ["robot.components: add {type: PDController}"]
    assert findings_of("no-controller", arm(), PassthroughController()) == []
    assert findings_of("no-controller", hinge('<position name="servo" joint="swing"/>')) == []


def test_a_live_edit_is_judged_at_once() -> None:
    world, robot = make_robot(hinge(inertia=0.01), PDController(**SOFT))
    assert found(world, "unstable-pd") == []
    pd_of(robot).kv = 100
    assert len(found(world, "unstable-pd")) == 1


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
    assert mentions(row.reason, "tendon 'grip'")


# Report -----------------------------------------------------------------------------------------


def test_the_report_has_tables_execution_and_findings() -> None:
    xml = arm(MOTORS + '<position name="grip" tendon="cable" kp="40" forcerange="-1 1"/>')
    law = PDController(actuators=["a", "grip.*"], torque_limit=math.inf)
    text = report(make_world(xml, [law])).splitlines()
    assert text[0].endswith("findings: 1 warning, 1 note")
    assert any(line.startswith("robot: 3 actuators, 1 ") for line in text)
    assert any(line.startswith("  b: ") for line in text)
    assert any(matches(line, "  grip: drives … 'cable'…") for line in text)
    assert "  robot.PDController runs as python: requested" in text
    assert text[-5] == "findings:"
    assert text[-4].startswith("  1. warning [no-limit] robot.a: ")
    assert matches(text[-3], "     fix: torque_limit: …")
    assert matches(text[-2], "  2. note [no-limit] robot.b: … ctrlrange … forcerange")


def test_a_report_without_findings_says_none() -> None:
    world = make_world(arm(), [PDController(**SOFT)])
    result = described(world)
    assert (result.verdict, result.tone) == ("findings: none", GOOD)
    assert [
        section.items for section in result.sections if isinstance(section, ReportFindings)
    ] == [[]]


def test_the_report_as_data_is_strict_json() -> None:
    world = make_world(arm(), [PDController(torque_limit={"a": math.inf, "b": 5}, **SOFT)])
    data = report_data(world)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    first, second = data["actors"][0]["actuators"]  # type: ignore[index]
    assert first["gains"] == {"kp": 1.0, "kv": 0.1, "torque_limit": "inf"}
    assert second["gains"]["torque_limit"] == 5.0
    assert data["executions"] == [
        {"controller": "robot.PDController", "execution": "python", "reason": "requested"}
    ]
    (finding,) = data["findings"]  # type: ignore[misc]
    assert finding.pop("text") and finding.pop("fix").startswith("torque_limit: ")
    assert finding == {
        "kind": "no-limit",
        "severity": "warning",
        "where": ["robot.a"],
        "here": None,
        "expected": None,
        "unit": "",
        "evidence": {},
        "edits": [],
    }


def test_errors_count_and_warnings_only_if_asked() -> None:
    bad, odd, fine = (make("no-limit", "dog") for make in (error, warning, note))
    assert [exit_code(found) for found in ([bad, fine], [odd, fine], [fine], [])] == [1, 0, 0, 0]
    assert [exit_code(found, strict=True) for found in ([bad], [odd], [fine])] == [1, 1, 0]
