"""MotorMap: the property kind that names motors, for all driven joints or by name pattern."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from mjrig.properties.declaration import Property
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.per_actuator import DEFAULT


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

    def json_schema(self) -> dict[str, object]:
        name = {"type": "string", "minLength": 1}
        return {"anyOf": [name, {"type": "object", "additionalProperties": name}]}

    def default_text(self) -> str:
        return "none"
