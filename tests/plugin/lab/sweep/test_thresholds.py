"""Where sweeps change: the largest space, and how fine an interval is."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mjrig.core.errors import PropertyError
from mjrig.lab.sweep.optimisation import _Search
from mjrig.lab.sweep.search_space import Choices, Space
from mjrig.lab.sweep.seed_statistics import paired_difference, wilson


def _grid(count: int) -> Space:
    """A thousand values of one parameter, and some of another one."""
    return Space((Choices("a.b", tuple(range(1000))), Choices("a.c", tuple(range(count)))))


def test_a_space_has_at_most_a_million_points() -> None:
    assert len(_grid(510).points()) == 510_000
    with pytest.raises(PropertyError, match="the space has 1001000 points"):
        _grid(1001).points()


def test_intervals_contain_the_middle_95_percent() -> None:
    """Of many pairs, both intervals are those of the normal distribution."""
    normal = np.random.default_rng(1).standard_normal(4000)
    interval = paired_difference(np.zeros_like(normal), normal)
    half = 1.959964 * normal.std() / np.sqrt(4000.0)
    assert interval.high - interval.low == pytest.approx(2.0 * half, rel=0.02)
    rate = wilson(2000, 4000)
    assert rate.high - rate.low == pytest.approx(2.0 * 1.959964 * 0.5 / np.sqrt(4000.0), rel=1e-3)


def test_the_ends_of_a_bootstrapped_interval_repeat_to_three_percent_of_the_error() -> None:
    """They scatter with the seed as quantiles of 10,000 resamples do."""
    pairs = np.random.default_rng(1).standard_normal(8)
    lows = [paired_difference(np.zeros_like(pairs), pairs, seed).low for seed in range(100)]
    error = pairs.std() / np.sqrt(len(pairs))
    assert 0.025 < np.std(lows) / error < 0.04


@pytest.mark.parametrize(
    ("trials", "workers", "is_batched", "asked"),
    [(100, 1, True, 8), (100, 4, True, 8), (20, 4, True, 5), (5, 1, True, 5), (100, 1, False, 1)],
)
def test_eight_trials_of_a_search_are_tested_together_at_most(
    monkeypatch: pytest.MonkeyPatch, trials: int, workers: int, is_batched: bool, asked: int
) -> None:
    """More would be chosen before the results of earlier ones are known."""
    counts: list[int] = []

    def ask(self: Any, count: int) -> None:
        counts.append(count)
        self._waiting.append([])

    monkeypatch.setattr(_Search, "_ask", ask)
    search = object.__new__(_Search)
    search._study = SimpleNamespace(finished=lambda: 0)  # type: ignore[assignment]
    search._runner = SimpleNamespace(is_batched=is_batched, workers=workers)  # type: ignore[assignment]
    search._trials, search._open, search._waiting = trials, {}, []
    assert search._next() == []
    assert counts == [asked]
