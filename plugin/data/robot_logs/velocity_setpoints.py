"""Velocity setpoints that acted but are not in a log, by the efforts.

A drive may be sent velocities beside positions, of which a logger keeps the positions only. Where a
PD law explains the efforts better with the rate of the position setpoints as velocity setpoints
than without any, they were sent.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.names import listed
from mjrig.data.robot_logs.delay_estimation import (
    ALIKE,
    COARSE,
    EARLIEST,
    ENOUGH,
    EXPLAINED,
    LATEST,
    LEAST,
    REPEATED,
    Effect,
    LawCosts,
    LawData,
    Rows,
    effect_of_commands,
    windows_of,
)
from mjrig.data.robot_logs.resampling import derived

#: So many commands of a logger that repeats some are smoothed, which leaves motions of a twentieth
#: of their rate as they are.
SMOOTHED = 13
#: How much more of the efforts a law without velocity setpoints must leave to be sure of them.
SURE = 2.0
#: Commands do not act before they are sent; stamps of two clocks may be off by so much [s].
BEFORE = -0.005

Spans = tuple[tuple[float, float], ...]
Mask = npt.NDArray[np.bool_]


def rates(time: FloatArray, values: FloatArray) -> FloatArray:
    """How fast position setpoints (n, joints) change at their stamps.

    A logger with a clock of its own repeats some and misses others. Then cubics through several
    are taken, as the steps between neighbours tell little.
    """
    values = np.asarray(values, np.float64)
    if len(time) < SMOOTHED:
        return np.zeros(values.shape)
    steps = np.diff(values, axis=0)
    again = (steps == 0.0) & (np.abs(np.roll(steps, 1, axis=0)) > 0.0)
    if float(again.mean()) <= REPEATED:
        return derived(time, values, ())
    reach = SMOOTHED // 2
    powers = np.vander(np.arange(-reach, reach + 1), 4, increasing=True)
    kernel = np.linalg.pinv(powers)[1][::-1] / float(np.median(np.diff(time)))
    padded = np.pad(values, ((reach, reach), (0, 0)), mode="edge")
    return np.stack([np.convolve(c, kernel, mode="valid") for c in padded.T], axis=1)


def rates_within(time: FloatArray, values: FloatArray, spans: Spans) -> FloatArray:
    """The same inside of some spans of time, 0 outside."""
    inside = np.zeros(len(time), dtype=np.bool_)
    for first, last in spans:
        inside |= (time >= first) & (time < last)
    return np.where(inside[:, None], rates(time, values), 0.0)


def unrecorded(motion: LawData) -> Spans:
    """Spans of the commands' time in which velocity setpoints acted that are not in the log."""
    at = motion.command_time
    if motion.command_velocity.any() or len(at) < LEAST or not (np.diff(at) > 0.0).all():
        return ()
    inside = (motion.time > at[0] + LATEST) & (motion.time < at[-1] + EARLIEST)
    rows = np.flatnonzero(inside)[:ENOUGH]
    if len(rows) < LEAST:
        return ()
    windows = rows[windows_of(motion.time[rows])]
    moving = replace(motion, command_velocity=rates(at, motion.command))
    grid = np.arange(EARLIEST, LATEST, COARSE)
    without, with_them = (LawCosts(m, windows, 1).over(grid) for m in (motion, moving))
    # (delays, windows): what is left of the efforts that the better of both explains.
    told = np.minimum(without.min(axis=0), with_them.min(axis=0)) < 1.0 - EXPLAINED
    none, some = (np.where(told, np.log(c), 0.0).sum(axis=2) for c in (without, with_them))
    best = int(np.argmin(np.minimum(none, some).sum(axis=1)))
    joints = np.maximum(told.sum(axis=1), 1)
    gained = (none[best] - some[best]) / joints
    # They look like commands that act earlier: where that is possible, of all windows alike, it is
    # as good a reason.
    possible = grid > BEFORE - motion.rows  # a row shows a command after it was sent
    later = int(np.argmin(np.where(possible, none.sum(axis=1), np.inf)))
    in_all = float((none[later] - np.minimum(none[best], some[best])).sum())
    if in_all <= np.log(SURE) * float(joints[gained > 0.0].sum()):
        gained = np.minimum(gained, (none[later] - some[best]) / joints)
    sure = (gained > np.log(SURE)) | (gained < 0.0)
    is_moving = _decided(gained, sure)
    if not is_moving.any():
        return ()
    change = _Change(motion, moving, windows, float(grid[best]), is_moving, sure)
    return change.spans()


def _decided(gained: FloatArray, sure: Mask) -> Mask:
    """Windows with velocity setpoints, by logarithms; what tells little is like what is near it."""
    if not sure.any():
        return np.zeros(len(gained), dtype=np.bool_)
    known = np.flatnonzero(sure)
    away = np.abs(np.arange(len(gained))[:, None] - known)
    return np.asarray(gained[known[np.argmin(away, axis=1)]] > 0.0)


def surely(found: Effect | str, moving: LawData) -> Effect | str:
    """A delay that holds whether velocity setpoints acted or not, else why it is not known.

    Args:
        found: by a law without them.
        moving: the same with the rates of the positions as velocity setpoints.
    """
    if isinstance(found, str):
        return found
    other = effect_of_commands(moving)
    if isinstance(other, str) or other.left > ALIKE * found.left:
        return found
    if abs(other.delay - found.delay) <= found.error:
        return found
    return (
        f"{found.delay * 1e3:.1f} ms after their stamp explain the efforts, and "
        f"{other.delay * 1e3:.1f} ms with velocity setpoints that were not recorded"
    )


def said_of(spans: Spans, began: float) -> str:
    """Spans in words, in seconds after the beginning of a log."""
    return (
        "velocity setpoints acted that are not in the log, by the efforts: "
        f"{listed(_span(max(first - began, 0.0), last - began) for first, last in spans)}; the "
        "rates of the position setpoints are taken for them"
    )


def _span(first: float, last: float) -> str:
    if not np.isfinite(last):
        return f"from {first:.2f} s on" if first else "all the time"
    return f"from {first:.2f} to {last:.2f} s"


class _Change:
    """Finds when velocity setpoints set in and end, between windows with and without them."""

    def __init__(
        self,
        motion: LawData,
        moving: LawData,
        windows: Rows,
        delay: float,
        is_moving: Mask,
        sure: Mask,
    ) -> None:
        self._delay, self._windows, self._is_moving = delay, windows, is_moving
        self._sure = np.flatnonzero(sure)
        self._time = motion.time
        self._left = self._squares(motion, moving)

    def _squares(self, motion: LawData, moving: LawData) -> FloatArray:
        """(2, n) squared residuals of the efforts without and with them, in units of the noise."""
        held = np.searchsorted(motion.command_time, motion.time - self._delay, side="right") - 1
        held = np.maximum(held, 0)
        speeds = np.stack([np.zeros_like(motion.velocity), moving.command_velocity[held]])
        error = motion.command[held] - motion.position
        clear = np.concatenate([self._windows[w] for w in self._clear()])
        kind = np.repeat(self._is_moving[self._clear()], self._windows.shape[1])
        found = np.zeros((2, len(motion.time)))
        for j in range(motion.effort.shape[1]):
            speed = np.where(kind, speeds[1, clear, j], 0.0)
            braked = speed - motion.velocity[clear, j]
            columns = np.stack([error[clear, j], braked, np.ones(len(clear))], axis=1)
            gains, *_ = np.linalg.lstsq(columns, motion.effort[clear, j], rcond=None)
            noise = float(np.mean((motion.effort[clear, j] - columns @ gains) ** 2)) + 1e-12
            for k in range(2):
                braked = speeds[k, :, j] - motion.velocity[:, j]
                asked = gains[0] * error[:, j] + gains[1] * braked + gains[2]
                found[k] += (motion.effort[:, j] - asked) ** 2 / noise
        return found

    def _clear(self) -> list[int]:
        """Windows that have neighbours of their own kind: they hold no change."""
        kinds = self._is_moving
        last = len(kinds) - 1
        sides = [(max(w - 1, 0), min(w + 1, last)) for w in range(last + 1)]
        alike = [w for w, (a, b) in enumerate(sides) if kinds[a] == kinds[w] == kinds[b]]
        return alike or list(range(last + 1))

    def spans(self) -> Spans:
        """Begin and end of each span; infinite where it begins before, or goes on."""
        kinds, edges = self._is_moving, []
        for w, (one, other) in enumerate(pairwise(kinds)):
            if one != other:
                edges.append(self._edge(w, begins=bool(other)))
        times = [float(self._time[k]) - self._delay for k in edges]
        if kinds[0]:
            times.insert(0, -np.inf)
        if kinds[-1]:
            times.append(np.inf)
        return tuple(zip(times[::2], times[1::2], strict=True))

    def _edge(self, window: int, *, begins: bool) -> int:
        """The sample at which they begin, or end, between windows that are sure of their kind."""
        most = len(self._windows) - 1
        before, after = self._sure[self._sure <= window], self._sure[self._sure > window]
        first = max(int(before[-1]) - 1, 0) if len(before) else 0
        last = min(int(after[0]) + 1, most) if len(after) else most
        rows = np.arange(self._windows[first, 0], self._windows[last, -1] + 1)
        one, other = self._left[:, rows] if begins else self._left[::-1, rows]
        costs = np.concatenate([[0.0], np.cumsum(one - other)])
        return int(rows[min(int(np.argmin(costs)), len(rows) - 1)])
