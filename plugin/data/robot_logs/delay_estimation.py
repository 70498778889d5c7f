"""Command delay of a log: the delay at which a PD law explains the recorded efforts best.

Clock offset and delay have the same effect on commands and states; only their sum can be
estimated. Gains may differ from window to window. A recorder may have kept only every k-th
command: then the efforts follow commands in between, and those are interpolated.

A delay is reported with the range of delays that explain the efforts about as well. With a slow
motion that may be the full range, because a law with another damping has the same effect.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray, large_empty, let_go

Rows = npt.NDArray[np.intp]
#: Delays that are tried [s].
EARLIEST, LATEST = -0.03, 0.15
COARSE, FINE = 0.001, 0.00025
#: A delay is possible if it leaves less than so many times what the best one leaves, of each joint.
ALIKE = 1.25
#: A range of delays wider than this is no estimate [s].
WIDEST = 0.015
#: Window in which gains are constant [s], and the least samples of one.
WINDOW, LEAST = 1.0, 40
#: The last sample is in the last window [s].
SLACK = 1e-9
#: So many samples are enough.
ENOUGH = 8000
#: Share of the effort that a law must explain for an estimate.
EXPLAINED = 0.8
#: A law that leaves less has all commands.
WELL = 0.002
#: A table that repeats more than this share of the commands has rows of its own rate.
REPEATED = 0.05
#: Commands per recorded one that are tried, and how much better one must explain the efforts.
THINNED, CLEARLY = (2, 3, 4, 5), 1.5


@dataclass(frozen=True)
class Effect:
    """Commands act `delay` after their stamp [s], ± `error`: the range of possible ones.

    `thinned`: the recorder kept every so many-th command, 1 for all of them. `rows`: commands have
    the stamps of the rows they were first seen in, so many delays apart [s]; 0: their own.
    `left`: what it leaves of the efforts, as a share.
    """

    delay: float
    error: float
    joints: int
    thinned: int = 1
    rows: float = 0.0
    left: float = 0.0


@dataclass(frozen=True)
class LawData:
    """States at times (n,) [s], commands at times (m,): columns are joints.

    `rows`: time between states whose stamps the commands have; 0: commands have their own [s].
    `is_complete`: no command is missing. `earlier`: all commands may be by up to this earlier [s].
    """

    time: FloatArray
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray
    command_time: FloatArray
    command: FloatArray
    command_velocity: FloatArray
    rows: float = 0.0
    is_complete: bool = False
    earlier: float = 0.0


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


def effect_of_commands(motion: LawData) -> Effect | str:
    """The delay of commands against states, or why it cannot be told."""
    at = motion.command_time
    inside = (motion.time > at[0] + LATEST) & (motion.time < at[-1] + EARLIEST)
    rows = np.flatnonzero(inside)[:ENOUGH]
    if len(rows) < LEAST:
        return f"there are {len(rows)} samples of states between commands"
    used = rows[windows_of(motion.time[rows])]
    grid = _delays(motion.rows)
    costs = LawCosts(motion, used, 1)
    left = costs.over(grid)
    thinned = 1
    if float(np.median(left.min(axis=0))) >= WELL and not _has_all(motion):
        thinned, costs, left = _thinned(motion, used, costs, grid, left)
    telling = left.min(axis=0) < 1.0 - EXPLAINED
    if not telling.any():
        return "no PD law of the commands explains the efforts"
    weights = np.where(telling, costs.totals, 0.0)
    found, possible = _possible(grid, left, weights)
    widest = max(WIDEST, 2.5 * motion.rows)
    if possible[0] == grid[0] or possible[1] == grid[-1] or np.ptp(possible) > widest:
        return (
            f"commands that act from {possible[0] * 1e3:.0f} to {possible[1] * 1e3:.0f} ms after "
            "their stamp explain the efforts about as well"
        )
    if not motion.rows:
        fine = np.arange(possible[0] - COARSE, possible[1] + COARSE + 0.5 * FINE, FINE)
        left = costs.over(fine)
        found, possible = _possible(fine, left, weights)
        possible = (possible[0] - FINE, possible[1] + FINE)
    centre = motion.rows / 2.0  # a delay of whole rows is the last of those that do the same
    low, high = possible[0] + centre - motion.rows, possible[1] + centre + motion.rows
    high += motion.earlier
    share = float((left * weights).sum(axis=(1, 2)).min() / weights.sum())
    joints = int(telling.any(axis=0).sum())
    if motion.rows:
        found = 0.5 * (low + high)
    error = max(high - found, found - low)
    return Effect(found, float(error), joints, thinned, motion.rows, share)


def _has_all(motion: LawData) -> bool:
    """Whether no command is missing: rows repeat those that come less often than rows."""
    if motion.is_complete:
        return True
    same = (np.diff(motion.command, axis=0) == 0.0).all(axis=1)
    return bool(motion.rows) and float(same.mean()) > REPEATED


def _delays(rows: float) -> FloatArray:
    """Delays to try; between whole rows, where commands have the stamps of rows."""
    if not rows:
        return np.arange(EARLIEST, LATEST, COARSE)
    return (np.arange(np.floor(EARLIEST / rows), np.ceil(LATEST / rows) + 1) - 0.5) * rows


def _thinned(
    motion: LawData, used: Rows, costs: "LawCosts", grid: FloatArray, left: FloatArray
) -> tuple[int, "LawCosts", FloatArray]:
    """How many commands there were for each recorded one, if that explains the efforts clearly."""
    least = float(np.log(left).sum(axis=(1, 2)).min())
    least -= left[0].size * np.log(CLEARLY)
    found = 1, costs, left
    for count in THINNED:
        other = LawCosts(motion, used, count)
        shares = other.over(grid)
        total = float(np.log(shares).sum(axis=(1, 2)).min())
        if total < least:
            found, least = (count, other, shares), total
    return found


def _possible(
    grid: FloatArray, left: FloatArray, weights: FloatArray
) -> tuple[float, tuple[float, float]]:
    """The likeliest delay, and the range that leaves about as little of the efforts of each joint.

    Where joints contradict each other the range is that of all of them.
    """
    squares = (left * weights).sum(axis=1)
    squares = squares[:, squares.sum(axis=0) > 0.0]
    ratio = squares / squares.min(axis=0)
    fits = ratio < ALIKE
    common = fits.all(axis=1)
    rows = np.flatnonzero(common if common.any() else fits.any(axis=1))
    sums = np.log(ratio).sum(axis=1)
    best = _least(grid, np.where(common, sums, np.inf) if common.any() else sums)
    low, high = float(grid[rows[0]]), float(grid[rows[-1]])
    return float(np.clip(best, low, high)), (low, high)


def windows_of(time: FloatArray) -> Rows:
    """(windows, samples) rows of about a second each."""
    lasts = float(time[-1] - time[0])
    count = max(round(lasts / WINDOW), 1)
    number = ((time - time[0]) / (lasts / count + SLACK)).astype(np.intp)
    parts = [np.flatnonzero(number == k) for k in np.unique(number)]
    # One with a gap in it would shorten all.
    least = max(LEAST, max(len(part) for part in parts) // 2)
    parts = [part for part in parts if len(part) >= least] or [np.arange(len(time))]
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
        effort = self._states[2]
        #: (windows, joints) squares of the efforts about their means.
        self.totals = ((effort - effort.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)

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


def _least(grid: FloatArray, cost: FloatArray) -> float:
    """Where a curve has its least value: between the points of its grid, or amid equal ones.

    Commands and states that keep step with each other leave a range of delays equally good.
    """
    k = int(np.argmin(cost))
    same = np.flatnonzero(cost - cost[k] <= 1e-9 * (1.0 + abs(float(cost[k]))))
    if len(same) > 1:
        return float(grid[same[0]] + grid[same[-1]]) / 2.0
    if not 0 < k < len(cost) - 1 or not np.isfinite(cost[k - 1 : k + 2]).all():
        return float(grid[k])
    before, here, after = cost[k - 1 : k + 2]
    bend = before - 2.0 * here + after
    shift = 0.5 * (before - after) / bend if bend > 0.0 else 0.0
    return float(grid[k] + np.clip(shift, -1.0, 1.0) * (grid[1] - grid[0]))
