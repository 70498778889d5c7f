"""Fits of one recorded observation term to the same term recomputed: scale, offset, order, …"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.sim2sim.compare.assignment import assign
from mjrig.sim2sim.compare.matching import Indices

#: A term with less relative error than this is the same: observations are float32.
SAME = 2e-3
#: A fit must leave less than this share of the error …
BETTER = 0.5
#: … and is exact below this relative error: then the simplest exact one is taken.
EXACT = 1e-2
#: Latencies that are tried [ticks].
LAGS = (1, 2, 3)
#: A value that moves less than this says nothing about its scale.
STILL = 1e-6


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
    size = max(_rms(recorded), _rms(here), STILL)
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

    size = float(np.sum(here * here))
    if size > STILL:
        factor = float(np.sum(recorded * here)) / size
        yield fit("scale", np.array([factor]), factor * here)
        factors = _factors(recorded, here)
        signs = np.where(factors < 0.0, -1.0, 1.0)
        yield fit("sign", signs, signs * here)
        yield fit("scale", factors, factors * here)
    shift = np.mean(recorded - here, axis=0)
    yield fit("offset", shift, here + shift)
    order = likely(recorded, here)
    if (order != np.arange(len(order))).any():
        yield fit("order", order.astype(np.float64), here[:, order])
    for lag in LAGS:
        if len(here) > 4 * lag:
            yield fit("latency", np.array([float(lag)]), here[:-lag], lag)
    low, high = recorded.min(axis=0), recorded.max(axis=0)
    bound = float(np.max(np.abs(recorded)))
    if (np.abs(here) > bound).any() or (here < low).any() or (here > high).any():
        yield fit("clip", np.array([bound]), np.clip(here, -bound, bound))


def _factors(recorded: FloatArray, here: FloatArray) -> FloatArray:
    """Per column; 1 where nothing moves."""
    size = np.sum(here * here, axis=0)
    found: FloatArray = np.ones(here.shape[1])
    moving = size > STILL
    found[moving] = np.sum(recorded * here, axis=0)[moving] / size[moving]
    return found


def likely(recorded: FloatArray, here: FloatArray) -> Indices:
    """The column here that fits each recorded column best, whatever its offset."""
    a, b = recorded - recorded.mean(axis=0), here - here.mean(axis=0)
    cost = np.mean((a[:, :, None] - b[:, None, :]) ** 2, axis=0)
    return assign(cost / max(float(cost.mean()), 1e-12))


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0
