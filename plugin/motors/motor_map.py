"""MotorMap: the property kind that names motors, for all driven joints or by name pattern."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mjrig.properties.declaration import Property
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.per_actuator import DEFAULT

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
