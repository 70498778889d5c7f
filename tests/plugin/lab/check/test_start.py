"""Poses and setpoints out of range, and loads the motors cannot carry."""

import math

import mujoco
import pytest

from mjrig.components import MaxEffort, PDController, PIDController
from mjrig.lab.check.start_pose import holding_efforts
from tests.preflight import SOFT, edits, facts, findings_of, found
from tests.worlds import arm, hinge, make_world

GRAVITY = 'gravity="0 0 -9.81"'
#: Two motors that carry two horizontal links; the effort each needs follows from the masses.
LOADED = arm(option=GRAVITY)
STIFF = {"kp": 1e4, "kv": 100.0}
HOME = '<key name="home" qpos="0.5"/><key name="far" qpos="-3"/>'
RANGED = hinge(joint='range="-1 1"', keys=HOME)


def test_a_start_outside_the_range() -> None:
    (finding,) = findings_of("start-out-of-range", RANGED, PDController(**SOFT), keyframe="far")
    assert finding.paths == ["robot.swing"]
    assert (finding.here, finding.expected) == (-3.0, [-1.0, 1.0])
    assert edits(finding) == ["robot.keyframe: home"]
    (finding,) = findings_of(
        "start-out-of-range", RANGED, PDController(**SOFT), joints={"swing": -1.5}
    )
    assert edits(finding) == ["robot.joints: patch {swing: -1.0}"]


@pytest.mark.parametrize("start", [1.0, 1.0005, -1.0, 0.0])
def test_a_start_at_the_edge_is_fine(start: float) -> None:
    assert (
        findings_of("start-out-of-range", RANGED, PDController(**SOFT), joints={"swing": start})
        == []
    )


def test_joints_that_start_alike_are_one_finding() -> None:
    xml = arm(joint='range="0.5 1"')
    assert facts("start-out-of-range", xml, PDController(**SOFT)) == [
        (["robot.shoulder", "robot.elbow"], 0.0, [0.5, 1.0])
    ]


def test_a_keyframe_outside_the_range() -> None:
    (finding,) = found(make_world(RANGED, [PDController(**SOFT)]), "keyframe-out-of-range")
    assert finding.severity == "note"
    assert (finding.paths, finding.evidence["keyframe"]) == (["robot.swing"], "far")
    assert (finding.here, finding.expected) == (-3.0, [-1.0, 1.0])


def test_the_keyframe_it_starts_from_is_a_warning_and_said_once() -> None:
    world = make_world(RANGED, [PDController(**SOFT)], keyframe="far")
    assert len(found(world, "start-out-of-range")) == 1
    assert found(world, "keyframe-out-of-range") == []


SERVO = '<position name="servo" joint="swing" kp="9" kv="1" ctrlrange="-1 1"/>'


def test_a_setpoint_that_is_clipped() -> None:
    keys = '<key name="home" qpos="0" ctrl="2"/>'
    clipped = facts("setpoint-out-of-range", hinge(SERVO, keys=keys), keyframe="home")
    assert clipped == [(["robot.servo"], 2.0, [-1.0, 1.0])]
    assert findings_of("setpoint-out-of-range", hinge(SERVO)) == []


def test_a_joint_outside_its_range_is_not_told_twice() -> None:
    world = make_world(hinge(SERVO, joint='range="-1 1"'), joints={"swing": 2})
    assert len(found(world, "start-out-of-range")) == 1
    assert found(world, "setpoint-out-of-range") == []


# Loads ------------------------------------------------------------------------------------------


def shoulder_load() -> float:
    model = mujoco.MjModel.from_xml_string(LOADED)
    masses, arms = model.body_mass[1:], (0.15, 0.45)
    return float(9.81 * sum(m * a for m, a in zip(masses, arms, strict=True)))


def test_the_load_is_what_statics_says() -> None:
    world = make_world(LOADED)
    assert abs(holding_efforts(world.model, world.data)[0]) == pytest.approx(shoulder_load())


def test_a_load_above_the_limit() -> None:
    load = shoulder_load()
    weak = PDController(torque_limit={"a": 0.9 * load, "b": 99}, **STIFF)
    (finding,) = found(make_world(LOADED, [weak]), "overloaded")
    assert finding.paths == ["robot.a"]
    assert finding.here == {"a": pytest.approx(load)}
    assert finding.expected == {"a": pytest.approx(0.9 * load)}
    assert finding.evidence["units"] == {"a": "N·m"}
    strong = PDController(torque_limit={"a": 1.1 * load, "b": 99}, **STIFF)
    assert findings_of("overloaded", LOADED, strong) == []


@pytest.mark.parametrize("limit", ["forcerange", "ctrlrange", "actuatorfrcrange"])
def test_every_limit_counts_and_so_does_gear(limit: str) -> None:
    bound = 0.9 * shoulder_load()
    own = "" if limit == "actuatorfrcrange" else f'{limit}="{-bound / 4} {bound / 4}"'
    joint = f'{limit}="{-bound} {bound}"' if not own else ""
    motors = f'<motor name="a" joint="shoulder" gear="4" {own}/><motor name="b" joint="elbow"/>'
    (finding,) = found(
        make_world(arm(motors, option=GRAVITY, joint=joint), [PDController(**STIFF)]), "overloaded"
    )
    assert finding.names == ("a",)


def test_a_clamp_is_a_limit() -> None:
    law = PDController(clamps=[MaxEffort(0.5 * shoulder_load())], **STIFF)
    assert len(findings_of("overloaded", LOADED, law)) == 1


def test_the_droop_is_where_the_arm_comes_to_rest() -> None:
    world = make_world(LOADED, [PDController(kp=80, kv=20)])
    (finding,) = found(world, "droops")
    assert finding.severity == "note"
    world.step(4000)
    assert abs(world.data.qpos[0]) == pytest.approx(finding.here["a"], rel=0.1)


def test_an_integral_takes_the_droop_away() -> None:
    assert findings_of("droops", LOADED, PIDController(kp=80, kv=20, ki=100)) == []
    assert findings_of("droops", LOADED, PDController(**STIFF)) == []


def test_a_position_actuator_droops_too() -> None:
    servos = '<position name="a" joint="shoulder" kp="10" kv="5" gear="3"/>'
    (finding,) = findings_of("droops", arm(servos, option=GRAVITY))
    assert finding.here == {"a": pytest.approx(shoulder_load() / 90)}
    assert finding.evidence["units"] == {"a": "rad"}


def test_a_base_that_floats_is_no_question_of_one_motor() -> None:
    floating = LOADED.replace(
        '<body name="upper">',
        '<body name="base"><freejoint/><geom type="sphere"/><body name="upper">',
    ).replace("</worldbody>", "</body></worldbody>")
    world = make_world(floating, [PDController(kp=1, kv=1)])
    assert all(map(math.isnan, holding_efforts(world.model, world.data)))
    assert found(world, "overloaded") + found(world, "droops") == []


def test_where_a_joint_limit_or_an_equality_holds_nothing_is_said() -> None:
    at_stop = arm(option=GRAVITY, joint='range="-1 0"')
    assert findings_of("droops", at_stop, PDController(kp=1, kv=1)) == []
    locked = LOADED.replace("<tendon>", '<equality><joint joint1="shoulder"/></equality><tendon>')
    world = make_world(locked, [PDController(kp=1, kv=1)])
    loads = holding_efforts(world.model, world.data)
    assert [math.isnan(load) for load in loads] == [True, False]
