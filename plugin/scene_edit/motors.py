"""`use_motors: true`: position actuators of an actor as motors, when a world is built."""

from collections.abc import Iterable
from dataclasses import replace

from mjrig.control.controller import ArticulationController
from mjrig.errors import BindingError
from mjrig.model.binding import ActuatorBinding
from mjrig.names import literal
from mjrig.properties.component import ActorComponent
from mjrig.scene.actor import ActorDescription
from mjrig.scene.included import Placed, own_copy
from mjrig.scene.placement import Placements
from mjrig.scene.sim_options import SimOptions
from mjrig.scene_edit.actuator_conversion import AloneActor, as_motors


def with_motors(placements: Placements) -> Placements:
    """The same with the position actuators of every actor that says `use_motors` converted.

    Raises:
        SceneError, BindingError: an actor has none, or is attached to something that is needed.
    """
    if not any(placed.item.use_motors for placed in placements.actors):
        return placements
    actors = tuple(_converted(p) if p.item.use_motors else p for p in placements.actors)
    return replace(placements, actors=actors)


def _converted(placed: Placed) -> Placed:
    with placed.locating():
        try:
            return replace(placed, item=_with_motors(placed.item))
        except BindingError as error:
            raise BindingError(str(error), ("use_motors",)) from error


def _with_motors(actor: ActorDescription) -> ActorDescription:
    """A copy whose own controllers drive the motors they match, and new ones the rest."""
    copied: ActorDescription = own_copy(actor)
    copied.unset("use_motors")
    added = _use_motors(copied, ".*")
    own = {a.actuator for a in _owned(copied, copied.components[:-1])}
    made = {a.actuator for a in _owned(copied, [added])}
    if not own & made:
        return copied
    copied = own_copy(actor)
    copied.unset("use_motors")
    copied.remove_component(_use_motors(copied, _one_of(own & made)))
    if made - own:
        _use_motors(copied, _one_of(made - own))
    return copied


def _use_motors(actor: ActorDescription, pattern: str) -> ActorComponent:
    """As `Actor.use_motors`; how the gains are integrated is decided where the world is built."""
    return as_motors(actor, pattern, SimOptions()).put_on(actor)


def _owned(actor: ActorDescription, components: Iterable[ActorComponent]) -> list[ActuatorBinding]:
    """The actuators that controllers of an actor own."""
    controllers = [c for c in components if isinstance(c, ArticulationController)]
    if not controllers:
        return []
    actuators = AloneActor(actor).actuators
    return [b for c in controllers for b in c.select(actuators, actor.label)]


def _one_of(names: Iterable[str]) -> str:
    return "|".join(literal(name) for name in sorted(names))
