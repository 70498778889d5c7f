"""Selection of the actuators a tuning command works on."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mjrig.core.control.articulation import Articulation
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.effort_limits import effort_limit
from mjrig.core.control.native_servo import NativeServo
from mjrig.core.errors import BindingError
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.names import listed
from mjrig.core.patterns import Slots
from mjrig.core.sim.world import World


@dataclass(frozen=True)
class Chosen:
    """One actuator driven by a law: the controller's `index`-th binding."""

    robot: Articulation
    controller: ArticulationController
    index: int

    @property
    def binding(self) -> ActuatorBinding:
        """What it drives."""
        return self.controller.bindings[self.index]

    @property
    def label(self) -> str:
        """`dog.FL_hip`."""
        return f"{self.robot.name}.{self.binding.actuator}"

    @property
    def effort_limit(self) -> float:
        """The largest effort in both directions, joint units; inf: nothing limits it."""
        return effort_limit(self.binding, self.controller, self.index)


@dataclass(frozen=True)
class ChosenServo:
    """One of MuJoCo's own servos, which no controller owns."""

    robot: Articulation
    servo: NativeServo

    @property
    def binding(self) -> ActuatorBinding:
        """What it drives."""
        return self.servo.binding

    @property
    def label(self) -> str:
        """`panda.joint1`."""
        return f"{self.robot.name}.{self.binding.actuator}"

    @property
    def effort_limit(self) -> float:
        """The largest effort in both directions, joint units; inf: nothing limits it."""
        return effort_limit(self.binding, None, 0)


Tested = Chosen | ChosenServo


@dataclass(frozen=True)
class Skipped:
    """An actuator that was selected but cannot be tuned, and why."""

    actor: str
    actuator: str
    reason: str

    def __str__(self) -> str:
        return f"{self.actor}.{self.actuator}: {self.reason}"


def choose(
    world: World, actor: str | None = None, joint: str = ".*"
) -> tuple[list[Chosen], list[Skipped]]:
    """The actuators under a law that match a pattern by joint or actuator name, of one or all.

    Raises:
        BindingError: there is no such actor, nothing matches, or no law drives what does.
    """
    found, skipped = _choose(world, actor, joint, servos=False)
    return [c for c in found if isinstance(c, Chosen)], skipped


def choose_tested(
    world: World, actor: str | None = None, joint: str = ".*"
) -> tuple[list[Tested], list[Skipped]]:
    """As `choose`, with the native servos that take a position of their joint.

    Raises:
        BindingError: there is no such actor, nothing matches, or nothing that does has a setpoint.
    """
    return _choose(world, actor, joint, servos=True)


def choose_law(robot: Articulation, actuator: str) -> Chosen:
    """An actuator by its name, with the law that drives it.

    Raises:
        BindingError: no law drives it.
    """
    laws = {c.binding.actuator: c for c in _driven(robot)}
    if actuator not in laws:
        raise BindingError(f"{robot.name}: no law is bound to {actuator!r}; it has no gains")
    return laws[actuator]


def _choose(
    world: World, actor: str | None, joint: str, *, servos: bool
) -> tuple[list[Tested], list[Skipped]]:
    robots = [world[actor]] if actor is not None else list(world.articulations.values())
    robots = [r for r in robots if r.actuators] or robots
    chosen: list[Tested] = []
    skipped: list[Skipped] = []
    refusals: list[BindingError] = []
    for robot in robots:
        known: dict[int, Tested] = {c.binding.actuator_id: c for c in _driven(robot)}
        reasons: dict[int, str] = {}
        for servo in robot.servos if servos else ():
            if servo.why_no_response:
                reasons[servo.binding.actuator_id] = servo.why_no_response
            else:
                known[servo.binding.actuator_id] = ChosenServo(robot, servo)
        try:
            places = Slots([b.names for b in robot.actuators], robot.name).match(joint)
        except BindingError as error:
            refusals.append(error)
            continue
        for binding in (robot.actuators[i] for i in places):
            if binding.actuator_id in known:
                chosen.append(known[binding.actuator_id])
            else:
                reason = reasons.get(binding.actuator_id) or _why_not(robot, binding)
                skipped.append(Skipped(robot.name, binding.actuator, reason))
    if not chosen:
        raise BindingError(_nothing(robots, skipped, refusals))
    return chosen, skipped


def _driven(robot: Articulation) -> Iterator[Chosen]:
    for controller in robot.controllers:
        if controller.follows_pose and controller.enabled:
            yield from (Chosen(robot, controller, i) for i in range(controller.num_bindings))


def _why_not(robot: Articulation, binding: ActuatorBinding) -> str:
    for controller in robot.controllers:
        if binding.actuator_id in [b.actuator_id for b in controller.bindings]:
            off = not controller.enabled
            return f"{controller._role} is disabled" if off else f"{controller._role} has no gains"
    return binding.skip_reason or "no controller owns it"


def way_to_motors(robots: Iterable[Articulation]) -> str:
    """How robots with servos of their own get a controller; empty where there are none.

    It ends a sentence that says why there is nothing to tune.
    """
    servos = [r.name for r in robots if any(b.kind == "position" for b in r.actuators)]
    if not servos:
        return ""
    return (
        f"; {servos[0]}.use_motors=true makes motors of its position actuators, "
        "for a PDController with gains of its own"
    )


def _nothing(
    robots: list[Articulation], skipped: list[Skipped], refusals: list[BindingError]
) -> str:
    if skipped:
        return f"nothing to tune: {'; '.join(map(str, skipped[:3]))}{way_to_motors(robots)}"
    if not any(r.actuators for r in robots):
        names = listed(r.name for r in robots)
        return f"nothing to tune: no actor has an actuator (actors: {names})"
    return str(refusals[0])
