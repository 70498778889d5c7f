"""Where sweeps change: the largest space, and how fine an interval is."""

import numpy as np
import pytest

from mjrig.core.errors import PropertyError
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
