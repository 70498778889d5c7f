"""Lines and filters between actions and targets, and what counts as a difference of them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.core.arrays import FloatArray
from mjrig.core.findings import Finding
from mjrig.lab.replay.diagnosis.action_hypotheses import action_line, recorded_filter
from mjrig.lab.replay.diagnosis.diagnose import diagnose_policy
from tests.plugin.lab.replay.sabotage.fixtures import walk_fixture
from tests.plugin.lab.replay.sabotage.policy_mistakes import policy, spread, terms_of


def filtered(beta: float, held: float = 0.0, ticks: int = 120, joints: int = 5) -> tuple[
    np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    np.ndarray[tuple[int, ...], np.dtype[np.float64]],
]:  # fmt: skip
    """Actions, and targets 0.25·a + 0.1 over actions smoothed from what the filter held."""
    random = np.random.default_rng(3)
    actions = np.cumsum(random.normal(size=(ticks, joints)), axis=0)
    smoothed, last = np.empty_like(actions), np.full(joints, held)
    for k, action in enumerate(actions):
        last = smoothed[k] = (1.0 - beta) * last + beta * action
    return actions, 0.25 * smoothed + 0.1


@pytest.mark.parametrize("beta", [0.1, 0.3, 0.5, 0.8, 0.95, 1.0])
@pytest.mark.parametrize("held", [0.0, 2.0])
def test_a_filter_is_found_whatever_it_held_at_the_start(beta: float, held: float) -> None:
    actions, targets = filtered(beta, held)
    found = recorded_filter(actions, targets, np.inf)
    assert found is not None and found == pytest.approx(beta, abs=1e-3)
    line = action_line(actions[:, 0], targets[:, 0], beta=found)
    assert line is not None
    assert [line.slope, line.offset] == pytest.approx([0.25, 0.1], abs=1e-3)


@pytest.mark.parametrize("kind", ["moving average", "second order", "another network"])
def test_what_is_no_such_filter_is_not_called_one(kind: str) -> None:
    actions, targets = filtered(1.0)
    if kind == "moving average":
        targets[1:] = 0.5 * (targets[1:] + targets[:-1])
    elif kind == "second order":
        for k in range(2, len(targets)):
            targets[k] = 1.4 * targets[k - 1] - 0.5 * targets[k - 2] + 0.1 * targets[k]
    else:
        targets = filtered(1.0)[1][::-1]
    assert recorded_filter(actions, targets, np.inf) is None
    assert action_line(actions[:, 0], targets[:, 0]) is None


def test_clipped_actions_lie_off_the_line() -> None:
    actions, _ = filtered(1.0)
    targets = 0.25 * np.clip(actions, -6.0, 6.0)
    line = action_line(actions[:, 0], targets[:, 0], bound=6.0)
    assert line is not None and line.slope == pytest.approx(0.25)


@pytest.mark.parametrize(("on_line", "found"), [(0.22, False), (0.42, True)])
def test_a_line_passes_through_a_third_of_the_points(on_line: float, found: bool) -> None:
    action = np.sin(np.arange(200.0))
    action[:3] = 5.0  # beyond the clip
    target = 0.25 * action
    free = np.arange(200) < on_line * 200
    assert (action_line(np.where(free, action, 9.0), target, bound=2.0) is not None) == found


@pytest.mark.parametrize(("size", "found"), [(0.7e-4, False), (1.6e-4, True)])
def test_actions_that_hardly_move_determine_no_line(size: float, found: bool) -> None:
    action = 0.5 * size * np.sin(np.arange(100.0))
    assert (action_line(action, 40.0 * action) is not None) == found


@pytest.mark.parametrize(
    ("scale", "rest", "found"),
    [(1.0, 0.8e-3, True), (1.0, 1.3e-3, False), (0.01, 0.8e-4, True), (0.01, 1.3e-4, False)],
)
def test_a_line_leaves_a_millirad_or_a_hundredth(scale: float, rest: float, found: bool) -> None:
    """Of targets that move by twice the scale; every tick is off by the rest."""
    action = np.sin(np.arange(200.0))
    target = 0.5 * scale * action + rest * np.sign(np.sin(1e3 * np.arange(200.0) ** 2))
    assert (action_line(action, target) is not None) == found


@pytest.mark.parametrize(("beta", "expected"), [(0.985, 0.985), (0.993, 1.0), (0.015, 0.015)])
def test_a_filter_of_nearly_one_is_none(beta: float, expected: float) -> None:
    assert recorded_filter(*filtered(beta), np.inf) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(("filters", "found"), [(3, True), (2, False)])
def test_most_joints_have_the_filter(filters: int, found: bool) -> None:
    actions, targets = filtered(0.5)
    targets[:, filters:] = np.random.default_rng(5).normal(size=targets[:, filters:].shape)
    assert (recorded_filter(actions, targets, np.inf) is not None) == found


Edit = Callable[[dict[str, Any]], object]


def causes(edit: Edit, folder: Path) -> list[str]:
    """What the diagnosis of the bundled walk finds with another policy file."""
    case = policy(lambda data, fixture: edit(data))(walk_fixture(), folder)
    assert case is not None
    findings, _ = diagnose_policy(case.recording, mjrig.World(case.scene), "", case.policy)
    return [f.kind for f in findings]


def scaled(factor: float) -> Edit:
    def edit(data: dict[str, Any]) -> None:
        action = data.setdefault("action", {})
        action["scale"] = [factor * v for v in spread(data, action.get("scale", 1.0))]

    return edit


def posed(change: float) -> Edit:
    def edit(data: dict[str, Any]) -> None:
        pose = spread(data, data.get("default", 0.0))
        data["default"] = [pose[0] + change, *pose[1:]]

    return edit


def gait(change: Callable[[dict[str, Any]], object]) -> Edit:
    return lambda data: [change(term) for term in terms_of(data, "GaitPhase")]


def shifted(turns: float) -> Edit:
    return gait(lambda t: t.update(offsets=[o + turns for o in t.get("offsets", [0.0])]))


def slower(factor: float) -> Edit:
    return gait(lambda t: t.update(period=factor * t["period"]))


@pytest.mark.parametrize(
    ("edit", "kinds"),
    [
        (scaled(1.004), []),
        (scaled(1.007), ["action_scale"]),
        (posed(0.7e-3), []),
        (posed(1.5e-3), ["default_pose"]),
        (shifted(0.0035), []),
        (shifted(0.0075), ["gait phase"]),
        (slower(1.008), ["gait phase"]),
    ],
)
def test_differences_of_a_policy_file_that_count(
    edit: Edit, kinds: list[str], tmp_path: Path
) -> None:
    pytest.importorskip("onnxruntime")
    found = [k for k in causes(edit, tmp_path) if k != "precision"]
    assert found == kinds


def recorded(change: Callable[[FloatArray], FloatArray], folder: Path) -> list[Finding]:
    """Findings where the setpoints of the bundled walk are others."""
    fixture = walk_fixture()
    actor = fixture.actor
    assert actor.commands is not None
    commands = replace(actor.commands, position=change(actor.commands.position.copy()))
    run = replace(fixture.recording, actors={actor.name: replace(actor, commands=commands)})
    world = mjrig.World(fixture.scene)
    return diagnose_policy(run, world, "", fixture.policy)[0]


@pytest.mark.parametrize(("late", "named"), [(5, True), (7, False)])
def test_setpoints_are_late_by_some_ticks_at_most(late: int, named: bool, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    actor = walk_fixture().actor
    assert actor.commands is not None and actor.policy is not None
    tick = int(np.median(np.diff(actor.policy.step)))
    rows = late * tick // max(1, int(np.median(np.diff(actor.commands.step))))

    def delayed(position: FloatArray) -> FloatArray:
        return np.concatenate([np.repeat(position[:1], rows, axis=0), position[:-rows]])

    kinds = [(f.kind, f.evidence.get("steps")) for f in recorded(delayed, tmp_path)]
    assert (("tick phase", late * tick) in kinds) == named
