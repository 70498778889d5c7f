"""A policy in the loop of a world: its robot, its commands, other commanding components."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from mjrig.core.control.articulation import Articulation
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.execution import PlantComponent
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.errors import LeaseError, PropertyError, RecordingError, phrase
from mjrig.core.names import listed
from mjrig.core.properties import registry
from mjrig.core.properties.component import ActorComponent
from mjrig.core.sim.world import World

# Commanding ---------------------------------------------------------------------------------------
# Components that command robots by themselves, as gaits and policies do.


@contextmanager
def silenced(robots: Sequence[Articulation]) -> Iterator[list[str]]:
    """Disable components that command these robots (gaits, policies); yields their labels."""
    off: list[ActorComponent] = []
    for robot in robots:
        for component in robot.components:
            if commands(component) and component.__dict__.get("enabled", False):
                component.assign({"enabled": False})
                off.append(component)
    try:
        yield [c.label for c in off]
    finally:
        for component in off:
            component.assign({"enabled": True})


@contextmanager
def overruled(robots: Sequence[Articulation]) -> Iterator[list[str]]:
    """Ignore commands of components that cannot be disabled; yields the labels of those that tried.

    They may act in other ways, too, so they run. Add the component that holds the lease inside of
    it: that plans the calls between steps again.
    """
    tried: list[str] = []
    guarded: list[tuple[Articulation, ActorComponent]] = []
    for robot in robots:
        for component in robot.components:
            if commands(component) and "enabled" not in component.__dict__:
                hook = partial(_without_commands, component.before_controls, component.label, tried)
                component.__dict__["before_controls"] = hook
                guarded.append((robot, component))
    try:
        yield tried
    finally:
        for robot, component in guarded:
            component.__dict__.pop("before_controls", None)
            robot._replan()


def _without_commands(
    hook: Callable[[float], object], label: str, tried: list[str], time: float
) -> None:
    try:
        hook(time)
    except LeaseError:  # the replay holds the setpoints
        if label not in tried:
            tried.append(label)


def commands(component: ActorComponent) -> bool:
    """Whether a component moves setpoints by itself."""
    own = type(component).before_controls is not ActorComponent.before_controls
    return own and not isinstance(component, ArticulationController | PlantComponent)


def is_silenced(component: ActorComponent) -> bool:
    """Whether a component could move setpoints and is disabled."""
    return commands(component) and not component.__dict__.get("enabled", True)


# Policy loop --------------------------------------------------------------------------------------
# A policy in the loop of a world: which robot it is for, putting it there, commanding it.


def find_robot(world: World, name: str = "") -> Articulation:
    """The robot a policy is meant for: the named one, the one that has a policy, the only one.

    Raises:
        RecordingError: it is ambiguous.
    """
    if name:
        return world[name]
    robots = list(world.articulations.values())
    with_policy = [r for r in robots if policies(r)]
    actuated = [r for r in robots if r.actuator_names]
    for candidates in (with_policy, actuated):
        if len(candidates) == 1:
            return candidates[0]
    names = listed(r.name for r in with_policy or actuated)
    raise RecordingError(f"several robots could run the policy: {names}; " + phrase("robot"))


def policies(robot: Articulation) -> list[PolicyComponent]:
    """The policies on a robot."""
    return [c for c in robot.components if isinstance(c, PolicyComponent)]


@contextmanager
def in_the_loop(policy: Any, world: World, robot: Articulation) -> Iterator[PolicyComponent]:
    """A context in which only this policy commands the robot; everything is restored afterwards.

    Raises:
        RecordingError: there is no policy.
    """
    component = _own(policy, robot)
    with ExitStack() as stack:
        for other in robot.components:
            if commands(other) and other is not component and other.__dict__.get("enabled"):
                stack.callback(other.assign, {"enabled": True})
                other.assign({"enabled": False})
        if component is None:
            component = _made(policy)
            robot.add_component(component)
            stack.callback(robot.remove_component, component)
        elif component.__dict__.get("enabled") is False:
            stack.callback(component.assign, {"enabled": False})
            component.assign({"enabled": True})
        written = {n: component.authored(n) for n in ("command",) if n in _names(component)}
        stack.callback(_put_back, component, written)
        yield component


def _names(component: PolicyComponent) -> list[str]:
    return [p.name for p in component.properties()]


def _put_back(component: PolicyComponent, written: dict[str, object]) -> None:
    for name, value in written.items():
        if value is None:
            component.unset(name)
        else:
            component.assign({name: value})


def _own(policy: Any, robot: Articulation) -> PolicyComponent | None:
    """The policy of the robot that is meant, if it has it."""
    found = policies(robot)
    if isinstance(policy, PolicyComponent):
        return policy if policy in found else None
    if policy is None:
        if len(found) != 1:
            many = f"{len(found)} policies" if found else "no policy"
            raise RecordingError(f"{robot.name} has {many}; " + phrase("policy"))
        return found[0]
    wanted = Path(policy).resolve()
    for component in found:
        file = component.__dict__.get("file")
        if file is not None and component.find_file(file).resolve() == wanted:
            return component
    return None


def _made(policy: Any) -> PolicyComponent:
    if isinstance(policy, PolicyComponent):
        return policy
    path = Path(policy)
    if not path.is_file():
        raise RecordingError(f"{path}: there is no such file")
    return registry.get("Policy", PolicyComponent)(file=path.resolve())


def command_policy(
    component: PolicyComponent,
    command: Sequence[float] | None,
    schedule: Sequence[tuple[float, Sequence[float]]] | None,
) -> None:
    """Command a policy.

    Raises:
        PropertyError: another number of values, or both a command and a schedule.
    """
    if command is not None and schedule is not None:
        raise PropertyError("give a command or a schedule, not both")
    if command is not None:
        schedule = [(0.0, list(command))]
    if schedule is not None:
        component.follow(schedule)
