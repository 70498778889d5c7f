"""Delays estimated from motion: integer ticks of simulators, real values of robots.

The setpoints of a robot's joints travel together. One joint determines its delay only roughly, as a
delay acts like kv or armature. All joints together determine a common delay well, which improves kv
and armature, too. A common delay is used unless the delays of single joints contradict it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.names import how_many
from mjrig.lab.fit.estimates import Estimate, Wanted
from mjrig.lab.fit.identifiability import VAGUE, delay_of, is_constant, too_little
from mjrig.lab.fit.plant import BEYOND_LAGS, DELAY
from mjrig.lab.fit.problem import Point, Problem, Unknown
from mjrig.lab.fit.search import Profile
from mjrig.lab.fit.solution_estimates import with_shift
from mjrig.lab.fit.solver import System
from mjrig.lab.fit.statistics import QUANTILE, Spread

# Common delay -------------------------------------------------------------------------------------
# One delay of all joints of a robot, where their own ones do not contradict it.
#
# The setpoints of a robot's joints travel together. A delay that each joint tells only roughly, as
# it acts like kv or armature, is told well by all of them, and then these are found well, too.


#: So many joints tell whether they have one delay.
FEWEST = 3
#: One delay in a thousand is farther from the mean by chance, in standard errors; the sum of the
#: squares of all of them is larger in one robot of a hundred, by the normal quantile of it.
FARTHEST, RARE = 3.29, 2.33
#: Delays of drives that run by themselves differ by about this much [s].
APART = 1e-4


@dataclass(frozen=True)
class CommonDelay:
    """A delay of all joints; that of one differs from it by a standard `error` [steps]."""

    steps: float
    error: float
    joints: int

    @property
    def said(self) -> str:
        """It in words, for a note."""
        return (
            f"the delays of {how_many(self.joints, 'joint')} are as if they had one: what one of "
            "them tells of it counts for all"
        )


def common_delay(problem: Problem, point: Point, errors: FloatArray) -> CommonDelay | None:
    """The delay that joints have in common; None: they have not, or there are too few.

    Args:
        errors: (unknowns,) standard errors.
    """
    own = _delays(problem)
    if len(own) < FEWEST:
        return None
    delays = point.get([problem.unknowns[i] for i in own])
    apart = APART / problem.stage.timestep
    weights = 1.0 / (errors[own] ** 2 + apart**2)
    mean = float((weights * delays).sum() / weights.sum())
    away = weights * (delays - mean) ** 2
    if away.max() > FARTHEST**2 or away.sum() > _chance(len(own) - 1):
        return None
    return CommonDelay(mean, float(np.sqrt(1.0 / weights.sum() + apart**2)), len(own))


def with_common(problem: Problem, common: CommonDelay, counted: FloatArray) -> Problem:
    """The same with what all joints tell of the delay of each.

    Args:
        counted: (unknowns,) see `Spread`.
    """
    unknowns, own = list(problem.unknowns), _delays(problem)
    for i in own:
        unknowns[i] = replace(
            unknowns[i], prior=common.error, centre=common.steps, counted=float(counted[i])
        )
    return problem.with_unknowns(unknowns)


def with_free_centre(problem: Problem, system: System) -> System:
    """The same where all delays may move together, with the one that they have in common."""
    own = [u.centre is not None for u in problem.unknowns]
    weights = np.where(own, system.precision, 0.0)
    if not weights.any():
        return system
    return replace(system, hessian=system.hessian - np.outer(weights, weights) / weights.sum())


def _chance(freedom: int) -> float:
    """What χ² with some degrees of freedom seldom exceeds (Wilson and Hilferty)."""
    part = 2.0 / (9.0 * freedom)
    return float(freedom * (1.0 - part + RARE * part**0.5) ** 3)


def _delays(problem: Problem) -> npt.NDArray[np.intp]:
    names = [u.parameter for u in problem.unknowns]
    return np.flatnonzero([name == BEYOND_LAGS for name in names])


# Delays -------------------------------------------------------------------------------------------
# Delays as the motion shows them: whole ticks of simulators, real numbers of robots.


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
