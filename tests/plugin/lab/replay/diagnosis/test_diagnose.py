"""What the diagnosis says of one joint, of servos in the model and of tendons; and its edits."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.core.control.plant import Plant
from mjrig.data.recording.recording import Recording
from mjrig.lab.replay.diagnosis import diagnose
from mjrig.lab.replay.diagnosis.control_law import recorded_limits
from mjrig.lab.replay.diagnosis.order_hypotheses import with_order, with_signs
from tests.plugin.lab.replay.recorded import BIPED, biped, from_world
from tests.worlds import make_world

STEPS = 120
MOTORS = '<motor name="{0}" joint="{0}"/>'
JOINTS = ("left_hip", "left_knee", "right_hip", "right_knee")


def served(more: str = "") -> str:
    """The biped with position servos of its own."""
    xml = BIPED.replace('<motor ctrlrange="-40 40"/>', "")
    for joint in JOINTS:
        servo = f'<position name="{joint}_servo" joint="{joint}" kp="80" kv="3"'
        mine = more if joint == "left_knee" else ""
        xml = xml.replace(MOTORS.format(joint), f"{servo} {mine}/>")
    return xml


def unlisted(run: Recording) -> Recording:
    return replace(run, actors={n: replace(a, plant=Plant()) for n, a in run.actors.items()})


def repaired(result: mjrig.Replay, scene: mjrig.Scene) -> None:
    for edit in result.diagnosis[0].edits:
        scene.set(edit.path, edit.value)


def test_a_property_of_one_joint_that_is_not_listed_is_fitted() -> None:
    run = unlisted(from_world(biped(), STEPS))
    world = biped(dynamics={"armature": {"right_hip": 0.05}})
    found = mjrig.replay(run, world).diagnosis[0]
    assert (found.kind, found.where, found.is_cause) == ("armature", "right_hip", True)
    assert found.expected == pytest.approx(0.02, rel=0.02)


def test_the_edit_leaves_what_the_scene_says_of_other_joints() -> None:
    run = from_world(biped(dynamics={"armature": {".*_knee": 0.03}}), STEPS)
    world = biped(dynamics={"armature": {".*_knee|right_hip": 0.03}})
    result = mjrig.replay(run, world)
    assert (result.diagnosis[0].kind, result.diagnosis[0].where) == ("armature", "right_hip")
    scene = world.scene
    repaired(result, scene)
    data: Any = scene.to_data()
    assert data["actors"][0]["dynamics"]["armature"] == {
        "left_knee": 0.03,
        "right_knee": 0.03,
        "right_hip": 0.02,
    }


@pytest.mark.parametrize("lists", [True, False])
@pytest.mark.parametrize("tight", ["here", "there"])
def test_a_limit_of_a_servo_in_the_model_is_found_and_repaired(lists: bool, tight: str) -> None:
    models = {"free": served(), "tight": served('forcerange="-2 2"')}
    there = models["tight" if tight == "there" else "free"]
    run = from_world(make_world(there), STEPS)
    world = make_world(models["free" if tight == "there" else "tight"])
    result = mjrig.replay(run if lists else unlisted(run), world)
    found = result.diagnosis[0]
    assert (found.kind, found.where, found.is_cause) == ("torque_limit", "left_knee", True)
    if tight == "there":
        (edit,) = found.edits
        assert edit.path == "robot.native_gains.forcerange"
        assert edit.value == {"left_knee_servo": [pytest.approx(-2.0), pytest.approx(2.0)]}


def test_a_constant_effort_at_rest_is_no_limit() -> None:
    run = from_world(biped(), STEPS, drive=lambda step, world: None)
    effort = run.actors["robot"].efforts
    assert effort is not None and np.abs(effort.effort).max() > 0.0
    assert recorded_limits(run.actors["robot"]) == {}


@pytest.mark.parametrize("mistake", ["order", "sign"])
def test_an_actuator_on_a_tendon_does_not_hide_a_mistake(mistake: str) -> None:
    tendon = '<tendon><fixed name="t"><joint joint="left_hip" coef="0.01"/></fixed></tendon>'
    xml = BIPED.replace("<actuator>", f'{tendon}<actuator><motor name="pull" tendon="t"/>')

    def world() -> mjrig.World:
        return biped(xml=xml)

    run = from_world(world(), STEPS)
    columns: Any = {"order": [0, 3, 2, 1, 4], "sign": [4]}[mistake]
    change = {"order": with_order, "sign": with_signs}[mistake]
    result = mjrig.replay(change(run, "robot", columns), world())  # type: ignore[operator]
    assert result.diagnosis[0].kind == {"order": "joint order", "sign": "sign"}[mistake]
    assert result.diagnosis[0].is_cause


@pytest.mark.parametrize(("more", "is_noted"), [(0.04, False), (0.0625, True)])
def test_a_joint_that_is_at_its_limit_longer_than_recorded_is_noted(
    more: float, is_noted: bool
) -> None:
    joint = SimpleNamespace(saturation_recorded=0.2, saturation=0.2 + more)
    comparison: Any = SimpleNamespace(joints={"knee": joint})
    assert bool(list(diagnose._saturated(comparison))) is is_noted
