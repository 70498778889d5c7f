"""Spikes: samples that their neighbours do not explain, such as a wrong number in a row or two."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray, columns_of, let_go
from mjrig.core.names import how_many

Rows = npt.NDArray[np.intp]
Column = npt.NDArray[np.floating]
#: A jump is this many times larger than nearly all others (per cent of them), and at least so
#: large [rad or m].
MANY, NEARLY_ALL, LEAST = 20.0, 99.0, 0.05
#: So many samples in a row are a spike at most, and it comes back to within this share of it.
LONGEST, BACK = 3, 0.1
#: Steps between samples that tell how large steps usually are, and rows looked at together.
ENOUGH, BLOCK = 100_000, 1 << 20
#: Others that a jump of velocities or efforts is compared with [%]: more is asked of these.
MOST = 95.0
#: Wrong velocities are at least so large [rad/s or m/s], so many times as large as all that the
#: others span, and so many times faster than the positions change.
LEAST_SPEED, SPEEDS, FASTER = 0.5, 2.0, 5.0
#: Wrong efforts are at least so large [N·m or N] and so many times as large as all that the others
#: span: an impact is a spike too.
LEAST_EFFORT, EFFORTS = 100.0, 20.0
_AS_IF = "read as if it lay between them"


def spikes(values: Column, least: float = LEAST, others: float = NEARLY_ALL) -> Rows:
    """Rows of samples that are far away and back at once, while nothing else moves as fast."""
    if len(values) < 2 * LONGEST:
        return np.zeros(0, dtype=np.intp)
    some = np.arange(0, len(values) - 1, max(1, len(values) // ENOUGH))
    steps = np.abs(values[some + 1] - values[some])
    steps = steps[np.isfinite(steps)]
    if not len(steps):
        return np.zeros(0, dtype=np.intp)
    limit = max(least, MANY * float(np.percentile(steps, others)))
    found: list[int] = []
    for start in range(0, len(values) - 1, BLOCK):
        part = values[start : start + BLOCK + LONGEST + 1]
        found += [start + row for row in _within(part, limit)]
    return np.array(sorted(set(found)), dtype=np.intp)


def _within(values: Column, limit: float) -> Iterable[int]:
    values = values.astype(np.float64)
    found: list[int] = []
    for there in np.flatnonzero(np.abs(np.diff(values)) > limit).tolist():
        if found and there <= found[-1]:
            continue  # the way back
        away = np.abs(values[there + 1 : there + LONGEST + 2] - values[there])
        for length in range(len(away) - 1, 0, -1):
            nearest = away[:length].min()
            if nearest > limit and away[length] < BACK * nearest:
                found += range(there + 1, there + 1 + length)
                break
    return found


def _beyond(values: Column, rows: Rows, times: float) -> Rows:
    """Those of some rows that are far beyond all that the other rows span."""
    rest = np.delete(values, rows)
    low, high = float(np.nanmin(rest)), float(np.nanmax(rest))
    order = rows[np.argsort(np.abs(values[rows] - 0.5 * (low + high)))]
    for k, value in enumerate(values[order].tolist()):
        if max(low - value, value - high) > times * (high - low):
            return np.sort(order[k:])
        low, high = min(low, value), max(high, value)  # it is one of the others
    return order[:0]


@dataclass(frozen=True)
class Moved:
    """The positions of a joint and their times, which velocities must agree with."""

    time: FloatArray
    position: Column

    def speed(self, start: float, end: float) -> float:
        """How fast it moved at most between the samples from one time to another."""
        first = max(int(np.searchsorted(self.time, start, side="right")) - 1, 0)
        rows = slice(first, int(np.searchsorted(self.time, end)) + 1)
        steps = np.diff(self.time[rows])
        rates = np.abs(np.diff(self.position[rows]))[steps > 0.0] / steps[steps > 0.0]
        return float(rates.max(initial=0.0))


def wrong_speeds(time: FloatArray, values: Column, moved: Moved) -> Rows:
    """Rows of velocities that neither their neighbours nor the positions explain."""
    rows = spikes(values, LEAST_SPEED, MOST)
    if not len(rows):
        return rows
    rows = _beyond(values, rows, SPEEDS)
    last = len(time) - 1
    fastest = [
        moved.speed(float(time[max(row - LONGEST, 0)]), float(time[min(row + LONGEST, last)]))
        for row in rows.tolist()
    ]
    return rows[np.abs(values[rows]) > FASTER * np.array(fastest)]


def wrong_efforts(values: Column) -> Rows:
    """Rows of efforts that are absurd beside all others of the joint."""
    rows = spikes(values, LEAST_EFFORT, MOST)
    return _beyond(values, rows, EFFORTS) if len(rows) else rows


# Repair -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spiked:
    """A table that may have spikes, which are put between their neighbours, in place.

    Attributes:
        time: (n,) of the samples [s].
        values: (n, joints).
        joints: their names.
        zero: the time that is said as 0 [s].
    """

    time: FloatArray
    values: FloatArray
    joints: Sequence[str]
    zero: float

    def positions(self) -> list[str]:
        """Repair positions [rad or m]; says which."""
        notes = []
        for name, column in self._columns():
            rows = spikes(column)
            if len(rows):
                why = f"no motion between the samples before and after ({self._near(column, rows)})"
                notes.append(f"{name}: {self._first(column, rows)}: {why} explains it; {_AS_IF}")
                self._repair(column, rows)
        return notes

    def velocities(self, moved: dict[str, Moved]) -> list[str]:
        """Repair velocities [rad/s or m/s] by the joints' positions; says which."""
        notes = []
        for name, column in self._columns():
            if name not in moved:
                continue
            rows = wrong_speeds(self.time, column, moved[name])
            if len(rows):
                why = f"neither the samples before and after ({self._near(column, rows)}) nor"
                notes.append(
                    f"{name}: velocity {self._first(column, rows)}: {why} the change of the "
                    f"positions explains it; {_AS_IF}"
                )
                self._repair(column, rows)
        return notes

    def efforts(self) -> list[str]:
        """Repair efforts [N·m or N]; says which."""
        notes = []
        for name, column in self._columns():
            rows = wrong_efforts(column)
            if len(rows):
                rest = np.delete(column, rows)
                span = f"{float(np.nanmin(rest)):.4g} to {float(np.nanmax(rest)):.4g}"
                notes.append(
                    f"{name}: effort {self._first(column, rows)}: more than {EFFORTS:g} times what "
                    f"all its other efforts span ({span}); read as if it lay between its neighbours"
                )
                self._repair(column, rows)
        return notes

    def _columns(self) -> Iterable[tuple[str, Column]]:
        for name, column in zip(self.joints, columns_of(self.values), strict=True):
            yield name, column
            let_go()

    def _first(self, column: Column, rows: Rows) -> str:
        others = f" and {how_many(len(rows) - 1, 'other sample')}" if len(rows) > 1 else ""
        return f"{float(column[rows[0]]):.4g} at {self.time[rows[0]] - self.zero:.4g} s{others}"

    @staticmethod
    def _near(column: Column, rows: Rows) -> str:
        return f"{float(column[rows[0] - 1]):.4g}"

    def _repair(self, column: Column, rows: Rows) -> None:
        kept = np.setdiff1d(_around(rows, len(column)), rows)
        column[rows] = np.interp(self.time[rows], self.time[kept], column[kept])


def _around(rows: Rows, count: int) -> Rows:
    """Rows up to `LONGEST` before and after."""
    near = rows[:, None] + np.arange(-LONGEST, LONGEST + 1)
    return np.unique(np.clip(near, 0, count - 1)).astype(np.intp)
