"""Worlds that begin with more contacts than can be solved: found before they are."""

import mujoco
import numpy as np

from mjrig.arrays import FloatArray

#: Contacts at the start. MuJoCo takes a third of a second for a step with so many.
MAX_CONTACTS = 20_000
#: Pairs of geoms that are near each other; each can have several contacts.
MAX_NEAR = 250_000
#: Contacts of two boxes, for which geoms need not be looked at where they are few.
_PER_PAIR = 4


def crowded_body(model: mujoco.MjModel, data: mujoco.MjData) -> str | None:
    """The body with the most contacts, if there are more than can be solved; None: there are not.

    Args:
        model: the world's.
        data: with the positions; what follows from them is computed.
    """
    few = _PER_PAIR * model.ngeom * (model.ngeom - 1) // 2 <= MAX_CONTACTS
    if few or model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT:
        return None
    mujoco.mj_kinematics(model, data)
    counts = _near(model, data)
    if counts.sum() <= MAX_NEAR:
        mujoco.mj_comPos(model, data)
        mujoco.mj_flex(model, data)
        mujoco.mj_collision(model, data)
        if data.ncon <= MAX_CONTACTS:
            return None
        geoms = data.contact.geom.ravel()
        counts = np.bincount(geoms[geoms >= 0], minlength=model.ngeom).astype(float)
    return str(model.body(model.geom_bodyid[int(np.argmax(counts))]).name)


def _near(model: mujoco.MjModel, data: mujoco.MjData) -> FloatArray:
    """By geom, with how many later ones on other bodies it could collide; counting ends early."""
    bits = model.geom_contype | model.geom_conaffinity
    geoms = np.flatnonzero((bits != 0) & (model.geom_rbound > 0))  # planes have no radius
    centre, radius = data.geom_xpos[geoms], model.geom_rbound[geoms] + model.geom_margin[geoms]
    low, high = centre - radius[:, None], centre + radius[:, None]
    found, total = np.zeros(model.ngeom), 0
    orders = [np.argsort(low[:, axis], kind="stable") for axis in range(3)]
    ends = [
        np.searchsorted(low[order, axis], high[order, axis], side="right")
        for axis, order in enumerate(orders)
    ]
    axis = int(np.argmin([end.sum() for end in ends]))
    order, end = orders[axis], ends[axis]
    if (end - np.arange(len(order)) - 1).sum() <= MAX_NEAR:
        return found
    body = model.body_weldid[model.geom_bodyid[geoms]][order]
    kind, affinity = model.geom_contype[geoms][order], model.geom_conaffinity[geoms][order]
    centre, radius = centre[order], radius[order]
    for i, last in enumerate(end):
        rest = slice(i + 1, last)
        apart = ((centre[rest] - centre[i]) ** 2).sum(axis=1)
        touching = apart <= (radius[rest] + radius[i]) ** 2
        touching &= body[rest] != body[i]
        touching &= ((kind[rest] & affinity[i]) | (affinity[rest] & kind[i])) != 0
        found[geoms[order[i]]] = count = int(np.count_nonzero(touching))
        total += count
        if total > MAX_NEAR:
            break
    return found
