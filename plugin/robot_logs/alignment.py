"""When commands act: the delay at which a PD law of them explains the recorded efforts best.

Clock offset and delay have the same effect on commands and states; only their sum can be found.
Gains may differ from window to window. A recorder may have kept every k-th command only: then the
efforts follow commands in between, and those are interpolated.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.large_arrays import large_empty, let_go

Rows = npt.NDArray[np.intp]
#: Delays that are tried [s].
EARLIEST, LATEST = -0.03, 0.15
COARSE, FINE = 0.001, 0.00025
NEAR = 0.008
#: Windows this far apart disagree [s].
FAR = 0.005
#: Window in which gains are constant [s], and the least samples of one.
WINDOW, LEAST = 1.0, 40
#: So many samples are enough.
ENOUGH = 8000
#: Share of the effort that a law must explain for an estimate.
EXPLAINED = 0.8
#: A law that leaves less has all commands.
WELL = 0.002
#: Commands per recorded one that are tried, and how much better one must explain the efforts.
THINNED, CLEARLY = (2, 3, 4, 5), 1.5


@dataclass(frozen=True)
class Effect:
    """Commands act `delay` after their stamp [s], ± `error` (two standard errors).

    `thinned`: the recorder kept every so many-th command, 1 for all of them.
    """

    delay: float
    error: float
    joints: int
    thinned: int = 1


@dataclass(frozen=True)
class LawData:
    """States at times (n,) [s], commands at times (m,): columns are joints."""

    time: FloatArray
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray
    command_time: FloatArray
    command: FloatArray
    command_velocity: FloatArray


def thickened(time: FloatArray, values: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Commands with `count` − 1 interpolated ones after each."""
    if count == 1 or len(time) < 2:
        return time, values
    at = np.interp(np.arange((len(time) - 1) * count + 1) / count, np.arange(len(time)), time)
    found = large_empty((len(at), values.shape[1]))
    for k, column in enumerate(values.T):
        found[:, k] = np.interp(at, time, column)
    let_go()
    return at, found


def effect_of_commands(motion: LawData) -> Effect | None:
    """The delay of commands against states; None: no law of the commands explains the efforts."""
    at = motion.command_time
    inside = (motion.time > at[0] + LATEST) & (motion.time < at[-1] + EARLIEST)
    rows = np.flatnonzero(inside)[:ENOUGH]
    if len(rows) < LEAST:
        return None
    windows = windows_of(motion.time[rows])
    grid = np.arange(EARLIEST, LATEST, COARSE)
    found, thinned = LawCosts(motion, rows[windows], 1), 1
    tried, coarse = grid, found.over(grid)
    centre = float(grid[int(np.argmin(np.log(coarse).sum(axis=(1, 2))))])
    near = np.arange(centre - NEAR, centre + NEAR, COARSE)
    least = float(np.log(found.over(near)).sum(axis=(1, 2)).min())
    least -= len(windows) * motion.command.shape[1] * np.log(CLEARLY)
    is_explained = float(np.median(coarse.min(axis=0))) < WELL
    for count in () if is_explained else THINNED:
        other = LawCosts(motion, rows[windows], count)
        left = other.over(near)
        sums = np.log(left).sum(axis=(1, 2))
        if sums.min() < least:
            found, thinned, least = other, count, float(sums.min())
            tried, coarse = near, left
            centre = float(near[int(np.argmin(sums))])
    telling = coarse.min(axis=0) < 1.0 - EXPLAINED
    if not telling.any():
        return None
    grid = np.arange(centre - 5 * COARSE, centre + 5 * COARSE, FINE)
    fine = np.log(found.over(grid))
    fine[:, ~telling] = 0.0
    delay, flat = _least(grid, fine.sum(axis=(1, 2)))
    parts = [fine[:, w].sum(axis=1) for w in range(len(windows)) if telling[w].any()]
    each = np.array([_least(grid, part)[0] for part in parts])
    spread = 1.4826 * float(np.median(np.abs(each - np.median(each))))
    error = 2.0 * 1.2533 * spread / np.sqrt(len(each)) if len(each) > 2 else COARSE
    apart = _apart(delay, tried, coarse, telling)
    error = max(float(error), apart)
    return Effect(delay, max(error, flat, FINE), int(telling.any(axis=0).sum()), thinned)


def _apart(
    delay: float, grid: FloatArray, left: FloatArray, telling: npt.NDArray[np.bool_]
) -> float:
    """How far windows disagree about the delay; 0: most of them agree."""
    sums = np.where(telling, np.log(left), 0.0).sum(axis=2)
    found = grid[np.argmin(sums, axis=0)][telling.any(axis=1)]
    off = np.abs(found - delay)
    return float(off.max()) if (off > FAR).mean() > 0.25 else 0.0


def windows_of(time: FloatArray) -> Rows:
    """(windows, samples) rows of about a second each."""
    number = ((time - time[0]) / WINDOW).astype(np.intp)
    parts = [np.flatnonzero(number == k) for k in np.unique(number)]
    parts = [part for part in parts if len(part) >= LEAST] or [np.arange(len(time))]
    size = min(len(part) for part in parts)
    return np.array([part[:size] for part in parts], dtype=np.intp)


class LawCosts:
    """What laws of the commands leave of the efforts, by delay.

    Args:
        used: (windows, samples) rows of the states.
        thinned: the recorder kept every so many-th command.
    """

    def __init__(
        self,
        motion: LawData,
        used: Rows,
        thinned: int,
    ) -> None:
        at = motion.command_time
        self._at, self._command = thickened(at, motion.command, thinned)
        _, self._speed = thickened(at, motion.command_velocity, thinned)
        self._time = motion.time[used]
        self._states = (motion.position[used], motion.velocity[used], motion.effort[used])

    def over(self, grid: FloatArray) -> FloatArray:
        """(delays, windows, joints): shares of the efforts' variance."""
        return np.array([self._left(delay) for delay in grid])

    def _left(self, delay: float) -> FloatArray:
        position, velocity, effort = self._states
        held = np.searchsorted(self._at, self._time - delay, side="right") - 1
        error = self._command[held] - position
        columns = np.stack([error, self._speed[held] - velocity, np.ones_like(error)])
        return _unexplained(columns, effort)


def _unexplained(columns: FloatArray, effort: FloatArray) -> FloatArray:
    """Shares (windows, joints) of the efforts' variance that (3, windows, n, joints) leave."""
    square = np.empty((*effort.shape[::2], 3, 3))
    for a in range(3):
        for b in range(a, 3):
            square[..., a, b] = square[..., b, a] = (columns[a] * columns[b]).sum(axis=1)
    right = np.stack([(column * effort).sum(axis=1) for column in columns], axis=-1)
    ridge = 1e-9 * np.einsum("...aa->...a", square) + 1e-12
    square = square + ridge[..., None] * np.eye(3)
    gains = np.linalg.solve(square, right[..., None])[..., 0]
    left = effort - sum(columns[a] * gains[:, None, :, a] for a in range(3))
    total = ((effort - effort.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    share = (left**2).sum(axis=1) / np.where(total > 0.0, total, 1.0)
    return np.asarray(np.where(total > 0.0, np.maximum(share, 1e-12), 1.0))


def _least(grid: FloatArray, cost: FloatArray) -> tuple[float, float]:
    """Where a curve has its least value, and half the width over which it has it.

    Commands and states that keep step with each other leave a range of delays equally good.
    """
    k = int(np.argmin(cost))
    same = cost - cost[k] <= 1e-9 * (1.0 + abs(float(cost[k])))
    first = k - int(np.argmin(same[k::-1])) + 1 if not same[: k + 1].all() else 0
    last = k + int(np.argmin(same[k:])) - 1 if not same[k:].all() else len(cost) - 1
    if last > first:
        return float(grid[first] + grid[last]) / 2.0, float(grid[last] - grid[first]) / 2.0
    k = int(np.clip(k, 1, len(cost) - 2))
    before, here, after = cost[k - 1 : k + 2]
    bend = before - 2.0 * here + after
    shift = 0.5 * (before - after) / bend if bend > 0.0 else 0.0
    return float(grid[k] + np.clip(shift, -1.0, 1.0) * (grid[1] - grid[0])), 0.0
