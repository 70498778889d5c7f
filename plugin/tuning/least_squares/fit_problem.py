"""The least-squares problem of a fit: unknowns, residuals and derivatives."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.errors import FitError
from mjrig.tuning.least_squares.blocks import Blocks
from mjrig.tuning.least_squares.points import Linearised, Point, Unknown
from mjrig.tuning.simulated.fit_data import FitWindow, Places
from mjrig.tuning.simulated.fit_jobs import Jobs, Runs, Simulator, Stage

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
