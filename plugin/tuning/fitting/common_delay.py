"""One delay of all joints of a robot, where their own ones do not contradict it.

The setpoints of a robot's joints travel together. A delay that each joint tells only roughly, as
it acts like kv or armature, is told well by all of them, and then these are found well, too.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.names import how_many
from mjrig.tuning.least_squares.fit_problem import Problem
from mjrig.tuning.least_squares.points import Point
from mjrig.tuning.least_squares.solver import System
from mjrig.tuning.simulated.plant import BEYOND_LAGS

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
