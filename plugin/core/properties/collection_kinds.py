"""Property kinds with several values: vectors, samples, numbers, and tables by name."""

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray, frozen
from mjrig.core.properties.declaration import Bounds, Property, number, plain, plain_data, shown
from mjrig.core.properties.has_properties import HasProperties

# Array kinds --------------------------------------------------------------------------------------


class Vector(Property[FloatArray]):
    """A fixed number of reals.

    Args:
        partial: accept one number or a shorter list; the rest comes from the default.
    """

    kind = "vector"

    def __init__(
        self,
        default: Sequence[float],
        *,
        min: float = -math.inf,
        max: float = math.inf,
        soft_min: float | None = None,
        soft_max: float | None = None,
        partial: bool = False,
        **about: Any,
    ) -> None:
        super().__init__(frozen(default), **about)
        self.size = len(default)
        self.partial = partial
        self.bounds = Bounds(self.unit, min, max, soft_min, soft_max)

    def __set__(self, obj: HasProperties, value: npt.ArrayLike) -> None:
        self.assign(obj, value)

    def accept(self, obj: HasProperties, value: object) -> tuple[object, FloatArray]:
        items = value.tolist() if isinstance(value, np.ndarray) else value
        if self.partial and not isinstance(items, list | tuple) and number(items) is not None:
            return plain(items), self.accept(obj, [items])[1]
        if not isinstance(items, list | tuple):
            what = "a number or a list of up to" if self.partial else "a list of"
            raise self.error(obj, f"must be {what} {self.size} numbers, got {value!r}")
        if self.partial and not 1 <= len(items) <= self.size:
            raise self.error(obj, f"must have 1 to {self.size} values, got {len(items)}")
        if not self.partial and len(items) != self.size:
            raise self.error(obj, f"must have {self.size} values, got {len(items)}")
        for i, item in enumerate(items):
            found = number(item)
            if found is None:
                raise self.error(obj, f"must be numbers, got {item!r}", (i,))
            problem = self.bounds.problem(found)
            if problem or math.isinf(found):
                raise self.error(obj, problem or f"must be finite, got {found:g}", (i,))
        given = [number(item) for item in items]
        return [plain(item) for item in items], frozen([*given, *self.default[len(given) :]])

    def changed(self, before: FloatArray, after: FloatArray) -> bool:
        return not np.array_equal(before, after)

    def json_schema(self) -> dict[str, object]:
        array: dict[str, object] = {
            "type": "array",
            "items": self.bounds.json_schema(),
            "minItems": 1 if self.partial else self.size,
            "maxItems": self.size,
        }
        return {"anyOf": [self.bounds.json_schema(), array]} if self.partial else array

    def default_text(self) -> str:
        return str([float(f"{v:g}") for v in self.default])


class Samples(Property[FloatArray]):
    """A list of reals of any length, or a list of such lists, all equally long.

    Args:
        default: the value that is not authored.
        min, max: the range.
        rows: whether it may be a list of lists.
        about: as for every property.
    """

    kind = "samples"

    def __init__(
        self,
        default: Sequence[float],
        *,
        min: float = -math.inf,
        max: float = math.inf,
        rows: bool = True,
        **about: Any,
    ) -> None:
        super().__init__(frozen(default), **about)
        self.bounds = Bounds(self.unit, min, max, None, None)
        self.rows = rows

    def __set__(self, obj: HasProperties, value: npt.ArrayLike) -> None:
        self.assign(obj, value)

    def accept(self, obj: HasProperties, value: object) -> tuple[object, FloatArray]:
        items = value.tolist() if isinstance(value, np.ndarray) else value
        if not isinstance(items, list | tuple):
            raise self.error(obj, f"must be a list of numbers, got {value!r}")
        nested = self.rows and any(isinstance(item, list | tuple) for item in items)
        rows = items if nested else [items]
        for i, row in enumerate(rows):
            where = (i,) if nested else ()
            if not isinstance(row, list | tuple) or len(row) != len(rows[0]):
                raise self.error(obj, "must be lists of one length", where)
            for k, item in enumerate(row):
                found = number(item)
                if found is None or math.isinf(found):
                    raise self.error(obj, f"must be finite numbers, got {item!r}", (*where, k))
                problem = self.bounds.problem(found)
                if problem:
                    raise self.error(obj, problem, (*where, k))
        authored = [[plain(item) for item in row] for row in rows]
        array = frozen([[number(item) for item in row] for row in rows])
        return (authored, array) if nested else (authored[0], frozen(array[0]))

    def changed(self, before: FloatArray, after: FloatArray) -> bool:
        return not np.array_equal(before, after)

    def json_schema(self) -> dict[str, object]:
        row: dict[str, object] = {"type": "array", "items": self.bounds.json_schema()}
        return {"anyOf": [row, {"type": "array", "items": row}]} if self.rows else row

    def default_text(self) -> str:
        return "[]"


# Mapping kinds ------------------------------------------------------------------------------------


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
