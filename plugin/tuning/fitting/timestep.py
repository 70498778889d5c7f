"""What estimates owe to the timestep of the simulation.

A drive of a robot runs its law at a rate of its own, mostly faster than a scene. A law that acts in
steps of h acts h/2 late: it seems to have kv − kp h/2, and the joint an armature smaller by kv h/2.
So the same motion gives other values at another timestep, and the robot's own is unknown. What
they would be with ever smaller steps is extrapolated from half the timestep.
"""

from dataclasses import dataclass

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.names import listed
from mjrig.tuning.estimates.identifiability import unit_of
from mjrig.tuning.fitting.common_delay import with_free_centre
from mjrig.tuning.least_squares.fit_problem import Problem
from mjrig.tuning.least_squares.solver import Solution
from mjrig.tuning.least_squares.statistics import Spread
from mjrig.tuning.simulated.finer import FinerSimulator
from mjrig.tuning.simulated.plant import UNITS

#: Errors of the method are of first order in h: half a step shows half of them.
EXTRAPOLATED = 2.0
#: A shift is said if it is larger than so many standard errors, and than this share.
CLEAR, WORTH_SAYING = 2.0, 0.02


@dataclass(frozen=True)
class Finer:
    """The timestep's part in a fit.

    Attributes:
        shift: (unknowns,) what infinitely small steps would add to each estimate.
        nuisance: per window, what half the timestep adds to the residuals; None: not known.
    """

    shift: FloatArray
    nuisance: list[FloatArray] | None = None

    @classmethod
    def nothing(cls, problem: Problem) -> "Finer":
        """The steps are those of the recording."""
        return cls(np.zeros(len(problem.unknowns)))

    @classmethod
    def of(cls, problem: Problem, solution: Solution, simulator: FinerSimulator) -> "Finer":
        """Simulate at half the timestep, and fit linearly again."""
        finer = problem.residuals([solution.point], simulator)[0]
        if any(np.isnan(r).any() for r in finer):
            return cls.nothing(problem)
        system = with_free_centre(problem, solution.system)
        _, before = system.refitted(solution.residuals)
        _, after = system.refitted(finer)
        change = [b - a for a, b in zip(solution.residuals, finer, strict=True)]
        return cls(EXTRAPOLATED * (after - before), change)

    def notes(self, problem: Problem, errors: Spread) -> tuple[str, ...]:
        """What depends on the timestep more than on the noise."""
        values = np.maximum(np.abs(problem.centre), [u.scale for u in problem.unknowns])
        worst: dict[str, tuple[float, float, str]] = {}
        for u, shift, error, value in zip(
            problem.unknowns, self.shift, errors.errors, values, strict=True
        ):
            share = abs(float(shift)) / float(value)
            if u.parameter in UNITS and abs(shift) > CLEAR * error and share > WORTH_SAYING:
                new = share, abs(float(shift)), unit_of(problem.stage.drives, u)
                worst[u.parameter] = max(new, worst.get(u.parameter, new))
        if not worst:
            return ()
        said = listed(f"{n} (by up to {most:.2g} {unit})" for n, (_, most, unit) in worst.items())
        verb = "depends" if len(worst) == 1 else "depend"
        return (
            f"{said} {verb} on the timestep: a drive that runs its law faster than the scene has "
            "other values for the same motion; the intervals include that, smaller steps narrow "
            "them",
        )
