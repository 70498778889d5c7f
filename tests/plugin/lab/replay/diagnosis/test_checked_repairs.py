"""Repairs of a policy file: offered only where the recording and the repaired policy agree."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import mjrig
from mjrig.core.arrays import FloatArray
from mjrig.core.findings import Finding
from mjrig.lab.replay.repairs import fix, repairable
from tests.plugin.lab.replay.sabotage.fixtures import Fixture, walk_fixture
from tests.plugin.lab.replay.sabotage.policy_mistakes import policy, terms_of
from tests.plugin.lab.replay.sabotage.sabotaged import Sabotaged

pytest.importorskip("onnxruntime", reason="networks need onnxruntime (extra `policy`)")


def made(edit: Callable[[dict[str, Any]], object], folder: Path) -> Sabotaged:
    """The bundled walk with another policy file."""
    case = policy(lambda data, fixture: edit(data))(walk_fixture(), folder)
    assert case is not None
    return case


def last_action(**values: Any) -> Callable[[dict[str, Any]], None]:
    def edit(data: dict[str, Any]) -> None:
        terms_of(data, "LastAction")[0].update(values)

    return edit


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ({"delay": 2}, "observation latency"),
        ({"clip": [-0.1, 0.1]}, "observation clip"),
        ({"scale": 0.5}, "observation scale"),
    ],
)
def test_repairs_of_the_last_action_end(wrong: dict[str, Any], kind: str, tmp_path: Path) -> None:
    case = made(last_action(**wrong), tmp_path)
    kinds = []
    for _ in range(3):
        finding = repairable(case.run())
        if finding is None:
            break
        kinds.append(finding.kind)
        fix(finding, None, case.policy)
    assert kinds == [kind]
    assert case.policy is not None
    before = terms_of(walk_fixture().said, "LastAction")[0]
    after = terms_of(yaml.safe_load(case.policy.read_text()), "LastAction")[0]
    neutral = {"delay": 0, "clip": None, "scale": 1.0}
    assert {**neutral, **after} == {**neutral, **before}


def test_a_delay_of_the_last_action_that_was_recorded_is_no_difference(tmp_path: Path) -> None:
    """A policy with this delay, against observations that have it too."""
    case = made(last_action(delay=2), tmp_path)
    fixture = walk_fixture()

    def delayed(values: FloatArray) -> FloatArray:
        return np.concatenate([np.zeros((2, values.shape[1])), values[:-2]])

    case.recording = observed(fixture, "LastAction", delayed)
    assert "LastAction" not in {f.where for f in case.run().diagnosis}


def observed(
    fixture: Fixture, kind: str, change: Callable[[FloatArray], FloatArray]
) -> mjrig.Recording:
    """The recording with other observed values of a term."""
    actor = fixture.actor
    assert actor.policy is not None
    sizes = {"ProjectedGravity": 3, "BaseAngularVelocity": 3, "CommandTerm": 3, "GaitPhase": 2}
    terms = fixture.said["observation"]["terms"]
    widths = [sizes.get(t["type"], len(fixture.said["joints"])) for t in terms]
    index = next(i for i, t in enumerate(terms) if t["type"] == kind)
    first = sum(widths[:index])
    values = actor.policy.observation.copy()
    assert sum(widths) == values.shape[1]
    place = slice(first, first + widths[index])
    values[:, place] = change(values[:, place].astype(np.float64))
    ticks = replace(actor.policy, observation=values)
    return replace(fixture.recording, actors={actor.name: replace(actor, policy=ticks)})


def offset(values: FloatArray) -> FloatArray:
    return values + 0.2 * np.eye(values.shape[1])[1]


def swapped(values: FloatArray) -> FloatArray:
    return values[:, [1, 0, *range(2, values.shape[1])]]


@pytest.mark.parametrize(("change", "kind"), [(offset, "default_pose"), (swapped, "joint order")])
def test_a_repair_that_spoils_the_targets_is_not_offered(
    change: Callable[[FloatArray], FloatArray], kind: str, tmp_path: Path
) -> None:
    """An encoder's offset, and two values that changed places, are observed only."""
    case = made(lambda data: None, tmp_path)
    case.recording = observed(walk_fixture(), "JointPositions", change)
    (found,) = [f for f in case.run().diagnosis if f.kind == kind]
    assert not found.is_cause and not found.edits
    assert found.by_hand
    assert isinstance(found, Finding) and repairable(case.run()) is None
