"""A fit to recorded motion: gains, delays and joint parameters that reproduce it.

Each recording is cut into windows (one for a suspended or fixed robot), whose initial states
are unknowns too, so that noise in the states biases nothing. Simulations of the windows, driven by
the recorded setpoints, are compared with the recorded states; the parameters are found by
Levenberg-Marquardt on finite differences, each a world of a batch, and delays by trying them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.base import base_address
from mjrig.errors import ExecutionError
from mjrig.scene_edit.scene import Scene
from mjrig.sim.world import World
from mjrig.tuning.fitting.as_written import STARTS, as_written
from mjrig.tuning.fitting.findings import (
    as_vague,
    bodies,
    correlated,
    correlations,
    creeps_of,
    curves_of,
    fractions_of,
    offset_notes,
    real_delays,
    resting_on,
    with_shift,
    with_slow_law,
)
from mjrig.tuning.fitting.identifiability import (
    Dropped,
    Estimate,
    Findings,
    delay_estimate,
    estimate,
    left_alone,
    not_found,
    with_other_lags,
    without_interval,
)
from mjrig.tuning.fitting.lack_of_fit import (
    misfit,
    unexplained,
    why_rejected,
    why_unexplained,
)
from mjrig.tuning.fitting.pruning import Pruned, Pruning
from mjrig.tuning.fitting.timestep import Finer
from mjrig.tuning.fitting.unknowns import Bounds, Wanted, delay_bounds, unknowns_of
from mjrig.tuning.least_squares.fit_problem import Problem
from mjrig.tuning.least_squares.fit_run import FitOutcome, FitRun, Report
from mjrig.tuning.least_squares.inverse import inverse_starts
from mjrig.tuning.least_squares.points import Point
from mjrig.tuning.least_squares.search import asked_efforts
from mjrig.tuning.least_squares.solver import Solution, cost_of, solve
from mjrig.tuning.least_squares.statistics import Spread, first_weights, fitted_weights, spread
from mjrig.tuning.simulated.finer import FinerSimulator
from mjrig.tuning.simulated.fit_data import RecordedTrack
from mjrig.tuning.simulated.fit_jobs import Simulator, Stage
from mjrig.tuning.simulated.plant import CREEP, DELAY, FRACTION, INERTIAL, OF_BODIES, Drives
from mjrig.tuning.simulated.stages import MotionOptions, simulator_of, stages_of

FREE_BASE = (
    "{what}: impacts make the cost rough, so that the search can end beside the "
    "best values, delays one step off, and the intervals are too narrow; record efforts, "
    "or suspend the robot to be sure"
)
UNCONVERGED = "the search did not converge"
REJECTED = "no interval: the model is rejected"
#: A joint fits badly if its residuals, in units of noise, are this many times the best joint's.
BAD = 1.5
#: Another solution must cost less than this share of the first.
BETTER = 0.999
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
        task = _Task(scene, world, stage, judged, simulator, wanted, bounds, options)
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
    #: What was said of solutions so far.
    verdicts: list[tuple[Solution, str]] = field(default_factory=list)
    #: What solutions owe to the timestep.
    steps: list[tuple[Solution, Finer]] = field(default_factory=list)

    @property
    def report(self) -> Report:
        return self.options.report

    @property
    def is_real(self) -> bool:
        """Whether a robot was recorded, whose drives know nothing of physics steps."""
        return any(self.stage.tracks[w.track].is_real for w in self.stage.windows)

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
        if self.is_real:
            bounds = delay_bounds(self.bounds)
            unknowns += fractions_of(problem, self.wanted, bounds)
            unknowns += creeps_of(problem, self.wanted)
        problem = problem.with_unknowns(unknowns)
        pruned = Pruning(self._best, self._from).go(problem, start)
        return self._result(start, pruned)

    def _from(self, problem: Problem, outcome: FitOutcome, point: Point) -> FitOutcome:
        """Another problem solved from the end of one."""
        weights = outcome.solution.system.weights
        return self._run(problem).finish(point, weights, outcome.before)

    def _best(self, problem: Problem, start: Point) -> FitOutcome:
        """The outcome; if it is doubtful, the better one of it and some that begin elsewhere."""
        found = self._begun(problem, start)
        for begin in (self._joint_by_joint, self._of_its_best_joints):
            if not self._is_doubtful(problem, found.solution):
                break
            other = begin(problem, start, found)
            if other is not None and _is_better(problem, other.solution, found.solution):
                found = other
        return found

    def _begun(self, problem: Problem, start: Point) -> FitOutcome:
        """From inverse dynamics if that simulates the recording better than the scene does."""
        run = self._run(problem)
        if self.stage.tangent.turns or self.stage.drives.remembers:
            return run.go(start)
        self.report("inverse dynamics")
        bounds = delay_bounds(self.bounds)
        lags = dict.fromkeys(self.wanted.get(DELAY, ()), range(bounds[0], bounds[1] + 1))
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
        return not solution.converged or bool(self._rejection(problem, solution))

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

    def _run(self, problem: Problem) -> FitRun:
        return FitRun(
            problem,
            self.wanted.get(DELAY, ()),
            delay_bounds(self.bounds),
            neighbours=not self.is_real,
            report=self.report,
        )

    def _result(
        self,
        start: Point,
        pruned: Pruned,
    ) -> Findings:
        problem, outcome = pruned.problem, pruned.outcome
        point, errors = outcome.solution.point, spread(problem, outcome.solution)
        finer = self._finer(problem, outcome.solution)
        found = self._estimates(problem, outcome, errors, pruned.gone, finer.shift)
        found = [as_vague(e, problem, pruned.vague) for e in found]
        free = bool(self.stage.tangent.turns)
        has_base = base_address(self.world[self.stage.drives.actor]) is not None
        what = "the base is free" if has_base else "the model has a free body"
        notes: tuple[str, ...] = (FREE_BASE.format(what=what),) if free else ()
        rejection = "" if free else self._rejection(problem, outcome.solution)
        # Without some unknowns the residuals are larger, and tell less: what was said stays true.
        said = [verdict for judged, verdict in self.verdicts if judged is pruned.full]
        rejection = rejection or next(filter(None, said), "")
        if not outcome.solution.converged:
            found = [not_found(e, UNCONVERGED) for e in found]
            notes += (f"{UNCONVERGED}: nothing is identified; start closer, or fit fewer at once",)
        elif rejection:
            found = [without_interval(e, REJECTED) for e in found]
            notes += (rejection,)
        notes += finer.notes(problem, errors) + offset_notes(problem, outcome.solution)
        if outcome.solution.converged and not rejection and not free:
            notes += as_written(problem, outcome.solution, found, self._rms)
        curves = [curves_of(problem.stage, outcome.before, outcome.solution.residuals, held=False)]
        judged = self._judged(start, point)
        if judged is not None and self.judged is not None:
            curves.append(curves_of(self.judged, *judged, held=True))
        held = ({}, {}) if judged is None else tuple(map(self._rms, judged))
        pairs = correlated(problem, errors)
        notes += tuple(map(str, pairs[:MOST_PAIRS]))
        return Findings(
            tuple(found),
            self._rms(outcome.before),
            self._rms(outcome.solution.residuals),
            notes,
            outcome.solution.converged,
            rejection,
            held[0],
            held[1],
            tuple(c for own in curves for c in own),
            correlations(problem, errors),
            pairs,
        )

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
            if u.parameter in (INERTIAL, FRACTION, CREEP):
                continue
            one = estimate(drives, u, float(point.values[u.parameter][u.place]), float(error))
            one = with_other_lags(one, problem, i, outcome.profiles, errors)
            one = with_shift(one, u, float(shift[i]))
            found.append(with_slow_law(one, point, u) if self.is_real else one)
        found = [resting_on(e, problem, gone) for e in found]
        found += [
            left_alone(drives, d, float(point.values[d.unknown.parameter][d.unknown.place]))
            for d in gone
            if d.unknown.parameter != CREEP
        ]
        if self.is_real:
            found += real_delays(problem, point, errors, self.wanted, shift)
        else:
            limits = delay_bounds(self.bounds)
            found += [delay_estimate(problem, point, p, errors, limits) for p in outcome.profiles]
        return [*found, *bodies(problem, point, errors, self.wanted, shift)]

    def _finer(self, problem: Problem, solution: Solution) -> Finer:
        """What the estimates owe to the timestep, if a robot was recorded."""
        if not self.is_real or self.stage.tangent.turns:
            return Finer.nothing(problem)
        for judged, known in self.steps:
            if judged is solution:
                return known
        try:
            simulator = FinerSimulator(self.scene, self.stage)
        except ExecutionError:
            return Finer.nothing(problem)
        self.report("half the timestep")
        try:
            self.steps.append((solution, Finer.of(problem, solution, simulator)))
        finally:
            simulator.close()
        return self.steps[-1][1]

    def _judged(
        self, start: Point, found: Point
    ) -> tuple[list[FloatArray], list[FloatArray]] | None:
        """Residuals of what was held out, with the scene's values and with the fitted ones.

        The initial states are estimated with either: they belong to no model.
        """
        if self.judged is None:
            return None
        self.report("held out")
        simulator = simulator_of(self.scene, self.judged)
        try:
            problem = Problem(self.judged, simulator, [], apart=not self.options.together)
            begin = problem.start()
            weights = first_weights(problem)
            points = (replace(p, moves=begin.moves) for p in (start, found))
            before, after = (solve(problem, p, weights, most=STARTS).residuals for p in points)
            return before, after
        finally:
            simulator.close()

    def _rejection(self, problem: Problem, solution: Solution) -> str:
        """Why the model is rejected; empty: it is not."""
        for judged, verdict in self.verdicts:
            if judged is solution:
                return verdict
        self.report("lack of fit")
        nuisance = self._finer(problem, solution).nuisance
        worst = misfit(problem, solution, spread(problem, solution), nuisance)
        verdict = "" if worst is None else why_rejected(worst)
        if left := unexplained(problem, solution):
            verdict = why_unexplained(left)
        self.verdicts.append((solution, verdict))
        return self.verdicts[-1][1]

    def _rms(self, residuals: Sequence[FloatArray]) -> dict[str, float]:
        every, stage = (
            np.concatenate([r[:, : len(self.stage.tangent)] for r in residuals]),
            self.stage,
        )
        own = np.searchsorted(stage.tangent.dofs, stage.drives.dofs)
        values = np.sqrt(np.mean(every[:, own] ** 2, axis=0))
        of_joints = [own for name, own in self.wanted.items() if name not in OF_BODIES]
        chosen = sorted({place for own in of_joints for place in own})
        chosen = chosen if len(of_joints) == len(self.wanted) else list(range(len(stage.drives)))
        return {stage.drives.joints[i]: float(values[i]) for i in chosen}


def _misses_of(problem: Problem, solution: Solution) -> dict[int, float]:
    """Place → root mean square of a joint's residuals, in units of the noise of its samples."""
    stage = problem.stage
    columns = np.searchsorted(stage.tangent.dofs, stage.drives.dofs)
    pairs = zip(solution.residuals, solution.system.weights, strict=True)
    every = np.concatenate([(r * w)[:, columns] for r, w in pairs])
    return dict(enumerate(np.sqrt(np.mean(every**2, axis=0)).tolist()))


def _is_better(problem: Problem, one: Solution, other: Solution) -> bool:
    """Whether a solution is clearly better than another, by the noise that this one left."""
    weights = other.system.weights
    costs = [cost_of(s.residuals, weights) for s in (one, other)]
    return (one.converged and not other.converged) or costs[0] < BETTER * costs[1]
