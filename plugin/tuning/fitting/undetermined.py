"""Unknowns that a recording does not determine, and which of them are left out of a fit first."""

from collections.abc import Sequence

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.names import listed
from mjrig.tuning.fitting.identifiability import (
    ALIKE,
    RESTS,
    VAGUE,
    Dropped,
    interval_of,
    owner,
    unit_of,
    unreached,
)
from mjrig.tuning.fitting.remedies import HELD, is_held, too_little, why_still
from mjrig.tuning.least_squares.fit_problem import Problem
from mjrig.tuning.least_squares.nothing_changes import made_up_for
from mjrig.tuning.least_squares.points import Unknown
from mjrig.tuning.least_squares.search import asked_efforts
from mjrig.tuning.least_squares.solver import Solution
from mjrig.tuning.least_squares.statistics import QUANTILE, Spread
from mjrig.tuning.simulated.plant import (
    CREEP,
    DELAY,
    DYNAMICS,
    ENCODER,
    FEEDBACK,
    FRACTION,
    INERTIAL,
    PAYLOAD,
)


def drops(problem: Problem, solution: Solution, spread: Spread) -> list[Dropped]:
    """The unidentifiable unknowns; of those that make up for each other, the joint's own.

    Of a joint that has such a group nothing else is left out at once: with one of them known the
    others may be found.
    """
    unknowns, vague = problem.unknowns, _vagueness(problem, solution, spread)
    silent = _silent(problem, solution, vague)
    groups = [g for g in made_up_for(problem, solution) if not silent.keys() & set(g)]
    found = [*silent.values()]
    found += [kept_fixed(problem, spread, group, group, exactly=True) for group in groups]
    order = [i for i in np.argsort(-vague).tolist() if vague[i] > VAGUE and i not in silent]
    alone = []
    for i in order:
        group = _alike(spread.correlation, i)
        if len(group) == 1:
            alone.append(i)
        elif not any(set(group) & set(other) for other in groups):
            groups.append(group)
            twin = int(np.argmax(np.abs(np.delete(spread.correlation[i], i))))
            pair = (i, twin + (twin >= i))
            found.append(kept_fixed(problem, spread, group, pair))
    waiting = {_whose(unknowns[i]) for group in groups for i in group}
    for i in alone:
        if _whose(unknowns[i]) not in waiting:
            ends = interval_of(unknowns[i], *_estimated(problem, solution, spread, i))
            unit = unit_of(problem.stage.drives, unknowns[i])
            found.append(Dropped(unknowns[i], too_little(float(vague[i]), *ends, unit)))
    return found


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
    stays = [u.parameter == FRACTION or np.isfinite(u.prior) for u in unknowns]
    return np.where(stays, 0.0, found)


def _estimated(problem: Problem, solution: Solution, spread: Spread, i: int) -> tuple[float, float]:
    """A value and half its interval."""
    value = float(solution.point.get([problem.unknowns[i]])[0])
    return value, QUANTILE * float(spread.errors[i])


def _whose(unknown: Unknown) -> tuple[bool, int]:
    """The joint of an unknown; each number of a body is by itself."""
    return unknown.is_of_joint, unknown.place


def _alike(correlation: FloatArray, i: int) -> list[int]:
    """An unknown and those that have its effect, alone or together."""
    row = np.abs(correlation[i])
    return [k for k in range(len(row)) if k == i or row[k] > ALIKE]


def _rank(unknown: Unknown) -> int:
    """Of unknowns with the same effect the first is kept fixed: joints' own before gains."""
    joints = (CREEP, FEEDBACK, ENCODER, *DYNAMICS, "torque_limit", "kv", "kp", FRACTION)
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
    unknown, kept = unknowns[out], tuple(unknowns[k] for k in others)
    like = next(k for k in others if k in alike)
    first, alikeness = unknowns[like], float(correlation[out, like])
    how = f" (correlation {alikeness:+.3f})" if abs(alikeness) > ALIKE else ""
    other = DELAY if first.parameter == FRACTION else first.parameter
    if not first.is_of_joint or first.place != unknown.place:
        other += f" of {owner(problem.stage.drives, first)!r}"
    text = f"{other} has the same effect on the motion{how}"
    if len(alike) > 2 and exactly:
        names = [unknowns[k].parameter for k in others if k in alike]
        names = [DELAY if name == FRACTION else name for name in names]
        text = f"together with {listed(names)} it has no effect: all in proportion change nothing"
    elif {unknown.parameter, first.parameter} == {"damping", "kv"}:
        text += "; velocity setpoints other than 0 would separate them"
    return Dropped(unknown, text, partners=kept, exactly=exactly)
