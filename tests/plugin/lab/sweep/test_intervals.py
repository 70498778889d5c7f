"""Statistics of a bench against closed forms and brute force."""

import math
from itertools import product

import numpy as np
import pytest

from mjrig.lab.sweep.seed_statistics import Interval, holm, mcnemar, paired_difference, wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(20, 20, 0.84, 1.0), (19, 20, 0.76, 0.99), (12, 20, 0.39, 0.78), (0, 20, 0.0, 0.16)],
)
def test_wilson_has_the_published_numbers(
    successes: int, trials: int, low: float, high: float
) -> None:
    found = wilson(successes, trials)
    assert (round(found.low, 2), round(found.high, 2)) == (low, high)
    assert found.value == successes / trials


def test_wilson_solves_its_equation() -> None:
    # Its ends are the rates whose own normal interval just reaches the measured one.
    for successes, trials in ((1, 7), (3, 9), (50, 93), (199, 200)):
        found = wilson(successes, trials)
        for end in (found.low, found.high):
            spread = 1.959963984540054 * math.sqrt(end * (1.0 - end) / trials)
            assert abs(found.value - end) == pytest.approx(spread)


def test_intervals_that_touch_overlap() -> None:
    low, high = Interval(0.5, 0.4, 0.6), Interval(0.7, 0.6, 0.8)
    assert low.overlaps(high) and high.overlaps(low)
    apart = Interval(0.7, 0.61, 0.8)
    assert not low.overlaps(apart) and not apart.overlaps(low)


def test_wilson_refuses_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="3 successes in 2 trials"):
        wilson(3, 2)
    nothing = wilson(0, 0)
    assert (nothing.low, nothing.high) == (0.0, 1.0) and math.isnan(nothing.value)


def test_mcnemar_counts_all_outcomes_of_a_fair_coin() -> None:
    assert mcnemar(8, 0) == pytest.approx(0.0078125)
    assert mcnemar(1, 0) == 1.0 and mcnemar(0, 0) == 1.0
    for first, second in ((2, 5), (3, 3), (6, 1)):
        tosses = list(product((0, 1), repeat=first + second))
        distance = abs(first - second)
        as_far = sum(abs(2 * sum(toss) - len(toss)) >= distance for toss in tosses)
        assert mcnemar(first, second) == pytest.approx(as_far / len(tosses))


def test_a_bootstrap_has_the_width_of_the_normal_interval() -> None:
    random = np.random.default_rng(3)
    first = random.normal(size=400)
    second = first + 0.2 + 0.5 * random.normal(size=400)
    found = paired_difference(first, second)
    difference = second - first
    half = 1.96 * difference.std() / 20.0
    assert found.value == pytest.approx(difference.mean())
    assert found.high - found.value == pytest.approx(half, rel=0.1)
    assert found.value - found.low == pytest.approx(half, rel=0.1)
    assert found == paired_difference(first, second)


def test_holm_multiplies_by_the_tests_that_are_left() -> None:
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0] and holm([]) == []


def test_intervals_overlap_at_their_ends() -> None:
    assert Interval(0.1, 0.0, 0.2).overlaps(Interval(0.3, 0.2, 0.4))
    assert not Interval(0.1, 0.0, 0.2).overlaps(Interval(0.3, 0.21, 0.4))
