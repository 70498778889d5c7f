"""Samples that no motion between their neighbours explains: a wrong number in a row or two."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.large_arrays import columns_of, let_go
from mjrig.names import how_many

Rows = npt.NDArray[np.intp]
#: A jump is this many times larger than nearly all others, and at least so large [rad or m].
MANY, LEAST = 20.0, 0.05
#: So many samples in a row are a spike at most, and it comes back to within this share of it.
LONGEST, BACK = 3, 0.1
#: Steps between samples that tell how large steps usually are, and rows looked at together.
ENOUGH, BLOCK = 100_000, 1 << 20


def spikes(values: npt.NDArray[np.floating]) -> Rows:
    """Rows of samples that are far away and back at once, while nothing else moves as fast."""
    if len(values) < 2 * LONGEST:
        return np.zeros(0, dtype=np.intp)
    some = np.arange(0, len(values) - 1, max(1, len(values) // ENOUGH))
    steps = np.abs(values[some + 1] - values[some])
    steps = steps[np.isfinite(steps)]
    if not len(steps):
        return np.zeros(0, dtype=np.intp)
    limit = max(LEAST, MANY * float(np.percentile(steps, 99)))
    found: list[int] = []
    for start in range(0, len(values) - 1, BLOCK):
        part = values[start : start + BLOCK + LONGEST + 1]
        found += [start + row for row in _within(part, limit)]
    return np.array(sorted(set(found)), dtype=np.intp)


def _within(values: npt.NDArray[np.floating], limit: float) -> list[int]:
    steps = np.diff(values.astype(np.float64))
    jumps = np.flatnonzero(np.abs(steps) > limit)
    found: list[int] = []
    for there, back in pairwise(jumps.tolist()):
        size = min(abs(steps[there]), abs(steps[back]))
        returns = abs(values[back + 1] - values[there]) < BACK * size
        if back - there <= LONGEST and steps[there] * steps[back] < 0.0 and returns:
            found += range(there + 1, back + 1)
    return found


def without_spikes(
    time: FloatArray, values: FloatArray, joints: Sequence[str], zero: float
) -> list[str]:
    """Put spikes of positions between their neighbours, in place; says which.

    Args:
        time: (n,) of the samples [s].
        values: (n, joints) positions [rad or m].
        joints: their names.
        zero: the time that is said as 0 [s].
    """
    notes = []
    for name, column in zip(joints, columns_of(values), strict=True):
        rows = spikes(column)
        if not len(rows):
            continue
        first, kept = int(rows[0]), np.setdiff1d(_around(rows, len(column)), rows)
        others = f" and {how_many(len(rows) - 1, 'other sample')}" if len(rows) > 1 else ""
        notes.append(
            f"{name}: {float(column[first]):.4g} at {time[first] - zero:.4g} s{others}: no motion "
            f"between the samples before and after ({float(column[first - 1]):.4g}) explains it; "
            "read as if it lay between them"
        )
        column[rows] = np.interp(time[rows], time[kept], column[kept])
        let_go()
    return notes


def _around(rows: Rows, count: int) -> Rows:
    """Rows up to `LONGEST` before and after."""
    near = rows[:, None] + np.arange(-LONGEST, LONGEST + 1)
    return np.unique(np.clip(near, 0, count - 1)).astype(np.intp)
