"""The stages of a fit: coarse delays and limits, solution, noise, neighbouring delays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.tuning.least_squares.fit_problem import Problem
from mjrig.tuning.least_squares.points import Linearised, Point, Unknown
from mjrig.tuning.least_squares.search import (
    Profile,
    around,
    asked_efforts,
    coarse_lags,
    coarse_limits,
    profiles,
)
from mjrig.tuning.least_squares.solver import Solution, System, solve
from mjrig.tuning.least_squares.statistics import first_weights, fitted_weights
from mjrig.tuning.simulated.plant import BEYOND_LAGS

#: Most rounds of solving, reweighting and trying neighbouring delays.
MOST_ROUNDS = 8
#: Coarse stage: it ends when a step gains less than this many mean squared residuals.
ROUGH = 10.0
#: No reweighting if the noise changes by less than this share.
SAME_NOISE = 0.15

Report = Callable[[str], object]


@dataclass(frozen=True)
class FitOutcome:
    """The end of a fit; `before` are the residuals with the scene's values."""

    solution: Solution
    profiles: tuple[Profile, ...]
    before: list[FloatArray]


class FitRun:
    """One fit.

    Args:
        problem: the least-squares problem.
        delayed: indices of the joints whose delay is unknown.
        lags: bounds of the delays.
        real_delays: delays are real numbers, as those of a robot are, and unknowns of the problem
            beyond its lags; else whole ticks, of which those next to the best are tried too.
        report: called with progress messages.
    """

    def __init__(
        self,
        problem: Problem,
        delayed: Sequence[int],
        lags: tuple[int, int],
        *,
        real_delays: bool = False,
        report: Report = lambda text: None,
    ) -> None:
        self._delayed, self._bounds = list(delayed), lags
        self._problem = problem
        self._report, self._real_delays = report, real_delays
        self._limited = [u.place for u in problem.unknowns if u.parameter == "torque_limit"]

    def go(self, point: Point) -> FitOutcome:
        """Find everything, from a point.

        Raises:
            FitError: the simulation diverges there.
        """
        point, weights, before = self._approach(self._inside(point))
        return self.finish(point, weights, before)

    def finish(
        self, point: Point, weights: list[FloatArray], before: list[FloatArray]
    ) -> FitOutcome:
        """Find everything from a nearby point, with approximate weights."""
        point = self._between_steps(self._inside(point), weights)
        solution, weights = self._settle(point, weights, None)
        found: tuple[Profile, ...] = ()
        for _ in range(MOST_ROUNDS):
            found = self._profiles(solution)
            moved = self._better(solution, found)
            if moved is None:
                break
            solution, weights = self._settle(moved, weights, solution.system.linear)
        return FitOutcome(solution, found, before)

    def _between_steps(self, point: Point, weights: list[FloatArray]) -> Point:
        """The whole delays next to the best real ones, and everything else near its best.

        Whole ones of joints that move together hold each other in place: no single one is better
        by a step alone.
        """
        stage = self._problem.stage
        if self._real_delays:
            return self._as_real(point)
        if not self._delayed or stage.tangent.turns:
            return point
        self._report("delays between steps")
        reach = float(self._bounds[1] - self._bounds[0]) * stage.drives.ticks
        parts = [Unknown(BEYOND_LAGS, p, -reach[p], reach[p], 1.0) for p in self._delayed]
        loose = self._problem.with_unknowns([*self._problem.unknowns, *parts])
        found = solve(loose, point, weights, gain=ROUGH, on_step=self._tell).point
        more = np.round(found.values[BEYOND_LAGS] / stage.drives.ticks).astype(np.int64)
        values = {**found.values, BEYOND_LAGS: np.zeros_like(found.values[BEYOND_LAGS])}
        return self._inside(replace(found, values=values, lags=found.lags + more))

    def _as_real(self, point: Point) -> Point:
        """A robot's delays as one number each."""
        late = [u.place for u in self._problem.unknowns if u.parameter == BEYOND_LAGS]
        lags, values = point.lags.copy(), dict(point.values)
        values[BEYOND_LAGS] = values[BEYOND_LAGS].copy()
        values[BEYOND_LAGS][late] += (lags * self._problem.stage.drives.ticks)[late]
        lags[late] = 0
        return self._inside(replace(point, values=values, lags=lags))

    def _approach(self, point: Point) -> tuple[Point, list[FloatArray], list[FloatArray]]:
        """Coarse fit, joint by joint; also returns weights and the initial residuals."""
        problem = self._problem.joint_by_joint()
        weights, before = first_weights(problem), None
        whole = list(range(self._bounds[0], self._bounds[1] + 1))
        tried = dict.fromkeys(self._delayed, whole)
        for _ in range(MOST_ROUNDS):
            linear = problem.linearise(point)
            moved = point
            if tried:
                self._report("delays")
                moved = coarse_lags(problem, linear, weights, tried)
            if before is None:
                before = linear.residuals
                moved = self._limits(problem, replace(linear, point=moved), weights)
            solution = solve(
                problem, moved, weights, linear=linear, gain=ROUGH, most=6, on_step=self._tell
            )
            is_same = bool((moved.lags == point.lags).all())
            point = solution.point
            if is_same or self._real_delays:
                break
            tried = {p: around(int(point.lags[p]), self._bounds, 3) for p in self._delayed}
        assert before is not None
        return point, weights, before

    def _limits(self, problem: Problem, linear: Linearised, weights: list[FloatArray]) -> Point:
        if not self._limited:
            return linear.point
        self._report("effort limits")
        most = asked_efforts(problem, linear.point, linear.residuals)
        return coarse_limits(problem, linear, weights, self._limited, most)

    def _tell(self, cost: float) -> None:
        self._report(f"cost {cost:.6g}")

    def _inside(self, point: Point) -> Point:
        """The point with every unknown inside its bounds, and delays too."""
        unknowns = self._problem.unknowns
        point = point.put(unknowns, point.get(unknowns))
        lags = point.lags.copy()
        if not self._real_delays:
            lags[self._delayed] = np.clip(lags[self._delayed], *self._bounds)
        return replace(point, lags=lags)

    def _settle(
        self, point: Point, weights: list[FloatArray], linear: Linearised | None
    ) -> tuple[Solution, list[FloatArray]]:
        """Solve and reweight by the estimated noise until it converges."""
        self._report("everything together")
        solution = self._solve(point, weights, linear)
        for _ in range(2):
            found = fitted_weights(self._problem, solution)
            ratio = [np.abs(a / b - 1.0).max() for a, b in zip(found, weights, strict=True)]
            weights = found
            if max(ratio) < SAME_NOISE:
                break
            solution = self._solve(solution.point, weights, solution.system.linear)
        system = System.of(self._problem, solution.system.linear, weights)
        return replace(solution, system=system), weights

    def _solve(
        self, point: Point, weights: list[FloatArray], linear: Linearised | None
    ) -> Solution:
        return solve(self._problem, point, weights, linear=linear, on_step=self._tell)

    def _profiles(self, solution: Solution) -> tuple[Profile, ...]:
        if not self._delayed or self._real_delays:
            return ()
        self._report("neighbouring delays")
        lags = solution.point.lags
        tried = {p: around(int(lags[p]), self._bounds) for p in self._delayed}
        return tuple(profiles(self._problem, solution.system, solution.point, tried))

    def _better(self, solution: Solution, found: Sequence[Profile]) -> Point | None:
        """The point with the delays that cost less; None: there are none."""
        lags = solution.point.lags.copy()
        size = sum(r.size for r in solution.residuals)
        for profile in found:
            now = profile.costs[profile.lags.index(int(lags[profile.place]))]
            # Less than this is rounding, not a better delay.
            if min(profile.costs) < now - 1e-3 * max(now / size, 1e-6):
                lags[profile.place] = profile.best
        if (lags == solution.point.lags).all():
            return None
        return replace(solution.point, lags=lags)
