"""DdsBridge: base class of the bridges that speak DDS, in a process of their own."""

from collections.abc import Mapping
from enum import StrEnum
from importlib.util import find_spec
from typing import Any

from mjrig.arrays import FloatArray
from mjrig.components.bridges.bridge import Bridge, ServedWorld
from mjrig.components.bridges.dds.link import DdsLink, LocalLink
from mjrig.components.bridges.dds.loopback import LOOPBACK
from mjrig.components.bridges.dds.wire import REJECTED, Wire
from mjrig.components.bridges.event_limits import reason_of
from mjrig.components.bridges.raw_state import RawState
from mjrig.errors import BindingError, MissingExtraError
from mjrig.properties.hooks import required
from mjrig.properties.scalar_kinds import Choice, Float, Int, Text
from mjrig.sim.world import World

#: Texts that are taken before one step; more wait for the next.
_MOST_TEXTS = 16


class SenderClock(StrEnum):
    """How the clocks of senders relate to the one of this machine."""

    ESTIMATED = "estimated"
    SHARED = "shared"


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
    max_age = Float(
        0.5,
        min=0.0,
        unit="s",
        category="Safety",
        doc="Oldest command that is used, by its sender's clock; inf: any.",
    )
    clock = Choice(
        SenderClock.ESTIMATED,
        category="Safety",
        doc="Senders' clocks for max_age: estimated corrects a constant offset of each, shared "
        "means that they have the time of this machine.",
    )
    imu = Text("imu", doc="Site of the inertial sensor; the base where there is none.")

    #: Which messages it speaks.
    wire = ""
    #: Numbers that it adds to the state of the robot.
    extra = 0
    #: What keeps it apart from another one, for people.
    apart = "another domain"

    def prepare(self) -> None:
        super().prepare()
        self._link: DdsLink | LocalLink | None = None
        self._raw: RawState | None = None
        self._adds = False

    def attach(self, articulation: Any) -> None:
        super().attach(articulation)
        self._raw = RawState(articulation, self.motors, self.imu, self.extra)

    def settings(self) -> Mapping[str, Any]:
        """Hook: what its wire needs to know besides, plain data and arrays."""
        return {}

    def all_settings(self) -> dict[str, Any]:
        """What the process needs to know."""
        return {
            "wire": self.wire,
            "domain": self.domain,
            "interface": self.interface,
            "max_age": self.max_age,
            "shared_clock": self.clock is SenderClock.SHARED,
            "reader": self.raw.reader,
            **self.settings(),
        }

    def start(self, stage: ServedWorld) -> None:
        if self._link is None:  # else a test has put one there
            if find_spec("cyclonedds") is None:
                raise MissingExtraError(self.label, "bridge", "cyclonedds is not installed")
            self._check_alone(stage.world)
            self._link = DdsLink(self.all_settings(), self.label, self.make_wire())

    def _check_alone(self, world: World) -> None:
        """One topic cannot command two robots.

        Raises:
            BindingError: another bridge takes the same commands.
        """
        topics = self.make_wire().subscriptions
        for other in (c for r in world.articulations.values() for c in r.components):
            if not isinstance(other, DdsBridge) or not other.is_open or other is self:
                continue
            theirs = other.make_wire().subscriptions
            both = [topic for topic in topics if topic in theirs]
            if both and other.address == self.address:
                raise BindingError(
                    f"{self.label}: {other.label} takes {both[0]} in {self.address} already, and "
                    f"a program could not tell them apart; give one {self.apart}"
                )

    def use_link(self, link: LocalLink) -> None:
        """Talk to a client in this process instead of DDS, from the next `open` on."""
        self._link = link

    def stop(self) -> None:
        if self._link is not None:
            self._link.close()
        self._link = None

    @property
    def address(self) -> str:
        return f"DDS domain {self.domain} on {self.interface}"

    def network_remark(self) -> str:
        if self.interface in LOOPBACK:
            return ""
        return (
            f"DDS on {self.interface} has neither tokens nor encryption: every program in that "
            "network can command this robot, and a real robot there gets the same messages"
        )

    @property
    def link(self) -> DdsLink | LocalLink | None:
        """The process, while it is open."""
        return self._link

    def send(self) -> None:
        link, raw = self._link, self._raw
        if link is None or raw is None:
            return
        if self._adds:
            self.add(raw.extra)
        link.send(raw.read())
        self._traffic.sent += 1

    def before_controls(self, time: float) -> None:
        # As the base class has it, without a call more: it runs at every step.
        link = self._link
        if link is None:
            return
        if link.has_commands() or link.texts:
            self._take_commands(link, time)
            self._take_texts(link)
        if time > self._deadline:
            self._lose()

    def _take_commands(self, link: DdsLink | LocalLink, time: float) -> None:
        """Use what came in since the last step, all of it: each may be about other joints."""
        for command in link.commands():
            if not self.take_over():
                return
            try:
                self.use(command)
            except Exception as error:  # sent by somebody else: it must not stop the world
                self.reject(reason_of(error))
                continue
            self.commanded(time, command[0])

    def _take_texts(self, link: DdsLink | LocalLink) -> None:
        for _ in range(min(len(link.texts), _MOST_TEXTS)):
            frame = link.text()
            text = frame[1:].decode(errors="replace")
            if frame[:1] == REJECTED:
                self.reject(text)
            elif text:  # a process that was started again says without words that it listens
                self.notify(text)

    @required()
    def make_wire(self) -> Wire:
        """Hook: its messages, without DDS."""
        raise NotImplementedError

    @property
    def raw(self) -> RawState:
        """The numbers that it hands over."""
        assert self._raw is not None, "it is on no actor of a world"
        return self._raw

    def add(self, extra: FloatArray) -> None:
        """Hook: fill in what it adds to a state; called while `_adds` is true."""

    def use(self, command: "memoryview[float]") -> None:
        """Hook: use a valid command; the first number is its arrival."""
