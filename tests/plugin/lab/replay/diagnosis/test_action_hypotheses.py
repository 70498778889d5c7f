"""Filters between actions and targets, found in numbers."""

import numpy as np
import pytest

from mjrig.lab.replay.diagnosis.action_hypotheses import action_line, recorded_filter


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
