"""Simulation: the world behind the window, edited between steps and read as snapshots.

`Simulation` has no thread: the code that steps the world calls `drain` and `publish` (a
script's own loop does). `SimThread` does it on a separate thread, in real time. `History`
keeps snapshots of the last minute; the world resumes bit-exactly from each of them.
"""

import logging
import threading
import time
import traceback
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, TypeVar

from mjrig.core.control.finite_guard import KEPT, Event
from mjrig.core.properties.registry import described
from mjrig.core.sim.world import Snapshot, World
from mjrig.editor.session.signals import Signals
from mjrig.editor.session.world_frame import WorldFrame, frame_of
from mjrig.editor.text import tr

# History ------------------------------------------------------------------------------------------
# Time travel: snapshots of the last minute, from each of which the world resumes bit-exactly.


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


# Simulation ---------------------------------------------------------------------------------------
# Simulation: the world behind the window, edited between steps and seen as snapshots.
#
# `Simulation` has no thread: the code that steps the world calls `drain` and `publish` (a script's
# own loop does). `sim_thread.SimThread` does it on a thread, in real time.


_logger = logging.getLogger("mjrig")
T = TypeVar("T")


@dataclass
class SentCall:
    """A function to run between steps, and its result."""

    run: Callable[[World], Any]
    done: threading.Event | None = None
    result: Any = None
    error: BaseException | None = None


@dataclass
class Fault:
    """Why the simulation stopped."""

    text: str
    traceback: str = ""
    joint: str = ""
    time: float = 0.0


class Simulation:
    """Owns a world for the window; commands are applied between steps, in order."""

    #: Whether another world may take the place of this one.
    can_replace = True

    def __init__(self, world: World) -> None:
        self._world = world
        self._calls: SimpleQueue[SentCall] = SimpleQueue()
        self._latest: dict[str, Callable[[World], Any]] = {}
        self._lock = threading.Lock()
        self._generation = 0
        self._playing = False
        self._speed = 1.0
        self._factor = 0.0
        self._events_seen = self._event_count()
        self._events: deque[Event] = deque(maxlen=KEPT)
        self._drivers: tuple[Callable[[World], bool], ...] = ()
        #: Called with a world that is about to be replaced, on the thread that steps it.
        self.on_leave: list[Callable[[World], None]] = []
        self.fault: Fault | None = None
        self.history = History()
        self.signals = Signals()
        self.signals.bind(world)
        self.frame = self._make_frame()

    # Commands, from the window ------------------------------------------------------------------

    def call(self, run: Callable[[World], T]) -> T:
        """Run a function between steps and wait for what it returns or raises."""
        call = SentCall(run, threading.Event())
        self._calls.put(call)
        self._wait(call)
        if call.error is not None:
            raise call.error
        result: T = call.result
        return result

    def post(self, run: Callable[[World], Any]) -> None:
        """Run a function between steps, exactly once, without waiting."""
        self._calls.put(SentCall(run))

    def put(self, key: str, run: Callable[[World], Any]) -> None:
        """Run a function between steps; of those with one key only the latest runs."""
        with self._lock:
            self._latest[key] = run

    def drive(self, driver: Callable[[World], bool]) -> None:
        """Call a function before every step until it returns False, to command actuators."""
        with self._lock:
            self._drivers = (*self._drivers, driver)

    def _wait(self, call: SentCall) -> None:
        """Without a thread the caller steps: do it now."""
        self.drain()

    # The side that steps ------------------------------------------------------------------------

    @property
    def world(self) -> World:
        """The world; only for the thread that steps it."""
        return self._world

    def drain(self) -> None:
        """Apply what was sent since the last time."""
        with self._lock:
            latest, self._latest = self._latest, {}
        for run in latest.values():
            self._run(SentCall(run))
        while not self._calls.empty():
            self._run(self._calls.get())

    def _run(self, call: SentCall) -> None:
        try:
            call.result = call.run(self._world)
        except BaseException as error:
            call.error = error
            if call.done is None:
                _logger.exception(tr("an edit failed"))
        if call.done is not None:
            call.done.set()

    def advance(self, steps: int) -> None:
        """Step the world, one by one while signals are watched, and keep history."""
        world = self._world
        for _ in range(steps):
            self.history.note(world)
            if self._drivers:
                self._run_drivers(world)
            world.step()
            if self._event_count() != self._events_seen and self._look_at_events():
                return  # its clock restarted: a sample would erase the ones before the divergence
            self.signals.sample(world)

    def _run_drivers(self, world: World) -> None:
        done = [driver for driver in self._drivers if not driver(world)]
        if done:
            with self._lock:
                self._drivers = tuple(d for d in self._drivers if d not in done)

    def _event_count(self) -> int:
        return self._world.event_count

    def _look_at_events(self) -> bool:
        """Keep what happened since the last time; whether the world diverged, which stops it."""
        new = self._event_count() - self._events_seen
        self._events_seen = self._event_count()
        diverged = False
        for event in self._world.events[-new:]:
            self._events.append(event)
            if event.kind == "diverged":
                diverged, self._playing = True, False
                self.fault = Fault(str(event), joint=event.joint, time=event.time)
        return diverged

    def take_events(self) -> list[Event]:
        """What happened in the world since this was asked last; each event is given once."""
        taken: list[Event] = []
        while self._events:
            taken.append(self._events.popleft())
        return taken

    def publish(self) -> None:
        """Make the present state visible to the window."""
        self.frame = self._make_frame()

    def _make_frame(self) -> WorldFrame:
        reach = self.history.reach(self._world.time)
        return frame_of(self._world, self._generation, self._playing, self._factor, reach)

    # Play and time ------------------------------------------------------------------------------

    @property
    def generation(self) -> int:
        """Grows with every world that is put in place of another."""
        return self._generation

    @property
    def playing(self) -> bool:
        """Whether it runs."""
        return self._playing

    @property
    def speed(self) -> float:
        """Simulated seconds per second; infinite: as fast as possible."""
        return self._speed

    def play(self) -> None:
        """Run; clears the reason of an earlier stop."""
        self.fault = None
        self._playing = True

    def pause(self) -> None:
        """Stop stepping."""
        self._playing = False

    def set_speed(self, speed: float) -> None:
        """Change the speed.

        Raises:
            ValueError: it is not positive.
        """
        if not speed > 0.0:
            raise ValueError(tr("the speed must be > 0, got {speed:g}", speed=speed))
        self._speed = speed

    def step_once(self, steps: int = 1) -> None:
        """Take steps while paused."""
        self.pause()

        def run(world: World) -> None:
            self.advance(steps)
            self.publish()

        self.call(run)

    def reset(self, keyframe: str | None = None) -> None:
        """Back to the start, or to a keyframe."""

        def run(world: World) -> None:
            world.reset(keyframe)
            self._events_seen = self._event_count()
            self.history.clear()
            self.signals.clear()
            self.fault = None
            self.publish()

        self.call(run)

    def go_to(self, moment: float) -> float:
        """Pause and return to the kept state at or before a time; the future from there is exact.

        Returns:
            The time it went to.
        """
        self.pause()

        def run(world: World) -> float:
            snapshot = self.history.at(moment)
            if snapshot is not None:
                world.restore(snapshot)
            self.publish()
            return world.time

        return self.call(run)

    def replace(self, world: World, carry: Callable[[World, World], None]) -> None:
        """Put another world in place of this one.

        Args:
            world: the new one.
            carry: called with the old and the new world between steps, to carry the state over.
        """

        def run(old: World) -> None:
            for leave in self.on_leave:
                leave(old)
            carry(old, world)
            self._world = world
            self._generation += 1
            self._events_seen = self._event_count()
            self.history.clear()
            self.signals.bind(world)
            self.fault = None  # it belonged to the old world, which is gone
            self.publish()

        self.call(run)


# Sim thread ---------------------------------------------------------------------------------------


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
