"""The world behind the window: stepped in one place, edited between steps, seen as snapshots.

`Simulation` has no thread: whoever steps the world calls `drain` and `publish` (a script's own
loop does). `SimThread` does it by itself, in real time.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, TypeVar

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.control.articulation import Articulation
from mjrig.control.events import KEPT, Event
from mjrig.control.policy import PolicyComponent
from mjrig.editor.session.history import History
from mjrig.editor.session.signals import Signals
from mjrig.sim.world import World

_logger = logging.getLogger("mjrig")
T = TypeVar("T")

#: Longest stretch of stepping between two looks at the commands [s of wall time].
BURST = 0.004
#: Time between two snapshots for the window, which draws no faster [s].
PUBLISHED_EVERY = 1.0 / 60.0
#: How far the simulation may fall behind before the lost time is given up [s].
LAG = 0.1
AS_FAST_AS_POSSIBLE = float("inf")
STATE = mujoco.mjtState.mjSTATE_INTEGRATION


@dataclass(frozen=True)
class PolicyFrame:
    """What the window shows of a policy, as of its last tick; arrays are own copies."""

    label: str
    ticks: int
    rate: float
    command: FloatArray
    observation: npt.NDArray[np.float32]
    action: npt.NDArray[np.float32]


@dataclass(frozen=True)
class RobotFrame:
    """What the window shows of one articulation; arrays are own copies."""

    effort: FloatArray
    raw_effort: FloatArray
    applied_effort: FloatArray
    setpoint: FloatArray
    position: FloatArray
    velocity: FloatArray
    source: str
    holders: tuple[str, ...]
    held: str
    policy: PolicyFrame | None = None


@dataclass(frozen=True)
class Frame:
    """A snapshot of the world for the window: latest wins."""

    generation: int
    time: float
    steps: int
    state: FloatArray
    playing: bool
    real_time_factor: float
    robots: Mapping[str, RobotFrame]
    events: int
    #: Times of the oldest and newest state the history can return to.
    reach: tuple[float, float]


@dataclass
class _Call:
    """A function to run between steps, and the way back of its result."""

    run: Callable[[World], Any]
    done: threading.Event | None = None
    result: Any = None
    error: BaseException | None = None


@dataclass
class Fault:
    """Why the simulation stopped by itself."""

    text: str
    traceback: str = ""
    joint: str = ""
    time: float = 0.0


class Simulation:
    """Owns a world for the window; commands are applied between steps, in order."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._calls: SimpleQueue[_Call] = SimpleQueue()
        self._latest: dict[str, Callable[[World], Any]] = {}
        self._lock = threading.Lock()
        self._generation = 0
        self._playing = False
        self._speed = 1.0
        self._factor = 0.0
        self._events_seen = self._event_count()
        self._events: deque[Event] = deque(maxlen=KEPT)
        self._drivers: tuple[Callable[[World], bool], ...] = ()
        #: Called with a world that is about to be replaced, by whoever steps it.
        self.on_leave: list[Callable[[World], None]] = []
        self.fault: Fault | None = None
        self.history = History()
        self.signals = Signals()
        self.signals.bind(world)
        self.frame = self._make_frame()

    # Commands, from the window ------------------------------------------------------------------

    def call(self, run: Callable[[World], T]) -> T:
        """Run a function between steps and wait for what it returns or raises."""
        call = _Call(run, threading.Event())
        self._calls.put(call)
        self._wait(call)
        if call.error is not None:
            raise call.error
        result: T = call.result
        return result

    def post(self, run: Callable[[World], Any]) -> None:
        """Run a function between steps, exactly once, without waiting."""
        self._calls.put(_Call(run))

    def put(self, key: str, run: Callable[[World], Any]) -> None:
        """Run a function between steps; of those with one key only the latest runs."""
        with self._lock:
            self._latest[key] = run

    def drive(self, driver: Callable[[World], bool]) -> None:
        """Call a function before every step until it returns False, to command actuators."""
        with self._lock:
            self._drivers = (*self._drivers, driver)

    def _wait(self, call: _Call) -> None:
        """Without a thread, the caller is the one who steps: do it now."""
        self.drain()

    # The side that steps ------------------------------------------------------------------------

    @property
    def world(self) -> World:
        """The world; only for whoever steps it."""
        return self._world

    def drain(self) -> None:
        """Apply what was sent since the last time."""
        with self._lock:
            latest, self._latest = self._latest, {}
        for run in latest.values():
            self._run(_Call(run))
        while not self._calls.empty():
            self._run(self._calls.get())

    def _run(self, call: _Call) -> None:
        try:
            call.result = call.run(self._world)
        except BaseException as error:
            call.error = error
            if call.done is None:
                _logger.exception("an edit failed")
        if call.done is not None:
            call.done.set()

    def advance(self, steps: int) -> None:
        """Step the world, one by one where somebody watches a signal, and keep history."""
        world = self._world
        for _ in range(steps):
            self.history.note(world)
            if self._drivers:
                self._run_drivers(world)
            world.step()
            if self._event_count() != self._events_seen and self._look_at_events():
                return  # its clock began anew: a sample would wipe out the way that led here
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

    def _make_frame(self) -> Frame:
        world = self._world
        state = np.empty(mujoco.mj_stateSize(world.model, STATE))
        mujoco.mj_getState(world.model, world.data, state, STATE)
        robots = {
            name: RobotFrame(
                robot.effort,
                robot.raw_effort,
                robot.applied_effort,
                robot.setpoints.values.copy(),
                robot.position,
                robot.velocity,
                robot.source.name,
                tuple(lease.holder for lease in robot.setpoints.leases),
                robot.held,
                _policy_frame(robot, world.timestep),
            )
            for name, robot in world.articulations.items()
        }
        return Frame(
            self._generation,
            world.time,
            world.steps,
            state,
            self._playing,
            self._factor,
            robots,
            world.event_count,
            self.history.reach(world.time),
        )

    # Play and time ------------------------------------------------------------------------------

    @property
    def generation(self) -> int:
        """Grows with every world that is put in place of another."""
        return self._generation

    @property
    def playing(self) -> bool:
        """Whether it steps by itself."""
        return self._playing

    @property
    def speed(self) -> float:
        """Simulated seconds per second; infinite: as fast as possible."""
        return self._speed

    def play(self) -> None:
        """Go on; forgets why it stopped."""
        self.fault = None
        self._playing = True

    def pause(self) -> None:
        """Stop stepping."""
        self._playing = False

    def set_speed(self, speed: float) -> None:
        """Change the pace.

        Raises:
            ValueError: it is not positive.
        """
        if not speed > 0.0:
            raise ValueError(f"the speed must be > 0, got {speed:g}")
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
            self.fault = None  # it was the old world's, and there is no way back to that
            self.publish()

        self.call(run)


def _policy_frame(robot: Articulation, timestep: float) -> PolicyFrame | None:
    for policy in robot.components:
        if isinstance(policy, PolicyComponent):
            return PolicyFrame(
                policy.label,
                policy.ticks,
                1.0 / (policy.tick_steps * timestep),
                np.array(policy.command_now),
                policy.observation.copy(),
                policy.action.copy(),
            )
    return None


class SimThread(Simulation):
    """A simulation on a thread of its own, in real time."""

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

    def _wait(self, call: _Call) -> None:
        if not self._thread.is_alive():
            self.drain()
            return
        self._wake.set()
        assert call.done is not None
        while not call.done.wait(0.1):
            if not self._thread.is_alive():
                raise RuntimeError("the simulation thread ended")

    def play(self) -> None:
        super().play()
        self._wake.set()

    def _loop(self) -> None:
        clock, due = _Clock(), 0.0
        while not self._stopping.is_set():
            self.drain()
            if not self._playing:
                clock.restart(self._world.time, self._speed)
                self.publish()
                self._wake.wait(0.01)
                self._wake.clear()
                continue
            self._burst(clock)
            now = time.perf_counter()
            if now >= due:
                due = now + PUBLISHED_EVERY
                self._factor = clock.factor(self._world.time)
                self.publish()

    def _burst(self, clock: "_Clock") -> None:
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
            self.fault = Fault(f"{type(error).__name__}: {error}", _trace(error))
            _logger.exception("the simulation stopped")
            return
        if self._playing:
            ahead = (self._world.time - clock.due()) / self._speed
            self._wake.wait(min(max(ahead, 0.0), 0.002))
            self._wake.clear()


def _trace(error: BaseException) -> str:
    import traceback

    return "".join(traceback.format_exception(error))


@dataclass
class _Clock:
    """Which simulated time is due now; lost time beyond LAG is given up."""

    wall: float = 0.0
    start: float = 0.0
    speed: float = 1.0
    _marks: deque[tuple[float, float]] = field(default_factory=deque)

    def restart(self, now: float, speed: float) -> None:
        self.wall, self.start, self.speed = time.perf_counter(), now, speed
        self._marks.clear()

    def due(self) -> float:
        if self.speed == AS_FAST_AS_POSSIBLE:
            return AS_FAST_AS_POSSIBLE
        return self.start + (time.perf_counter() - self.wall) * self.speed

    def follow(self, now: float, speed: float) -> None:
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
