"""Search stages of a fit: coarse delays and limits, solution, noise, neighbouring delays."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.lab.fit.plant import BEYOND_LAGS, Lags
from mjrig.lab.fit.problem import Linearised, Point, Problem, Unknown
from mjrig.lab.fit.solver import (
    LEAST_DAMPING,
    Solution,
    System,
    first_weights,
    fitted_weights,
    solve,
    stepped,
)

# Search -------------------------------------------------------------------------------------------
# Searches without derivatives: delays, which are whole steps, and coarse effort limits.


#: Effort limits that are tried, as shares of the largest effort the law asks for.
SHARES = (0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95)
#: How far around a delay its neighbours are tried.
REACH = 2
#: Delays that would cost so many mean squared residuals more are not looked at twice.
FAR = 40.0


@dataclass(frozen=True)
class Profile:
    """Delays of one joint and the cost each would leave, everything else fitted again.

    `values` (delays, unknowns) are those everything else would have.
    """

    place: int
    lags: tuple[int, ...]
    costs: tuple[float, ...]
    values: FloatArray

    @property
    def best(self) -> int:
        """The delay with the least cost."""
        return self.lags[int(np.argmin(self.costs))]


def coarse_lags(
    problem: Problem,
    linear: Linearised,
    weights: Sequence[FloatArray],
    tried: Mapping[int, Sequence[int]],
) -> Point:
    """Try delays on all joints at once, and give each joint the one that fits it best.

    A joint is judged by its own motion, with its own unknowns refitted linearly.

    Args:
        tried: place → delays, as many for all of them.
    """
    point = linear.point
    trials = []
    for k in range(max(map(len, tried.values()))):
        lags = point.lags.copy()
        for place, candidates in tried.items():
            lags[place] = candidates[min(k, len(candidates) - 1)]
        trials.append(replace(point, lags=lags))
    found = problem.residuals(trials)
    lags = point.lags.copy()
    for place, candidates in tried.items():
        block = _Block.of(problem, linear, weights, place)
        costs = [block.cost(r) for r in found[: len(candidates)]]
        best = int(np.argmin(costs))
        if costs[best] < block.cost(linear.residuals) * (1.0 - 1e-9):
            lags[place] = candidates[best]
    return replace(point, lags=lags)


def coarse_limits(
    problem: Problem,
    linear: Linearised,
    weights: Sequence[FloatArray],
    places: Sequence[int],
    most: FloatArray,
) -> Point:
    """Start effort limits where they begin to matter; `most` (n,) is what the laws ask for."""
    point = linear.point
    trials = []
    for share in SHARES:
        values = dict(point.values)
        values["torque_limit"] = point.values["torque_limit"].copy()
        values["torque_limit"][list(places)] = share * most[list(places)]
        trials.append(replace(point, values=values))
    now, *found = problem.residuals([point, *trials])
    limits = point.values["torque_limit"].copy()
    for place in places:
        block = _Block.of(problem, linear, weights, place)
        costs = [block.cost(r) for r in found]
        best = int(np.argmin(costs))
        if costs[best] < block.cost(now):
            limits[place] = SHARES[best] * most[place]
    return replace(point, values={**point.values, "torque_limit": limits})


@dataclass(frozen=True)
class _Block:
    """The part of a linear problem that one joint sees of itself."""

    columns: "np.ndarray[tuple[int], np.dtype[np.intp]]"
    bases: list[FloatArray]
    weights: list[FloatArray]

    @classmethod
    def of(
        cls, problem: Problem, linear: Linearised, weights: Sequence[FloatArray], place: int
    ) -> "_Block":
        dof = int(np.searchsorted(problem.stage.tangent.dofs, problem.stage.drives.dofs[place]))
        half = len(problem.stage.tangent)
        own = [i for i, u in enumerate(problem.unknowns) if u.is_of_joint and u.place == place]
        both = np.array([dof, dof + half], dtype=np.intp)
        bases, scales = [], []
        for w, (j, n) in enumerate(zip(linear.by_unknown, linear.by_start, strict=True)):
            here = both[both < n.shape[1]]
            scale = weights[w][here]
            parts = [n[:, here][..., both], j[:, here][..., own]]
            matrix = np.concatenate(parts, axis=-1) * scale[:, None]
            bases.append(np.linalg.qr(matrix.reshape(-1, matrix.shape[-1]))[0])
            scales.append(scale)
        return cls(both, bases, scales)

    def cost(self, residuals: Sequence[FloatArray]) -> float:
        """What is left of this joint's residuals."""
        # NOTE: the unknowns are fitted to each window by itself here; good enough to begin with.
        total = 0.0
        for q, r, w in zip(self.bases, residuals, self.weights, strict=True):
            flat = (r[:, self.columns[self.columns < r.shape[1]]] * w).reshape(-1)
            total += float(flat @ flat - np.square(q.T @ flat).sum())
        return total if np.isfinite(total) else np.inf


def profiles(
    problem: Problem,
    system: System,
    point: Point,
    tried: Mapping[int, Sequence[int]],
) -> list[Profile]:
    """For some joints the cost of other delays, one joint at a time.

    Everything else is fitted again linearly, and where that is not far off once more from there:
    a delay that armature makes up for takes a large change of it.

    Args:
        tried: place → delays.
    """
    trials = {
        (place, lag): replace(point, lags=_with_lag(point, place, lag))
        for place, candidates in tried.items()
        for lag in candidates
    }
    found = _refitted(problem, system, trials)
    near = {}
    for (place, lag), (cost, _, residuals) in found.items():
        least = min(found[place, k][0] for k in tried[place])
        if 0.0 < cost - least <= FAR * least / sum(r.size for r in residuals):
            now = trials[place, lag]
            near[place, lag] = stepped(problem, system, now, residuals, LEAST_DAMPING)
    found |= _refitted(problem, system, near)
    return [
        Profile(
            place,
            tuple(lags),
            tuple(found[place, lag][0] for lag in lags),
            np.array([found[place, lag][1] for lag in lags]),
        )
        for place, lags in tried.items()
    ]


def _with_lag(point: Point, place: int, lag: int) -> Lags:
    lags = point.lags.copy()
    lags[place] = lag
    return lags


def _refitted(
    problem: Problem, system: System, trials: Mapping[tuple[int, int], Point]
) -> dict[tuple[int, int], tuple[float, FloatArray, list[FloatArray]]]:
    """Cost and unknowns after a linear fit at each point, and the residuals before it."""
    points = list(trials.values())
    every = problem.residuals(points) if points else []
    found = {}
    for key, point, residuals in zip(trials, points, every, strict=True):
        cost, move = system.refitted(residuals)
        found[key] = _finite(cost), point.get(problem.unknowns) + move, residuals
    return found


def _finite(cost: float) -> float:
    return cost if np.isfinite(cost) else np.inf


def around(lag: int, bounds: tuple[int, int], reach: int = REACH) -> list[int]:
    """Delays near one, itself included."""
    return [k for k in range(lag - reach, lag + reach + 1) if bounds[0] <= k <= bounds[1]]


def asked_efforts(problem: Problem, point: Point, residuals: Sequence[FloatArray]) -> FloatArray:
    """(n,) the largest effort each law asks for along the simulation, before any limit."""
    stage, drives = problem.stage, problem.stage.drives
    most = np.zeros(len(drives))
    dofs = np.searchsorted(stage.tangent.dofs, drives.dofs)
    half = len(stage.tangent)
    late = point.lags * drives.ticks
    for window, found in zip(stage.windows, residuals, strict=True):
        track = stage.tracks[window.track]
        table = track.commands[drives.actor]
        recorded = stage.tangent.plain(track.qpos[window.samples])
        q = recorded[:, dofs] + found[:, dofs]
        v = track.qvel[window.samples][:, drives.dofs]
        if found.shape[1] > half:
            v = v + found[:, half + dofs]
        rows = np.clip(track.step[window.samples][:, None] - late, window.segment, len(table) - 1)
        target = table[rows, :, drives.columns]
        asked = target[..., 2] + point.values["kp"] * (target[..., 0] - q)
        asked = asked + point.values["kv"] * (target[..., 1] - v)
        most = np.maximum(most, np.abs(asked).max(axis=0))
    return most


# Fit run ------------------------------------------------------------------------------------------
# The stages of a fit: coarse delays and limits, solution, noise, neighbouring delays.


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
