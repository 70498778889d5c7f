"""Slopes: derivatives of the effort after clamps."""

from collections.abc import Iterable

import numpy as np

from mjrig.components.laws.clamp import Clamp, apply_clamp
from mjrig.components.laws.law import Slopes
from mjrig.components.laws.space import Array


def slopes_behind(
    clamps: Iterable[Clamp], slopes: Slopes, effort: Array, q: Array, qd: Array
) -> Slopes:
    """The slopes of a raw effort after clamps; `effort` is clamped in place."""
    for clamp in clamps:
        slopes = _through(clamp, effort, q, qd, slopes)
        apply_clamp(clamp, effort, q, qd, effort)
    return slopes


def _through(clamp: Clamp, effort: Array, q: Array, qd: Array, slopes: Slopes) -> Slopes:
    """Slopes after a clamp: the effort's own inside the bounds, else the bound's."""
    low, high = (np.array(b) for b in clamp.bounds(q, qd))
    low_q, low_qd, high_q, high_qd = clamp.bound_slopes(q, qd)
    # min(max(τ, low), high): the upper bound wins.
    at_high, at_low = np.maximum(effort, low) > high, effort < low

    def pick(own: Array, at_lower: Array | float, at_upper: Array | float) -> Array:
        picked: Array = np.where(at_high, at_upper, np.where(at_low, at_lower, own))
        return picked

    return Slopes(
        pick(slopes.q, low_q, high_q),
        pick(slopes.qd, low_qd, high_qd),
        pick(slopes.target_q, 0.0, 0.0),
        pick(slopes.target_qd, 0.0, 0.0),
    )
