"""Where a gain in force comes from: the default, the scene, or the policy it was imported with."""

from collections.abc import Mapping
from typing import TypeVar

from mjrig.control.articulation import Articulation
from mjrig.control.controller import ArticulationController
from mjrig.control.policy import PolicyComponent
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.per_actuator import Origin, origins

T = TypeVar("T")


def sources(live: HasProperties, name: str) -> list[str]:
    """As text, per actuator for a bound property of a controller or its law; else as `origins`."""
    found = [str(origin) for origin in origins(live, name)]
    controller = _above(live, ArticulationController)
    robot = _above(live, Articulation)
    if controller is None or robot is None:
        return found
    sender = controller.sender_of(name) if live is controller else ""
    if sender:
        return [f"outside from {sender}"] * controller.num_bindings
    origin, trained = _trained(robot, name)
    values = live.__dict__[name]
    for i, binding in enumerate(controller.bindings):
        authored = i < len(found) and found[i] != Origin.DEFAULT
        if authored and trained.get(binding.joint or binding.actuator) == values[i]:
            found[i] = origin
    return found


def _above(obj: HasProperties | None, kind: type[T]) -> T | None:
    while obj is not None:
        if isinstance(obj, kind):
            return obj
        obj = obj._parent
    return None


def _trained(robot: Articulation, name: str) -> tuple[str, Mapping[str, float]]:
    """A gain by joint from the policy on a robot, and the name of that source."""
    for component in robot.components:
        if isinstance(component, PolicyComponent):
            return component.provenance, component.plant().joints.get(name, {})
    return "", {}
