"""Unknowns that a recording does not determine are left out of a fit, if it does without them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mjrig.tuning.estimates.identifiability import Dropped
from mjrig.tuning.estimates.unexcited import is_braked_alike, is_held
from mjrig.tuning.fitting.undetermined import drops, kept_fixed
from mjrig.tuning.least_squares.fit_problem import Problem
from mjrig.tuning.least_squares.fit_run import FitOutcome
from mjrig.tuning.least_squares.points import Point, Unknown
from mjrig.tuning.least_squares.solver import Solution, System
from mjrig.tuning.least_squares.statistics import QUANTILE, Spread, first_weights, spread
from mjrig.tuning.simulated.plant import CREEP

#: Unknowns without which the cost is this many times the noise higher are not left out: three
#: standard errors.
MISSED = 9.0
#: An interval that reaches less than this many times a value either way tells something.
LOOSE = 2.0
#: Cosine of two effects above which one is the other.
SAME = 0.995


@dataclass(frozen=True)
class Pruned:
    """A problem that was solved, and the unknowns that were left out of it.

    `full` is the solution before any was. `vague` ones have a wide interval, but stay.
    """

    problem: Problem
    outcome: FitOutcome
    full: Solution
    gone: list[Dropped] = field(default_factory=list)
    vague: list[Dropped] = field(default_factory=list)


@dataclass(frozen=True)
class Pruning:
    """Solves a problem, without the unknowns that cannot be identified.

    Attributes:
        solve: a problem from a point.
        go_on: another problem from the end of one, beginning at a point.
    """

    solve: Callable[[Problem, Point], FitOutcome]
    go_on: Callable[[Problem, FitOutcome, Point], FitOutcome]

    def go(self, problem: Problem, start: Point) -> Pruned:
        """An unknown with a wide interval stays if the recording is reproduced worse without it
        than noise allows: the others would make up for it."""
        now = self._without_twins(problem, start)
        while True:
            errors = spread(now.problem, now.outcome.solution)
            kept = {d.unknown for d in now.vague}
            every = drops(now.problem, now.outcome.solution, errors)
            new = [d for d in every if d.unknown not in kept]
            if not new:
                return now
            fewer, outcome = self._without(now, new)
            missed = [d for d in new if _is_missed(now, errors, outcome, d, new)]
            if missed:
                now = replace(now, vague=[*now.vague, *missed])
            else:
                now = Pruned(fewer, outcome, now.full, [*now.gone, *new], now.vague)

    def _without_twins(self, whole: Problem, start: Point) -> Pruned:
        """Without damping that acts as kv does at the start, unless it differs at the end.

        Along both of them the search would go anywhere, and take long for it.
        """
        held = _twins(whole, start)
        problem = _but(whole, held)
        outcome = self.solve(problem, start)
        if not held:
            return Pruned(problem, outcome, outcome.solution)
        found = outcome.solution
        system = System.of(whole, whole.linearise(found.point), found.system.weights)
        full = replace(found, system=system)
        gone = _still_twins(whole, full, held)
        left = [d.unknown for d in gone]
        if len(left) == len(held):
            return Pruned(problem, outcome, found, gone)
        more = _but(whole, left)
        return Pruned(more, self.go_on(more, outcome, found.point), found, gone)

    def _without(self, now: Pruned, gone: Sequence[Dropped]) -> tuple[Problem, FitOutcome]:
        """Keep unknowns at the scene's values, and solve for the rest."""
        out, problem = [d.unknown for d in gone], now.problem
        point = now.outcome.solution.point
        values = problem.stage.drives.values
        old = np.array([values[u.parameter][u.place] for u in out])
        low = np.array([d.low for d in gone])
        point = point.put(out, np.where(np.isfinite(old), np.maximum(old, low), point.get(out)))
        fewer = _but(problem, out)
        return fewer, self.go_on(fewer, now.outcome, point)


def _still_twins(whole: Problem, full: Solution, held: Sequence[Unknown]) -> list[Dropped]:
    """Those of the dampings held fixed that nothing tells from kv at the end."""
    errors = spread(whole, full)
    if not any(track.is_real for track in whole.stage.tracks):
        return [d for d in drops(whole, full, errors) if d.unknown in held]
    place = {(u.parameter, u.place): i for i, u in enumerate(whole.unknowns)}
    alike = [*_braked_alike(whole), *damping_like_kv(whole, full.system)]
    pairs = [
        (place["damping", u.place], place["kv", u.place]) for u in dict.fromkeys(alike) if u in held
    ]
    # kv makes up for damping: nothing else rests on it.
    return [
        replace(kept_fixed(whole, errors, pair, pair[:1]), partners=(whole.unknowns[pair[1]],))
        for pair in pairs
    ]


def _twins(problem: Problem, start: Point) -> list[Unknown]:
    names = {u.parameter for u in problem.unknowns}
    if not {"kv", "damping"} <= names:
        return []
    linear = problem.joint_by_joint().linearise(start)
    alike = damping_like_kv(problem, System.of(problem, linear, first_weights(problem)))
    return list(dict.fromkeys([*_braked_alike(problem), *alike]))


def _braked_alike(problem: Problem) -> list[Unknown]:
    """Dampings of a robot's joints that nothing can tell from kv, however they move."""
    drives, tracks = problem.stage.drives, problem.stage.tracks
    gains = {u.place for u in problem.unknowns if u.parameter == "kv"}
    dampings = [u for u in problem.unknowns if u.parameter == "damping" and u.place in gains]
    return [u for u in dampings if is_braked_alike(drives, tracks, u.place)]


def _but(problem: Problem, out: Sequence[Unknown]) -> Problem:
    return problem.with_unknowns([u for u in problem.unknowns if u not in out])


def _tells_something(problem: Problem, solution: Solution, errors: Spread, index: int) -> bool:
    """Whether a robot's log bounds an unknown, however loosely.

    Kept at the scene's value, which is no robot's, it would shift what it is correlated with, such
    as a delay, out of intervals that know nothing of it.
    """
    unknown, tracks = problem.unknowns[index], problem.stage.tracks
    if unknown.parameter == CREEP or not any(track.is_real for track in tracks):
        return False
    value = float(solution.point.get([unknown])[0])
    return QUANTILE * float(errors.errors[index]) < LOOSE * max(unknown.scale, abs(value))


def _is_missed(
    now: Pruned, errors: Spread, without: FitOutcome, drop: Dropped, every: Sequence[Dropped]
) -> bool:
    """Whether the scene's value of an unknown is outside of its interval, however wide that is.

    Or its block fits significantly worse without it (a χ² test).
    """
    problem, of = now.problem, now.problem.blocks.of_unknown
    if drop.exactly or is_held(problem, drop.unknown):
        return False
    index = problem.unknowns.index(drop.unknown)
    if _tells_something(problem, now.outcome.solution, errors, index):
        return True
    here, there = (s.point.get([drop.unknown]) for s in (now.outcome.solution, without.solution))
    if abs(float(here[0] - there[0])) > QUANTILE * float(errors.errors[index]):
        return True
    own = int(of[index])
    count = sum(int(of[problem.unknowns.index(d.unknown)]) == own for d in every)
    weights, block = now.outcome.solution.system.weights, problem.blocks[own]
    ends = (now.outcome.solution.residuals, without.solution.residuals)
    before, after = (block.cost(residuals, weights) for residuals in ends)
    noise = float(errors.variance[own] * errors.inflation[own])
    return after - before > MISSED * count * noise


def damping_like_kv(problem: Problem, system: System) -> list[Unknown]:
    """Dampings of joints whose effect kv has too: where no setpoint has a velocity.

    Args:
        problem: joint by joint or together.
        system: of it.
    """
    size = np.sqrt(np.maximum(np.diag(system.hessian), 1e-300))
    place = {(u.parameter, u.place): i for i, u in enumerate(problem.unknowns)}
    found = []
    for u, i in zip(problem.unknowns, range(len(size)), strict=True):
        j = place.get(("kv", u.place)) if u.parameter == "damping" else None
        if j is not None and system.hessian[i, j] > SAME * size[i] * size[j]:
            found.append(u)
    return found
