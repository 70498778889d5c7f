"""Pruning: unknowns that a recording does not determine are dropped if the fit does without them.

Some directions change nothing: if all efforts of an isolated joint and its inertia are doubled, it
moves as before. Derivatives show that only up to their own errors, which dry friction makes large,
so such directions are verified by simulation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.names import listed
from mjrig.lab.fit.identifiability import (
    HELD,
    VAGUE,
    Dropped,
    interval_of,
    is_braked_alike,
    is_held,
    owner,
    too_little,
    unit_of,
    unreached,
    why_still,
)
from mjrig.lab.fit.plant import (
    BEYOND_LAGS,
    CREEP,
    DELAY,
    DYNAMICS,
    ENCODER,
    FEEDBACK,
    INERTIAL,
    PAYLOAD,
)
from mjrig.lab.fit.problem import Point, Problem, Unknown
from mjrig.lab.fit.search import FitOutcome, asked_efforts
from mjrig.lab.fit.solver import QUANTILE, Solution, Spread, System, first_weights, spread

# Nothing changes ----------------------------------------------------------------------------------
# Directions in which a joint's unknowns change nothing: others make up for each exactly.
#
# The efforts of a joint that nothing else acts on are an example: if all of them are doubled, with
# its inertia, it moves as before. Derivatives show that up to their own errors only, which dry
# friction makes large: what they say is tried.


#: Directions with a larger share of the information of single unknowns are real; with a smaller
#: one than the second, derivatives are not exact enough to tell it from none.
PERHAPS, SURELY = 1e-3, 1e-7
#: How far a direction is tried, as a share of the value that changes most.
TRIED = 0.1
#: It changes nothing if the cost rises by less than this share of what the derivatives say.
EXPECTED = 0.2
#: Unknowns that move by this share of their value, of the largest, or with this part of the effect
#: of one by itself, are of the group.
MOVES, MATTERS = 0.1, 0.05


@dataclass(frozen=True)
class _Direction:
    """A move of some unknowns, by index, its share of the information and what it should cost."""

    members: list[int]
    move: FloatArray
    share: float
    cost: float


def made_up_for(problem: Problem, solution: Solution) -> list[list[int]]:
    """Unknowns of a joint that change nothing if they move together, at most one group of each."""
    tried = [d for d in _weakest(problem, solution) if len(d.members) > 1]
    points = [_moved(problem, solution.point, d, way) for d in tried for way in (1.0, -1.0)]
    every = problem.residuals(points) if points else []
    now = solution.system.restarted(solution.residuals)
    found = []
    for k, direction in enumerate(tried):
        ends = [solution.system.restarted(r) for r in every[2 * k : 2 * k + 2]]
        rise = 0.5 * sum(ends) - now  # noise and what is left of a slope cancel
        if direction.share < SURELY or rise < EXPECTED * direction.cost:
            found.append(direction.members)
    return found


def _weakest(problem: Problem, solution: Solution) -> list[_Direction]:
    """Of each joint the direction with the least information, if that is little."""
    unknowns, hessian = problem.unknowns, solution.system.hessian
    values = np.abs(solution.point.get(unknowns))
    sizes = np.maximum([u.scale for u in unknowns], values)
    found = []
    for place in sorted({u.place for u in unknowns if u.is_of_joint}):
        own = [i for i, u in enumerate(unknowns) if u.is_of_joint and u.place == place]
        own = [i for i in own if hessian[i, i] > 0.0]
        if len(own) < 2:
            continue
        part = hessian[np.ix_(own, own)]
        norm = np.sqrt(np.diag(part))
        shares, vectors = np.linalg.eigh(part / norm / norm[:, None])
        if shares[0] > PERHAPS:
            continue
        move = vectors[:, 0] / norm
        far = np.abs(move) / sizes[own]
        move *= TRIED / far.max()
        is_member = (far > MOVES * far.max()) | (np.abs(vectors[:, 0]) > MATTERS)
        members = [own[k] for k in np.flatnonzero(is_member)]
        whole = np.zeros(len(unknowns))
        whole[own] = move
        found.append(_Direction(members, whole, float(shares[0]), float(move @ part @ move)))
    return found


def _moved(problem: Problem, point: Point, direction: _Direction, way: float) -> Point:
    unknowns = problem.unknowns
    return point.put(unknowns, point.get(unknowns) + way * direction.move)


# Undetermined -------------------------------------------------------------------------------------
# Unknowns that a recording does not determine, and which of them are left out of a fit first.


#: Correlation above which two parameters have the same effect on the motion, and above which the
#: value of one rests on that of the other.
ALIKE, RESTS = 0.9, 0.5


def drops(problem: Problem, solution: Solution, spread: Spread) -> list[Dropped]:
    """The unidentifiable unknowns; of those that make up for each other, the joint's own.

    Of a joint that has such a group nothing else is left out at once: with one of them known the
    others may be found.
    """
    vague = _vagueness(problem, solution, spread)
    silent = _silent(problem, solution, vague)
    exact = [g for g in made_up_for(problem, solution) if not silent.keys() & set(g)]
    order = [i for i in np.argsort(-vague).tolist() if vague[i] > VAGUE and i not in silent]
    alike = _groups(order, spread.correlation, exact)
    found = [*silent.values()]
    found += [kept_fixed(problem, spread, group, group, exactly=True) for group in exact]
    for i, group in alike.items():
        found.append(kept_fixed(problem, spread, group, (i, _twin(spread.correlation, i))))
    groups = [*exact, *alike.values()]
    waiting = {_whose(problem.unknowns[i]) for group in groups for i in group}
    alone = [i for i in order if len(_alike(spread.correlation, i)) == 1]
    alone = [i for i in alone if _whose(problem.unknowns[i]) not in waiting]
    return [*found, *(_unexcited(problem, solution, spread, i, float(vague[i])) for i in alone)]


def _groups(
    order: Sequence[int], correlation: FloatArray, others: Sequence[Sequence[int]]
) -> dict[int, list[int]]:
    """Vague unknown → it and those that have its effect; no two groups, nor others, overlap.

    Args:
        order: the vague unknowns, vaguest first.
        others: groups that are known already.
    """
    taken = {k for group in others for k in group}
    found = {}
    for i in order:
        group = _alike(correlation, i)
        if len(group) > 1 and not taken & set(group):
            found[i] = group
            taken |= set(group)
    return found


def _twin(correlation: FloatArray, i: int) -> int:
    """The unknown whose effect is most like that of another one."""
    twin = int(np.argmax(np.abs(np.delete(correlation[i], i))))
    return twin + (twin >= i)


def _unexcited(
    problem: Problem, solution: Solution, spread: Spread, i: int, vague: float
) -> Dropped:
    """An unknown that no other one makes up for: too little of it is seen."""
    unknown = problem.unknowns[i]
    value, half = float(solution.point.get([unknown])[0]), QUANTILE * float(spread.errors[i])
    unit = unit_of(problem.stage.drives, unknown)
    return Dropped(unknown, too_little(vague, *interval_of(unknown, value, half), unit))


def _silent(problem: Problem, solution: Solution, vague: FloatArray) -> dict[int, Dropped]:
    """Unknowns that the recording says nothing about, evidently."""
    asked = asked_efforts(problem, solution.point, solution.residuals)
    found = {}
    for i, unknown in enumerate(problem.unknowns):
        most = float(asked[unknown.place]) if unknown.parameter == "torque_limit" else np.inf
        if most <= float(solution.point.get([unknown])[0]) * 1.0001:
            found[i] = unreached(problem.stage.drives, unknown, most)
        elif is_held(problem, unknown):
            found[i] = Dropped(unknown, why_still(problem, unknown) or HELD)
        elif vague[i] > VAGUE and (reason := why_still(problem, unknown)):
            found[i] = Dropped(unknown, reason)
    return found


def _vagueness(problem: Problem, solution: Solution, spread: Spread) -> FloatArray:
    """(unknowns,) half widths of intervals as shares of the values; 0 of those that stay."""
    unknowns = problem.unknowns
    value = np.abs(solution.point.get(unknowns))
    found = QUANTILE * spread.errors / np.maximum([u.scale for u in unknowns], value)
    # A robot's delay stays, however vague: the scene's 0 is nothing to go back to.
    stays = [u.parameter == BEYOND_LAGS or np.isfinite(u.prior) for u in unknowns]
    return np.where(stays, 0.0, found)


def _whose(unknown: Unknown) -> tuple[bool, int]:
    """The joint of an unknown; each number of a body is by itself."""
    return unknown.is_of_joint, unknown.place


def _alike(correlation: FloatArray, i: int) -> list[int]:
    """An unknown and those that have its effect, alone or together."""
    row = np.abs(correlation[i])
    return [k for k in range(len(row)) if k == i or row[k] > ALIKE]


def _rank(unknown: Unknown) -> int:
    """Of unknowns with the same effect the first is kept fixed: joints' own before gains."""
    joints = (CREEP, FEEDBACK, ENCODER, *DYNAMICS, "torque_limit", "kv", "kp", BEYOND_LAGS)
    return [PAYLOAD, INERTIAL, *joints].index(unknown.parameter)


def kept_fixed(
    problem: Problem,
    spread: Spread,
    alike: Sequence[int],
    candidates: Sequence[int],
    *,
    exactly: bool = False,
) -> Dropped:
    """The one of several unknowns that is kept fixed, of some: the others make up for it."""
    unknowns, correlation = problem.unknowns, spread.correlation
    out = min(candidates, key=lambda k: _rank(unknowns[k]))
    resting = np.flatnonzero(np.abs(correlation[out]) > RESTS).tolist()
    others = sorted({*alike, *resting} - {out}, key=lambda k: -abs(correlation[out, k]))
    kept = tuple(unknowns[k] for k in others)
    same = [k for k in others if k in alike]
    if len(alike) > 2 and exactly:
        names = listed(_name(unknowns[k]) for k in same)
        text = f"together with {names} it has no effect: all in proportion change nothing"
    else:
        text = _same_effect(problem, spread, out, same[0])
    return Dropped(unknowns[out], text, partners=kept, exactly=exactly)


def _same_effect(problem: Problem, spread: Spread, out: int, other: int) -> str:
    """Why an unknown is kept fixed: another one does what it does."""
    unknown, first = problem.unknowns[out], problem.unknowns[other]
    correlation = float(spread.correlation[out, other])
    how = f" (correlation {correlation:+.3f})" if abs(correlation) > ALIKE else ""
    name = _name(first)
    if not first.is_of_joint or first.place != unknown.place:
        name += f" of {owner(problem.stage.drives, first)!r}"
    text = f"{name} has the same effect on the motion{how}"
    if {unknown.parameter, first.parameter} == {"damping", "kv"}:
        text += "; velocity setpoints other than 0 would separate them"
    return text


def _name(unknown: Unknown) -> str:
    """The parameter of an unknown, as a user knows it."""
    return DELAY if unknown.parameter == BEYOND_LAGS else unknown.parameter


# Pruning ------------------------------------------------------------------------------------------
# Unknowns that a recording does not determine are left out of a fit, if it does without them.


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
