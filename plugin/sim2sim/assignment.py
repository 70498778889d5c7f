"""Which measured joint a column of targets belongs to, from the numbers alone."""

import numpy as np

from mjrig.property_kinds import FloatArray
from mjrig.recording.recording import ActorRecording
from mjrig.sim2sim.matching import Indices

#: A column that moves less than this says nothing about where it belongs [rad or m].
STILL = 1e-3


def targets_and_positions(actor: ActorRecording) -> tuple[FloatArray, FloatArray] | None:
    """Position targets and the positions of the joints they drive, at the recorded samples.

    None where an actuator drives no joint that was recorded.
    """
    commands = actor.commands
    at = {j.name: j.qpos.start for j in actor.joints if j.kind in ("hinge", "slide")}
    if commands is None or any(name not in at for name in actor.driven) or not actor.driven:
        return None
    rows = np.searchsorted(commands.step, actor.step, side="right") - 1
    used = rows >= 0
    positions = actor.qpos[used][:, [at[name] for name in actor.driven]]
    return commands.position[rows[used]], positions


def likely_order(targets: FloatArray, positions: FloatArray) -> Indices:
    """For every joint the column of targets that fits it best: an assignment of least cost.

    The cost of a pair is the mean square of target minus position, with a part for how little
    their changes go together. Columns that stand still keep their place.
    """
    cost = _distance(targets, positions)
    moving = targets.std(axis=0) > STILL
    n = len(moving)
    order = np.arange(n)
    places = np.flatnonzero(moving)
    if len(places):
        chosen = assign(cost[np.ix_(places, places)])
        order[places] = places[chosen]
    return order


def _distance(targets: FloatArray, positions: FloatArray) -> FloatArray:
    """Cost of giving joint i the target column j, (joints, columns)."""
    square = np.mean((positions[:, :, None] - targets[:, None, :]) ** 2, axis=0)
    scale = max(float(np.mean(square)), 1e-12)
    found: FloatArray = square / scale + (1.0 - correlation(positions, targets))
    return found


def correlation(a: FloatArray, b: FloatArray) -> FloatArray:
    """Of every column of a with every column of b; 0 where one stands still."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    size = np.outer(np.linalg.norm(a, axis=0), np.linalg.norm(b, axis=0))
    found: FloatArray = np.divide(a.T @ b, size, out=np.zeros_like(size), where=size > 1e-9)
    return found


def flipped(targets: FloatArray, positions: FloatArray) -> list[int]:
    """Columns whose targets move against their joint, and would fit with the other sign."""
    found = []
    for i in range(targets.shape[1]):
        t, q = targets[:, i], positions[:, i]
        if np.std(t) > STILL and np.mean((q + t) ** 2) < 0.5 * np.mean((q - t) ** 2):
            if correlation(t[:, None], q[:, None])[0, 0] < -0.3:
                found.append(i)
    return found


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
