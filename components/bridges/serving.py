"""Serving: a world in real time, with its bridges open."""

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mjrig.components.bridges.bridge import Bridge
from mjrig.core.errors import MjrigError
from mjrig.core.processes.realtime_priority import Priority, Punctual
from mjrig.core.sim.world import World

#: How far the world may lag behind the clock before the lag is dropped [s].
LAG = 0.1
#: How many times faster than the clock it is made up for.
HURRY = 4.0
#: A world that drops so many lags in this time [s] is too slow for the clock.
LAGS, SLOW = 5, 2.0
#: How long a bridge in lock step waits for a request [s]: clients of other bridges wait as well.
ALONE, SHARED = 0.05, 0.002


class NothingToServe(MjrigError, ValueError):
    """A scene has no bridge."""


@dataclass
class PaceKept:
    """How well the clock was kept."""

    steps: int = 0
    #: Steps that began more than a millisecond late.
    late: int = 0
    #: Times the lag was dropped, because the machine is too slow.
    dropped: int = 0


def bridges_of(world: World) -> list[Bridge]:
    """The bridges of all actors."""
    robots = world.articulations.values()
    return [c for r in robots for c in r.components if isinstance(c, Bridge) and c.enabled]


class Sender(Protocol):
    """What sends after every so many steps: a bridge, or a stream."""

    @property
    def every(self) -> int: ...
    def send(self) -> None: ...


class Outgoing:
    """Sends the states of bridges when they are due."""

    def __init__(self, bridges: Sequence[Sender]) -> None:
        self._due = [(bridge.every, bridge) for bridge in bridges]
        #: At steps that are no multiple of it nothing is due.
        self.stride = math.gcd(*(every for every, _ in self._due)) or 1
        #: Sends what is due after a multiple of `stride` steps.
        self.send = self._only if len(self._due) == 1 else self._all

    def _only(self, steps: int) -> None:
        self._due[0][1].send()

    def _all(self, steps: int) -> None:
        for every, bridge in self._due:
            if steps % every == 0:
                bridge.send()


class Serving:
    """Opens the bridges of a world, and runs it in real time; also a context manager.

    Args:
        also: what sends besides the bridges.
        punctual: the priority of the thread that calls this; whoever asked for it gives it back.

    Raises:
        NothingToServe: there is no bridge in the scene.
        MjrigError: a bridge cannot listen; then none does.
    """

    def __init__(
        self,
        world: World,
        *,
        speed: float = 1.0,
        also: Sequence[Sender] = (),
        punctual: Punctual | None = None,
    ) -> None:
        self._world, self._speed = world, speed
        self.bridges: Sequence[Bridge] = bridges_of(world)
        self.pace = PaceKept()
        self._stepped = 0.0
        self._lags: deque[float] = deque(maxlen=LAGS)
        self._was_locked = False
        if not self.bridges:
            raise NothingToServe(
                "no actor has a bridge; add a SocketBridge, UnitreeBridge or RosBridge "
                "to its components"
            )
        self.punctual = punctual or Punctual(Priority.NORMAL)
        try:
            for bridge in self.bridges:
                bridge.open(self)
        except BaseException:
            self.close()
            raise
        self._out = Outgoing([*self.bridges, *also])

    @property
    def world(self) -> World:
        """The world."""
        return self._world

    def advance(self, steps: int) -> int:
        """Take steps; every bridge sends its states after each."""
        world, out = self._world, self._out
        for done in range(steps):
            if not world.step():
                return done
            if not world.steps % out.stride:
                out.send(world.steps)
        return steps

    def reset(self, keyframe: str | None) -> None:
        """Reset the world.

        Raises:
            BindingError: no actor has a keyframe of that name.
        """
        self._world.reset(keyframe)

    def run(
        self, duration: float | None = None, each_second: Callable[[], object] | None = None
    ) -> None:
        """Run in real time, for so many seconds of the clock; None: until interrupted."""
        began = due = said = time.perf_counter()
        period = self._world.timestep / self._speed
        attending = [b for b in self.bridges if type(b).attend is not Bridge.attend]
        wait = ALONE if len(attending) == 1 else SHARED
        while duration is None or due - began < duration:
            locked = any([bridge.attend(wait) for bridge in attending])
            if locked is not self._was_locked:  # then the client keeps the clock, not the world
                self._was_locked = locked
                self.punctual.pause(locked)
            due = time.perf_counter() if locked else self._tick(due, period)
            if each_second is not None and due - said >= 1.0:
                said = due
                each_second()

    def _tick(self, due: float, period: float) -> float:
        """One step at its time; returns when the next one is due.

        Times are absolute, so that the clock is kept. A lag is made up for without a burst of
        states, which clients would miss.
        """
        now, begin = time.perf_counter(), max(due, self._stepped + period / HURRY)
        if now < begin:
            time.sleep(begin - now)
            now = time.perf_counter()
        if now - due > 0.001:
            self.pace.late += 1
            if now - due > LAG:
                self._drop_lag(now)
                due = now
        self._stepped = now
        self.pace.steps += self.advance(1)
        return due + period

    def _drop_lag(self, now: float) -> None:
        """Count it; a world that is too slow never sleeps, and must not take a core for itself."""
        self.pace.dropped += 1
        self._lags.append(now)
        if self.punctual.is_granted and len(self._lags) == LAGS and now - self._lags[0] < SLOW:
            self.punctual.end("the world is too slow for the clock")
            robot = self.bridges[0].robot
            robot.report("bridge", "the world is too slow for the clock; it has normal priority")

    def close(self) -> None:
        """Close the bridges; the world stays."""
        for bridge in self.bridges:
            bridge.close()

    def __enter__(self) -> "Serving":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
