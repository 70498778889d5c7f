"""Apply edits of components' properties to the running world without rebuilding it."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from mjrig.editor.edits.edits import UNSET, Edit
from mjrig.errors import MjrigError, NeedsNewWorld
from mjrig.properties.has_properties import HasProperties
from mjrig.scene_edit.scene import Scene
from mjrig.sim.world import World


@dataclass(frozen=True)
class EditedProperty:
    """A property of a component on an actor, by their places in the scene."""

    actor: int
    component: int
    name: str


def edited_properties(edits: Sequence[Edit]) -> list[EditedProperty] | None:
    """The properties of components that edits are about; None where one is about anything else."""
    found: dict[EditedProperty, None] = {}
    for edit in edits:
        match edit.path:
            case ("actors", int(actor), "components", int(component), str(name), *_):
                found[EditedProperty(actor, component, name)] = None
            case ("actors", int(), "gain_tests", *_):
                pass  # thresholds, of which a world knows nothing
            case _:
                return None
    return list(found)


def assign_live(world: World, scene: Scene, edited: Sequence[EditedProperty]) -> bool:
    """Assign the scene's values of these properties to the components of a running world.

    Returns:
        Whether all were taken; if not, none was, and a new world is needed.

    Raises:
        MjrigError: a value was refused; nothing was changed.
    """
    robots = list(world.articulations.values())
    todo: list[tuple[HasProperties, str, Any]] = []
    for one in edited:
        value = _authored(scene.actors[one.actor].components[one.component], one.name)
        copies = [
            (robot, placed)
            for robot, placed in zip(robots, world.placements.actors, strict=True)
            if placed.keys == ("actors", one.actor) and placed.scene is scene
        ]
        if not copies or any(placed.draws for _, placed in copies):
            return False
        todo += [(robot.components[one.component], one.name, value) for robot, _ in copies]
    return _assign_all(todo)


def _assign_all(todo: Sequence[tuple[HasProperties, str, Any]]) -> bool:
    done: list[tuple[HasProperties, str, Any]] = []
    try:
        for component, name, value in todo:
            before = _authored(component, name)
            _assign(component, name, value)
            done.append((component, name, before))
    except MjrigError as error:
        for one in reversed(done):
            _assign(*one)
        if isinstance(error, NeedsNewWorld):
            return False
        raise
    return True


def _authored(component: HasProperties, name: str) -> Any:
    return component.authored(name) if component.is_authored(name) else UNSET


def _assign(component: HasProperties, name: str, value: Any) -> None:
    if value is UNSET:
        component.unset(name)
    else:
        component.property_named(name).assign(component, deepcopy(value))
