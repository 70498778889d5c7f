"""Curves of sampled signals: thinned out for the screen, looked up under a cursor."""

from math import nan

import numpy as np

from mjrig.arrays import FloatArray

#: Most points drawn per line; software OpenGL pays for each.
POINTS = 2000


def thinned(samples: FloatArray, begin: float, end: float, points: int = POINTS) -> FloatArray:
    """The part of (2, n) samples between two times, with at most about that many points.

    Where there are more samples than points, each stretch of time shows its least and its greatest
    value, so that no peak is lost. The stretches lie at multiples of their length: a curve that
    moves through the window does not flicker.
    """
    time = samples[0]
    first = max(int(np.searchsorted(time, begin)) - 1, 0)
    last = min(int(np.searchsorted(time, end, side="right")) + 1, time.size)
    seen = samples[:, first:last]
    if seen.shape[1] <= points or not end > begin:
        return np.ascontiguousarray(seen)
    stretch = 2.0 * (end - begin) / points
    number = np.floor(seen[0] / stretch)
    starts = np.flatnonzero(np.r_[True, number[1:] != number[:-1]])
    curve = np.empty((2, 2 * starts.size))
    curve[0] = np.repeat(seen[0, starts], 2)
    curve[1, 0::2] = np.fmin.reduceat(seen[1], starts)  # fmin: one NaN does not hide its neighbours
    curve[1, 1::2] = np.fmax.reduceat(seen[1], starts)
    return curve


def value_at(samples: FloatArray, moment: float) -> float:
    """The sample nearest to a time; NaN where there is none around it."""
    time = samples[0]
    if not time.size or not time[0] <= moment <= time[-1]:
        return nan
    right = int(np.searchsorted(time, moment))
    left = max(right - 1, 0)
    nearer = left if moment - time[left] < time[right] - moment else right
    return float(samples[1, nearer])
