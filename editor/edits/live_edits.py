"""Apply edits of components' properties to the running world without rebuilding it."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from mjrig.core.control.articulation import Articulation
from mjrig.core.errors import MjrigError, NeedsNewWorld
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.runtime_edits import rejoint, retune
from mjrig.core.sim.world import World
from mjrig.editor.edits.edits import UNSET, Edit


@dataclass(frozen=True)
class EditedProperty:
    """A property of a component on an actor, by their places in the scene."""

    actor: int
    component: int
    name: str


@dataclass(frozen=True)
class EditedGains:
    """The `native_gains` of an actor, by its place in the scene."""

    actor: int


@dataclass(frozen=True)
class EditedDynamics:
    """The `dynamics` of an actor, by its place in the scene."""

    actor: int


Edited = EditedProperty | EditedGains | EditedDynamics


def edited_properties(edits: Sequence[Edit]) -> list[Edited] | None:
    """What edits are about that a running world may take; None where one is about anything else."""
    found: dict[Edited, None] = {}
    for edit in edits:
        match edit.path:
            case ("actors", int(actor), "components", int(component), str(name), *_):
                found[EditedProperty(actor, component, name)] = None
            case ("actors", int(actor), "native_gains", *_):
                found[EditedGains(actor)] = None
            case ("actors", int(actor), "dynamics", *_):
                found[EditedDynamics(actor)] = None
            case ("actors", int(), "gain_tests", *_):
                pass  # thresholds, of which a world knows nothing
            case _:
                return None
    return list(found)


def assign_live(world: World, scene: Scene, edited: Sequence[Edited]) -> bool:
    """Assign the scene's values of these properties to a running world.

    Returns:
        Whether all were taken; if not, none was, and a new world is needed.

    Raises:
        MjrigError: a value was refused; nothing was changed.
    """
    if len(edited) > 1 and not all(isinstance(one, EditedProperty) for one in edited):
        return False  # all or nothing: a new world is simpler than taking some back
    todo: list[tuple[HasProperties, str, Any]] = []
    for one in edited:
        copies = _copies(world, scene, one.actor)
        if copies is None:
            return False
        if isinstance(one, EditedGains):
            # Copies are alike: the first decides for all of them.
            return all(retune(robot, scene.actors[one.actor]) for robot in copies)
        if isinstance(one, EditedDynamics):
            return rejoint(world, copies, scene.actors[one.actor])
        value = _authored(scene.actors[one.actor].components[one.component], one.name)
        todo += [(robot.components[one.component], one.name, value) for robot in copies]
    return _assign_all(todo)


def _copies(world: World, scene: Scene, actor: int) -> list[Articulation] | None:
    """The robots that are one actor of the scene; None where their values are not the scene's."""
    pairs = zip(world.articulations.values(), world.placements.actors, strict=True)
    found = [(r, p) for r, p in pairs if p.keys == ("actors", actor) and p.scene is scene]
    drawn = not found or any(placed.draws for _, placed in found)
    return None if drawn else [robot for robot, _ in found]


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
        component.assign({name: deepcopy(value)})
