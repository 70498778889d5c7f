"""References in a scene: which values hold names, and what those names refer to.

Which properties hold names is declared on them (`refers`); nothing here lists fields.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from mjrig.core.control.controller import ArticulationController
from mjrig.core.errors import BindingError, LocatedError, PropertyError
from mjrig.core.model.actor_spec import Part
from mjrig.core.model.binding import ActuatorBinding, describe_actuators
from mjrig.core.names import listed, suggestion
from mjrig.core.patterns import Slots
from mjrig.core.properties.collection_kinds import Table
from mjrig.core.properties.component import ActorComponent
from mjrig.core.properties.declaration import Property
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.scalar_kinds import Patterns, Text
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.actuator import TARGETS, Actuator
from mjrig.core.scene.editing.elements import names_of
from mjrig.core.scene.motor_file import MotorMap
from mjrig.core.scene.placement import copy_names
from mjrig.core.scene.scene_description import Placed, SceneDescription, described, own_copy

#: Kinds of elements a scene can name, and where an MjSpec keeps them.
KINDS = {
    "joint": "joints",
    "actuator": "actuators",
    "body": "bodies",
    "site": "sites",
    "tendon": "tendons",
    "geom": "geoms",
    "sensor": "sensors",
    "camera": "cameras",
    "light": "lights",
    "equality": "equalities",
}
KEYFRAME = "keyframe"
#: Kinds of elements a place may be on: actor/body or actor/site.
ON = ("body", "site")
LocalNames = dict[str, list[str]]
#: What an actor says of the elements of its edited model.
_ON_TOP = ("dynamics", "bodies", "motors", "native_gains", "actuators", "components")


# Names of an actor ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Local:
    """The names of an actor: those of its model as edited, and the authored ones."""

    names: LocalNames
    actuators: tuple[ActuatorBinding, ...] = ()
    #: The compiled names of each authored actuator.
    made: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, actor: ActorDescription) -> Self:
        """Everything of an actor.

        Raises:
            PropertyError, BindingError: the model cannot be read or compiled, or does not fit what
                is authored.
        """
        part = Part(Placed(actor, actor, SceneDescription(), ()))
        found = describe_actuators(part.alone, aliases=part.authored.aliases)
        names = _names(part, actor)
        names["actuator"] += [
            b.alias for b in found if b.alias and b.alias not in names["actuator"]
        ]
        return cls(names, tuple(found), part.authored.names)

    def renamed(self, kind: str, names: Mapping[str, str]) -> Self:
        """The same after elements of a kind were renamed."""
        new = {kind: [names.get(n, n) for n in self.names[kind]]}
        fields = {"actuator": ("actuator", "alias"), "joint": ("joint",)}.get(kind, ())
        actuators = tuple(replace(b, **_renamed_fields(b, fields, names)) for b in self.actuators)
        return replace(self, names={**self.names, **new}, actuators=actuators)

    def which(self, actor: ActorDescription, element: str) -> tuple[str, str]:
        """Kind and name of what `name` or `kind:name` refers to.

        Raises:
            PropertyError: nothing, or several elements.
        """
        kind, colon, name = element.rpartition(":")
        kind = KEYFRAME if kind == "key" else kind
        kinds = [k for k, have in self.names.items() if name in have and (not colon or k == kind)]
        if not kinds:
            have = self.names.get(kind) or [n for found in self.names.values() for n in found]
            raise PropertyError(
                f"{actor.label} has no {kind or 'element'} {name!r}; {suggestion(name, have)}"
            )
        if len(kinds) > 1:
            ways = listed(f"{actor.label}.{k}:{name}" for k in kinds)
            raise PropertyError(f"{actor.label}.{name} is ambiguous; write one of {ways}")
        return kinds[0], name

    def authored(self, actor: ActorDescription, name: str) -> list[Actuator]:
        """The authored actuators of a name; none if it is the model's own.

        Raises:
            PropertyError: it is one of several made from one authored actuator.
        """
        pairs = list(zip(actor.actuators, self.made, strict=True))
        added = [(actuator, made) for actuator, made in pairs if not actuator.replaces]
        if name in {b.actuator for b in self.actuators} - {n for _, made in added for n in made}:
            return []
        called = [actuator for actuator, _ in added if actuator.name == name]
        if called:
            return called
        for actuator, made in added:
            if name in made and len(made) > 1:
                raise PropertyError(
                    f"{name!r} is one of {len(made)} made from {actuator.label}; it has no name "
                    "of its own"
                )
        return [actuator for actuator, made in added if name in made]


def original_names(actor: ActorDescription) -> LocalNames:
    """The names the model's file has, which `renamed` and `removed` go by."""
    return _bare_names(actor, "renamed", "removed")


def unrenamed_names(actor: ActorDescription) -> LocalNames:
    """The names the model's file has, of what is not removed."""
    return _bare_names(actor, "renamed")


def kept_names(actor: ActorDescription) -> LocalNames:
    """The names of an actor's edited model, whatever is authored on top of it."""
    return _bare_names(actor)


def _renamed_fields(
    binding: ActuatorBinding, fields: Sequence[str], names: Mapping[str, str]
) -> dict[str, Any]:
    written = {field: getattr(binding, field) for field in fields}
    return {field: names.get(name, name) for field, name in written.items()}


def _bare_names(actor: ActorDescription, *without: str) -> LocalNames:
    bare: ActorDescription = own_copy(actor)
    for name in _ON_TOP + without:
        bare.unset(name)
    return _names(Part(Placed(bare, bare, SceneDescription(), ())), bare)


def _names(part: Part, actor: ActorDescription) -> LocalNames:
    names = {kind: [e.name for e in getattr(part.spec, many)] for kind, many in KINDS.items()}
    names["body"].remove("world")
    names[KEYFRAME] = list(dict.fromkeys([*part.keys, *(k.name for k in actor.keyframes)]))
    return {kind: [name for name in found if name] for kind, found in names.items()}


def in_file(original: LocalNames, kind: str, name: str) -> str:
    """The name of a model's element in `renamed` and `removed`."""
    is_clear = sum(name in have for have in original.values()) == 1
    return name if is_clear else f"{'key' if kind == KEYFRAME else kind}:{name}"


def place_names(scene: SceneDescription) -> list[str]:
    """Everything a place may be: actors and frames, and actor/body and actor/site."""
    names = [placed.name for placed in described(scene, "frames")]
    for placed in described(scene, "actors"):
        elements = _elements(placed.item)
        for copy in place_heads(placed.item):
            names.append(copy)
            if elements is None:
                names += [n for n in _written_places(scene) if n.startswith(f"{copy}/")]
            else:
                names += [f"{copy}/{n}" for n in elements]
    return names


def place_heads(actor: ActorDescription) -> list[str]:
    """The names by which others refer to an actor: its copies, and itself for all of them."""
    return list(dict.fromkeys([actor.name, *copy_names(actor)]))


def _elements(actor: ActorDescription) -> list[str] | None:
    """The names of places on an actor, alone and with kind; None: unknown."""
    try:
        found = names_of(actor)
    except LocatedError:  # an actor whose model cannot be read can still be renamed
        return None
    return [name for kind in ON for n in found[kind] for name in (n, f"{kind}:{n}")]


def _written_places(scene: SceneDescription) -> list[str]:
    written = [n for r in references(scene, "place") for n in r.names()]
    return list(dict.fromkeys(written))


# References -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SceneReference:
    """A property whose value holds names."""

    holder: HasProperties
    prop: Property[Any]

    @property
    def authored(self) -> Any:
        """The authored value, or None."""
        return self.holder.authored(self.prop.name)

    @property
    def label(self) -> str:
        """Where it is, for a report."""
        return f"{self.holder.label}.{self.prop.name}"

    @property
    def component(self) -> ActorComponent | None:
        """The component it is in, if any."""
        holder: HasProperties | None = self.holder
        while holder is not None and not isinstance(holder, ActorComponent):
            holder = holder._parent
        return holder

    @property
    def takes_patterns(self) -> bool:
        """Whether the names in it are read as patterns."""
        on_targets = isinstance(self.holder, Actuator) and self.prop.name in TARGETS
        return on_targets or not isinstance(self.prop, Text | Table)

    def names(self) -> list[str]:
        """The names or patterns in it."""
        authored = self.authored
        if isinstance(authored, Mapping):
            return [name for name in authored if name != "default"]
        if isinstance(authored, str):
            return [] if isinstance(self.prop, MotorMap) else [authored]
        is_names = isinstance(self.prop, Patterns) and isinstance(authored, list)
        return list(authored) if is_names else []

    def slots(self, local: Local, *, owned: bool = False) -> Slots:
        """What its names may refer to; `owned`: only what its controller owns."""
        refers = self.prop.refers
        if "actuator" in refers and "joint" in refers:
            found: Iterable[ActuatorBinding] = local.actuators
            component = self.component
            if owned and isinstance(component, ArticulationController) and not self.claims:
                found = component.select(local.actuators, component.label)
            return Slots([b.names for b in found])
        return named(n for kind in refers for n in local.names.get(kind, ()))

    @property
    def claims(self) -> bool:
        """Whether it selects what a component drives."""
        return isinstance(self.prop, Patterns) and isinstance(self.holder, ActorComponent)

    def rewrite(self, change: Callable[[str], str | None]) -> bool:
        """Replace each name, None to remove it; returns whether any changed."""
        changes = {name: change(name) for name in self.names()}
        if all(before == after for before, after in changes.items()):
            return False
        self.write(self._changed(self.authored, changes))
        return True

    def _changed(self, authored: Any, changes: Mapping[str, str | None]) -> Any:
        if isinstance(authored, Mapping):
            pairs = ((changes.get(key, key), value) for key, value in authored.items())
            return {key: value for key, value in pairs if key is not None}
        if isinstance(authored, str):
            return changes[authored]
        return [new for name in authored if (new := changes[name]) is not None]

    def write(self, value: Any) -> None:
        """Author another value; unset it where it is empty."""
        if value is None or value in ([], {}):
            self.holder.unset(self.prop.name)
        else:
            self.prop.assign(self.holder, value)


def references(root: HasProperties, *kinds: str) -> Iterator[SceneReference]:
    """References at or below an object to elements of these kinds; none: of any."""
    for holder in root._family():
        for prop in holder.properties():
            wanted = set(kinds) & set(prop.refers) if kinds else prop.refers
            if wanted and holder.is_authored(prop.name):
                yield SceneReference(holder, prop)


# Patterns ---------------------------------------------------------------------------------------


def named(names: Iterable[str]) -> Slots:
    """Slots of one name each."""
    return Slots([(n,) for n in dict.fromkeys(names)])


def matched(slots: Slots, pattern: str) -> set[int]:
    """The slots a pattern matches; matching none is not an error."""
    try:
        return set(slots.match(pattern))
    except BindingError:
        return set()


def actor_part(path: str, actors: Slots) -> tuple[str, str] | None:
    """The actor pattern of a random draw's path, which may have dots itself, and the rest."""
    parts = path.split(".")
    for cut in range(1, len(parts)):
        head = ".".join(parts[:cut])
        if matched(actors, head):
            return head, ".".join(parts[cut:])
    return None
