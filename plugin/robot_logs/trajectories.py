"""Trajectories as commands: points to be reached, interpolated from the message on."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray

_TIME = ("time_from_start.sec", "time_from_start.nanosec")


def unrolled(
    time: FloatArray,
    rows: npt.NDArray[np.intp],
    columns: Mapping[str, npt.NDArray[Any]],
    paths: Sequence[str],
    factors: Sequence[tuple[float, float]],
    period: float,
) -> tuple[FloatArray, FloatArray]:
    """Commands at times (n,), (n, joints): each message's points until the next message comes.

    Args:
        time: of the messages [s]; rows: theirs in the columns.
        columns: by path, `points[k].…` among them.
        paths: of each joint inside a point.
        factors: (factor, offset) of each joint.
        period: between interpolated commands [s].
    """
    count = 1
    while f"points[{count}].{paths[0]}" in columns:
        count += 1
    times: list[FloatArray] = []
    values: list[FloatArray] = []
    last: FloatArray | None = None
    for k, (begin, row) in enumerate(zip(time.tolist(), rows.tolist(), strict=True)):
        until = float(time[k + 1]) if k + 1 < len(time) else np.inf
        at, goals = _points(columns, paths, factors, count, row)
        if not len(at):
            continue
        if last is not None and at[0] > 0.0:
            at, goals = np.concatenate([[0.0], at]), np.vstack([last, goals])
        end = min(float(at[-1]), until - begin)
        grid = np.arange(0.0, end, period) if end > 0.0 else np.zeros(0)
        grid = np.concatenate([grid, [end]])
        table = np.stack([np.interp(grid, at, goals[:, j]) for j in range(len(paths))], axis=1)
        times.append(grid + begin)
        values.append(table)
        last = table[-1]
    if not times:
        return time[:0], np.zeros((0, len(paths)))
    return np.concatenate(times), np.vstack(values)


def _points(
    columns: Mapping[str, npt.NDArray[Any]],
    paths: Sequence[str],
    factors: Sequence[tuple[float, float]],
    count: int,
    row: int,
) -> tuple[FloatArray, FloatArray]:
    """The points of one message that hold numbers."""
    at, goals = [], []
    for k in range(count):
        goal = [float(columns[f"points[{k}].{path}"][row]) for path in paths]
        if not np.isfinite(goal).all():
            continue
        seconds = [float(columns[f"points[{k}].{name}"][row]) for name in _TIME]
        at.append(seconds[0] + 1e-9 * seconds[1])
        goals.append([g * f + o for g, (f, o) in zip(goal, factors, strict=True)])
    return np.array(at), np.array(goals).reshape(len(at), len(paths))
