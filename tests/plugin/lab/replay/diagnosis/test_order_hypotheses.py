"""Assignments of least cost, and orders found in numbers."""

from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mjrig.lab.replay.diagnosis import order_hypotheses
from mjrig.lab.replay.diagnosis.order_hypotheses import (
    MatchSamples,
    assign,
    flipped,
    likely_order,
    mirrored,
    tried_quaternions,
)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_assignment_is_cheaper(seed: int) -> None:
    cost = np.random.default_rng(seed).random((5, 5))
    found = assign(cost)
    best = min(permutations(range(5)), key=lambda p: sum(cost[i, j] for i, j in enumerate(p)))
    assert tuple(found) == best


def moving(columns: int, rows: int = 200) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    random = np.random.default_rng(1)
    return np.cumsum(random.normal(size=(rows, columns)), axis=0)


def test_targets_that_are_tracked_tell_their_order() -> None:
    q = moving(6)
    order = np.array([3, 0, 5, 1, 2, 4])
    assert likely_order(MatchSamples(q[:, order] + 0.1, q)).tolist() == np.argsort(order).tolist()


def test_efforts_tell_the_order_where_targets_are_not_reached() -> None:
    q, t, v = 0.1 * moving(4), moving(8)[:, 4:], moving(12)[:, 8:]
    effort = 20.0 * (t - q) - 0.5 * v
    order = np.array([2, 3, 1, 0])
    samples = MatchSamples(t[:, order], q, v, effort)
    assert likely_order(samples).tolist() == np.argsort(order).tolist()
    assert flipped(MatchSamples(t * [1, -1, 1, 1], q, v, effort)) == [1]


def test_columns_that_stand_still_keep_their_place() -> None:
    q = np.zeros((10, 3))
    assert likely_order(MatchSamples(q, q)).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("names", "sides", "order"),
    [
        (["left_hip", "waist", "right_hip"], "left and right", [2, 1, 0]),
        (["FL_hip", "FR_hip", "RL_hip", "RR_hip"], "left and right", [1, 0, 3, 2]),
        (["FL_hip", "FR_hip", "RL_hip", "RR_hip"], "front and rear", [2, 3, 0, 1]),
        (["Left_Knee", "Right_Knee"], "left and right", [1, 0]),
        (["a", "b"], "left and right", None),
    ],
)
def test_sides_are_swapped_by_name(names: list[str], sides: str, order: list[int] | None) -> None:
    found = mirrored(names, sides)
    assert (None if found is None else found.tolist()) == order


def test_quaternions_are_read_in_the_other_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_hypotheses, "with_quaternions", lambda _, order: order)
    base = SimpleNamespace(joints=[SimpleNamespace(kind="free")])
    readings: dict[Any, Any] = {}
    case: Any = SimpleNamespace(
        large_errors=[base], recording=None,
        reading=lambda finding, order: readings.update({finding.expected: order}),
    )  # fmt: skip
    list(tried_quaternions(case))
    assert "".join("xyzw"[i] for i in readings["x, y, z, w"]) == "wxyz"
    assert "".join("wxyz"[i] for i in readings["w, x, y, z"]) == "xyzw"
