"""Numeric properties as signals: `dog.PDController.default_kp`, `dog.PDController.kp[FL_hip]`."""

import re
from collections.abc import Callable, Iterator
from math import nan
from typing import Any

import numpy as np

from mjrig.editor.signals.signal_info import SignalInfo
from mjrig.errors import MjrigError
from mjrig.names import Slots
from mjrig.properties.array_kinds import Vector
from mjrig.properties.declaration import Property
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.per_actuator import PerActuator
from mjrig.properties.scalar_kinds import Bool, Float, Int, OptionalFloat
from mjrig.scene.scene_path import find
from mjrig.sim.world import World

SCALARS = (Bool, Float, Int, OptionalFloat)
_ELEMENT = re.compile(r"(.+)\[([^\[\]]*)\]")


def property_numbers(world: World) -> Iterator[SignalInfo]:
    """Every number of the properties of the components that run."""
    for robot in world.articulations.values():
        for component in robot.components:
            for holder in _with_children(component):
                for prop in holder.properties():
                    if prop.shown:
                        yield from _elements(holder, prop, f"{holder.label}.{prop.name}")


def _with_children(holder: HasProperties) -> Iterator[HasProperties]:
    yield holder
    for child in holder.children():
        yield from _with_children(child)


def _elements(holder: HasProperties, prop: Property[Any], path: str) -> Iterator[SignalInfo]:
    if isinstance(prop, SCALARS):
        yield SignalInfo(path, prop.unit, prop.doc)
    for name in _element_names(holder, prop):
        yield SignalInfo(f"{path}[{name}]", prop.unit, prop.doc)


def _element_names(holder: HasProperties, prop: Property[Any]) -> tuple[str, ...]:
    """The names in brackets: actuators, or places in a vector."""
    if isinstance(prop, PerActuator):
        slots: Slots | None = holder.slots
        return slots.names if slots is not None else ()
    if isinstance(prop, Vector):
        return tuple(str(i) for i in range(len(getattr(holder, prop.name))))
    return ()


def numbers_of(world: World, path: str) -> list[SignalInfo]:
    """The numbers a property of the running world, or else of its scene, is made of."""
    found = _locate(world, path)
    return list(_elements(*found, path)) if found is not None else []


def _locate(world: World, path: str) -> tuple[HasProperties, Property[Any]] | None:
    root: HasProperties
    for root in (world, world.scene):
        try:
            holder, name = find(root, path)
            return holder, holder.property_named(name)
        except MjrigError:
            continue
    return None


def property_reader(world: World, path: str) -> Callable[[], float] | None:
    """The function that reads a number of a property now; None if there is none of that path."""
    match = _ELEMENT.fullmatch(path)
    found = _locate(world, match[1] if match else path)
    if found is None:
        return None
    holder, prop = found
    name = prop.name
    if match is None:
        return (lambda: _number(getattr(holder, name))) if isinstance(prop, SCALARS) else None
    names = _element_names(holder, prop)
    if match[2] not in names:
        return None
    index = names.index(match[2])
    return lambda: _number(_at(getattr(holder, name), index))


def _at(values: Any, index: int) -> Any:
    return values[index] if index < len(values) else nan


def _number(value: Any) -> float:
    """A missing value (no limit, for example) leaves a gap in the curve."""
    return nan if value is None else float(np.float64(value))
