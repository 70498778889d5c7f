"""Element: handles to the joints, bodies, sites and tendons of an actor's model."""

from collections.abc import Iterable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from mjrig.core.errors import BindingError, PropertyError
from mjrig.core.model.actuator_writing import element_names
from mjrig.core.model.element_references import name_everything
from mjrig.core.model.model_edits import edit_model, empty_keys
from mjrig.core.model.model_source import load
from mjrig.core.names import suggestion
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import compile_pattern
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.actuator import OTHER_ROOT, Actuator, ActuatorView
from mjrig.core.scene.placement import root_name
from mjrig.core.scene.scene_description import SceneDescription

_KINDS = ("joint", "body", "site", "tendon")
#: The names of the elements of models by actor, and what they were read from.
_names: WeakKeyDictionary[ActorDescription, tuple[object, dict[str, Sequence[str]]]]
_names = WeakKeyDictionary()


class Element:
    """A joint, body, site or tendon of an actor's model, to attach actuators to."""

    def __init__(self, actor: ActorDescription, kind: str, name: str) -> None:
        self.actor, self.kind, self.name = actor, kind, name

    def attach(self, actuator: Actuator, copy: bool = True) -> Actuator:
        """Let an actuator act on this element.

        Args:
            actuator: what is attached.
            copy: attach a copy of it, so that one object can be attached in many places.

        Returns:
            The actuator that is attached.

        Raises:
            PropertyError: its kind cannot act on this; or, without `copy`, it is another actor's.
        """
        if not isinstance(actuator, Actuator):
            raise TypeError(f"an actuator is attached to {self}, not {actuator!r}")
        if self.kind not in actuator.targets:
            raise actuator.refusal(
                self.kind, f"{actuator.element} actuators do not act on a {self.kind}"
            )
        made = actuator.copy() if copy else actuator
        with self.actor.changes():
            made.attach_to(self.kind, self.name)
            if made not in self.actor.actuators:
                self.actor.actuators = (*self.actor.actuators, made)
        return made

    def detach(self, actuator: Actuator) -> None:
        """Remove an actuator that acts on this element, with its sensors, from the actor.

        One that only has this site as its refsite stays, without it.

        Raises:
            PropertyError: it has nothing to do with this element.
        """
        if any(actuator is a for a in self.actuators):
            self.actor.remove_actuator(actuator)
        elif any(actuator is a for a in self.ref_actuators):
            actuator.unset("refsite")
        else:
            raise PropertyError(f"{actuator.label} does not act on {self}")

    @property
    def actuators(self) -> ActuatorView:
        """The authored actuators that act on this element, those of patterns too."""
        names = names_of(self.actor)[self.kind]
        kinds = ("site", "cranksite") if self.kind == "site" else (self.kind,)
        return ActuatorView(
            a
            for a in self.actor.actuators
            if any(_means(a.__dict__[kind], self.name, names) for kind in kinds)
        )

    @property
    def ref_actuators(self) -> ActuatorView:
        """The authored actuators whose refsite this is, in any actor of the scene."""
        return ActuatorView(a for a in _all_actuators(self.actor) if self._is_refsite_of(a))

    @ref_actuators.setter
    def ref_actuators(self, actuators: Actuator | Iterable[Actuator] | None) -> None:
        wanted = [actuators] if isinstance(actuators, Actuator) else list(actuators or ())
        if self.kind != "site":
            raise PropertyError(f"{self} is not a site; only a site can be a refsite")
        before = self.ref_actuators
        ActuatorView(wanted).refsite = self
        for actuator in before:
            if all(actuator is not w for w in wanted):
                actuator.unset("refsite")

    def _is_refsite_of(self, actuator: Actuator) -> bool:
        owner, reference = actuator._parent, actuator.refsite
        if not reference or not isinstance(owner, ActorDescription):
            return False
        if owner is self.actor and reference == self.name:
            return True
        return reference == f"{self.actor.name}/{self.name}"

    def name_seen_from(self, actuator: HasProperties) -> str:
        """The name by which an actuator refers to this site.

        Raises:
            PropertyError: the actuator is on no actor, or on one of another root.
        """
        owner = actuator._parent
        if self.kind != "site":
            raise PropertyError(f"{actuator.label}.refsite: {self} is not a site", ("refsite",))
        if not isinstance(owner, ActorDescription) or _root(owner) is not _root(self.actor):
            raise PropertyError(f"{actuator.label}.refsite: {OTHER_ROOT}", ("refsite",))
        return self.name if owner is self.actor else f"{self.actor.name}/{self.name}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Element) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[int, str, str]:
        return id(self.actor), self.kind, self.name

    def __repr__(self) -> str:
        return f"{self.kind} {self.name!r} of {self.actor.label!r}"


def element(actor: ActorDescription, kind: str, name: str) -> Element:
    """A handle to an element.

    Raises:
        BindingError: the model has none of that name; the message names the nearest.
    """
    names = names_of(actor)[kind]
    if name not in names:
        raise BindingError(f"{actor.label} has no {kind} {name!r}; {suggestion(name, names)}")
    return Element(actor, kind, name)


def names_of(actor: ActorDescription) -> dict[str, Sequence[str]]:
    """The names of the elements of an actor's model by kind; read once for one description."""
    key = _described(actor)
    if actor not in _names or _names[actor][0] != key:
        spec = load(actor)
        name_everything(spec)
        empty_keys(spec)
        edit_model(spec, actor)
        _names[actor] = (key, {kind: element_names(spec, kind) for kind in _KINDS})
    return _names[actor][1]


def _described(actor: ActorDescription) -> object:
    """What the names depend on."""
    kept = {k: v for k, v in actor.to_data().items() if k not in ("actuators", "components")}
    file = None
    if actor.model is not None:
        path = actor.find_file(actor.model)
        file = (str(path), path.stat().st_mtime_ns)
    return file, repr(kept)


@pattern_budget()
def _means(pattern: str, name: str, names: Sequence[str]) -> bool:
    if not pattern:
        return False
    if pattern in names:
        return pattern == name
    return compile_pattern(pattern).fullmatch(name)


def _all_actuators(actor: ActorDescription) -> list[Actuator]:
    scene = actor._parent
    actors = scene.actors if isinstance(scene, SceneDescription) else (actor,)
    return [a for one in actors for a in one.actuators]


def _root(actor: ActorDescription) -> Any:
    """The actor at the end of the chain of attachments."""
    scene = actor._parent
    if not isinstance(scene, SceneDescription):
        return actor
    by_name = {a.name: a for a in scene.actors}
    return by_name[root_name(actor.name, scene.actors, scene.frames)]
