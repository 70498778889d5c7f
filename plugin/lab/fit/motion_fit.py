"""A fit to recorded motion: gains, delays and joint parameters that reproduce it.

Each recording is cut into windows (one for a suspended or fixed robot), whose initial states
are unknowns too, so that noise in the states biases nothing. Simulations of the windows, driven by
the recorded setpoints, are compared with the recorded states; the parameters are found by
Levenberg-Marquardt on finite differences, each a world of a batch, and delays by trying them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.actor_in_world import base_address
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.lab.fit.delay_estimation import (
    common_delay,
    delay_estimate,
    delay_unknowns,
    real_delays,
    with_common,
    with_other_lags,
)
from mjrig.lab.fit.estimates import (
    Bounds,
    Curves,
    Estimate,
    Findings,
    Wanted,
    delay_bounds,
    unknowns_of,
)
from mjrig.lab.fit.fit_data import RecordedTrack
from mjrig.lab.fit.identifiability import Dropped, estimate, left_alone, not_found, without_interval
from mjrig.lab.fit.lack_of_fit import Verdicts
from mjrig.lab.fit.motion_search import MotionSearch
from mjrig.lab.fit.outliers import (
    FEW_HELD_OUT,
    OddSpan,
    odd_spans,
    said_of,
    said_of_held_out,
    without,
)
from mjrig.lab.fit.plant import BEYOND_LAGS, CREEP, DELAY, INERTIAL, OF_BODIES, Drives
from mjrig.lab.fit.problem import Point, Problem
from mjrig.lab.fit.pruning import Pruned, Pruning
from mjrig.lab.fit.search import FitOutcome, asked_efforts
from mjrig.lab.fit.simulation import MotionOptions, Simulator, Stage, simulator_of, stages_of
from mjrig.lab.fit.solution_estimates import (
    STARTS,
    as_vague,
    as_written,
    bodies,
    correlated,
    correlations,
    creeps_of,
    curves_of,
    offset_notes,
    resting_on,
    with_shift,
    with_slow_law,
)
from mjrig.lab.fit.solver import solve
from mjrig.lab.fit.statistics import Spread, first_weights, spread

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
