"""Fits of one recorded observation term to the same term recomputed: scale, offset, order, …"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.lab.replay.diagnosis.hypothesis import EXACT, ROUNDING
from mjrig.lab.replay.diagnosis.order_hypotheses import assign
from mjrig.lab.replay.matching import Indices

#: A term with less relative error than this is the same: observations are float32.
SAME = 2e-3
#: A fit must leave less than this share of the error; the simplest of the exact ones is taken.
BETTER = 0.5
#: The largest latency that is tried, in the recording and here: sensors and networks of robots
#: need less [ticks].
MAX_LAG = 3
#: A value that is less than this share of the others does not show its scale.
LITTLE = 1e-3
#: A factor must leave less than this share of a value's own size.
OWN = 0.05


@dataclass(frozen=True)
class TermFit:
    """How recorded values follow from those here: `kind`, its values, and what is left.

    `before` and `after` are errors relative to the size of the recorded values.
    """

    kind: str
    values: FloatArray
    before: float
    after: float

    @property
    def share(self) -> float:
        """The part of the error that is explained."""
        return 1.0 - self.after / self.before if self.before > 0.0 else 0.0


def error(recorded: FloatArray, here: FloatArray) -> float:
    """Root mean square of the difference, relative to the larger of both."""
    if not recorded.size:
        return 0.0
    size = max(_rms(recorded), _rms(here), ROUNDING)
    return _rms(recorded - here) / size


def best_fit(recorded: FloatArray, here: FloatArray) -> TermFit | None:
    """The simplest change of the values here that gives the recorded ones; None: they agree.

    A fit of kind `unknown` has no values: they differ, and nothing that was tried explains it.
    """
    before = error(recorded, here)
    if before < SAME:
        return None
    found = list(_fits(recorded, here, before))
    exact = [f for f in found if f.after < EXACT and f.after < BETTER * before]
    if exact:
        return exact[0]
    best = min(found, key=lambda f: f.after, default=None)
    if best is None or best.after > BETTER * before:
        return TermFit("unknown", np.zeros(0), before, before)
    return best


def _fits(recorded: FloatArray, here: FloatArray, before: float) -> Iterator[TermFit]:
    """All fits, the simplest first."""

    def fit(kind: str, values: FloatArray, changed: FloatArray, skip: int = 0) -> TermFit:
        return TermFit(kind, values, before, error(recorded[skip:], changed))

    factors = _factors(recorded, here)
    known = ~np.isnan(factors)
    if known.any():
        weight = np.sum(here * here, axis=0)[known]
        common = float(np.sum(factors[known] * weight) / np.sum(weight))
        alike = np.where(known, common, np.nan)
        yield fit("scale", alike, np.where(known, common, 1.0) * here)
        signs = np.where(factors < 0.0, -1.0, 1.0)
        yield fit("sign", signs, signs * here)
        yield fit("scale", factors, np.where(known, factors, 1.0) * here)
    shift = np.mean(recorded - here, axis=0)
    yield fit("offset", shift, here + shift)
    order = likely(recorded, here)
    if (order != np.arange(len(order))).any():
        yield fit("order", order.astype(np.float64), here[:, order])
    for lag in range(1, MAX_LAG + 1):
        if len(here) > 4 * lag:
            yield fit("latency", np.array([float(lag)]), here[:-lag], lag)
            early = error(recorded[:-lag], here[lag:])
            yield TermFit("latency", np.array([-float(lag)]), before, early)
    low, high = recorded.min(axis=0), recorded.max(axis=0)
    bound = float(np.max(np.abs(recorded)))
    if (np.abs(here) > bound).any() or (here < low).any() or (here > high).any():
        yield fit("clip", np.array([bound]), np.clip(here, -bound, bound))


def _factors(recorded: FloatArray, here: FloatArray) -> FloatArray:
    """Per column; not a number where nothing moves, or no factor gives the recorded values."""
    found: FloatArray = np.full(here.shape[1], np.nan)
    least = max(ROUNDING, LITTLE * _rms(here))
    for i in range(here.shape[1]):
        size = _rms(here[:, i])
        if size < least:
            continue
        factor = float(np.mean(recorded[:, i] * here[:, i])) / size**2
        if _rms(recorded[:, i] - factor * here[:, i]) < OWN * _rms(recorded[:, i]):
            found[i] = factor
    return found


def likely(recorded: FloatArray, here: FloatArray) -> Indices:
    """The column here that fits each recorded column best, whatever its offset."""
    a, b = recorded - recorded.mean(axis=0), here - here.mean(axis=0)
    cost = np.mean((a[:, :, None] - b[:, None, :]) ** 2, axis=0)
    return assign(cost / max(float(cost.mean()), 1e-12))


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0
