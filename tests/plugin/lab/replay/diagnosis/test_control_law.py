"""Gains, delays and limits that recorded efforts determine."""

from dataclasses import replace

import numpy as np
import pytest

from mjrig.core.arrays import FloatArray
from mjrig.data.recording.recording import ActorRecording, Efforts
from mjrig.lab.replay.diagnosis.control_law import exceeded, recorded_laws, recorded_limits
from tests.plugin.lab.replay.recorded import biped, from_world

STEPS = 160
JOINT = "left_hip"


@pytest.fixture(scope="module")
def actor() -> ActorRecording:
    (actor,) = from_world(biped(), STEPS).actors.values()
    return actor


def with_efforts(actor: ActorRecording, effort: FloatArray, rows: int = STEPS) -> ActorRecording:
    """The recording with other efforts of the joint, at the last steps."""
    assert actor.efforts is not None
    column = actor.driven.index(JOINT)
    values = actor.efforts.effort.copy()
    values[:, column] = effort[: len(values)]
    return replace(actor, efforts=Efforts(actor.efforts.step[-rows:], values[-rows:]))


def law(actor: ActorRecording, kp: float, kv: float, delay: int) -> FloatArray:
    """Efforts of this law at the recorded efforts' steps."""
    assert actor.commands is not None and actor.qvel is not None and actor.efforts is not None
    joint = next(j for j in actor.joints if j.name == JOINT)
    steps = actor.efforts.step
    held = np.searchsorted(actor.commands.step, steps - delay, side="right") - 1
    rows = np.searchsorted(actor.step, steps)
    target = actor.commands.position[np.maximum(held, 0), actor.driven.index(JOINT)]
    q, v = actor.qpos[rows, joint.qpos.start], actor.qvel[rows, joint.dof.start]
    efforts: FloatArray = kp * (target - q) - kv * v
    return efforts


@pytest.mark.parametrize("delay", [0, 1, 3, 7, 10, 40])
def test_a_law_is_found_with_its_delay(actor: ActorRecording, delay: int) -> None:
    found = recorded_laws(with_efforts(actor, law(actor, 30.0, 2.0, delay)))[JOINT]
    assert (found.kp, found.kv, found.delay) == (pytest.approx(30.0), pytest.approx(2.0), delay)


def test_longer_delays_than_forty_steps_are_not_tried(actor: ActorRecording) -> None:
    assert JOINT not in recorded_laws(with_efforts(actor, law(actor, 30.0, 2.0, 50)))


@pytest.mark.parametrize(("noise", "found"), [(0.7e-3, True), (1.5e-3, False)])
def test_a_law_leaves_less_than_a_thousandth(
    actor: ActorRecording, noise: float, found: bool
) -> None:
    effort = law(actor, 30.0, 2.0, 2)
    size = float(np.sqrt(np.mean(effort**2)))
    signs = np.where(np.random.default_rng(1).random(len(effort)) < 0.5, -1.0, 1.0)
    laws = recorded_laws(with_efforts(actor, effort + noise * size * signs))
    assert (JOINT in laws) == found


@pytest.mark.parametrize(("rows", "found"), [(24, False), (40, True)])
def test_a_law_needs_thirty_samples(actor: ActorRecording, rows: int, found: bool) -> None:
    laws = recorded_laws(with_efforts(actor, law(actor, 30.0, 2.0, 0), rows))
    assert (JOINT in laws) == found


@pytest.mark.parametrize(("count", "found"), [(2, False), (3, True)])
def test_a_limit_is_where_efforts_stop(actor: ActorRecording, count: int, found: bool) -> None:
    effort = np.linspace(0.0, 1.0, STEPS)
    effort[10 : 10 + 20 * count : 20] = 7.0
    assert recorded_limits(with_efforts(actor, effort)).get(JOINT) == (7.0 if found else None)


@pytest.mark.parametrize(("moved", "found"), [(0.7e-4, False), (1.6e-4, True)])
def test_a_joint_that_stands_has_no_limit(actor: ActorRecording, moved: float, found: bool) -> None:
    joint = next(j for j in actor.joints if j.name == JOINT)
    qpos = actor.qpos.copy()
    qpos[:, joint.qpos.start] = moved * np.linspace(0.0, 1.0, len(qpos))
    still = replace(with_efforts(actor, np.full(STEPS, 3.0)), qpos=qpos)
    assert (JOINT in recorded_limits(still)) == found


def test_efforts_above_a_limit(actor: ActorRecording) -> None:
    run = with_efforts(actor, np.full(STEPS, 3.0))
    assert exceeded(run, {JOINT: 2.0}) == {JOINT: 3.0}
    assert exceeded(run, {JOINT: 3.0 * (1.0 - 0.7e-6)}) == {}
    assert exceeded(run, {JOINT: 3.0 * (1.0 - 1.5e-6)}) == {JOINT: 3.0}
