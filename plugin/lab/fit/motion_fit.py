"""A fit to recorded motion: gains, delays and joint parameters that reproduce it.

Each recording is cut into windows (one for a suspended or fixed robot), whose initial states
are unknowns too, so that noise in the states biases nothing. Simulations of the windows, driven by
the recorded setpoints, are compared with the recorded states; the parameters are found by
Levenberg-Marquardt on finite differences, each a world of a batch, and delays by trying them.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.actor_in_world import base_address
from mjrig.core.control.setpoints import FEEDFORWARD, POSITION, VELOCITY
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.lab.fit.estimates import (
    Bounds,
    Curves,
    Estimate,
    Findings,
    Wanted,
    delay_bounds,
    unknowns_of,
)
from mjrig.lab.fit.fit_data import FitWindow, Places, RecordedTrack
from mjrig.lab.fit.identifiability import Dropped, estimate, left_alone, not_found, without_interval
from mjrig.lab.fit.lack_of_fit import Verdicts
from mjrig.lab.fit.outliers import (
    FEW_HELD_OUT,
    OddSpan,
    odd_spans,
    said_of,
    said_of_held_out,
    without,
)
from mjrig.lab.fit.plant import BEYOND_LAGS, CREEP, DELAY, DYNAMICS, INERTIAL, OF_BODIES, Drives
from mjrig.lab.fit.problem import Point, Problem, Unknown
from mjrig.lab.fit.pruning import Pruned, Pruning
from mjrig.lab.fit.search import FitOutcome, FitRun, Report, asked_efforts
from mjrig.lab.fit.simulation import MotionOptions, Simulator, Stage, simulator_of, stages_of
from mjrig.lab.fit.solution_estimates import (
    STARTS,
    as_vague,
    as_written,
    bodies,
    common_delay,
    correlated,
    correlations,
    creeps_of,
    curves_of,
    delay_estimate,
    delay_unknowns,
    offset_notes,
    real_delays,
    resting_on,
    with_common,
    with_other_lags,
    with_shift,
    with_slow_law,
)
from mjrig.lab.fit.solver import (
    Solution,
    Spread,
    cost_of,
    first_weights,
    fitted_weights,
    solve,
    spread,
)

# Inverse ------------------------------------------------------------------------------------------
# Where a search begins: parameters by inverse dynamics of the recorded motion.
#
# With the motion known, the efforts of a joint are linear in its gains, armature, damping and
# friction, whatever the other joints do. So for each delay they are one regression per joint, and
# the best delay is the best of all, not one nearby. Noise biases them somewhat: they are a start,
# from which the simulation is fitted.


#: Half widths of the smoothing [samples]: one for every kind of recording.
WIDTHS = (2.0, 5.0, 12.0)
#: What the efforts are linear in, in the order of the columns.
LINEAR = ("kp", "kv", *DYNAMICS)
KNOWN = "known"
#: Slower than this share of its mean speed, a joint tells nothing about dry friction.
SLOW = 0.1


def inverse_starts(
    model: Any,
    stage: Stage,
    point: Point,
    unknowns: Sequence[Unknown],
    delayed: Mapping[int, Sequence[int]],
) -> Iterator[Point]:
    """Points to begin at, one per width of smoothing.

    Args:
        model: with the scene's values; it is not changed.
        delayed: place → delays to try [ticks].
    """
    asked = {u.place for u in unknowns if u.parameter in LINEAR} | set(delayed)
    has_gains = np.isfinite(point.values["kp"]) & np.isfinite(point.values["kv"])
    places = [place for place in sorted(asked) if has_gains[place]]
    for width in WIDTHS:
        motions = [_Motion.of(model, stage, window, width) for window in stage.windows]
        known = [m for m in motions if m is not None]
        if len(known) < len(motions):
            continue
        found = point
        for place in places:
            own = [u for u in unknowns if u.place == place and u.parameter in LINEAR]
            found = _regressed(stage, known, found, place, own, delayed.get(place, ()))
        yield found


@dataclass(frozen=True)
class _Motion:
    """The smoothed motion of a window, over the intervals between its samples.

    Attributes:
        rows: (intervals, steps of each) physics steps, before smoothing.
        kernel: weights of the smoothing.
        position, speed, change: (rows, driven joints) with the velocity and its rate of change.
        efforts: (rows, driven joints) that the motion takes without their armature, damping and
            friction.
    """

    window: FitWindow
    rows: "np.ndarray[tuple[int, int], np.dtype[np.intp]]"
    kernel: FloatArray
    position: FloatArray
    speed: FloatArray
    change: FloatArray
    efforts: FloatArray

    @classmethod
    def of(cls, model: Any, stage: Stage, window: FitWindow, width: float) -> "_Motion | None":
        """None: it is too short for this width."""
        kernel, stride = _kernel(width), int(np.median(np.diff(window.after)))
        after = np.arange(0, int(window.after[-1]) + 1, stride)
        if len(after) - 1 < 4 * len(kernel):
            return None
        track, h = stage.tracks[window.track], float(model.opt.timestep)
        # The mean over the steps of an interval, of what changes evenly within it.
        part = 0.5 * (stride - 1) / stride
        rows = window.samples
        q, v = _at(after, window.after, track.qpos[rows], track.qvel[rows], h)
        change = np.diff(v, axis=0) / (stride * h)
        means = [x[:-1] + part * np.diff(x, axis=0) for x in (q, v)]
        q, v, change = (_smoothed(x, kernel) for x in (*means, change))
        dofs = stage.drives.dofs
        columns = stage.tangent.qpos[np.searchsorted(stage.tangent.dof, dofs)]
        efforts = _efforts(model, dofs, q, v, change)
        steps = window.start + after[:-1, None] + np.arange(stride)
        return cls(window, steps, kernel, q[:, columns], v[:, dofs], change[:, dofs], efforts)

    def terms(self, stage: Stage, place: int, lag: int) -> dict[str, FloatArray]:
        """What each parameter of a joint multiplies, and under "known" what is left for them."""
        drives = stage.drives
        table = stage.tracks[self.window.track].commands[drives.actor]
        rows = self.rows - lag * int(drives.ticks[place])
        rows = np.clip(rows, self.window.segment, len(table) - 1)
        target = _smoothed(table[rows, :, drives.columns[place]].mean(axis=1), self.kernel)
        speed = self.speed[:, place]
        slow = SLOW * float(np.mean(np.abs(speed))) + 1e-12
        return {
            "kp": target[:, POSITION] - self.position[:, place],
            "kv": target[:, VELOCITY] - speed,
            "armature": -self.change[:, place],
            "damping": -speed,
            "frictionloss": -np.clip(speed / slow, -1.0, 1.0),
            KNOWN: self.efforts[:, place] - target[:, FEEDFORWARD],
        }


def _at(
    steps: Places, sampled: Places, qpos: FloatArray, qvel: FloatArray, timestep: float
) -> tuple[FloatArray, FloatArray]:
    """States at evenly spaced steps, of samples that need not be: logs lose some.

    Cubic Hermite polynomials through positions and velocities; quaternions, which are of bodies
    that are not driven, between their components.
    """
    if np.array_equal(steps, sampled):
        return qpos, qvel
    rows = np.clip(np.searchsorted(sampled, steps, side="right") - 1, 0, len(sampled) - 2)
    span = (sampled[rows + 1] - sampled[rows]).astype(float)
    s = ((steps - sampled[rows]) / span)[:, None]
    speeds = qvel[rows] + s * (qvel[rows + 1] - qvel[rows])
    positions = qpos[rows] + s * (qpos[rows + 1] - qpos[rows])
    if qpos.shape[1] == qvel.shape[1]:
        slopes = [qvel[k] * timestep * span[:, None] for k in (rows, rows + 1)]
        bend = qpos[rows + 1] - qpos[rows]
        positions += s * (1.0 - s) * ((1.0 - s) * (slopes[0] - bend) - s * (slopes[1] - bend))
    return positions, speeds


def _kernel(width: float) -> FloatArray:
    reach = int(3.0 * width)
    bell = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    weights: FloatArray = bell / bell.sum()
    return weights


def _smoothed(values: FloatArray, kernel: FloatArray) -> FloatArray:
    """Columns convolved with a kernel; rows at the ends, where it reaches beyond, are left out."""
    return np.stack([np.convolve(c, kernel, mode="valid") for c in values.T], axis=1)


def _efforts(model: Any, dofs: Any, q: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
    """Inverse dynamics at some degrees of freedom, without their armature, damping and friction."""
    model = copy(model)
    for field in DYNAMICS.values():
        getattr(model, field)[dofs] = 0.0
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    data, found = mujoco.MjData(model), np.empty((len(q), len(dofs)))
    for k in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], v[k], a[k]
        mujoco.mj_inverse(model, data)
        found[k] = data.qfrc_inverse[dofs]
    return found


def _regressed(
    stage: Stage,
    motions: Sequence[_Motion],
    point: Point,
    place: int,
    unknowns: Sequence[Unknown],
    tried: Sequence[int],
) -> Point:
    """The point with one joint's unknowns and delay from a regression."""
    found = []
    for lag in tried or (int(point.lags[place]),):
        parts = [motion.terms(stage, place, lag) for motion in motions]
        terms = {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}
        left = terms.pop(KNOWN)
        columns = [terms.pop(u.parameter) for u in unknowns]
        for name, term in terms.items():  # as in the scene
            left = left - float(point.values[name][place]) * term
        matrix = np.reshape(columns, (len(columns), len(left))).T
        values = _bounded(matrix, left, unknowns)
        found.append((float(np.sum((left - matrix @ values) ** 2)), lag, values))
    _, lag, values = min(found, key=lambda one: one[0])
    lags = point.lags.copy()
    lags[place] = lag
    return replace(point.put(unknowns, values), lags=lags)


def _bounded(matrix: FloatArray, right: FloatArray, unknowns: Sequence[Unknown]) -> FloatArray:
    """Least squares; those that would leave their bounds stay there."""
    low, high = (np.array([getattr(u, n) for u in unknowns]) for n in ("low", "high"))
    values, free = np.zeros(len(unknowns)), np.ones(len(unknowns), dtype=bool)
    while free.any():
        rest = right - matrix[:, ~free] @ values[~free]
        values[free] = np.linalg.lstsq(matrix[:, free], rest, rcond=1e-10)[0]
        out = free & ((values < low) | (values > high))
        if not out.any():
            break
        values = np.where(out, np.clip(values, low, high), values)
        free &= ~out
    return values


# Motion search ------------------------------------------------------------------------------------
# The search for what reproduces recorded motion: where it begins, and where it begins again.


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


FREE_BASE = (
    "{what}: impacts make the cost rough, so that the search can end beside the "
    "best values, delays one step off, and the intervals are too narrow; record efforts, "
    "or suspend the robot to be sure"
)
UNCONVERGED = "the search did not converge"
REJECTED = "no interval: the model is rejected"
#: Pairs of correlated estimates that are noted.
MOST_PAIRS = 6


def fit_motion(
    scene: Scene,
    world: World,
    drives: Drives,
    tracks: list[RecordedTrack],
    others: list[RecordedTrack],
    wanted: Wanted,
    bounds: Bounds,
    options: MotionOptions,
) -> Findings:
    """Estimates from recorded states.

    Args:
        others: recordings that are held out as a whole.
        wanted: parameter → places.

    Raises:
        FitError: windows cannot be that long, or the simulation diverges.
    """
    longest = max(int(drives.lags.max()), delay_bounds(bounds)[1] * (DELAY in wanted))
    skip = 0 if drives.remembers else longest * int(drives.ticks.max())
    count = sum(map(len, wanted.values()))
    stage, judged = stages_of(world, drives, [*tracks, *others], len(tracks), options, skip, count)
    simulator = simulator_of(scene, stage)
    try:
        verdicts = Verdicts(scene, stage, options.report)
        task = _Task(scene, world, stage, judged, simulator, wanted, bounds, options, verdicts)
        return task.go()
    finally:
        simulator.close()


@dataclass(frozen=True)
class _Task:
    """A prepared fit to motion."""

    scene: Scene
    world: World
    stage: Stage
    judged: Stage | None
    simulator: Simulator
    wanted: Wanted
    bounds: Bounds
    options: MotionOptions
    verdicts: Verdicts
    #: What was left out, once it was found to be odd.
    said: tuple[str, ...] = ()

    def go(self) -> Findings:
        problem = Problem(self.stage, self.simulator, [], apart=not self.options.together)
        start = problem.start()
        (residuals,) = problem.residuals([start])
        problem.refuse_divergence(residuals)
        efforts = asked_efforts(problem, start, residuals)
        limit = start.values["torque_limit"]
        # No limit is replaced by an unreached finite one, which can be varied.
        start.values["torque_limit"] = np.where(np.isinf(limit), 2.0 * efforts + 1.0, limit)
        unknowns = unknowns_of(
            self.world, self.stage.drives, self.wanted, self.bounds, efforts, self.options.prior
        )
        delayed, lags = self.wanted.get(DELAY, ()), delay_bounds(self.bounds)
        if self.stage.is_real:
            unknowns += delay_unknowns(problem, self.wanted, lags)
            unknowns += creeps_of(problem, self.wanted)
        problem = problem.with_unknowns(unknowns)
        search = MotionSearch(
            self.world, self.stage, delayed, lags, self.verdicts, self.options.report
        )
        pruned = Pruning(search.best, search.go_on).go(problem, start)
        if not self.stage.is_real or self.stage.tangent.turns:
            return self._result(start, pruned)
        odd = odd_spans(self.stage, pruned.outcome.solution.residuals) if not self.said else []
        if odd:
            return self._without(odd)
        pruned, said = self._with_one_delay(pruned, search)
        return replace(self, said=self.said + said)._result(start, pruned)

    def _with_one_delay(
        self, pruned: Pruned, search: MotionSearch
    ) -> tuple[Pruned, tuple[str, ...]]:
        """The same with one delay of all joints, if nothing contradicts that; and a note of it."""
        problem, solution = pruned.problem, pruned.outcome.solution
        errors = spread(problem, solution)
        common = common_delay(problem, solution.point, errors.errors)
        if common is None or not solution.converged:
            return pruned, ()
        self.options.report("again, with one delay of all joints")
        told = with_common(problem, common, errors.counted)
        outcome = search.go_on(told, pruned.outcome, solution.point)
        found = replace(pruned, problem=told, outcome=outcome)
        is_worse = not outcome.solution.converged or self._rejection(found)
        return (pruned, ()) if is_worse else (found, (common.said,))

    def _without(self, odd: Sequence[OddSpan]) -> Findings:
        """The same again without what is odd."""
        self.options.report("again, without what nothing explains")
        stage = without(self.stage, odd)
        verdicts = Verdicts(self.scene, stage, self.options.report)
        simulator = simulator_of(self.scene, stage)
        try:
            said = (said_of(self.stage, odd),)
            fields = {"stage": stage, "simulator": simulator, "verdicts": verdicts, "said": said}
            return replace(self, **fields).go()
        finally:
            simulator.close()

    def _result(self, start: Point, pruned: Pruned) -> Findings:
        problem, outcome, solution = pruned.problem, pruned.outcome, pruned.outcome.solution
        errors, finer = spread(problem, solution), self.verdicts.finer(problem, solution)
        found = self._estimates(problem, outcome, errors, pruned.gone, finer.shift)
        found = [as_vague(e, problem, pruned.vague) for e in found]
        notes, rejection = self.said + self._free_base(), self._rejection(pruned)
        if not solution.converged:
            found = [not_found(e, UNCONVERGED) for e in found]
            notes += (f"{UNCONVERGED}: nothing is identified; start closer, or fit fewer at once",)
        elif rejection:
            found = [without_interval(e, REJECTED) for e in found]
            notes += (rejection,)
        notes += finer.notes(problem, errors) + offset_notes(problem, solution)
        if solution.converged and not rejection and not self.stage.tangent.turns:
            notes += as_written(problem, solution, found, self._rms)
        curves = curves_of(problem.stage, outcome.before, solution.residuals, held=False)
        held_before, held_after, held_curves, said = self._held_out(start, solution.point)
        notes += said
        pairs = correlated(problem, errors)
        return Findings(
            tuple(found),
            self._rms(outcome.before),
            self._rms(solution.residuals),
            (*notes, *map(str, pairs[:MOST_PAIRS])),
            solution.converged,
            rejection,
            held_before,
            held_after,
            (*curves, *held_curves),
            correlations(problem, errors),
            pairs,
        )

    def _free_base(self) -> tuple[str, ...]:
        """A note if something of the robot moves freely."""
        if not self.stage.tangent.turns:
            return ()
        has_base = base_address(self.world[self.stage.drives.actor]) is not None
        what = "the base is free" if has_base else "the model has a free body"
        return (FREE_BASE.format(what=what),)

    def _rejection(self, pruned: Pruned) -> str:
        """Why the model is rejected; empty: it is not, or impacts leave that open."""
        if self.stage.tangent.turns:
            return ""
        rejection = self.verdicts.rejection(pruned.problem, pruned.outcome.solution)
        # Without some unknowns the residuals are larger, and tell less: what was said stays true.
        return rejection or self.verdicts.said_of(pruned.full)

    def _estimates(
        self,
        problem: Problem,
        outcome: FitOutcome,
        errors: Spread,
        gone: Sequence[Dropped],
        shift: FloatArray,
    ) -> list[Estimate]:
        point, drives = outcome.solution.point, self.stage.drives
        found = []
        for i, (u, error) in enumerate(zip(problem.unknowns, errors.errors, strict=True)):
            if u.parameter in (INERTIAL, BEYOND_LAGS, CREEP):
                continue
            one = estimate(drives, u, float(point.values[u.parameter][u.place]), float(error))
            one = with_other_lags(one, problem, i, outcome.profiles, errors)
            one = with_shift(one, u, float(shift[i]))
            found.append(with_slow_law(one, problem, point, u) if self.stage.is_real else one)
        found = [resting_on(e, problem, gone) for e in found]
        found += [
            left_alone(drives, d, float(point.values[d.unknown.parameter][d.unknown.place]))
            for d in gone
            if d.unknown.parameter != CREEP
        ]
        if self.stage.is_real:
            found += real_delays(problem, point, errors, self.wanted, shift)
        else:
            limits = delay_bounds(self.bounds)
            found += [delay_estimate(problem, point, p, errors, limits) for p in outcome.profiles]
        return [*found, *bodies(problem, point, errors, self.wanted, shift)]

    def _held_out(
        self, start: Point, found: Point
    ) -> tuple[dict[str, float], dict[str, float], list[Curves], tuple[str, ...]]:
        """Errors of what was held out, with the scene's values and the fitted ones; curves, notes.

        The initial states are estimated with either: they belong to no model.
        """
        if self.judged is None:
            return {}, {}, [], ()
        self.options.report("held out")
        simulator = simulator_of(self.scene, self.judged)
        try:
            problem = Problem(self.judged, simulator, [], apart=not self.options.together)
            begin = problem.start()
            weights = first_weights(problem)
            points = (replace(p, moves=begin.moves) for p in (start, found))
            before, after = (solve(problem, p, weights, most=STARTS).residuals for p in points)
        finally:
            simulator.close()
        curves = curves_of(self.judged, before, after, held=True)
        odd = odd_spans(self.judged, after, FEW_HELD_OUT) if self.stage.is_real else []
        said = (said_of_held_out(self.judged, odd),) if odd else ()
        return self._rms(before), self._rms(after), curves, said

    def _rms(self, residuals: Sequence[FloatArray]) -> dict[str, float]:
        """Joint → root mean square of its position's residuals [rad or m]."""
        stage = self.stage
        every = np.concatenate([r[:, : len(stage.tangent)] for r in residuals])
        own = np.searchsorted(stage.tangent.dofs, stage.drives.dofs)
        values = np.sqrt(np.mean(every[:, own] ** 2, axis=0))
        of_joints = [own for name, own in self.wanted.items() if name not in OF_BODIES]
        chosen = sorted({place for own in of_joints for place in own})
        chosen = chosen if len(of_joints) == len(self.wanted) else list(range(len(stage.drives)))
        return {stage.drives.joints[i]: float(values[i]) for i in chosen}
