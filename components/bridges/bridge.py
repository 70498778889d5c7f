"""Bridge: base class of the components through which another process commands a robot."""

import math
from dataclasses import replace
from enum import StrEnum
from typing import Any, Protocol

from mjrig.components.bridges.motors import Motors
from mjrig.components.bridges.traffic import EventLimiter, Traffic, rejection
from mjrig.core.control.articulation import Articulation
from mjrig.core.errors import LeaseError
from mjrig.core.findings import Finding, note, setting, warning
from mjrig.core.properties.component import ActorComponent
from mjrig.core.properties.hooks import required
from mjrig.core.properties.scalar_kinds import Bool, Choice, Float
from mjrig.core.sim.world import World


class ServedWorld(Protocol):
    """What runs a world that is served."""

    @property
    def world(self) -> World:
        """The world."""

    def advance(self, steps: int) -> int:
        """Take steps, with every bridge sending its states; returns the steps taken."""

    def reset(self, keyframe: str | None) -> None:
        """Reset the world."""


class Unattended(StrEnum):
    """What the motors do while nobody commands them."""

    HOLD = "hold"
    DAMP = "damp"
    OFF = "off"


class BridgePhase(StrEnum):
    """Who commands the motors."""

    CLOSED = "closed"
    WAITING = "waiting"
    COMMANDED = "commanded"
    LOST = "lost"


class Bridge(ActorComponent):
    """Lets a program in another process command the actor; only while it is served.

    Nothing listens in a world that is merely built: `mjrig serve` and the editor's Serve call
    `open`. A subclass implements `start`, `stop` and `send`, and `receive` if it polls.
    """

    enabled = Bool(True, doc="Off: it is not served.")
    rate = Float(
        500.0,
        min=0.0,
        above=True,
        max=10_000.0,
        unit="Hz",
        doc="Rate of the states that are sent.",
    )
    timeout = Float(
        0.5,
        min=0.0,
        soft_max=2.0,
        unit="s",
        category="Safety",
        doc="Simulated time without a command after which the motors damp; inf: never.",
    )
    damping = Float(
        3.0,
        min=0.0,
        soft_max=20.0,
        unit="N·m·s/rad",
        category="Safety",
        doc="Damping of motors that nobody commands any more.",
    )
    until_command = Choice(
        Unattended.HOLD,
        category="Safety",
        doc="Before the first command: hold the pose with the scene's gains, damp, or no torque.",
    )

    def prepare(self) -> None:
        self._robot: Articulation | None = None
        self._motors: Motors | None = None
        self._phase = BridgePhase.CLOSED
        self._last = 0.0
        #: When the motors begin to damp, unless a command comes.
        self._deadline = self._patience = math.inf
        self._traffic = Traffic()
        self._every = 1
        self._rejections = EventLimiter(self._report, "messages rejected")
        self._notices = EventLimiter(self._report, "such events")
        self._remarks: tuple[Finding, ...] = ()

    # Life ---------------------------------------------------------------------------------------

    def attach(self, articulation: Any) -> None:
        self._robot = articulation
        self._motors = self.make_motors(articulation)

    def detach(self) -> None:
        self.close()
        self.prepare()

    def on_change(self, names: tuple[str, ...]) -> None:
        if "enabled" in names and not self.enabled:
            self.close()
        if "timeout" in names:
            self._set_deadline()

    def open(self, stage: ServedWorld) -> None:
        """Begin to listen.

        Raises:
            MjrigError: an address is taken, a package is missing, or a motor has no controller;
                nothing listens then.
        """
        if self.is_open or not self.enabled or self._robot is None:
            return
        self.motors.find_controllers()
        self._traffic = Traffic()
        self._every = max(1, round(1.0 / (self.rate * stage.world.timestep)))
        self.start(stage)
        remarks = (self._rate_remark(stage), self.network_remark())
        self._remarks = tuple(self._placed(remark) for remark in remarks if remark is not None)
        for remark in self._remarks:
            self._report(remark.text)
        self._phase, self._last = BridgePhase.WAITING, float(self._robot.data.time)
        self._set_deadline()
        if self.until_command is not Unattended.HOLD and self._take():
            self.motors.relax(self.damping if self.until_command is Unattended.DAMP else 0.0)

    def close(self) -> None:
        """Stop listening, and let others command; closing twice is fine."""
        if self.is_open:
            self._phase, self._deadline = BridgePhase.CLOSED, math.inf
            self.stop()
            self.motors.release()
            self._rejections.flush()
            self._notices.flush()

    @property
    def is_open(self) -> bool:
        """Whether it listens."""
        return self._phase is not BridgePhase.CLOSED

    @property
    def remarks(self) -> tuple[Finding, ...]:
        """Warnings about how it is served: rates, networks."""
        return self._remarks

    @property
    def every(self) -> int:
        """Steps from one state that is sent to the next."""
        return self._every

    @property
    def phase(self) -> BridgePhase:
        """Who commands the motors."""
        return self._phase

    @property
    def holders(self) -> tuple[str, ...]:
        """Who has the right to command the robot's motors: this bridge, or others."""
        return tuple(dict.fromkeys(lease.holder for lease in self.robot.setpoints.leases))

    @property
    def traffic(self) -> Traffic:
        """What came in since it was opened."""
        return self._traffic

    @property
    def motors(self) -> Motors:
        """The motors that clients command."""
        assert self._motors is not None, "it is on no actor of a world"
        return self._motors

    @property
    def robot(self) -> Articulation:
        """The actor in the world."""
        assert self._robot is not None, "it is on no actor of a world"
        return self._robot

    # Hooks of a kind of bridge --------------------------------------------------------------------

    def make_motors(self, robot: Articulation) -> Motors:
        """Hook: which actuators clients command, in what order."""
        return Motors(robot, list(robot.bindings), self.label)

    @required()
    def start(self, stage: ServedWorld) -> None:
        """Hook: begin to listen."""

    @required()
    def stop(self) -> None:
        """Hook: stop listening."""

    def receive(self, time: float) -> None:
        """Hook: take what came in; called before every step."""

    @required()
    def send(self) -> None:
        """Hook: send the state; called after every `every` steps of a world that is served."""

    def attend(self, wait: float = 0.05) -> bool:
        """Hook: answer requests between steps; True: it decides itself when to step.

        No exception leaves it, whatever a client sent.

        Args:
            wait: how long a bridge that decides waits for a request [s].
        """
        return False

    @property
    def address(self) -> str:
        """Hook: where it listens, for people."""
        return ""

    def network_remark(self) -> Finding | None:
        """Hook: a warning if other machines can reach it; called once it listens."""
        return None

    # Run ----------------------------------------------------------------------------------------

    def reset(self) -> None:
        self._last = 0.0
        self._set_deadline()

    def _set_deadline(self) -> None:
        self._patience = self.timeout  # read at every command
        is_due = self._phase is BridgePhase.COMMANDED
        self._deadline = self._last + self._patience if is_due else math.inf

    def before_controls(self, time: float) -> None:
        if self._phase is BridgePhase.CLOSED:
            return
        self.receive(time)
        if time > self._deadline:
            self._lose()

    def commanded(self, time: float, when: float | None = None) -> None:
        """A valid command came in and was written, at a simulated time and one of the clock."""
        self._traffic.accept(when)
        self._last, self._deadline = time, time + self._patience
        if self._phase is not BridgePhase.COMMANDED:
            if self._phase is BridgePhase.LOST:
                self.notify(note("commands-again", ""))
            self._phase = BridgePhase.COMMANDED

    def reject(self, finding: Finding) -> None:
        """A message is not used; the first ones are reported as events, the others counted."""
        self.traffic.reject(self._placed(finding))
        self._rejections.add(finding.text, "rejected: ")

    def notify(self, finding: Finding) -> None:
        """Report an event that clients can cause; a flood of them is summarised."""
        self._notices.add(finding.text)

    def _placed(self, finding: Finding) -> Finding:
        return replace(finding, actor=self.robot.name, names=(self._role,))

    def _report(self, text: str) -> None:
        self.robot.report("bridge", f"{self.label}: {text}")

    def _rate_remark(self, stage: ServedWorld) -> Finding | None:
        """A warning if states cannot be sent at `rate`: only every whole number of steps."""
        timestep = stage.world.timestep
        actual = 1.0 / (self._every * timestep)
        if abs(actual - self.rate) <= 1e-3 * self.rate:
            return None
        path = f"{self.robot.name}.{self._role}.rate"
        return warning(
            "state-rate",
            "",
            here=actual,
            expected=self.rate,
            unit="Hz",
            every=self._every,
            timestep_ms=timestep * 1e3,
            period_ms=1e3 / self.rate,
            remedies=(setting(f"rate: {actual:.4g}", path, float(f"{actual:.4g}")),),
        )

    def take_over(self) -> bool:
        """Get the right to command; False: somebody else has it, and the message is rejected."""
        return self.motors.is_held or self._take()

    def _take(self) -> bool:
        try:
            self.motors.take()
        except LeaseError as error:
            self.reject(rejection(error))
            return False
        return True

    def _lose(self) -> None:
        self._phase = BridgePhase.LOST
        self._deadline = math.inf
        self.motors.relax(self.damping)
        self.notify(note("commands-lost", "", here=self.timeout, unit="s", damping=self.damping))
