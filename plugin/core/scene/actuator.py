"""Actuator: an actuator that a scene adds to a model; views of several at once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from math import isinf
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, SupportsIndex, TypeVar, overload
from weakref import ref

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import BindingError, PropertyError
from mjrig.core.names import suggestion
from mjrig.core.properties.collection_kinds import Samples, Table, Vector, anything
from mjrig.core.properties.component import Component
from mjrig.core.properties.declaration import Property
from mjrig.core.properties.has_properties import HasProperties, put_back
from mjrig.core.properties.hooks import replaceable, required
from mjrig.core.properties.nested_kinds import Item, NestedList
from mjrig.core.properties.scalar_kinds import Bool, Choice, Float, Int, Patterns, Text
from mjrig.core.scene.native_elements import INPUTS

# Actuator sensor ----------------------------------------------------------------------------------


#: Longest history of a control input or a reading.
MAX_SAMPLES = 100_000


class Reads(StrEnum):
    """The quantity a sensor of an actuator measures."""

    POSITION = "actuatorpos"
    VELOCITY = "actuatorvel"
    FORCE = "actuatorfrc"


class ActuatorSensor(HasProperties):
    """A sensor that reads an actuator; it is removed with the actuator."""

    reads = Choice(Reads.FORCE, structural=True, doc="Length, velocity or force of the actuator.")
    name = Text("", structural=True, doc="Name; empty: the actuator's name and the quantity.")
    cutoff = Float(
        0.0, min=0.0, structural=True, doc="Clamp the reading to ±cutoff; 0: no clamping."
    )
    noise = Float(
        0.0, min=0.0, structural=True, doc="Noise standard deviation; MuJoCo adds no noise itself."
    )
    delay = Float(0.0, min=0.0, unit="s", structural=True, doc="Delay of the reading.")
    nsample = Int(
        0, min=0, max=MAX_SAMPLES, structural=True, doc="Number of readings kept for the delay."
    )
    interp = Int(0, min=0, max=2, structural=True, doc="Interpolation: 0 hold, 1 linear, 2 cubic.")


# Actuator kinds -----------------------------------------------------------------------------------
# Property kinds of authored actuators: dynamics and gain types, limits, inputs, references.


class Dyn(StrEnum):
    """How the activation follows the control."""

    NONE = "none"
    INTEGRATOR = "integrator"
    FILTER = "filter"
    FILTEREXACT = "filterexact"
    MUSCLE = "muscle"
    DCMOTOR = "dcmotor"
    PID = "pid"
    USER = "user"


class Gain(StrEnum):
    """Gain: the factor of the control or activation."""

    FIXED = "fixed"
    AFFINE = "affine"
    MUSCLE = "muscle"
    DCMOTOR = "dcmotor"
    SO3 = "so3"
    PID = "pid"
    USER = "user"


class Bias(StrEnum):
    """Bias: the force without any control."""

    NONE = "none"
    AFFINE = "affine"
    MUSCLE = "muscle"
    DCMOTOR = "dcmotor"
    SO3 = "so3"
    USER = "user"


class Limited(Property[bool | None]):
    """True, false, or null: limited if a range is given."""

    kind = "optional_bool"

    def __init__(self, **about: Any) -> None:
        super().__init__(None, **about)

    def accept(self, obj: HasProperties, value: object) -> tuple[object, bool | None]:
        if value is not None and not isinstance(value, bool):
            raise self.error(obj, f"must be true, false or null (automatic), got {value!r}")
        return value, value

    def json_schema(self) -> dict[str, object]:
        return {"type": ["boolean", "null"]}

    def default_text(self) -> str:
        return "automatic"


class Interp(StrEnum):
    """Interpolation between two samples."""

    ZOH = "zoh"
    LINEAR = "linear"
    CUBIC = "cubic"


class Interpolation(Choice[Interp]):
    """An interpolation by name, or by MuJoCo's number."""

    def __init__(self, **about: Any) -> None:
        super().__init__(Interp.ZOH, **about)

    def accept(self, obj: HasProperties, value: object) -> tuple[Any, Interp]:
        if isinstance(value, int) and not isinstance(value, bool) and value in range(3):
            return value, Interp(self.choices[value])
        return super().accept(obj, value)

    def json_schema(self) -> dict[str, object]:
        return {"enum": [*(m.value for m in self.choices), 0, 1, 2]}


class Inputs(Property[int]):
    """The inputs an actuator has: names (`pos vel`, or a list), or MuJoCo's bits; 0: the kind's."""

    kind = "inputs"

    def __init__(self, tokens: Mapping[str, int] = INPUTS, **about: Any) -> None:
        super().__init__(0, **about)
        self.tokens = tokens

    def __set__(self, obj: HasProperties, value: int | str | list[str]) -> None:
        self.assign(obj, value)

    def accept(self, obj: HasProperties, value: object) -> tuple[object, int]:
        if isinstance(value, int) and not isinstance(value, bool):
            top = sum(self.tokens.values())
            if not 0 <= value <= top:
                raise self.error(obj, f"must be bits in 0 to {top}, got {value}")
            return value, value
        words = value.split() if isinstance(value, str) else value
        if not isinstance(words, list | tuple) or not words:
            raise self.error(obj, f"must be names of inputs, got {value!r}")
        bits = 0
        for word in words:
            if not isinstance(word, str) or word not in self.tokens:
                hint = suggestion(str(word), self.tokens)
                raise self.error(obj, f"unknown input {word!r}; {hint}")
            bits |= self.tokens[word]
        return (value if isinstance(value, str) else list(words)), bits

    def json_schema(self) -> dict[str, object]:
        names = {"type": "array", "items": {"enum": list(self.tokens)}, "minItems": 1}
        return {"anyOf": [{"type": "string"}, names, {"type": "integer", "minimum": 0}]}

    def default_text(self) -> str:
        return "the kind's"


class ElementName(Text):
    """The name of a site, `actor/site` for another actor's, or a handle; None for none."""

    def __set__(self, obj: HasProperties, value: object) -> None:
        self.assign(obj, value)

    def accept(self, obj: HasProperties, value: object) -> tuple[str, str]:
        refer = getattr(value, "name_seen_from", None)  # a handle: an Element
        if value is None:
            return "", ""
        return super().accept(obj, refer(obj) if refer is not None else value)

    def json_schema(self) -> dict[str, object]:
        return {"type": ["string", "null"]}


class SensorList(NestedList[ActuatorSensor]):
    """The sensors of an actuator: one, a list, or None."""

    def __init__(self, **about: Any) -> None:
        super().__init__(ActuatorSensor, polymorphic=False, short="reads", **about)

    def __set__(self, obj: HasProperties, value: object) -> None:
        self.assign(obj, value)

    def _items(
        self, obj: HasProperties, value: object, present: Sequence[ActuatorSensor]
    ) -> list[Item]:
        if value is None:
            return []
        if isinstance(value, str | Mapping | ActuatorSensor):
            value = [value]
        if isinstance(value, list | tuple):
            value = [_own(item, obj) for item in value]
        return super()._items(obj, value, present)


def _own(item: object, owner: HasProperties) -> object:
    """A sensor that is free or the owner's already; a copy of another owner's."""
    if isinstance(item, ActuatorSensor) and item._parent not in (None, owner):
        return item.copy()
    return item


# Live readings ------------------------------------------------------------------------------------


class LiveReadings(Protocol):
    """Current values of one actuator. Several inputs, outputs or activations read as arrays."""

    @property
    def name(self) -> str:
        """Its local name."""
        ...

    @property
    def tag(self) -> str:
        """MuJoCo's name for this kind of actuator."""
        ...

    @property
    def parent_tag(self) -> str:
        """MuJoCo's name for the kind of transmission target."""
        ...

    @property
    def force(self) -> float | FloatArray:
        """The force MuJoCo applied in the last step."""
        ...

    @property
    def length(self) -> float | FloatArray:
        """The length of the transmission."""
        ...

    @property
    def velocity(self) -> float | FloatArray:
        """The velocity of the transmission."""
        ...

    @property
    def ctrl(self) -> float | FloatArray:
        """The control input."""
        ...

    @property
    def activation(self) -> float | FloatArray | None:
        """The activation; None where it has none."""
        ...


class RunningRobot(Protocol):
    """A robot of a running world."""

    def actuator(self, name: str) -> LiveReadings:
        """One of its actuators by local name."""
        ...


# Actuator -----------------------------------------------------------------------------------------


#: The properties that name the target of an actuator; exactly one is given.
TARGETS = ("joint", "body", "site", "tendon", "cranksite")
OTHER_ROOT = "Setting refsite is only allowed for references that share the same root."
NO_SITE = "To set the refsite reference, site must be set first."

Problem = tuple[str, str]
MAX_GROUP = 2**31 - 1  # MuJoCo's own


class Actuator(Component):
    """What can be listed under an actor's `actuators:`; one MuJoCo actuator per match.

    Args:
        copy: whether sensors that are passed as objects are copied first.
        values: properties by name.
    """

    #: Optional references: removing the element clears the property, and the actuator stays.
    optional_references: ClassVar[tuple[str, ...]] = ("refsite",)
    #: MJCF element.
    element: ClassVar[str] = "general"
    #: Kinds of target it may act on.
    targets: ClassVar[tuple[str, ...]] = ("joint", "site", "tendon", "cranksite")
    #: Quantity of its first control input; a range of another quantity is meaningless for it.
    command: ClassVar[str] = ""
    #: Its properties that are [low, high].
    ranges: ClassVar[tuple[str, ...]] = ("ctrlrange", "forcerange", "actrange", "lengthrange")
    #: Activation dynamics where `dyntype` is not given.
    dynamics: ClassVar[str] = "none"

    name = Text("", structural=True, doc="Name; empty: that of what it acts on; numbered if taken.")
    joint = Text(
        "",
        structural=True,
        category="Transmission",
        refers=("joint",),
        doc="Joint, or a name pattern.",
    )
    body = Text(
        "",
        structural=True,
        category="Transmission",
        refers=("body",),
        doc="Body, or a name pattern.",
    )
    site = Text(
        "",
        structural=True,
        category="Transmission",
        refers=("site",),
        doc="Site, or a name pattern.",
    )
    tendon = Text(
        "",
        structural=True,
        category="Transmission",
        refers=("tendon",),
        doc="Tendon, or a name pattern.",
    )
    cranksite = Text(
        "",
        structural=True,
        category="Transmission",
        refers=("site",),
        doc="Site at the joint of crank and rod.",
    )
    slidersite = Text(
        "",
        structural=True,
        category="Transmission",
        refers=("site",),
        doc="Site whose z axis is the slider's.",
    )
    cranklength = Float(
        0.0, min=0.0, unit="m", structural=True, category="Transmission", doc="Length of the rod."
    )
    inparent = Bool(
        False,
        structural=True,
        category="Transmission",
        doc="Ball or free joint: apply the torque in the parent's frame.",
    )
    refsite = ElementName(
        "",
        structural=True,
        refers=("site", "place"),
        category="Transmission",
        doc="Reference site whose frame the site moves in; actor/site for another actor's.",
    )
    replaces = Patterns(
        (),
        structural=True,
        refers=("actuator",),
        category="Transmission",
        doc="Actuators of the model that this one replaces; their targets are kept.",
    )
    gear = Vector(
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        partial=True,
        structural=True,
        category="Transmission",
        doc="Scales length, velocity and force; the wrench axes on sites and ball joints.",
    )
    lengthrange = Vector(
        [0.0, 0.0],
        structural=True,
        category="Transmission",
        doc="Feasible range of transmission length.",
    )
    ctrllimited = Limited(structural=True, category="Limits", doc="Clamp the control input.")
    ctrlrange = Vector([0.0, 0.0], structural=True, category="Limits", doc="Control input range.")
    forcelimited = Limited(structural=True, category="Limits", doc="Clamp the force.")
    forcerange = Vector(
        [0.0, 0.0], unit="N or N·m", structural=True, category="Limits", doc="Force range."
    )
    actlimited = Limited(structural=True, category="Limits", doc="Clamp the activation.")
    actrange = Vector([0.0, 0.0], structural=True, category="Limits", doc="Activation range.")
    dyntype = Choice(
        Dyn.NONE, structural=True, category="Law", doc="Activation dynamics; not given: the kind's."
    )
    gaintype = Choice(
        Gain.FIXED, structural=True, category="Law", doc="Gain type; not given: the kind's."
    )
    biastype = Choice(
        Bias.NONE, structural=True, category="Law", doc="Bias type; not given: the kind's."
    )
    dynprm = Vector(
        [1.0] + [0.0] * 9,
        partial=True,
        structural=True,
        category="Law",
        doc="Dynamics parameters; those not given are the kind's.",
    )
    gainprm = Vector(
        [1.0] + [0.0] * 9,
        partial=True,
        structural=True,
        category="Law",
        doc="Gain parameters; those not given are the kind's.",
    )
    biasprm = Vector(
        [0.0] * 10,
        partial=True,
        structural=True,
        category="Law",
        doc="Bias parameters; those not given are the kind's.",
    )
    actdim = Int(
        -1,
        min=-1,
        max=1000,
        structural=True,
        category="Law",
        doc="Number of activations; -1: the kind's.",
    )
    actearly = Bool(
        False,
        structural=True,
        category="Law",
        doc="Compute the force from the activation at the end of the step.",
    )
    ctrlspec = Inputs(structural=True, category="Law", doc="Input signature.")
    damping = Vector(
        [0.0, 0.0, 0.0],
        min=0.0,
        partial=True,
        structural=True,
        category="Physics",
        doc="Damping added to the joint or tendon, polynomial in velocity, times gear².",
    )
    armature = Float(
        0.0,
        min=0.0,
        unit="kg·m² or kg",
        structural=True,
        category="Physics",
        doc="Rotor inertia added to the joint or tendon, times gear².",
    )
    delay = Float(
        0.0, min=0.0, unit="s", structural=True, category="Delay", doc="Delay of the control input."
    )
    nsample = Int(
        0,
        min=0,
        max=MAX_SAMPLES,
        structural=True,
        category="Delay",
        doc="Size of the control history; at least delay / timestep.",
    )
    interp = Interpolation(
        structural=True, category="Delay", doc="Interpolation between two samples."
    )
    plugin = Text(
        "", structural=True, category="Plugin", doc="MuJoCo engine plugin that implements it."
    )
    plugin_config = Table(anything, structural=True, category="Plugin", doc="Plugin configuration.")
    group = Int(
        0,
        min=-MAX_GROUP,
        max=MAX_GROUP,
        structural=True,
        doc="Group number, to show or disable actuators together.",
    )
    userdata = Samples([], rows=False, structural=True, doc="User data.")
    sensors = SensorList(structural=True, doc="Sensors that read this actuator.")

    _assigned_first = ("name",)
    #: The running robots it is part of, and its names there; set by the newest world.
    _live: tuple[tuple[ref[RunningRobot], str], ...]

    def __init__(self, *, copy: bool = True, **values: object) -> None:
        if copy and "sensors" in values:
            values["sensors"] = _copied(values["sensors"])
        super().__init__(**values)

    def prepare(self) -> None:
        self._live = ()

    @property
    def label(self) -> str:
        kind = f"{type(self).__name__} {self.name!r}" if self.name else type(self).__name__
        return kind if self._parent is None else f"{self._parent.label}.{self._role} ({kind})"

    def validate(self) -> None:
        for name, value in self.__dict__.items():
            if isinstance(value, float) and isinf(value):
                raise self.refusal(name, f"must be finite, got {value:g}")
        for name in self.ranges:
            low, high = self.__dict__[name]
            if low > high:
                problem = f"must be [low, high] with low <= high, got [{low:g}, {high:g}]"
                raise self.refusal(name, problem)
        given = self.given_targets()
        if len(given) > 1:
            raise self.refusal(given[1], f"{given[0]} is given already; give only one")
        if self.replaces and given:
            raise self.refusal(given[0], "cannot be combined with replaces, which keeps the target")
        if self.refsite and not self.replaces and not self.site:
            raise self.refusal("refsite", NO_SITE if given else OTHER_ROOT)

    def refusal(self, name: str, problem: str) -> PropertyError:
        """An error about one property of this actuator."""
        return PropertyError(f"{self.label}.{name}: {problem}", (name,))

    def given_targets(self) -> list[str]:
        """Which of joint, body, site, tendon and cranksite are given."""
        return [name for name in TARGETS if self.__dict__[name]]

    def attach_to(self, kind: str, name: str) -> None:
        """Make this element the target."""
        with self.changes():
            for other in self.given_targets():
                self.unset(other)
            self.property_named(kind).assign(self, name)

    # Compilation --------------------------------------------------------------------------------

    @required()
    def shape(self, made: Any) -> None:
        """Give a spec's actuator this kind's law; called after its ranges are written."""
        raise NotImplementedError

    def problems(self) -> Iterator[Problem]:
        """Contradictions among this kind's properties: (property, what is wrong)."""
        yield from ()

    # Readings in the newest world ---------------------------------------------------------------

    @property
    def tag(self) -> str:
        """MuJoCo's name for this kind of actuator."""
        return self.element

    @property
    def parent_tag(self) -> str:
        """MuJoCo's name for the kind of transmission target.

        Raises:
            ValueError: nothing, or something this kind cannot act on.
        """
        given = self.given_targets()
        if self.replaces:
            return self.live()[0].parent_tag
        if len(given) != 1:
            raise ValueError(f"{self.label} acts on nothing; give one of {', '.join(self.targets)}")
        if given[0] not in self.targets:
            raise ValueError(
                f"{self.label} cannot act on a {given[0]}; only on {', '.join(self.targets)}"
            )
        return "jointinparent" if self.inparent else given[0]

    def live(self) -> list[LiveReadings]:
        """Its actuators in the newest world of its scene, one per match.

        Raises:
            BindingError: there is no such world, or it is gone.
        """
        robots = [(robot(), name) for robot, name in self._live]
        found = [robot.actuator(name) for robot, name in robots if robot is not None]
        if not found:
            raise BindingError(f"{self.label} is in no world; build a World from its scene first")
        return found

    def link(self, places: Sequence[tuple[RunningRobot, str]]) -> None:
        """Read from these robots; they are not kept alive."""
        self._live = tuple((ref(robot), name) for robot, name in places)

    def _read(self, name: str) -> Any:
        values = [getattr(live, name) for live in self.live()]
        return values[0] if len(values) == 1 else values

    @property
    @replaceable
    def force(self) -> Any:
        """The force MuJoCo applied in the last step; a list where it became several actuators."""
        return self._read("force")

    @property
    def applied_force(self) -> Any:
        """The same as `force`, also on kinds that author a force."""
        return self._read("force")

    @property
    def activation(self) -> Any:
        """The activation: None without one, an array for several."""
        return self._read("activation")

    @property
    def ctrl(self) -> Any:
        """The control input; an array for several inputs."""
        return self._read("ctrl")

    def with_changes(self, **values: object) -> Self:
        """A copy with other values."""
        made = self.copy()
        made.assign(values)
        return made


def _copied(sensors: object) -> object:
    if isinstance(sensors, ActuatorSensor):
        return sensors.copy()
    if isinstance(sensors, list | tuple):
        return [s.copy() if isinstance(s, ActuatorSensor) else s for s in sensors]
    return sensors


# Actuator view ------------------------------------------------------------------------------------


T = TypeVar("T")
LIVE = ("force", "applied_force", "activation", "ctrl", "tag", "parent_tag")


class ActuatorView(tuple[Actuator, ...]):
    """Actuators in order.

    Reading a property gives the list of its values. Assigning one value gives it to all of them, a
    list gives each its own. Where a value is itself a list (a range, a whole gear), a flat list is
    one value, and a list of lists gives each its own.
    """

    __slots__ = ()

    @overload
    def __getitem__(self, key: SupportsIndex) -> Actuator: ...
    @overload
    def __getitem__(self, key: slice) -> "ActuatorView": ...
    @overload
    def __getitem__(self, key: str) -> "Actuator | ActuatorView": ...
    def __getitem__(self, key: SupportsIndex | slice | str) -> "Actuator | ActuatorView":
        """By index, slice, or name; a name shared by several gives a view of them.

        Raises:
            BindingError: none has that name.
        """
        if isinstance(key, slice):
            return ActuatorView(super().__getitem__(key))
        if not isinstance(key, str):
            return super().__getitem__(key)
        found = ActuatorView(a for a in self if a.name == key)
        if not found:
            names = [a.name for a in self if a.name]
            raise BindingError(f"there is no actuator {key!r}; {suggestion(key, names)}")
        return found[0] if len(found) == 1 else found

    def apply(self, function: Callable[[Actuator], T]) -> list[T]:
        """Call a function with each; returns what it returned."""
        return [function(actuator) for actuator in self]

    def __getattr__(self, name: str) -> list[Any]:
        self._check(name, read=True)
        return [getattr(actuator, name) for actuator in self]

    def __setattr__(self, name: str, value: object) -> None:
        self._check(name, read=False)
        before: list[tuple[HasProperties, dict[str, object]]]
        before = [(a, dict(a.__dict__)) for a in self]
        try:
            for actuator, item in zip(self, self._shares(name, value), strict=True):
                setattr(actuator, name, item)
        except BaseException:
            put_back(before)
            raise

    def _check(self, name: str, *, read: bool) -> None:
        if name.startswith("_"):
            raise AttributeError(name)
        kinds = {type(a) for a in self} or {Actuator}
        for kind in kinds:
            known = [*kind._properties, *(LIVE if read else ())]
            if name not in known:
                hint = suggestion(name, known)
                raise AttributeError(f"{kind.__name__} has no property {name!r}; {hint}")

    def _shares(self, name: str, value: object) -> list[object]:
        """One value per actuator."""
        if not isinstance(value, list | tuple) or self._is_one(name, value):
            return [value] * len(self)
        if len(value) != len(self):
            raise PropertyError(
                f"{name}: got {len(value)} values for {len(self)} actuators; give one for all of "
                "them, or one each"
            )
        return list(value)

    def _is_one(self, name: str, value: list[Any] | tuple[Any, ...]) -> bool:
        """Whether a list is one value of the property."""
        if any(isinstance(item, list | tuple) for item in value):
            return False
        prop = type(self[0])._properties[name] if self else None
        if isinstance(prop, Vector):
            return not prop.partial or len(value) == prop.size
        return prop is not None and prop.kind in ("samples", "patterns", "components", "inputs")


class ActuatorList(NestedList[Actuator]):
    """The authored actuators of an actor, read as a view."""

    def __init__(self, **about: Any) -> None:
        super().__init__(Actuator, **about)
        self.default = ActuatorView()

    if TYPE_CHECKING:

        @overload
        def __get__(self, obj: None, owner: type) -> Self: ...
        @overload
        def __get__(self, obj: object, owner: type) -> ActuatorView: ...
        def __get__(self, obj: object | None, owner: type) -> Self | ActuatorView: ...

    def _joined(self, children: list[Actuator]) -> ActuatorView:
        return ActuatorView(children)
