"""The least-squares problem of a fit: unknowns, independent blocks, residuals and derivatives.

A block is a set of joints that no other joint affects, such as a leg of a held robot. Costs, steps
and variances are per block: a joint that fits badly neither keeps joints of other blocks from
converging nor widens their intervals.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import FitError
from mjrig.lab.fit.fit_data import FitWindow, Places
from mjrig.lab.fit.plant import INERTIAL, PAYLOAD, Lags
from mjrig.lab.fit.simulation import Jobs, Runs, Simulator, Stage

# Points -------------------------------------------------------------------------------------------
# Points of a search: unknowns, their values, and residuals with derivatives around one.


@dataclass(frozen=True)
class Unknown:
    """An unknown: a parameter of one joint, its bounds and its scale.

    `place` is the joint; of bodies, one of the numbers of `inertial`. `prior` is the standard
    deviation around the scene's value, or `centre`, that is assumed beforehand; inf: nothing is.
    It counts `counted` times, as residuals do that are not independent of each other.
    """

    parameter: str
    place: int
    low: float
    high: float
    scale: float
    prior: float = np.inf
    centre: float | None = None
    counted: float = 1.0

    @property
    def is_of_joint(self) -> bool:
        """Whether it belongs to a joint, not to a body."""
        return self.parameter not in (INERTIAL, PAYLOAD)


@dataclass(frozen=True)
class Point:
    """Parameters (name → (n,)), delays (n,) and the initial state of every window."""

    values: dict[str, FloatArray]
    lags: Lags
    moves: FloatArray

    def get(self, unknowns: Sequence[Unknown]) -> FloatArray:
        """The values of some unknowns."""
        return np.array([self.values[u.parameter][u.place] for u in unknowns])

    def put(self, unknowns: Sequence[Unknown], values: FloatArray) -> "Point":
        """The same with unknowns at these values, clipped to their bounds."""
        changed = {name: array.copy() for name, array in self.values.items()}
        for unknown, value in zip(unknowns, values, strict=True):
            inside = min(max(float(value), unknown.low), unknown.high)
            changed[unknown.parameter][unknown.place] = inside
        return replace(self, values=changed)


@dataclass(frozen=True)
class Linearised:
    """Residuals around a point: r, dr/dθ and dr/dx0 of every window, in physical units.

    Shapes (samples, columns), (samples, columns, unknowns), (samples, columns, 2 dofs).
    """

    point: Point
    residuals: list[FloatArray]
    by_unknown: list[FloatArray]
    by_start: list[FloatArray]


# Blocks -------------------------------------------------------------------------------------------
# Blocks of a fit: what moves together and meets nothing else, such as a leg of a held robot.
#
# Costs, steps and variances are of blocks: a joint that fits badly neither keeps joints of other
# blocks from converging nor widens their intervals.


#: A point, and its residuals per window.
Trial = tuple[Point, list[FloatArray]]


@dataclass(frozen=True)
class Block:
    """Unknowns by index, and columns of positions and velocities, of residuals as of states."""

    unknowns: Places
    columns: Places

    def among(self, measured: int) -> Places:
        """Its columns that are among the first so many."""
        return self.columns[self.columns < measured]

    def cost(self, residuals: Sequence[FloatArray], weights: Sequence[FloatArray]) -> float:
        """Sum of squares in units of the noise; infinite for a simulation that diverged."""
        total = 0.0
        for r, w in zip(residuals, weights, strict=True):
            own = self.among(r.shape[1])
            total += float(np.square(r[:, own] * w[own]).sum())
        return total if np.isfinite(total) else np.inf


class Blocks:
    """All blocks of a problem.

    Args:
        unknowns: of the problem.
        trees: (dofs,) the block of each degree of freedom, by any number.
        own: likewise of each unknown.
        shapes: samples and measured columns of each window.
        precision, centre: (unknowns,) what is assumed of them beforehand.

    Attributes:
        of_unknown: (unknowns,) the block of each.
        sizes: (blocks,) the number of residuals of each.
    """

    def __init__(
        self,
        unknowns: Sequence[Unknown],
        trees: Any,
        own: Sequence[int],
        shapes: Sequence[tuple[int, int]],
        precision: FloatArray,
        centre: FloatArray,
    ) -> None:
        self._unknowns, self._precision, self._centre = unknowns, precision, centre
        half, found = len(trees), []
        for tree in dict.fromkeys(trees.tolist()):
            dofs = np.flatnonzero(trees == tree)
            members = np.flatnonzero(np.array(own) == tree)
            found.append(Block(members, np.concatenate([dofs, dofs + half])))
        self._blocks = tuple(found)
        self.of_unknown = np.zeros(len(unknowns), dtype=np.intp)
        for k, block in enumerate(found):
            self.of_unknown[block.unknowns] = k
        counts = [sum(n * len(b.among(m)) for n, m in shapes) for b in found]
        self.sizes = np.array(counts, dtype=np.float64)

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, index: int) -> Block:
        return self._blocks[index]

    def of_dof(self, dof: int) -> int:
        """The block of a degree of freedom."""
        return next(k for k, block in enumerate(self._blocks) if dof in block.columns)

    def costs(
        self, point: Point, residuals: Sequence[FloatArray], weights: Sequence[FloatArray]
    ) -> FloatArray:
        """(blocks,) sums of squares in units of the noise, and what priors add."""
        away = point.get(self._unknowns) - self._centre
        assumed = self._precision * away**2 if len(away) else away
        found = [b.cost(residuals, weights) + assumed[b.unknowns].sum() for b in self._blocks]
        return np.array(found)

    def merged(
        self,
        point: Point,
        residuals: list[FloatArray],
        trials: Sequence[Trial],
        picks: Sequence[int | None],
    ) -> Trial:
        """Every block from the trial that is picked for it; None: as it is at `point`."""
        if len(set(picks)) == 1:
            return (point, residuals) if picks[0] is None else trials[picks[0]]
        moves, left = point.moves.copy(), [r.copy() for r in residuals]
        for block, pick in zip(self._blocks, picks, strict=True):
            if pick is None:
                continue
            other, found = trials[pick]
            own = [self._unknowns[i] for i in block.unknowns]
            point = point.put(own, other.get(own))
            moves[:, block.columns] = other.moves[:, block.columns]
            for mine, theirs in zip(left, found, strict=True):
                columns = block.among(mine.shape[1])
                mine[:, columns] = theirs[:, columns]
        return replace(point, moves=moves), left

    def best_starts(self, ways: Sequence[Trial], weights: Sequence[FloatArray]) -> Trial:
        """Of trials that differ in initial states, the best one for each window and block."""
        point, residuals = ways[0]
        moves, left = point.moves.copy(), [r.copy() for r in residuals]
        for w, weight in enumerate(weights):
            for block in self._blocks:
                costs = [block.cost([r[w]], [weight]) for _, r in ways]
                other, found = ways[int(np.argmin(costs))]
                columns = block.among(left[w].shape[1])
                moves[w, block.columns] = other.moves[w, block.columns]
                left[w][:, columns] = found[w][:, columns]
        return replace(point, moves=moves), left


# Fit problem --------------------------------------------------------------------------------------
# The least-squares problem of a fit: unknowns, residuals and derivatives.


#: Finite differences: share of a parameter's scale, and of initial states [rad or m, and per s].
STEP = 1e-4
STEP_POSITION, STEP_VELOCITY = 1e-5, 1e-4
#: Samples on each side that smooth the first state of a window.
AROUND = 8


def _smoothed(stage: Stage, window: FitWindow) -> FloatArray:
    """From the first sample of a window to a parabola through those around it, if it is noisy."""
    track, first = stage.tracks[window.track], int(window.samples[0])
    near = np.arange(max(first - AROUND, 0), min(first + AROUND + 1, len(track.step)))
    signal = track.signal(stage.tangent, near, first)
    time = (track.step[near] - track.step[first]).astype(float)
    powers = np.vander(time / max(float(np.abs(time).max()), 1.0), 3, increasing=True)
    curve = powers @ np.linalg.lstsq(powers, signal, rcond=None)[0]
    at = int(np.flatnonzero(near == first)[0])
    rough, left = roughness(signal), np.sqrt(np.mean((signal - curve) ** 2, axis=0))
    # A deviation from the parabola beyond the noise is motion, such as an impact.
    moved: FloatArray = np.where(left < 2.0 * rough, curve[at] - signal[at], 0.0)
    return moved


def roughness(signal: FloatArray) -> FloatArray:
    """The noise of each column of a signal (samples, columns), estimated from third differences.

    Those of a smooth signal are small; those of noise have 20 times its variance.
    """
    rough: FloatArray = np.median(np.abs(np.diff(signal, 3, axis=0)), axis=0)
    rough /= 0.6745 * np.sqrt(20.0)
    return rough


@dataclass(frozen=True)
class _Group:
    """A perturbed `point`: (column, step size, rows it is evaluated on; None: all)."""

    point: Point
    columns: list[tuple[int, float, Places | None]]


class Problem:
    """Asks a simulator for residuals and their derivatives.

    Args:
        stage: windows and what was recorded.
        simulator: runs jobs.
        unknowns: the numbers to find.
        apart: joint by joint: derivatives are of a joint's own motion only, which takes far fewer
            simulations, one for all joints together.
    """

    def __init__(
        self,
        stage: Stage,
        simulator: Simulator,
        unknowns: Sequence[Unknown],
        *,
        apart: bool = False,
    ) -> None:
        self.stage, self.unknowns, self.apart = stage, tuple(unknowns), apart
        self._simulator = simulator
        half = len(stage.tangent)
        # A law with a state of its own may be of several joints.
        self._trees = 0 * stage.tangent.trees if stage.drives.remembers else stage.tangent.trees
        #: The number of each degree of freedom in its tree.
        self._ranks = np.array(
            [int((self._trees[:k] == t).sum()) for k, t in enumerate(self._trees)]
        )
        #: Columns that were measured, of each window.
        self.measured = [
            np.arange(2 * half if stage.tracks[w.track].has_velocity else half)
            for w in stage.windows
        ]

    @cached_property
    def blocks(self) -> Blocks:
        """Kinematic trees that nothing couples; with numbers of bodies all of it is one."""
        trees = self._trees if all(u.is_of_joint for u in self.unknowns) else 0 * self._trees
        own = [trees[self._dof_of(u.place)] if u.is_of_joint else 0 for u in self.unknowns]
        windows = zip(self.stage.windows, self.measured, strict=True)
        shapes = [(len(w.samples), len(columns)) for w, columns in windows]
        return Blocks(self.unknowns, trees, own, shapes, self.precision, self.centre)

    def block_of(self, place: int) -> int:
        """The block of a joint."""
        return self.blocks.of_dof(self._dof_of(place))

    def joint_by_joint(self) -> "Problem":
        """The same with derivatives of each joint's own motion only."""
        return Problem(self.stage, self._simulator, self.unknowns, apart=True)

    def with_unknowns(self, unknowns: Sequence[Unknown]) -> "Problem":
        """The same with other unknowns."""
        return Problem(self.stage, self._simulator, unknowns, apart=self.apart)

    @property
    def precision(self) -> FloatArray:
        """One over the variance that is assumed of each unknown beforehand; 0: nothing is."""
        return np.array([u.counted / u.prior**2 for u in self.unknowns])

    @property
    def centre(self) -> FloatArray:
        """What unknowns are assumed to be beforehand: the scene's values, unless they say."""
        values = self.stage.drives.values
        found = np.array(
            [values[u.parameter][u.place] if u.centre is None else u.centre for u in self.unknowns]
        )
        return np.where(np.isfinite(found), found, 0.0)

    @property
    def num_windows(self) -> int:
        """How many windows there are."""
        return len(self.stage.windows)

    def start(self) -> Point:
        """The scene's values, with the recorded initial states."""
        drives = self.stage.drives
        values = {name: array.copy() for name, array in drives.values.items()}
        moves = np.stack([_smoothed(self.stage, w) for w in self.stage.windows])
        return Point(values, drives.lags.copy(), moves)

    def residuals(
        self, points: Sequence[Point], simulator: Runs | None = None
    ) -> list[list[FloatArray]]:
        """For each point and window (samples, measured columns); by another simulator if given."""
        count = self.num_windows
        windows = np.tile(np.arange(count), len(points))
        repeat = np.repeat(np.arange(len(points)), count)
        jobs = Jobs(
            windows,
            {n: np.stack([p.values[n] for p in points])[repeat] for n in points[0].values},
            np.stack([p.lags for p in points])[repeat],
            np.concatenate([p.moves for p in points]),
        )
        found = (simulator or self._simulator).run(jobs)
        cut = [r[:, self.measured[w]] for r, w in zip(found, windows, strict=True)]
        return [cut[i * count : (i + 1) * count] for i in range(len(points))]

    def linearise(self, point: Point) -> Linearised:
        """Finite differences, all of them simulated together.

        Raises:
            FitError: the simulation diverges.
        """
        groups = [*self._parameter_groups(point), *self._start_groups(point)]
        base, *moved = self.residuals([point, *(g.point for g in groups)])
        self.refuse_divergence(base)
        count = len(self.unknowns)
        by_unknown, by_start = [], []
        for w, found in enumerate(base):
            slopes = np.zeros((*found.shape, count + point.moves.shape[1]))
            for group, other in zip(groups, moved, strict=True):
                change = np.nan_to_num(other[w] - found)
                for column, step, rows in group.columns:
                    own = np.arange(found.shape[1]) if rows is None else rows
                    own = own[own < found.shape[1]]
                    slopes[:, own, column] = change[:, own] / step
            by_unknown.append(slopes[..., :count])
            by_start.append(slopes[..., count:])
        return Linearised(point, base, by_unknown, by_start)

    def _parameter_groups(self, point: Point) -> list["_Group"]:
        groups: dict[object, list[int]] = {}
        for i, u in enumerate(self.unknowns):
            groups.setdefault(self._group_of(i, u), []).append(i)
        return [self._parameter_group(point, g) for g in groups.values()]

    def _group_of(self, index: int, unknown: Unknown) -> object:
        """What is varied in one simulation: joints that do not meet, or that are taken as if."""
        if not unknown.is_of_joint:
            return index
        if self.apart:
            return unknown.parameter
        dof = self._dof_of(unknown.place)
        return unknown.parameter, int(self._ranks[dof])

    def _parameter_group(self, point: Point, indices: Sequence[int]) -> "_Group":
        chosen = [self.unknowns[i] for i in indices]
        now = point.get(chosen)
        steps = STEP * np.array([u.scale for u in chosen])
        steps = np.where(now + steps > np.array([u.high for u in chosen]), -steps, steps)
        moved = point.put(chosen, now + steps)
        steps = moved.get(chosen) - now
        rows = [self._columns_of(u) for u in chosen]
        return _Group(moved, list(zip(indices, map(float, steps), rows, strict=True)))

    def _start_groups(self, point: Point) -> list["_Group"]:
        half = len(self.stage.tangent)
        dofs = np.searchsorted(self.stage.tangent.dofs, self.stage.drives.dofs)
        place = {int(d): i for i, d in enumerate(dofs)} if self.apart else {}
        groups = []
        for first, step in ((0, STEP_POSITION), (half, STEP_VELOCITY)):
            alone: dict[int, list[int]] = {}
            for k in range(half):
                if k not in place:
                    alone.setdefault(int(self._ranks[k]), []).append(k)
            for members in [*alone.values(), *([list(place)] if place else [])]:
                moves = point.moves.copy()
                moves[:, [first + k for k in members]] += step
                columns = [
                    (
                        len(self.unknowns) + first + k,
                        step,
                        self._own_columns(place[k]) if k in place else self._with(k),
                    )
                    for k in members
                ]
                groups.append(_Group(replace(point, moves=moves), columns))
        return groups

    def _columns_of(self, unknown: Unknown) -> Places | None:
        """Columns that an unknown is taken to change; None: all."""
        if not unknown.is_of_joint:
            return None
        place = unknown.place
        return self._own_columns(place) if self.apart else self._with(self._dof_of(place))

    def _dof_of(self, place: int) -> int:
        """The joint at a place, in the order of differences."""
        return int(np.searchsorted(self.stage.tangent.dofs, self.stage.drives.dofs[place]))

    def _with(self, dof: int) -> Places | None:
        """Columns of all that moves together with a degree of freedom; None: everything does."""
        same = self._trees == self._trees[dof]
        if same.all():
            return None
        own = np.flatnonzero(same)
        drives = [p for p in range(len(self.stage.drives)) if same[self._dof_of(p)]]
        driven = [self._own_columns(p) for p in drives]
        return np.unique(np.concatenate([own, own + len(same), *driven])).astype(np.intp)

    def _own_columns(self, place: int) -> Places:
        """Position and velocity of the joint at a place, among the columns of residuals."""
        dofs = self.stage.tangent.dofs
        own = int(np.searchsorted(dofs, self.stage.drives.dofs[place]))
        return np.array([own, own + len(dofs)], dtype=np.intp)

    def refuse_divergence(self, residuals: Sequence[FloatArray]) -> None:
        """Raise if a simulation diverged.

        Raises:
            FitError: it names the recording and the time.
        """
        for window, found in zip(self.stage.windows, residuals, strict=True):
            odd = np.flatnonzero(np.isnan(found).any(axis=1))
            if len(odd):
                track = self.stage.tracks[window.track]
                raise FitError(
                    f"{track.name}: with the scene's values the simulation diverges at step "
                    f"{track.step[window.samples[odd[0]]]}; start from stable gains, or "
                    "with shorter windows"
                )
