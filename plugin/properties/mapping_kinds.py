"""Property kinds without a fixed shape: values by name, one number or several."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray, frozen
from mjrig.properties.bounds import number, plain
from mjrig.properties.declaration import Property
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.plain_values import plain_data, shown

#: What one item becomes: (authored, value), or a text that describes what is required.
Check = Callable[[object], tuple[object, object] | str]


def numbers(item: object) -> tuple[object, object] | str:
    """A finite number, or a list of them."""
    items = item if isinstance(item, list | tuple) else [item]
    found = [number(i) for i in items]
    if not items or any(f is None or not math.isfinite(f) for f in found):
        return "a finite number or a list of them"
    if isinstance(item, list | tuple):
        return [plain(i) for i in items], tuple(found)
    return plain(item), (found[0],)


def a_number(item: object) -> tuple[object, object] | str:
    """A finite number."""
    found = number(item)
    if found is None or not math.isfinite(found):
        return "a finite number"
    return plain(item), found


def a_name(item: object) -> tuple[object, object] | str:
    """A name that is not empty."""
    return (item, item) if isinstance(item, str) and item else "a name"


def anything(item: object) -> tuple[object, object] | str:
    """Any data that a file can hold: texts, numbers, lists, and mappings with texts as keys."""
    try:
        data = plain_data(item)
    except ValueError as error:
        return str(error)
    return data, data


_SCHEMAS: dict[Check, dict[str, object]] = {
    numbers: {
        "anyOf": [
            {"type": ["number", "string"]},
            {"type": "array", "items": {"type": ["number", "string"]}},
        ]
    },
    a_number: {"type": ["number", "string"]},
    a_name: {"type": "string", "minLength": 1},
    anything: {},
}


class Table(Property[Mapping[str, Any]]):
    """Values by name; `check` validates each."""

    kind = "table"

    def __init__(self, check: Check, **about: Any) -> None:
        super().__init__(MappingProxyType({}), **about)
        self.check = check

    def accept(self, obj: HasProperties, value: object) -> tuple[object, Mapping[str, Any]]:
        if not isinstance(value, Mapping):
            raise self.error(obj, f"must be a mapping, got {value!r}")
        authored, made = {}, {}
        for key, item in value.items():
            if not isinstance(key, str) or not key:
                raise self.error(obj, f"{key!r} is not a name; quote it", (key,), about_key=True)
            found = self.check(item)
            if isinstance(found, str):
                raise self.error(obj, f"must be {found}, got {shown(item)} for {key!r}", (key,))
            authored[key], made[key] = found
        return authored, MappingProxyType(made)

    def json_schema(self) -> dict[str, object]:
        return {"type": "object", "additionalProperties": _SCHEMAS.get(self.check, {})}

    def default_text(self) -> str:
        return "{}"


class Numbers(Property[FloatArray]):
    """One finite number, or a list of them; read as an array, of shape () for one."""

    kind = "numbers"

    def __init__(self, default: npt.ArrayLike, **about: Any) -> None:
        super().__init__(frozen(default), **about)

    def __set__(self, obj: HasProperties, value: npt.ArrayLike) -> None:
        self.assign(obj, value)

    def accept(self, obj: HasProperties, value: object) -> tuple[object, FloatArray]:
        found = numbers(value.tolist() if isinstance(value, np.ndarray) else value)
        if isinstance(found, str):
            raise self.error(obj, f"must be {found}, got {value!r}")
        authored, values = found
        return authored, frozen(values if isinstance(authored, list) else values[0])  # type: ignore[index]

    def changed(self, before: FloatArray, after: FloatArray) -> bool:
        return not np.array_equal(before, after)

    def json_schema(self) -> dict[str, object]:
        return _SCHEMAS[numbers]

    def default_text(self) -> str:
        return str(self.default.tolist())
