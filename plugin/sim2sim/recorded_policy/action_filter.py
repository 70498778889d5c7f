"""Lines through targets over actions, straight or through a first-order filter.

Policies often smooth their actions: `a ← (1 − β)·a_last + β·net`. A target is then a straight line
over the smoothed action; β = 1 is no filter.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray

#: Largest error of a target that a line leaves [rad or m], and as a share of how far it moves.
STRAIGHT, RELATIVE = 1e-3, 1e-2
#: A line goes through at least this share of the points: clipped ones lie off it.
MOST = 0.3
#: Filters that differ by less are the same.
ALIKE = 0.01


@dataclass(frozen=True)
class ActionLine:
    """Target = slope · action + offset, and the largest error it leaves."""

    slope: float
    offset: float
    rest: float


def action_line(
    action: FloatArray, target: FloatArray, bound: float = np.inf, beta: float = 1.0
) -> ActionLine | None:
    """The line of one joint's targets over its actions, tick by tick; None: there is none.

    Args:
        action: outputs of the network.
        target: what they became.
        bound: up to which size an action surely passes its clip.
        beta: of the filter.
    """
    columns = [_smoothed(action, beta), np.ones(len(action))]
    if beta < 1.0:  # what the filter held before the first tick fades
        columns.append(np.power(1.0 - beta, np.arange(len(action))).astype(np.float64))
    found = _through_most(np.stack(columns, axis=1), target, np.abs(action) < bound)
    return None if found is None else ActionLine(float(found[0][0]), float(found[0][1]), found[1])


def recorded_filter(actions: FloatArray, targets: FloatArray, bound: float) -> float | None:
    """The β that turned actions into targets, (ticks, joints) each; None: no such filter did.

    `t_k = (1 − β)·t_{k−1} + β·(s·a_k + o)` is linear in what is known, joint by joint.
    """
    found = []
    moving = [i for i in range(actions.shape[1]) if np.ptp(targets[:, i]) > 1e-4]
    for i in moving:
        a, t = actions[1:, i], targets[:, i]
        law = np.stack([a, np.ones(len(a)), t[:-1]], axis=1)
        fit = _through_most(law, t[1:], np.abs(a) < bound)
        if fit is not None and abs(fit[0][0]) > 1e-9:
            found.append(1.0 - float(fit[0][2]))
    if not found or len(found) < 0.5 * len(moving):
        return None
    beta = float(np.median(found))
    agree = np.mean(np.abs(np.array(found) - beta) < 2 * ALIKE) > 0.5
    if not agree or not 0.01 < beta < 1.0 + ALIKE:
        return None
    return 1.0 if abs(beta - 1.0) < ALIKE else float(f"{beta:.4g}")


def _smoothed(action: FloatArray, beta: float) -> FloatArray:
    if beta >= 1.0:
        return action
    found = np.empty(len(action))
    last = 0.0
    for k, value in enumerate(action.tolist()):
        last = (1.0 - beta) * last + beta * value
        found[k] = last
    return found


def _through_most(
    columns: FloatArray, wanted: FloatArray, keep: npt.NDArray[np.bool_]
) -> tuple[FloatArray, float] | None:
    """Coefficients through most points, and the largest error at those; None: not exact.

    The first column is that of the actions: without movement in it nothing is known.
    """
    keep = keep.copy()
    least = max(5, MOST * len(wanted))
    for _ in range(4):
        if keep.sum() < least or np.ptp(columns[keep, 0]) < 1e-4:
            return None
        moved = float(np.ptp(wanted[keep]))
        if moved < 1e-6:
            return None
        found, *_ = np.linalg.lstsq(columns[keep], wanted[keep], rcond=None)
        rest = np.abs(columns @ found - wanted)
        worst = float(rest[keep].max())
        if worst < min(STRAIGHT, RELATIVE * moved):
            return found.astype(np.float64), worst
        keep &= rest < max(np.median(rest[keep]) * 2.0, 1e-9)
    return None
