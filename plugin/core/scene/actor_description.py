"""ActorDescription: a robot or object as in the scene file; Prop: one without a model file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from mjrig.core.errors import PropertyError
from mjrig.core.files.paths import MODELS, Gate, is_in_package
from mjrig.core.names import unique
from mjrig.core.properties.collection_kinds import Table, a_name
from mjrig.core.properties.component import ActorComponent, Component, component_named
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.hooks import required
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.properties.per_actuator import PatternMap
from mjrig.core.properties.scalar_kinds import Bool, Choice, FilePath, Patterns, Text
from mjrig.core.scene.actuator import Actuator, ActuatorList
from mjrig.core.scene.motor_file import MotorMap
from mjrig.core.scene.mujoco_options import CompilerOptions
from mjrig.core.scene.pose import Pose
from mjrig.core.scene.scene_sections import (
    MAX_VALUE,
    NAME,
    Attachment,
    Base,
    BodyInertias,
    Dynamics,
    FreeBody,
    GainTests,
    Keyframe,
    MocapBody,
    NativeGains,
    Replicate,
    Units,
    Velocity,
)

# Prop ---------------------------------------------------------------------------------------------


class Prop(Component):
    """Base class for an actor's `prop:`, given instead of a model."""

    @required()
    def fill(self, spec: Any) -> None:
        """Hook: add the object to an empty MjSpec, at its origin, with local names.

        Angles of the spec are radians. Raise PropertyError for what does not fit together.
        """
        raise NotImplementedError


# Actor --------------------------------------------------------------------------------------------


USE_MOTORS = (
    "Turn the model's position actuators into motors, driven by the actor's controllers; those "
    "that no controller matches by a PDController of the same gains and limits."
)


class ComponentList(NestedList[ActorComponent]):
    """The components of an actor, addressed by type name: `dog.PDController.kp`."""

    def role(self, item: object, index: int, taken: Sequence[str]) -> str:
        kind = item.get("type") if isinstance(item, Mapping) else type(item).__name__
        return unique(str(kind).rpartition(":")[2], taken)  # without the module it is in


class ActorDescription(HasProperties):
    """One robot or object in a scene, as its file describes it."""

    name = Text("", structural=True, doc="Name; letters, digits, _ and -.")
    model = FilePath(
        suffixes=MODELS,
        prefixes=("menagerie:",),
        suffix_optional=True,
        structural=True,
        doc="MJCF, URDF, MJB or MuJoCo archive, relative to the scene; package:… or menagerie:…",
    )
    compiler = Nested(
        CompilerOptions, structural=True, doc="MuJoCo compiler attributes that override the file's."
    )
    prop = Nested(Prop, polymorphic=True, structural=True, doc="A prop instead of a model.")
    base = Choice(
        Base.MODEL,
        structural=True,
        doc="model: as in the file; free: add a free joint to the root; fixed: remove it.",
    )
    scenery = Bool(
        True,
        structural=True,
        doc="Keep the content of the model's world body: its floor, lights and cameras.",
    )
    pose = Nested(Pose, structural=True, category="Transform", doc="Pose of the model's origin.")
    attach = Nested(
        Attachment,
        structural=True,
        category="Transform",
        doc="What the actor is attached to; none: world.",
    )
    keyframe = Text(
        "",
        structural=True,
        refers=("keyframe",),
        doc="Initial keyframe, from the model or `keyframes`; empty: the default pose.",
    )
    units = Choice(
        Units.RADIANS,
        structural=True,
        doc="Units of hinges in `joints` and `joint_velocities`; slides in m, keyframes in rad.",
    )
    joints = PatternMap(
        min=-MAX_VALUE,
        max=MAX_VALUE,
        structural=True,
        unit="rad or m",
        doc="Initial positions by joint name pattern; angles in `units`.",
    )
    joint_velocities = PatternMap(
        min=-MAX_VALUE,
        max=MAX_VALUE,
        structural=True,
        unit="rad/s or m/s",
        doc="Initial velocities by joint name pattern; angles in `units`.",
    )
    velocity = Nested(Velocity, structural=True, doc="Initial velocity of the free root.")
    free_bodies = NestedList(
        FreeBody,
        polymorphic=False,
        structural=True,
        doc="Initial states of the model's free bodies.",
    )
    mocap_bodies = NestedList(
        MocapBody,
        polymorphic=False,
        structural=True,
        doc="Initial poses of the model's mocap bodies.",
    )
    dynamics = Nested(Dynamics, structural=True, doc="Joint parameters that override the model's.")
    bodies = Nested(
        BodyInertias,
        structural=True,
        doc="Masses, centres and inertias of bodies that override the model's.",
    )
    motors = MotorMap(
        structural=True,
        doc="Motors of the driven joints: a name for all, or by joint or actuator name pattern.",
    )
    native_gains = Nested(
        NativeGains,
        structural=True,
        doc="Gains and limits that override those of the model's own actuators.",
    )
    renamed = Table(a_name, structural=True, doc="Renamed elements of the model, as old: new.")
    removed = Patterns((), structural=True, doc="Elements removed from the model.")
    actuators: ActuatorList = ActuatorList(
        structural=True, doc="Actuators added to the model's, one per match."
    )
    use_motors = Bool(False, structural=True, doc=USE_MOTORS)
    keyframes = NestedList(
        Keyframe, polymorphic=False, structural=True, doc="Keyframes kept in the scene."
    )
    replicate = Nested(Replicate, structural=True, doc="Copies of this actor on a grid.")
    gain_tests = Nested(GainTests, doc="Signals and thresholds of `mjrig tune test`.")
    components = ComponentList(ActorComponent, doc="Components of the actor, in order.")

    _assigned_first = ("name",)
    #: The folder file names are relative to, for an actor without a scene; None: the scene's.
    _base: Path | None
    _gate: Gate | None
    _trusted: tuple[Path, ...]
    #: Why it cannot be changed; empty: it can.
    _seal: str

    def prepare(self) -> None:
        self._base, self._gate, self._seal = None, None, ""
        self._trusted = ()

    @property
    def label(self) -> str:
        return self.name or self._role or "actor"

    @property
    def path_name(self) -> str:
        return self.name or self._role

    def folder(self) -> Path:
        return self._base if self._base is not None else super().folder()

    def gate(self) -> Gate | None:
        return self._gate if self._base is not None else super().gate()

    def trusted_folders(self) -> tuple[Path, ...]:
        return self._trusted if self._base is not None else super().trusted_folders()

    def stand_alone(self, original: "ActorDescription") -> None:
        """Find files and code as another actor does, whatever scene this one is in."""
        self._base, self._gate = original.folder(), original.gate()
        self._trusted = original.trusted_folders()

    def find_file(self, name: Path) -> Path:
        path = super().find_file(name)
        gate = self.gate()
        if gate is not None and not is_in_package(name):
            gate.admit_model(path)
        return path

    def sealed(self, reason: str) -> Self:
        """Make the actor read-only and return it: it only shows what another file describes."""
        self._seal = reason
        return self

    def validate(self) -> None:
        if self._seal:
            raise PropertyError(self._seal)
        if self.name and not NAME.fullmatch(self.name):
            raise PropertyError(
                f"{self._role or 'actor'}.name: must be letters, digits, _ and -, "
                f"starting with a letter, got {self.name!r}",
                ("name",),
            )
        if self.model is not None and self.prop is not None:
            raise PropertyError(f"{self.label}: has both a model and a prop; give one", ("prop",))

    def part(self, name: str) -> HasProperties:
        if name in self._nesting and isinstance(self._properties[name], Nested):
            return super().part(name)
        if name.endswith("]"):  # keyframes[0], actuators[0]; components go by their type name
            return super().part(name)
        return self._component(name)

    def _component(self, name: str) -> HasProperties:
        try:
            return component_named(self, self.components, name)
        except PropertyError as error:
            if not self.use_motors or self.components:
                raise
            raise PropertyError(
                f"{error}; under use_motors the gains are the model's own: to change them, list a "
                "controller, as in components: [{type: PDController, kp: 40, kv: 1}]"
            ) from None

    def component_role(self, name: str) -> str:
        """The name a component is listed by, from its type name or short form; others stay."""
        is_part = name in self._nesting and isinstance(self._properties[name], Nested)
        return name if is_part else component_named(self, self.components, name)._role

    def add_component(self, component: ActorComponent) -> ActorComponent:
        """Add a component to the actor."""
        self.components = (*self.components, component)
        return component

    def add_keyframe(self, keyframe: Keyframe) -> Keyframe:
        """Add a keyframe to the actor; one of the same name is replaced."""
        kept = list(self.keyframes)
        names = [k.name for k in kept]
        if keyframe.name in names:
            kept[names.index(keyframe.name)] = keyframe
        else:
            kept.append(keyframe)
        self.keyframes = tuple(kept)
        return keyframe

    def remove_component(self, component: ActorComponent) -> None:
        """Remove a component.

        Raises:
            PropertyError: it is not on this actor.
        """
        if component not in self.components:
            raise PropertyError(f"{component!r} is not a component of {self.label!r}")
        self.components = tuple(c for c in self.components if c is not component)
        component.disown()

    # Actuators ----------------------------------------------------------------------------------

    def add_actuator(self, actuator: Actuator) -> Actuator:
        """Add an actuator to the model's; one that already has an owner is copied first.

        Returns:
            The actuator that is on this actor.
        """
        if not isinstance(actuator, Actuator):
            raise TypeError(f"an actuator is added to {self.label!r}, not {actuator!r}")
        own = actuator if actuator._parent is None else actuator.copy()
        self.actuators = (*self.actuators, own)
        return own

    def remove_actuator(self, actuator: Actuator) -> None:
        """Remove an authored actuator and its sensors.

        Raises:
            PropertyError: it is not on this actor.
        """
        if all(actuator is not a for a in self.actuators):
            raise PropertyError(f"{actuator!r} is not an actuator of {self.label!r}")
        self.actuators = tuple(a for a in self.actuators if a is not actuator)
