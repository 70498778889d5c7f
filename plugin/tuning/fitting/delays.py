"""Delays as the motion shows them: whole ticks of simulators, real numbers of robots."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.tuning.estimates.estimate import Estimate
from mjrig.tuning.estimates.identifiability import VAGUE, delay_of
from mjrig.tuning.estimates.remedies import too_little
from mjrig.tuning.estimates.unexcited import is_constant
from mjrig.tuning.estimates.unknowns import Wanted
from mjrig.tuning.fitting.findings import with_shift
from mjrig.tuning.least_squares.fit_problem import Problem
from mjrig.tuning.least_squares.points import Point, Unknown
from mjrig.tuning.least_squares.search import Profile
from mjrig.tuning.least_squares.statistics import QUANTILE, Spread
from mjrig.tuning.simulated.plant import BEYOND_LAGS, DELAY

#: Δχ² of a 95 % interval of one number.
CHI2 = 3.84


# Of simulators ----------------------------------------------------------------------------------


def delay_estimate(
    problem: Problem, point: Point, profile: Profile, spread: Spread, bounds: tuple[int, int]
) -> Estimate:
    """A delay and nearby ones that explain the data equally well."""
    good = [profile.lags[k] for k in equally_good_lags(problem, profile, spread)]
    stage, now = problem.stage, int(point.lags[profile.place])
    return delay_of(stage.drives, stage.tracks, profile.place, now, good, bounds)


def equally_good_lags(problem: Problem, profile: Profile, spread: Spread) -> list[int]:
    """Indices of the delays that explain the data as well as the best one does."""
    least, own = min(profile.costs), problem.block_of(profile.place)
    near = CHI2 * float(spread.variance[own] * spread.inflation[own])
    return [k for k, cost in enumerate(profile.costs) if cost - least <= near]


def with_other_lags(
    found: Estimate, problem: Problem, index: int, profiles: Sequence[Profile], spread: Spread
) -> Estimate:
    """An estimate whose interval also holds what it would be with delays that fit as well."""
    half, low, high = QUANTILE * float(spread.errors[index]), found.low, found.high
    for profile in profiles:
        for k in equally_good_lags(problem, profile, spread):
            value = float(profile.values[k, index])
            low, high = min(low, value - half), max(high, value + half)
    unknown = problem.unknowns[index]
    return replace(found, low=max(low, unknown.low), high=min(high, unknown.high))


# Of robots --------------------------------------------------------------------------------------


def delay_unknowns(problem: Problem, wanted: Wanted, bounds: tuple[int, int]) -> list[Unknown]:
    """Delays of a robot as unknowns, within bounds [ticks]; its lags are 0."""
    drives, tracks = problem.stage.drives, problem.stage.tracks
    low, high = (float(b) * drives.ticks for b in bounds)
    return [
        Unknown(BEYOND_LAGS, p, low[p], high[p], 1.0)
        for p in wanted.get(DELAY, ())
        if not is_constant(drives, tracks, p)
    ]


def real_delays(
    problem: Problem, point: Point, spread: Spread, wanted: Wanted, shift: FloatArray
) -> list[Estimate]:
    """Delays in ticks, as real numbers.

    Args:
        shift: (unknowns,) what ever smaller steps would add to each.
    """
    drives, tracks = problem.stage.drives, problem.stage.tracks
    index = {u.place: i for i, u in enumerate(problem.unknowns) if u.parameter == BEYOND_LAGS}
    found = []
    for p in wanted.get(DELAY, ()):
        lag = int(point.lags[p])
        if p not in index:
            found.append(delay_of(drives, tracks, p, lag, [lag], (0, lag)))
            continue
        unknown, tick = problem.unknowns[index[p]], float(drives.ticks[p])
        late, error = float(point.values[BEYOND_LAGS][p]), float(spread.errors[index[p]])
        value = max(lag + late / tick, 0.0)
        half = QUANTILE * error / tick
        one = Estimate.of(
            drives, p, DELAY, value, float(drives.lags[p]), max(value - half, 0.0), value + half
        )
        one = with_shift(one, unknown, float(shift[index[p]]) / tick)
        one = replace(
            one, high=one.high + max(t.late for t in tracks) / problem.stage.timestep / tick
        )
        found.append(_told(one, half, is_last=late > unknown.high - 0.5 * tick))
    return found


def _told(delay: Estimate, half: float, *, is_last: bool) -> Estimate:
    """A delay with the remark that it is none, if it is vague or the longest that was tried."""
    share = half / max(delay.value, 1.0)
    if is_last:
        most = round(delay.value)
        reason = f"the longest that was tried: --bounds delay=0:{2 * most} tries longer ones"
        return replace(delay, identifiable=False, high=np.inf, reason=reason)
    if share > VAGUE:
        reason = too_little(share, delay.low, delay.high, delay.unit)
        return replace(delay, identifiable=False, reason=reason)
    return delay
