"""Trajectories as commands: points to be reached, interpolated from the message on."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.robot_logs.mapping.survey import DUE


def unrolled(
    time: FloatArray,
    rows: npt.NDArray[np.intp],
    columns: Mapping[str, npt.NDArray[Any]],
    paths: Sequence[str],
    factors: Sequence[tuple[float, float]],
    period: float,
) -> tuple[FloatArray, FloatArray]:
    """Setpoints at times (n,), (n, joints), between which they change evenly.

    Each message's points until the next message comes; where setpoints jump, two rows have the same
    time.

    Args:
        time: of the messages [s]; rows: theirs in the columns.
        columns: by path, `points[k].…` among them.
        paths: of each joint inside a point.
        factors: (factor, offset) of each joint.
        period: the longest between rows of a motion [s].
    """
    count = 1
    while f"points[{count}].{paths[0]}" in columns:
        count += 1
    times: list[FloatArray] = []
    values: list[FloatArray] = []
    for k, (begin, row) in enumerate(zip(time.tolist(), rows.tolist(), strict=True)):
        until = float(time[k + 1]) if k + 1 < len(time) else np.inf
        at, goals = _points(columns, paths, factors, count, row)
        if not len(at):
            continue
        at = at + begin
        last = values[-1][-1:] if values else goals[:1]
        if values and times[-1][-1] < begin:  # held until now
            times.append(np.array([begin]))
            values.append(last)
        if at[0] > begin:
            at, goals = np.concatenate([[begin], at]), np.vstack([last, goals])
        at, goals = _until(until, at, goals)
        at, goals = _filled(at, goals, period)
        times.append(at)
        values.append(goals)
    if not times:
        return time[:0], np.zeros((0, len(paths)))
    return np.concatenate(times), np.vstack(values)


def _until(until: float, at: FloatArray, goals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The points before a time, and where the setpoints are by then."""
    if at[-1] <= until:
        return at, goals
    kept = at < until
    there = [np.interp(until, at, column) for column in goals.T]
    return np.append(at[kept], until), np.vstack([goals[kept], there])


def _filled(at: FloatArray, goals: FloatArray, period: float) -> tuple[FloatArray, FloatArray]:
    """Points with others between them, evenly, that are at most a period apart."""
    parts = np.maximum(np.ceil(np.diff(at) / period), 1.0)
    place = np.concatenate([[0.0], np.cumsum(parts)])
    every = np.arange(place[-1] + 1.0)
    table = np.stack([np.interp(every, place, column) for column in goals.T], axis=1)
    return np.interp(every, place, at), table


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
        seconds = [float(columns[f"points[{k}].{name}"][row]) for name in DUE]
        at.append(seconds[0] + 1e-9 * seconds[1])
        goals.append([g * f + o for g, (f, o) in zip(goal, factors, strict=True)])
    return np.array(at), np.array(goals).reshape(len(at), len(paths))
