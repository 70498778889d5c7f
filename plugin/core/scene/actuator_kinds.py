"""Property kinds of actuators and motors: dynamics, gains, limits, sensors, names of motors."""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mjrig.core.names import suggestion
from mjrig.core.properties.declaration import Property
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Item, NestedList
from mjrig.core.properties.per_actuator import DEFAULT
from mjrig.core.properties.scalar_kinds import Choice, Float, Int, Text
from mjrig.core.scene.native_elements import INPUTS

# Actuator sensor ----------------------------------------------------------------------------------
# ActuatorSensor: a sensor on an actuator.


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

    def items(
        self, obj: HasProperties, value: object, present: Sequence[ActuatorSensor]
    ) -> list[Item]:
        if value is None:
            return []
        if isinstance(value, str | Mapping | ActuatorSensor):
            value = [value]
        if isinstance(value, list | tuple):
            value = [_own(item, obj) for item in value]
        return super().items(obj, value, present)


def _own(item: object, owner: HasProperties) -> object:
    """A sensor that is free or the owner's already; a copy of another owner's."""
    if isinstance(item, ActuatorSensor) and item._parent not in (None, owner):
        return item.copy()
    return item


# Motor map ----------------------------------------------------------------------------------------
# MotorMap: the property kind that names motors, for all driven joints or by name pattern.


#: `mx-106:m6`: a motor, and which of its fits.
_WITH_LAW = re.compile(r"(.*):\s*([mM][0-9]+)\s*", re.DOTALL)
_SUFFIXES = (".yaml", ".yml")


def split_law(text: str) -> tuple[str, str]:
    """The motor that a text names, and which of its fits; empty: the first."""
    found = _WITH_LAW.fullmatch(text)
    return (found[1], found[2].lower()) if found else (text, "")


def own_file(text: str) -> str:
    """The file that a text names; empty: it names a motor of the library."""
    name, _ = split_law(text)
    return name if name.lower().endswith(_SUFFIXES) else ""


@cache
def _path(name: str) -> Path:
    return Path(name)  # the same one for the same name, as other files keep theirs


class MotorMap(Property[Mapping[str, str]]):
    """Motors by joint or actuator name pattern, `default` for the other driven joints.

    A name alone is for all of them. Motors are looked up when the model is known.
    """

    kind = "motors"
    refers = ("actuator", "joint")

    def __init__(self, **about: Any) -> None:
        super().__init__(MappingProxyType({}), **about)

    def __set__(self, obj: HasProperties, value: str | Mapping[str, str]) -> None:
        self.assign(obj, value)

    def accept(self, obj: HasProperties, value: object) -> tuple[object, Mapping[str, str]]:
        if isinstance(value, str) and value:
            return value, MappingProxyType({DEFAULT: value})
        if not isinstance(value, Mapping):
            problem = f"must be a motor, or a mapping of name patterns to motors, got {value!r}"
            raise self.error(obj, problem)
        for pattern, motor in value.items():
            if not isinstance(pattern, str):
                problem = f"{pattern!r} is not a name pattern; quote it"
                raise self.error(obj, problem, (pattern,), about_key=True)
            if not isinstance(motor, str) or not motor:
                problem = f"must be the name of a motor, got {motor!r} for {pattern!r}"
                raise self.error(obj, problem, (pattern,))
        return dict(value), MappingProxyType(dict(value))

    def files(self, obj: HasProperties) -> tuple[Path, ...]:
        motors: Mapping[str, str] = obj.__dict__[self.name]
        return tuple(_path(own) for motor in motors.values() if (own := own_file(motor)))

    def rename_file(self, obj: HasProperties, file: Path, name: str) -> None:
        def renamed(motor: str) -> str:
            own = own_file(motor)
            return name + motor.removeprefix(own) if own and _path(own) == file else motor

        said = obj.authored(self.name)
        motors: Mapping[str, str] = obj.__dict__[self.name]
        by_pattern = {pattern: renamed(motor) for pattern, motor in motors.items()}
        self.assign(obj, renamed(said) if isinstance(said, str) else by_pattern)

    def json_schema(self) -> dict[str, object]:
        name = {"type": "string", "minLength": 1}
        return {"anyOf": [name, {"type": "object", "additionalProperties": name}]}

    def default_text(self) -> str:
        return "none"
