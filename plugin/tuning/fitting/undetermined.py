"""Unknowns that a recording does not determine, and which of them are left out of a fit first."""

from collections.abc import Sequence

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.names import listed
from mjrig.tuning.estimates.identifiability import (
    VAGUE,
    Dropped,
    interval_of,
    owner,
    unit_of,
    unreached,
)
from mjrig.tuning.estimates.remedies import too_little
from mjrig.tuning.estimates.unexcited import HELD, is_held, why_still
from mjrig.tuning.least_squares.fit_problem import Problem
from mjrig.tuning.least_squares.nothing_changes import made_up_for
from mjrig.tuning.least_squares.points import Unknown
from mjrig.tuning.least_squares.search import asked_efforts
from mjrig.tuning.least_squares.solver import Solution
from mjrig.tuning.least_squares.statistics import QUANTILE, Spread
from mjrig.tuning.simulated.plant import (
    BEYOND_LAGS,
    CREEP,
    DELAY,
    DYNAMICS,
    ENCODER,
    FEEDBACK,
    INERTIAL,
    PAYLOAD,
)

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
