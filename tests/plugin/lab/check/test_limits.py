"""Limits that are missing, ineffective, zero or inverted."""

import math

import numpy as np
import pytest

from mjrig.components import MaxEffort, PDController
from tests.preflight import SOFT, edits, facts, findings_of, found, warnings
from tests.wording import mentions
from tests.worlds import arm, hinge, make_world


def motor(attributes: str = "") -> str:
    return f'<motor name="drive" joint="swing" {attributes}/>'


def test_no_limit_anywhere() -> None:
    (finding,) = findings_of("no-limit", hinge(), PDController(torque_limit=math.inf, **SOFT))
    assert (finding.paths, finding.severity) == (["robot.drive"], "warning")
    assert finding.fix.startswith("torque_limit: ")


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
        ('gear="2" ctrlrange="-15 15"', "", "ctrlrange", 30.0),
        ('gear="2" forcerange="-12 12"', "", "forcerange", 24.0),
        ('gear="-2" forcerange="-12 10"', "", "forcerange", 20.0),
        ('gear="2"', 'actuatorfrcrange="-9 9"', "actuatorfrcrange", 9.0),
        ('ctrlrange="0 10"', "", "ctrlrange", 0.0),
    ],
)
def test_a_torque_limit_above_the_models(
    attributes: str, joint: str, name: str, bound: float
) -> None:
    xml = hinge(motor(attributes), joint=joint)
    (finding,) = warnings(xml, PDController(torque_limit=40, **SOFT))
    assert (finding.kind, finding.paths) == ("limit-above-model", ["robot.drive"])
    assert (finding.here, finding.expected, finding.unit) == (40.0, bound, "N·m")
    assert finding.evidence["attribute"] == name
    cure = [f"robot.PDController.torque_limit: patch {{drive: {bound}}}"] if bound else []
    assert edits(finding) == cure


def test_a_torque_limit_equal_to_the_models_is_fine() -> None:
    xml = hinge(motor('gear="2" ctrlrange="-20 20"'))
    assert warnings(xml, PDController(torque_limit=40, **SOFT)) == []


def test_a_slides_limit_is_in_newton() -> None:
    xml = hinge(motor('forcerange="-1 1"'), joint='type="slide"')
    (finding,) = warnings(xml, PDController(torque_limit=40, **SOFT))
    assert (finding.here, finding.expected, finding.unit) == (40.0, 1.0, "N")


def test_a_clamp_is_a_limit_too() -> None:
    law = PDController(torque_limit=math.inf, clamps=[MaxEffort(5)], **SOFT)
    assert findings_of("no-limit", hinge(motor('gear="3"')), law) == []


def test_the_default_limit_above_the_models_is_only_a_note() -> None:
    xml = arm('<motor name="a" joint="shoulder" forcerange="-3 3"/>'
              '<motor name="b" joint="elbow" forcerange="-4 4"/>')  # fmt: skip
    assert warnings(xml, PDController(**SOFT)) == []
    above = facts("limit-above-model", xml, PDController(**SOFT))
    assert [(where, here) for where, here, _ in above] == [(["robot.a", "robot.b"], 200.0)]


def test_the_tightest_of_the_models_limits_is_named() -> None:
    xml = hinge(motor('ctrlrange="-9 9" forcerange="-7 7"'), joint='actuatorfrcrange="-8 8"')
    (finding,) = findings_of("limit-above-model", xml, PDController(torque_limit=40, **SOFT))
    assert (finding.evidence["attribute"], finding.expected) == ("forcerange", 7.0)


def test_equal_limits_of_several_actuators_are_one_finding() -> None:
    xml = arm('<motor name="a" joint="shoulder" forcerange="-3 3"/>'
              '<motor name="b" joint="elbow" forcerange="-3 3"/>')  # fmt: skip
    above = facts("limit-above-model", xml, PDController(torque_limit=40, **SOFT))
    assert above == [(["robot.a", "robot.b"], 40.0, 3.0)]


def test_a_limit_of_zero() -> None:
    zero = facts("zero-limit", hinge(), PDController(torque_limit=0, **SOFT))
    assert zero == [(["robot.drive"], 0.0, None)]


def test_an_actuator_driven_directly_without_any_limit() -> None:
    law = PDController(actuators="a", **SOFT)
    (finding,) = found(make_world(arm(), [law]), "no-limit")
    assert (finding.where, finding.form) == ("robot.b", "no-limit motor")


@pytest.mark.parametrize("limit", [{}, {"torque_limit": 1.0}])
@pytest.mark.parametrize("name", ["ctrlrange", "forcerange"])
def test_a_range_of_an_actuator_upside_down(name: str, limit: dict[str, float]) -> None:
    law = PDController(**SOFT, **limit)
    (finding,) = findings_of("inverted-range", hinge(motor(f'{name}="2 -3"')), law)
    assert (finding.paths, finding.evidence["attribute"]) == (["robot.drive"], name)
    assert (finding.here, finding.expected) == ([2.0, -3.0], [-3.0, 2.0])


@pytest.mark.parametrize("name", ["range", "actuatorfrcrange"])
def test_a_range_of_a_joint_upside_down(name: str) -> None:
    xml = hinge(joint=f'{name}="2 -3"')
    (finding,) = findings_of("inverted-range", xml, PDController(**SOFT))
    assert (finding.paths, finding.evidence["attribute"]) == (["robot.swing"], name)
    assert (finding.here, finding.expected) == ([2.0, -3.0], [-3.0, 2.0])


def test_clamped_targets_need_a_range() -> None:
    law = PDController(clamp_targets=True, **SOFT)
    assert facts("no-range", hinge(), law.copy()) == [(["robot.drive"], None, None)]
    assert findings_of("no-range", hinge(joint='range="-1 1"'), law.copy()) == []


# Native servos ----------------------------------------------------------------------------------


def servo(attributes: str = "", kind: str = "position", gains: str = 'kp="20" kv="2"') -> str:
    return f'<{kind} name="drive" joint="swing" {gains} {attributes}/>'


def test_a_servos_ctrlrange_is_no_limit_of_its_effort() -> None:
    (finding,) = found(make_world(hinge(servo('ctrlrange="-1 1"')), []), "no-limit")
    assert (finding.where, finding.form) == ("robot.drive", "no-limit servo")
    assert mentions(finding.fix, 'native_gains: {forcerange: {"drive": …}}')
    assert findings_of("no-limit", hinge(servo('ctrlrange="-1 1" forcerange="-5 5"'))) == []
    assert (
        findings_of("no-limit", hinge(servo('ctrlrange="-1 1"'), joint='actuatorfrcrange="-1 1"'))
        == []
    )
    assert findings_of("no-limit", hinge(motor('ctrlrange="-1 1"'))) == []


@pytest.mark.parametrize("seed", range(12))
def test_a_ctrlrange_far_past_the_joint_is_found_in_any_units(seed: int) -> None:
    """Gears of either sign, degrees, controls counted from 0, hinges and slides."""
    rng = np.random.default_rng(seed)
    gear = float(rng.choice([-3.0, -1.0, 0.2, 1.0, 50.0]))
    slides, degrees = bool(rng.integers(2)), bool(rng.integers(2))
    middle, width = rng.uniform(-1.0, 1.0), rng.uniform(0.1, 3.0)
    joint = np.array([middle - width / 2, middle + width / 2])
    past = float(rng.choice([0.0, 0.2, 0.3, 2.0]))  # of the joint's width, at one end
    wanted = joint + (np.array([-past, 0.0]) if rng.integers(2) else np.array([0.0, past])) * width
    gain, offset = (rng.uniform(0.1, 2.0), rng.uniform(-9.0, 9.0)) if rng.integers(2) else (20.0, 0)
    # force = gain·u + offset - 20·length: a control asks for the length (gain·u + offset)/20
    low, high = sorted((20.0 * gear * q - offset) / gain for q in wanted)
    written = np.rad2deg(joint) if degrees and not slides else joint
    xml = hinge(
        f'<general name="drive" joint="swing" gear="{gear}" gainprm="{gain}" biastype="affine" '
        f'biasprm="{offset} -20 -2" forcerange="-9 9" ctrlrange="{low} {high}"/>',
        joint=f'range="{written[0]} {written[1]}" type="{"slide" if slides else "hinge"}"',
    )
    xml = xml.replace('angle="radian"', f'angle="{"degree" if degrees else "radian"}"')
    said = findings_of("ctrlrange-past-joint", xml)
    assert bool(said) == (past > 0.25), (past, said)


@pytest.mark.parametrize(
    ("drive", "joint"),
    [
        (servo('ctrlrange="-9 9" forcerange="-5 5"'), ""),  # endless
        (servo('forcerange="-5 5"'), 'range="-1 1"'),  # nothing is said of targets
        (motor('ctrlrange="-9 9"'), 'range="-1 1"'),  # an effort
        (servo('ctrlrange="-9 9" forcerange="-5 5"', "velocity", 'kv="2"'), 'range="-1 1"'),
        (servo('inheritrange="1" forcerange="-5 5"'), 'range="-1 1"'),
    ],
)
def test_what_leads_past_no_stop_is_left_alone(drive: str, joint: str) -> None:
    assert findings_of("ctrlrange-past-joint", hinge(drive, joint=joint)) == []


def test_degrees_in_a_ctrlrange_are_named() -> None:
    xml = hinge(servo('ctrlrange="-57.3 57.3" forcerange="-5 5"'), joint='range="-1 1"')
    [finding] = findings_of("ctrlrange-past-joint", xml)
    assert finding.evidence["in_degrees"] and finding.expected == [-1.0, 1.0]
    assert edits(finding) == ["robot.native_gains.ctrlrange: patch {drive: [-1.0, 1.0]}"]
