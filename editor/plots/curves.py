"""Curves of sampled signals: thinned out for the screen, looked up under a cursor."""

from math import nan

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray

Indices = npt.NDArray[np.intp]
#: Most points drawn per line; software OpenGL pays for each.
POINTS = 2000


def thinned(samples: FloatArray, begin: float, end: float, points: int = POINTS) -> FloatArray:
    """The part of (2, n) samples between two times, with at most about that many points.

    Where there are more samples than points, each stretch of time keeps its least and its greatest
    sample, each at its own time, so that no peak is lost and a slope stays a slope. The stretches
    lie at multiples of their length: a curve that moves through the window does not flicker.
    """
    time = samples[0]
    first = max(int(np.searchsorted(time, begin)) - 1, 0)
    last = min(int(np.searchsorted(time, end, side="right")) + 1, time.size)
    seen = samples[:, first:last]
    if seen.shape[1] <= points or not end > begin:
        return np.ascontiguousarray(seen)
    number = np.floor(seen[0] / (2.0 * (end - begin) / points))
    starts = np.flatnonzero(np.r_[True, number[1:] != number[:-1]])
    values = seen[1]
    # fmin and fmax: one NaN does not hide its neighbours
    kept = [
        _first_of(values, starts, np.fmin.reduceat(values, starts)),
        _first_of(values, starts, np.fmax.reduceat(values, starts)),
    ]
    return np.ascontiguousarray(seen[:, np.sort(np.stack(kept), axis=0).T.ravel()])


def _first_of(values: FloatArray, starts: Indices, wanted: FloatArray) -> Indices:
    """Where each stretch has its wanted value first; where it begins if that is NaN."""
    counts = np.diff(np.r_[starts, values.size])
    at = np.flatnonzero(values == np.repeat(wanted, counts))
    place = np.searchsorted(at, starts)
    found = at[np.minimum(place, at.size - 1)] if at.size else starts
    return np.where(np.isnan(wanted), starts, found)


def value_at(samples: FloatArray, moment: float) -> float:
    """The sample nearest to a time; NaN where there is none around it."""
    time = samples[0]
    if not time.size or not time[0] <= moment <= time[-1]:
        return nan
    right = int(np.searchsorted(time, moment))
    left = max(right - 1, 0)
    nearer = left if moment - time[left] < time[right] - moment else right
    return float(samples[1, nearer])
