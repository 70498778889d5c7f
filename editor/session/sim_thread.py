"""SimThread: the simulation on a separate thread, in real time."""

import logging
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mjrig.editor.session.simulation import Fault, SentCall, Simulation
from mjrig.editor.texts.texts import tr
from mjrig.properties.user_code import described
from mjrig.sim.world import World

_logger = logging.getLogger("mjrig")
T = TypeVar("T")

#: Longest time of stepping before commands are processed again [s of wall time].
BURST = 0.004
#: Time between two snapshots for the window, which draws no faster [s].
PUBLISHED_EVERY = 1.0 / 60.0
#: Longest wait of a paused simulation, which commands end [s].
PAUSED_WAIT = 1.0
#: How far the simulation may lag behind real time before the lag is dropped [s].
LAG = 0.1
#: A speed.
AS_FAST_AS_POSSIBLE = float("inf")


@dataclass
class RealTimeClock:
    """The simulated time that is due now; a lag beyond LAG is dropped."""

    wall: float = 0.0
    start: float = 0.0
    speed: float = 1.0
    _marks: deque[tuple[float, float]] = field(default_factory=deque)

    def restart(self, now: float, speed: float) -> None:
        """Restart at a simulated time."""
        self.wall, self.start, self.speed = time.perf_counter(), now, speed
        self._marks.clear()

    def due(self) -> float:
        """The simulated time that is due now."""
        if self.speed == AS_FAST_AS_POSSIBLE:
            return AS_FAST_AS_POSSIBLE
        return self.start + (time.perf_counter() - self.wall) * self.speed

    def follow(self, now: float, speed: float) -> None:
        """Drop excess lag, and take a new speed."""
        late = self.due() - now
        if speed != self.speed or late > LAG * speed or late < -LAG * speed:
            marks = self._marks
            self.restart(now, speed)
            self._marks = marks

    def factor(self, now: float) -> float:
        """Simulated per wall time over the last second."""
        wall = time.perf_counter()
        if self._marks and now < self._marks[-1][1]:
            self._marks.clear()
        self._marks.append((wall, now))
        while self._marks and wall - self._marks[0][0] > 1.0:
            self._marks.popleft()
        began, was = self._marks[0]
        return (now - was) / (wall - began) if wall > began else 0.0


class SimThread(Simulation):
    """A simulation on a separate thread, in real time."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="mjrig-sim", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread; stopping twice is fine."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def call(self, run: Callable[[World], T]) -> T:
        if threading.current_thread() is self._thread:
            return run(self._world)
        return super().call(run)

    def _wait(self, call: SentCall) -> None:
        if not self._thread.is_alive():
            self.drain()
            return
        self._wake.set()
        assert call.done is not None
        while not call.done.wait(0.1):
            if not self._thread.is_alive():
                raise RuntimeError(tr("the simulation thread ended"))

    def play(self) -> None:
        super().play()
        self._wake.set()

    def post(self, run: Callable[[World], Any]) -> None:
        super().post(run)
        self._wake.set()

    def put(self, key: str, run: Callable[[World], Any]) -> None:
        super().put(key, run)
        self._wake.set()

    def _loop(self) -> None:
        clock, due = RealTimeClock(), 0.0
        while not self._stopping.is_set():
            self._wake.clear()  # before the drain: what is sent from now on ends the next wait
            self.drain()
            if not self._playing:
                clock.restart(self._world.time, self._speed)
                self.publish()
                self._wake.wait(PAUSED_WAIT)
                continue
            self._burst(clock)
            now = time.perf_counter()
            if now >= due:
                due = now + PUBLISHED_EVERY
                self._factor = clock.factor(self._world.time)
                self.publish()

    def _burst(self, clock: RealTimeClock) -> None:
        """Catch up with the wall clock, at most for the length of a burst."""
        clock.follow(self._world.time, self._speed)
        end = time.perf_counter() + BURST
        try:
            while self._playing and self._world.time < clock.due():
                self.advance(1)
                if time.perf_counter() > end:
                    return
        except Exception as error:
            self._playing = False
            self.fault = Fault(described(error), "".join(traceback.format_exception(error)))
            _logger.exception(tr("the simulation stopped"))
            return
        if self._playing:
            ahead = (self._world.time - clock.due()) / self._speed
            self._wake.wait(min(max(ahead, 0.0), 0.002))
            self._wake.clear()
