"""DdsBridge: base class of the bridges that speak DDS, in a process of their own."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.bridges.bridge import Bridge, ServedWorld
from mjrig.components.bridges.dds.link import DdsLink, LocalLink
from mjrig.components.bridges.dds.wire import (
    COMMAND,
    FAILED,
    NOTE,
    REJECTED,
    numbers_of,
)
from mjrig.errors import MissingExtraError
from mjrig.properties.scalar_kinds import Float, Int, Text

#: Frames that are taken before one step; more wait for the next.
_MOST_FRAMES = 16


class DdsBridge(Bridge):
    """Publishes states and takes commands over DDS.

    DDS runs in a process of its own: it is started again where it ends, and the world goes on.
    """

    domain = Int(0, min=0, max=232, category="DDS", doc="DDS domain.")
    interface = Text(
        "lo",
        category="DDS",
        doc="Network interface, by name or address; the default is this machine only.",
    )
    rate = Float(
        500.0,
        min=0.0,
        above=True,
        max=10_000.0,
        unit="Hz",
        category="DDS",
        doc="Rate of the states.",
    )
    max_age = Float(
        0.5,
        min=0.0,
        unit="s",
        category="Safety",
        doc="Oldest command that is used, by its sender's clock; inf: any.",
    )
    imu = Text("imu", doc="Site of the inertial sensor; the base where there is none.")

    #: Which messages it speaks.
    wire = ""

    def prepare(self) -> None:
        super().prepare()
        self._link: DdsLink | LocalLink | None = None
        self._stage: ServedWorld | None = None
        self._every = 1

    def settings(self) -> Mapping[str, Any]:
        """Hook: what its wire needs to know, plain data."""
        return {}

    def all_settings(self) -> dict[str, Any]:
        """What the process needs to know."""
        return {
            "wire": self.wire,
            "domain": self.domain,
            "interface": self.interface,
            "max_age": self.max_age,
            **self.settings(),
        }

    def start(self, stage: ServedWorld) -> None:
        if self._link is None:  # else a test has put one there
            if find_spec("cyclonedds") is None:
                raise MissingExtraError(self.label, "bridge", "cyclonedds is not installed")
            self._link = DdsLink(self.all_settings(), self.label)
        self._stage = stage
        self._every = max(1, round(1.0 / (self.rate * stage.world.timestep)))

    def use_link(self, link: LocalLink) -> None:
        """Talk to a client in this process instead of DDS, from the next `open` on."""
        self._link = link

    def stop(self) -> None:
        if self._link is not None:
            self._link.close()
        self._link = self._stage = None

    @property
    def address(self) -> str:
        return f"DDS domain {self.domain} on {self.interface}"

    @property
    def link(self) -> DdsLink | LocalLink | None:
        """The process, while it is open."""
        return self._link

    def send(self) -> None:
        stage, link = self._stage, self._link
        if link is not None and stage is not None and stage.world.steps % self._every == 0:
            self._traffic.sent += link.send(self.state_values())

    def receive(self, time: float) -> None:
        link = self._link
        if link is None:
            return
        command = None
        for _ in range(_MOST_FRAMES):
            frame = link.receive()
            if frame is None:
                break
            kind = frame[:1]
            if kind == COMMAND:
                if command is not None:  # overtaken before a step could use it
                    self._traffic.accept(float(command[0]))
                command = numbers_of(frame)
            elif kind == REJECTED:
                self.reject(frame[1:].decode(errors="replace"))
            elif kind in (NOTE, FAILED):
                self.robot.report("bridge", f"{self.label}: {frame[1:].decode(errors='replace')}")
        if command is not None and self.take_over():
            self.use(command[1:])
            self.commanded(float(command[0]))

    def state_values(self) -> FloatArray:
        """Hook: the state as its wire expects it."""
        return np.zeros(0)

    def use(self, values: FloatArray) -> None:
        """Hook: use a valid command."""
