"""Limits that a recording does not state: its largest efforts are said to be that, not limits."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components import PDController
from mjrig.data.recording.recording import Recording
from tests.plugin.lab.replay.recorded import BIPED, from_world
from tests.worlds import make_world

JOINTS = ("left_hip", "left_knee", "right_hip", "right_knee")


def _biped(limit: Any) -> mjrig.World:
    return make_world(BIPED, [PDController(kp=80.0, kv=3.0, torque_limit=limit)])


def _without_limits(run: Recording, unstated: tuple[str, ...]) -> Recording:
    (actor,) = run.actors.values()
    stated = {j: v for j, v in actor.plant.joints["torque_limit"].items() if j not in unstated}
    joints = {k: v for k, v in actor.plant.joints.items() if k != "torque_limit"}
    if stated:
        joints["torque_limit"] = stated
    bare = replace(actor, plant=replace(actor.plant, joints=joints))
    return replace(run, actors={actor.name: bare})


@pytest.mark.parametrize("limited", [JOINTS[1:2], JOINTS[:2], JOINTS])
@pytest.mark.parametrize("there", [40.0, 12.0])
def test_the_largest_effort_is_said_to_be_one(limited: tuple[str, ...], there: float) -> None:
    run = from_world(_biped(there), 200)
    (actor,) = run.actors.values()
    assert actor.efforts is not None
    most = dict(zip(actor.driven, np.abs(actor.efforts.effort).max(axis=0), strict=True))
    result = mjrig.replay(
        _without_limits(run, JOINTS),
        _biped({**dict.fromkeys(limited, 3.0), "default": 40.0}),
    )
    found = [f for f in result.diagnosis if f.kind == "torque_limit"]
    assert {j for f in found for j in limited if j in f.where} == {*limited}
    for finding in found:
        said = finding.text
        assert "in the recording" not in said and "the largest recorded effort is " in said
        joints = [j for j in JOINTS if j in finding.where]
        values = finding.expected if isinstance(finding.expected, dict) else {}
        for joint in joints:
            value = values.get(joint, finding.expected)
            assert value == pytest.approx(most[joint], rel=1e-6)


def test_a_stated_limit_stays_one_beside_those_that_are_not() -> None:
    run = _without_limits(from_world(_biped(30.0), 200), JOINTS[:2])
    limits = {JOINTS[0]: 3.0, JOINTS[3]: 2.0, "default": 30.0}
    found = [f for f in mjrig.replay(run, _biped(limits)).diagnosis if f.kind == "torque_limit"]
    said = {f.where: f.text for f in found}
    assert {*said} == {JOINTS[0], JOINTS[3]}
    assert f"is 3 here, the {'largest recorded effort'} is " in said[JOINTS[0]]
    assert "is 2 here, 30 in the recording" in said[JOINTS[3]]
