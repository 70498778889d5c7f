"""A policy in the loop of a world: which robot it is for, putting it there, commanding it."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from mjrig.control.articulation import Articulation
from mjrig.control.policy import PolicyComponent
from mjrig.errors import PropertyError, RecordingError
from mjrig.names import listed
from mjrig.properties import registry
from mjrig.sim.world import World
from mjrig.sim2sim.play.commanding import commands


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
    raise RecordingError(f"several robots could run the policy: {names}; choose one with robot=…")


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
            raise RecordingError(f"{robot.name} has {many}; choose one: policy=…, or --policy")
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
