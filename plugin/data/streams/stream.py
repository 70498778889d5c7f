"""Stream: samples of a running world on their way to a sink; it never makes the world wait."""

import threading
from contextlib import suppress
from queue import Full, Queue
from typing import Self

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.sampler import FIELDS, Sampler
from mjrig.core.sim.world import World
from mjrig.data.streams.sinks import Sink

#: Samples per simulated second [Hz].
RATE = 100.0
#: Samples that wait for the sink; more are dropped.
WAITING = 256
#: How long the end waits for the sink [s].
PATIENCE = 5.0
_Sample = tuple[str, tuple[str, ...], float, FloatArray]


class Stream:
    """Samples setpoints, states and efforts of all robots, and has a thread send them.

    Also a context manager. `dropped` counts the samples for which the sink was too slow.
    """

    def __init__(self, world: World, sink: Sink) -> None:
        self.sink = sink
        self.dropped = 0
        #: Why nothing is sent any more; empty: it is.
        self.problem = ""
        self._queue: Queue[_Sample | None] = Queue(WAITING)
        self.follow(world)
        self._thread = threading.Thread(target=self._forward, name="mjrig-stream", daemon=True)
        self._thread.start()

    def follow(self, world: World) -> None:
        """Sample this world from now on."""
        self._world = world
        #: Physics steps from one sample to the next.
        self.every = max(1, round(1.0 / (RATE * world.timestep)))
        self._robots = [_Robot(r) for r in world.articulations.values() if r.actuators]

    def send(self) -> None:
        """Sample the robots now; call it between steps, `every` steps or more apart."""
        for robot in self._robots:
            try:
                self._queue.put_nowait(robot.sample(self._world.time))
            except Full:
                self.dropped += 1

    def _forward(self) -> None:
        while (sample := self._queue.get()) is not None:
            if self.problem:
                continue
            name, names, time, values = sample
            try:
                signals = dict(zip((*FIELDS, "velocity"), values, strict=True))
                self.sink.put(name, names, time, signals)
            except Exception as error:  # a viewer that went away must not end the run
                self.problem = f"{type(error).__name__}: {error}"

    def close(self) -> None:
        """Send what waits and close the sink; one that takes nothing any more is left behind."""
        with suppress(Full):
            self._queue.put(None, timeout=PATIENCE)
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            self.problem = f"a sink that took nothing for {PATIENCE:g} s"
        else:
            self.sink.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def summary(self) -> str:
        """How it went, in one line."""
        lost = f", {self.dropped} samples dropped" if self.dropped else ""
        ended = f", ended by {self.problem}" if self.problem else ""
        return f"stream to {self.sink.address}{lost}{ended}"


class _Robot:
    """What is read from one robot."""

    def __init__(self, robot: Articulation) -> None:
        self._robot, self._name, self._data = robot, robot.name, robot.data
        self._prepare()

    def _prepare(self) -> None:
        self._bindings = self._robot.bindings
        servos = [s.binding for s in self._robot.servos]
        self._sampler = Sampler(self._robot, [*self._bindings, *servos])

    def sample(self, time: float) -> _Sample:
        if self._robot.bindings is not self._bindings:  # a controller came, went or was rebound
            self._prepare()
        values = np.empty((len(FIELDS) + 1, len(self._sampler.names)))
        self._sampler.read(values[: len(FIELDS)])
        values[-1] = self._sampler.velocity(self._data.qvel, self._data.actuator_velocity)
        return self._name, self._sampler.names, time, values
