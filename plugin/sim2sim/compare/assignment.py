"""Assignment of target columns to measured joints, from the data alone."""

from dataclasses import dataclass

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.recording.recording import ActorRecording
from mjrig.sim2sim.compare.matching import Indices

#: A column that moves less than this cannot be assigned [rad or m].
STILL = 1e-3
#: Efforts at fewer steps than this are not used.
LEAST = 20


@dataclass(frozen=True)
class MatchSamples:
    """Targets, positions, velocities and efforts of the driven joints, row by row.

    `effort` and `velocity` are None where they were not recorded. `places` are the columns among
    all actuators of the recording; None: all of them.
    """

    target: FloatArray
    position: FloatArray
    velocity: FloatArray | None = None
    effort: FloatArray | None = None
    places: Indices | None = None


def samples_of(actor: ActorRecording) -> MatchSamples | None:
    """Recorded setpoints and the joints they drive, at the same steps.

    With efforts: only the steps they were recorded at. Actuators that drive no recorded joint, such
    as those on tendons, are left out; None where all are.
    """
    commands = actor.commands
    at = {j.name: j for j in actor.joints if j.kind in ("hinge", "slide")}
    places = np.array([i for i, n in enumerate(actor.driven) if n in at], dtype=np.intp)
    if commands is None or not len(places):
        return None
    qpos = [at[actor.driven[i]].qpos.start for i in places]
    dof = [at[actor.driven[i]].dof.start for i in places]
    rows = np.flatnonzero(actor.step >= commands.step[0])
    effort = None
    if actor.efforts is not None and actor.qvel is not None:
        _, states, used = np.intersect1d(actor.step, actor.efforts.step, return_indices=True)
        good = actor.step[states] >= commands.step[0]
        if good.sum() >= LEAST:
            rows, effort = states[good], actor.efforts.effort[used[good]][:, places]
    held = np.searchsorted(commands.step, actor.step[rows], side="right") - 1
    velocity = None if actor.qvel is None else actor.qvel[rows][:, dof]
    target = commands.position[held][:, places]
    return MatchSamples(target, actor.qpos[rows][:, qpos], velocity, effort, places)


def likely_order(samples: MatchSamples) -> Indices:
    """The column of targets that fits each joint best: an assignment of least cost.

    Columns that do not move keep their place.
    """
    moving = samples.target.std(axis=0) > STILL
    order = np.arange(len(moving))
    places = np.flatnonzero(moving)
    if len(places):
        cost = costs(samples)[np.ix_(places, places)]
        order[places] = places[assign(cost)]
    return order


def costs(samples: MatchSamples, sign: float = 1.0) -> FloatArray:
    """Cost of giving joint i the target column j, (joints, columns).

    With efforts: the part of joint i's effort that no PD law towards column j explains. Without:
    how far positions are from targets, and how weakly their changes correlate.
    """
    t, q = sign * samples.target, samples.position
    if samples.effort is None or samples.velocity is None:
        square = np.mean((q[:, :, None] - t[:, None, :]) ** 2, axis=0)
        scale = max(float(np.mean(square)), 1e-12)
        far: FloatArray = square / scale + (1.0 - correlation(q, t))
        return far
    n = t.shape[1]
    found = np.empty((n, n))
    for i in range(n):
        effort = samples.effort[:, i]
        size = max(float(effort @ effort), 1e-12)
        for j in range(n):
            law = np.stack([t[:, j] - q[:, i], samples.velocity[:, i]], axis=1)
            gains, *_ = np.linalg.lstsq(law, effort, rcond=None)
            rest = effort - law @ gains
            found[i, j] = float(rest @ rest) / size
    return found


def correlation(a: FloatArray, b: FloatArray) -> FloatArray:
    """Correlation of every column of a with every column of b; 0 where one is constant."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    size = np.outer(np.linalg.norm(a, axis=0), np.linalg.norm(b, axis=0))
    found: FloatArray = np.divide(a.T @ b, size, out=np.zeros_like(size), where=size > 1e-9)
    return found


def flipped(samples: MatchSamples) -> list[int]:
    """Columns that fit their joint much better with the other sign."""
    as_is, negated = np.diag(costs(samples)), np.diag(costs(samples, -1.0))
    moving = samples.target.std(axis=0) > STILL
    against = np.flatnonzero(moving & (negated < 0.5 * as_is))
    return [int(i) for i in (against if samples.places is None else samples.places[against])]


def assign(cost: FloatArray) -> Indices:
    """For every row the column, all different, of least total cost (Hungarian method)."""
    n = len(cost)
    u, v = np.zeros(n + 1), np.zeros(n + 1)
    owner = np.zeros(n + 1, dtype=np.intp)
    for row in range(1, n + 1):
        owner[0], column = row, 0
        least, used = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=bool)
        way = np.zeros(n + 1, dtype=np.intp)
        while owner[column]:
            used[column] = True
            reduced = cost[owner[column] - 1] - u[owner[column]] - v[1:]
            better = ~used[1:] & (reduced < least[1:])
            least[1:][better], way[1:][better] = reduced[better], column
            following = int(np.argmin(np.where(used, np.inf, least)))
            delta = least[following]
            u[owner[used]] += delta
            v[used] -= delta
            least[~used] -= delta
            column = following
        while column:
            owner[column] = owner[way[column]]
            column = int(way[column])
    found = np.zeros(n, dtype=np.intp)
    found[owner[1:] - 1] = np.arange(n)
    return found
