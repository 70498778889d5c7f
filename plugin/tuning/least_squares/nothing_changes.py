"""Directions in which a joint's unknowns change nothing: others make up for each exactly.

The efforts of a joint that nothing else acts on are an example: if all of them are doubled, with
its inertia, it moves as before. Derivatives show that up to their own errors only, which dry
friction makes large: what they say is tried.
"""

from dataclasses import dataclass

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.tuning.least_squares.fit_problem import Problem
from mjrig.tuning.least_squares.points import Point
from mjrig.tuning.least_squares.solver import Solution

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
