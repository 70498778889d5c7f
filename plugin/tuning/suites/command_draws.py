"""Commands of a bench's episodes: schedules drawn by task and seed, within a policy's ranges."""

from itertools import product
from zlib import crc32

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.policy import CommandSpace
from mjrig.tuning.suites.suite import BenchTask, CommandKind

Schedule = list[tuple[float, list[float]]]
#: Time between two commands of steps and flips [s].
HOLD = 2.0
#: Points per value of the grid; values from the fourth on stay at zero.
GRID = (5, 3, 3)
#: Values whose lowest and highest command is unknown are commanded up to this.
UNKNOWN = 0.5


def schedule(task: BenchTask, space: CommandSpace, seed: int) -> Schedule:
    """The commands of an episode as shares of the ranges, drawn without regard to the policy."""
    size = int(space.default.size)
    return [
        (time, _command(shares, space, task.speed).tolist() if size else [])
        for time, shares in _shares(task, seed)
    ]


def _shares(task: BenchTask, seed: int) -> list[tuple[float, FloatArray]]:
    """Times and shares: −1 is the lowest command, 1 the highest."""
    kind = task.command
    if kind is CommandKind.STAND:
        return [(0.0, np.zeros(3))]
    if kind is CommandKind.FORWARD:
        return [(0.0, np.array([1.0, 0.0, 0.0]))]
    points = np.array(list(product(*(np.linspace(-1.0, 1.0, n) for n in GRID))))
    # A fixed order of all points, so that consecutive seeds cover the whole grid.
    order = np.random.default_rng(crc32(task.name.encode())).permutation(len(points))
    if kind is CommandKind.GRID:
        return [(0.0, points[order[seed % len(points)]])]
    random = np.random.default_rng((seed, crc32(task.name.encode())))
    times = np.arange(0.0, task.duration, HOLD).tolist()
    if kind is CommandKind.STEPS:
        return [(time, points[random.integers(len(points))]) for time in times]
    axis, sign = random.integers(3), random.choice((-1.0, 1.0))
    flips = [(time, sign * (-1.0) ** k * np.eye(3)[axis]) for k, time in enumerate(times)]
    return [*flips[:-1], (times[-1], np.zeros(3))] if len(flips) > 1 else flips


def _command(shares: FloatArray, space: CommandSpace, speed: float) -> FloatArray:
    """Values between the ends of the ranges; 0 is 0, or the end closest to it."""
    found = np.zeros(space.default.size)
    velocities = velocity_columns(space)
    for share, column in zip(shares, velocities, strict=False):
        low, high = space.ranges[column] if space.ranges.size else (-UNKNOWN, UNKNOWN)
        found[column] = speed * (high if share > 0.0 else -low) * share
        found[column] = np.clip(found[column], low, high)
    others = [i for i in range(found.size) if i not in velocities]
    found[others] = space.default[others]
    return found


def velocity_columns(space: CommandSpace) -> list[int]:
    """Where vx, vy and the yaw rate stand in a command; empty: it has no velocities."""
    names = [name.lower() for name in space.names]
    spelled = (
        ("vx", "lin_vel_x", "x"),
        ("vy", "lin_vel_y", "y"),
        ("wz", "yaw", "yaw_rate", "ang_vel_z", "vyaw"),
    )
    found = [next((names.index(w) for w in words if w in names), -1) for words in spelled]
    if -1 not in found:
        return found
    return [0, 1, 2] if space.default.size == 3 and not names else []
