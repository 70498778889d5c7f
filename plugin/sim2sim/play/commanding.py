"""Components that command robots by themselves, as gaits and policies do."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from mjrig.control.articulation import Articulation
from mjrig.control.controller import ArticulationController
from mjrig.control.plant_component import PlantComponent
from mjrig.errors import LeaseError
from mjrig.properties.component import ActorComponent


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
