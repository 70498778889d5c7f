"""Searches without derivatives: delays, which are whole steps, and coarse effort limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.tuning.least_squares.fit_problem import Problem
from mjrig.tuning.least_squares.points import Linearised, Point
from mjrig.tuning.least_squares.solver import LEAST_DAMPING, System, stepped
from mjrig.tuning.simulated.plant import Lags

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
