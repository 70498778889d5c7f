"""Statistics over seeds: intervals of rates, exact paired tests, bootstrapped differences."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mjrig.core.arrays import FloatArray

#: Quantile of the normal distribution for 95 %.
Z = 1.959963984540054
#: Resamples of a bootstrap.
RESAMPLES = 10_000


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"

    def overlaps(self, other: "Interval") -> bool:
        """Whether the intervals share a value."""
        return self.low <= other.high and other.low <= self.high


def wilson(successes: int, trials: int) -> Interval:
    """A rate with its Wilson interval; without trials anything from 0 to 1.

    Raises:
        ValueError: more successes than trials, or negative ones.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes in {trials} trials")
    if not trials:
        return Interval(math.nan, 0.0, 1.0)
    rate, share = successes / trials, Z * Z / trials
    centre = (rate + share / 2.0) / (1.0 + share)
    half = Z * math.sqrt(rate * (1.0 - rate) / trials + share / (4.0 * trials)) / (1.0 + share)
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return Interval(rate, low, high)


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided p of McNemar's test: if both are alike, either alone is a fair coin."""
    pairs = only_first + only_second
    tail = sum(math.comb(pairs, i) for i in range(min(only_first, only_second) + 1))
    return min(1.0, 2.0 * tail / 2**pairs)


def paired_difference(first: FloatArray, second: FloatArray, seed: int = 0) -> Interval:
    """Mean of second − first over pairs, with the percentile interval of a bootstrap."""
    differences = np.asarray(second, float) - np.asarray(first, float)
    if not differences.size:
        return Interval(math.nan, math.nan, math.nan)
    random = np.random.default_rng(seed)
    picks = random.integers(differences.size, size=(RESAMPLES, differences.size))
    low, high = np.percentile(differences[picks].mean(axis=1), [2.5, 97.5])
    return Interval(float(differences.mean()), float(low), float(high))


def holm(values: Sequence[float]) -> list[float]:
    """p values of several tests, adjusted by Holm's method; in the order given."""
    order = np.argsort(values, kind="stable")
    found, worst = [0.0] * len(values), 0.0
    for rank, i in enumerate(order):
        worst = max(worst, min(1.0, (len(values) - rank) * values[i]))
        found[i] = worst
    return found
