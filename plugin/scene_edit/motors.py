"""`use_motors` and `motors` of actors, when a world is built: what they add to an actor."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from mjrig.control.controller import ArticulationController
from mjrig.errors import BindingError, MjrigError
from mjrig.model.binding import ActuatorBinding
from mjrig.motors.library import find_motor
from mjrig.motors.motor_parts import FrictionLaw
from mjrig.names import literal
from mjrig.properties import registry
from mjrig.properties.component import ActorComponent
from mjrig.scene.actor import ActorDescription
from mjrig.scene.included import Placed, own_copy
from mjrig.scene.placement import Placements
from mjrig.scene.sim_options import SimOptions
from mjrig.scene_edit.actuator_conversion import AloneActor, as_motors

#: The component that computes friction which depends on load and speed.
FRICTION = "JointFriction"


def with_motors(placements: Placements) -> Placements:
    """The same with the position actuators of every actor that says `use_motors` converted.

    An actor whose motors have friction that MuJoCo lacks is given the component that computes it.

    Raises:
        SceneError, BindingError: an actor has none, or is attached to something that is needed.
    """
    if not any(p.item.use_motors or p.item.motors for p in placements.actors):
        return placements
    actors = (_converted(p) if p.item.use_motors else p for p in placements.actors)
    return replace(placements, actors=tuple(map(_with_friction, actors)))


def _with_friction(placed: Placed) -> Placed:
    """With a `JointFriction` for motors whose friction is more than Coulomb and viscous."""
    actor = placed.item
    if not needs_friction(actor):
        return placed
    kind = registry.get(FRICTION, ActorComponent)
    if any(isinstance(component, kind) for component in actor.components):
        return placed
    copied: ActorDescription = own_copy(actor)
    copied.add_component(kind())
    return replace(placed, item=copied)


def needs_friction(actor: ActorDescription) -> bool:
    """Whether the friction of one of its motors changes with load or speed."""
    for name in dict.fromkeys(actor.motors.values()):
        with suppress(MjrigError):  # raised with its place where the motors are put on the joints
            if find_motor(name, actor).law is not FrictionLaw.M1:
                return True
    return False


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
