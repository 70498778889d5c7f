"""Property kinds of authored actuators: dynamics and gain types, limits, inputs, references."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from mjrig.actuators.actuator_sensor import ActuatorSensor
from mjrig.names import suggestion
from mjrig.properties.declaration import Property
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.nested_kinds import NestedList
from mjrig.properties.scalar_kinds import Choice, Text

#: Bits of an input signature by name; a chart of an orientation is one of the last two.
INPUTS: Mapping[str, int] = {"pos": 1, "vel": 2, "ff": 4, "voltage": 8, "none": 16, "pressure": 32}
CHARTS: Mapping[str, int] = {"expmap": 1, "quat": 2}


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

    def accept(
        self, obj: HasProperties, value: object
    ) -> tuple[object, tuple[ActuatorSensor, ...]]:
        if value is None:
            return (), ()
        if isinstance(value, str | Mapping | ActuatorSensor):
            value = [value]
        if isinstance(value, list | tuple):
            value = [_own(item, obj) for item in value]
        return super().accept(obj, value)


def _own(item: object, owner: HasProperties) -> object:
    """A sensor that is free or the owner's already; a copy of another owner's."""
    if isinstance(item, ActuatorSensor) and item._parent not in (None, owner):
        return item.copy()
    return item
