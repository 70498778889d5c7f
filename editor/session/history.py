"""Time travel: snapshots of the last minute, from each of which the world resumes bit-exactly."""

from bisect import bisect_right
from collections import deque

from mjrig.sim.world import Snapshot, World

#: How far back [s of simulated time], and how finely.
REACH = 60.0
INTERVAL = 1.0 / 30.0
_EPSILON = 1e-9


class History:
    """Kept states, oldest first; going back drops what came after once the world steps on."""

    def __init__(self, reach: float = REACH, interval: float = INTERVAL) -> None:
        self._reach, self._interval = reach, interval
        self._kept: deque[tuple[float, Snapshot]] = deque()

    def note(self, world: World) -> None:
        """Keep the present state if one is due; call before a step."""
        now = world.time
        kept = self._kept
        while kept and kept[-1][0] > now + _EPSILON:  # the world was rewound and resumes from there
            kept.pop()
        if kept and now - kept[-1][0] < self._interval - _EPSILON:
            return
        kept.append((now, world.snapshot()))
        while kept and now - kept[0][0] > self._reach:
            kept.popleft()

    def at(self, moment: float) -> Snapshot | None:
        """The latest kept state at or before a time, the oldest if all are later."""
        if not self._kept:
            return None
        times = [t for t, _ in self._kept]
        return self._kept[max(bisect_right(times, moment + _EPSILON) - 1, 0)][1]

    def reach(self, now: float) -> tuple[float, float]:
        """Times of the oldest and the newest state that can be restored."""
        if not self._kept:
            return (now, now)
        return (self._kept[0][0], max(now, self._kept[-1][0]))

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()
