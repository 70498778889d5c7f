"""The search for what reproduces recorded motion: where it begins, and where it begins again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mjrig.sim.world import World
from mjrig.tuning.fitting.verdicts import Verdicts
from mjrig.tuning.least_squares.fit_problem import Problem
from mjrig.tuning.least_squares.fit_run import FitOutcome, FitRun, Report
from mjrig.tuning.least_squares.inverse import inverse_starts
from mjrig.tuning.least_squares.points import Point
from mjrig.tuning.least_squares.solver import Solution, cost_of
from mjrig.tuning.least_squares.statistics import first_weights, fitted_weights
from mjrig.tuning.simulated.fit_jobs import Stage

#: A joint fits badly if its residuals, in units of noise, are this many times the best joint's.
BAD = 1.5
#: Another solution must cost less than this share of the first.
BETTER = 0.999


@dataclass(frozen=True)
class MotionSearch:
    """Solves the problems of a fit to motion.

    Attributes:
        world: the scene's.
        stage: what is simulated.
        delayed: places of the joints whose delay is unknown.
        lags: bounds of the delays [ticks].
        verdicts: what solutions are worth.
        report: called with progress messages.
    """

    world: World
    stage: Stage
    delayed: Sequence[int]
    lags: tuple[int, int]
    verdicts: Verdicts
    report: Report

    def best(self, problem: Problem, start: Point) -> FitOutcome:
        """The outcome; if it is doubtful, the better one of it and some that begin elsewhere."""
        found = self._begun(problem, start)
        for begin in (self._joint_by_joint, self._of_its_best_joints):
            if not self._is_doubtful(problem, found.solution):
                break
            other = begin(problem, start, found)
            if other is not None and _is_better(other.solution, found.solution):
                found = other
        return found

    def _begun(self, problem: Problem, start: Point) -> FitOutcome:
        """From inverse dynamics if that simulates the recording better than the scene does."""
        run = self._run(problem)
        if self.stage.tangent.turns or self.stage.drives.remembers:
            return run.go(start)
        self.report("inverse dynamics")
        lags = dict.fromkeys(self.delayed, range(self.lags[0], self.lags[1] + 1))
        others = inverse_starts(self.world.model, self.stage, start, problem.unknowns, lags)
        points, weights = [start, *others], first_weights(problem)
        residuals = problem.residuals(points)
        best = int(np.argmin([cost_of(r, weights) for r in residuals]))
        if not best:
            return run.go(start)
        if any(u.parameter == "torque_limit" for u in problem.unknowns):  # not linear in it
            return replace(run.go(points[best]), before=residuals[0])
        return run.finish(points[best], weights, residuals[0])

    def _is_doubtful(self, problem: Problem, solution: Solution) -> bool:
        if self.stage.tangent.turns:  # impacts are reason enough for doubts, in any case
            return False
        return not solution.converged or bool(self.verdicts.rejection(problem, solution))

    def _joint_by_joint(
        self, problem: Problem, start: Point, found: FitOutcome
    ) -> FitOutcome | None:
        """From a fit of every joint by itself."""
        if problem.apart:
            return None
        self.report("again, from a fit joint by joint")
        alone = problem.joint_by_joint()
        apart = self._run(alone).go(start)
        weights = fitted_weights(alone, apart.solution)
        return self._run(problem).finish(apart.solution.point, weights, found.before)

    def _of_its_best_joints(
        self, problem: Problem, start: Point, found: FitOutcome
    ) -> FitOutcome | None:
        """With the joints that fit badly back at the scene's values."""
        miss = _misses_of(problem, found.solution)
        bad = [place for place, value in miss.items() if value > BAD * min(miss.values())]
        if not bad or len(bad) == len(miss):
            return None
        self.report("again, with the joints that fit badly as in the scene")
        point = found.solution.point
        values = {name: array.copy() for name, array in point.values.items()}
        lags = point.lags.copy()
        for place in bad:
            lags[place] = start.lags[place]
            for name in {u.parameter for u in problem.unknowns if u.is_of_joint}:
                values[name][place] = start.values[name][place]
        return self._run(problem).go(replace(point, values=values, lags=lags))

    def go_on(self, problem: Problem, outcome: FitOutcome, point: Point) -> FitOutcome:
        """Another problem solved from the end of one."""
        weights = outcome.solution.system.weights
        return self._run(problem).finish(point, weights, outcome.before)

    def _run(self, problem: Problem) -> FitRun:
        return FitRun(
            problem,
            self.delayed,
            self.lags,
            real_delays=self.stage.is_real,
            report=self.report,
        )


def _misses_of(problem: Problem, solution: Solution) -> dict[int, float]:
    """Place → root mean square of a joint's residuals, in units of the noise of its samples."""
    stage = problem.stage
    columns = np.searchsorted(stage.tangent.dofs, stage.drives.dofs)
    pairs = zip(solution.residuals, solution.system.weights, strict=True)
    every = np.concatenate([(r * w)[:, columns] for r, w in pairs])
    return dict(enumerate(np.sqrt(np.mean(every**2, axis=0)).tolist()))


def _is_better(one: Solution, other: Solution) -> bool:
    """Whether a solution is clearly better than another, by the noise that this one left."""
    weights = other.system.weights
    costs = [cost_of(s.residuals, weights) for s in (one, other)]
    return (one.converged and not other.converged) or costs[0] < BETTER * costs[1]
