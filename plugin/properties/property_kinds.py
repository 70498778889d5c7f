"""The kinds of property: scalars, texts, choices, paths, vectors and nested components."""

import math
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.errors import PropertyError
from mjrig.properties import registry
from mjrig.properties.properties import HasProperties, Property, frozen

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)
C = TypeVar("C", bound=HasProperties)

# YAML 1.1 reads `1e-3` as text; a person means the number.
_NUMBER = re.compile(
    r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?\.?(inf|Inf|INF)|\.?(nan|NaN|NAN)"
)


def number(value: object) -> float | None:
    """A real number from a number or its text; None if it is neither (a bool is not)."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(re.sub(r"\.(?=[iInN])", "", value))  # YAML's .inf and .nan
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return None
    try:
        return float(value) if np.isrealobj(value) else None
    except OverflowError:  # an integer beyond any float
        return None


def plain(value: object) -> object:
    """A number as plain Python data, an int where it was written as one."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, int) else number(value)


def digits(value: float) -> str:
    """A number with as many digits as it has: what was got must not read like the limit."""
    return repr(float(value)).removesuffix(".0")


class Bounds:
    """A hard range (refused outside) and a soft one (the slider's extent)."""

    def __init__(
        self,
        unit: str,
        low: float,
        high: float,
        soft_low: float | None,
        soft_high: float | None,
        *,
        above: bool = False,
    ) -> None:
        self.unit = f" {unit}" if unit else ""
        self.low, self.high, self.above = low, high, above
        self.soft_low = low if soft_low is None else soft_low
        self.soft_high = high if soft_high is None else soft_high

    def problem(self, value: float) -> str | None:
        """Why a value is refused, or None."""
        if math.isnan(value):
            return "must be a number, got nan"
        if value < self.low or (self.above and value == self.low):
            return f"must be {self.low_text()}, got {digits(value)}"
        if value > self.high:
            return f"must be <= {digits(self.high)}{self.unit}, got {digits(value)}"
        return None

    def low_text(self) -> str:
        """The lower bound in words."""
        return f"{'>' if self.above else '>='} {digits(self.low)}{self.unit}"

    def text(self) -> str:
        """The range in words; empty where there is none."""
        parts = [self.low_text()] if self.low > -math.inf else []
        parts += [f"<= {digits(self.high)}{self.unit}"] if self.high < math.inf else []
        return ", ".join(parts)

    def json_schema(self) -> dict[str, object]:
        """The hard range in JSON Schema's words; texts such as 1e-3 and inf are numbers too."""
        schema: dict[str, object] = {"type": "number"}
        if self.low > -math.inf:
            schema["exclusiveMinimum" if self.above else "minimum"] = self.low
        if self.high < math.inf:
            schema["maximum"] = self.high
        text = {"type": "string", "pattern": rf"^({_NUMBER.pattern})$"}
        return {"anyOf": [schema, text]}


class Bool(Property[bool]):
    """True or false."""

    kind = "bool"

    def accept(self, obj: HasProperties, value: object) -> tuple[bool, bool]:
        if not isinstance(value, bool | np.bool_):
            raise self.error(obj, f"must be true or false, got {value!r}")
        return bool(value), bool(value)

    def json_schema(self) -> dict[str, object]:
        return {"type": "boolean"}


class _Numeric(Property[T]):
    """What Float and Int share: a range."""

    def __init__(
        self,
        default: T,
        *,
        min: float = -math.inf,
        max: float = math.inf,
        soft_min: float | None = None,
        soft_max: float | None = None,
        above: bool = False,
        display: str = "",
        **about: Any,
    ) -> None:
        super().__init__(default, **about)
        self.bounds = Bounds(self.unit, min, max, soft_min, soft_max, above=above)
        self.display = display

    def range_text(self) -> str:
        return self.bounds.text()

    def checked(self, obj: HasProperties, value: object) -> float:
        """A number inside the range."""
        found = number(value)
        if found is None:
            raise self.error(obj, f"must be a number, got {value!r}")
        problem = self.bounds.problem(found)
        if problem:
            raise self.error(obj, problem)
        return found


class Float(_Numeric[float]):
    """A real number; `display="deg"` shows degrees for stored radians."""

    kind = "float"

    def accept(self, obj: HasProperties, value: object) -> tuple[object, float]:
        found = self.checked(obj, value)
        return plain(value), found

    def json_schema(self) -> dict[str, object]:
        return self.bounds.json_schema()

    def default_text(self) -> str:
        return f"{self.default:g}"


class OptionalFloat(_Numeric[float | None]):
    """A real number, or nothing."""

    kind = "float"

    def accept(self, obj: HasProperties, value: object) -> tuple[object, float | None]:
        if value is None:
            return None, None
        found = self.checked(obj, value)
        return plain(value), found

    def json_schema(self) -> dict[str, object]:
        return {"anyOf": [self.bounds.json_schema(), {"type": "null"}]}

    def default_text(self) -> str:
        return "none" if self.default is None else f"{self.default:g}"


class Int(_Numeric[int]):
    """A whole number."""

    kind = "int"

    def accept(self, obj: HasProperties, value: object) -> tuple[int, int]:
        found = self.checked(obj, value)
        if not math.isfinite(found) or found != int(found):
            raise self.error(obj, f"must be a whole number, got {value!r}")
        kept = plain(value)
        whole = kept if isinstance(kept, int) else int(found)  # beyond 2**53 a float is not exact
        return whole, whole

    def json_schema(self) -> dict[str, object]:
        schema: dict[str, object] = {"type": "integer"}
        if self.bounds.low > -math.inf:
            schema["minimum"] = self.bounds.low
        if self.bounds.high < math.inf:
            schema["maximum"] = self.bounds.high
        return schema


class Text(Property[str]):
    """A string."""

    kind = "text"

    def accept(self, obj: HasProperties, value: object) -> tuple[str, str]:
        if isinstance(value, bool | int | float):
            raise self.error(obj, f"must be text, got {value!r}; quote it")
        if not isinstance(value, str):
            raise self.error(obj, f"must be text, got {value!r}")
        return value, value

    def json_schema(self) -> dict[str, object]:
        return {"type": "string"}

    def default_text(self) -> str:
        return repr(self.default)


class Patterns(Property[tuple[str, ...]]):
    """One name pattern or a list of them (regular expressions, matched in full)."""

    kind = "patterns"

    def __set__(self, obj: HasProperties, value: str | Sequence[str]) -> None:
        self.assign(obj, value)

    def accept(self, obj: HasProperties, value: object) -> tuple[object, tuple[str, ...]]:
        patterns = [value] if isinstance(value, str) else value
        if not isinstance(patterns, list | tuple) or not patterns:
            raise self.error(obj, f"must be a pattern or a list of patterns, got {value!r}")
        for i, pattern in enumerate(patterns):
            if not isinstance(pattern, str):
                raise self.error(obj, f"must be a pattern, got {pattern!r}; quote it", (i,))
            try:
                re.compile(pattern)
            except re.error as error:
                raise self.error(
                    obj, f"{pattern!r} is not a valid pattern: {error}", (i,)
                ) from None
        return (value if isinstance(value, str) else list(patterns)), tuple(patterns)

    def json_schema(self) -> dict[str, object]:
        text = {"type": "string", "format": "regex"}
        return {"anyOf": [text, {"type": "array", "items": text, "minItems": 1}]}

    def default_text(self) -> str:
        return ", ".join(map(repr, self.default))


class Choice(Property[E]):
    """One member of a StrEnum."""

    kind = "choice"

    def __init__(self, default: E, **about: Any) -> None:
        super().__init__(default, **about)
        self.choices = tuple(type(default))

    def __set__(self, obj: HasProperties, value: E | str) -> None:
        self.assign(obj, value)

    def accept(self, obj: HasProperties, value: object) -> tuple[str, E]:
        for member in self.choices:
            if isinstance(value, str) and value == member.value:
                return member.value, member
        allowed = ", ".join(m.value for m in self.choices)
        raise self.error(obj, f"must be one of {allowed}; got {value!r}")

    def json_schema(self) -> dict[str, object]:
        return {"enum": [m.value for m in self.choices]}


class FilePath(Property[Path | None]):
    """A file, as written: relative to the scene file, absolute, or `package:…`."""

    kind = "path"

    def __init__(
        self, *, suffixes: tuple[str, ...] = (), prefixes: tuple[str, ...] = (), **about: Any
    ) -> None:
        super().__init__(None, **about)
        self.suffixes = suffixes
        self.prefixes = prefixes  # a name that starts so is no file name, and needs no suffix

    def __set__(self, obj: HasProperties, value: str | Path | None) -> None:
        self.assign(obj, value)

    def accept(self, obj: HasProperties, value: object) -> tuple[object, Path | None]:
        if value is None:
            return None, None
        if not isinstance(value, str | Path) or not str(value):
            raise self.error(obj, f"must be a file name, got {value!r}")
        path = Path(value)
        free = str(value).startswith(self.prefixes) if self.prefixes else False
        if self.suffixes and not free and path.suffix.lower() not in self.suffixes:
            raise self.error(obj, f"must end in {' or '.join(self.suffixes)}, got {str(value)!r}")
        return str(value), path

    def json_schema(self) -> dict[str, object]:
        return {"type": ["string", "null"]}

    def default_text(self) -> str:
        return "none"


class Vector(Property[FloatArray]):
    """A fixed number of reals.

    Args:
        partial: one number or a shorter list will do; the rest is as in the default.
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
    """A list of reals of any length, or a list of such lists of one length."""

    kind = "samples"

    def __init__(
        self,
        default: Sequence[float],
        *,
        min: float = -math.inf,
        max: float = math.inf,
        **about: Any,
    ) -> None:
        super().__init__(frozen(default), **about)
        self.bounds = Bounds(self.unit, min, max, None, None)

    def __set__(self, obj: HasProperties, value: npt.ArrayLike) -> None:
        self.assign(obj, value)

    def accept(self, obj: HasProperties, value: object) -> tuple[object, FloatArray]:
        items = value.tolist() if isinstance(value, np.ndarray) else value
        if not isinstance(items, list | tuple):
            raise self.error(obj, f"must be a list of numbers, got {value!r}")
        nested = any(isinstance(item, list | tuple) for item in items)
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
        row = {"type": "array", "items": self.bounds.json_schema()}
        return {"anyOf": [row, {"type": "array", "items": row}]}

    def default_text(self) -> str:
        return "[]"


class Nested(Property[C | None]):
    """One nested component: of exactly this class, or of any registered type below it.

    Args:
        base: the class; where it is a family (`polymorphic`), a mapping names its `type`.
    """

    kind = "component"
    nests: ClassVar[bool] = True

    def __init__(self, base: type[C], *, polymorphic: bool = False, **about: Any) -> None:
        super().__init__(None, **about)
        self.base = base
        self.polymorphic = polymorphic

    def __set__(self, obj: HasProperties, value: C | Mapping[str, object] | None) -> None:
        self.assign(obj, value)

    def accept(self, obj: HasProperties, value: object) -> tuple[object, C | None]:
        if value is None:
            return None, None
        child = _nested(self, obj, value, self.name)
        return child, child

    def make_part(self, obj: HasProperties) -> None:
        if not self.polymorphic:
            self.assign(obj, {})

    def to_data(self, authored: Any) -> object:
        if authored is None:
            return None
        data = authored.to_data()
        if not self.polymorphic:
            data.pop("type", None)  # only one class can stand here
        return data

    def json_schema(self) -> dict[str, object]:
        family = "family" if self.polymorphic else "class"
        return {"anyOf": [{"x-mjrig": {family: self.base}}, {"type": "null"}]}

    def default_text(self) -> str:
        return "none"


class NestedList(Property[tuple[C, ...]]):
    """A list of nested components, in order: of one class, or of a registered family.

    Args:
        base: the class; where it is a family (`polymorphic`), a mapping names its `type`.
        short: the property a text stands for where an item is no mapping.
    """

    kind = "components"
    nests: ClassVar[bool] = True

    def __init__(
        self, base: type[C], *, polymorphic: bool = True, short: str | None = None, **about: Any
    ) -> None:
        super().__init__((), **about)
        self.base = base
        self.polymorphic = polymorphic
        self.short = short

    def __set__(self, obj: HasProperties, value: Sequence[C | Mapping[str, object]]) -> None:
        self.assign(obj, value)

    def accept(self, obj: HasProperties, value: object) -> tuple[object, tuple[C, ...]]:
        if not isinstance(value, list | tuple):
            raise self.error(obj, f"must be a list, got {value!r}")
        roles: list[str] = []
        made = []
        for i, item in enumerate(value):
            roles.append(self.role(item, i, roles))
            made.append(_nested(self, obj, item, roles[i], (i,)))
        if len(set(map(id, made))) < len(made):
            raise self.error(obj, "has one component twice; pass a copy()")
        return tuple(made), tuple(made)

    def role(self, item: object, index: int, taken: Sequence[str]) -> str:
        """What an item is called in labels and paths."""
        return f"{self.name}[{index}]"

    def to_data(self, authored: Any) -> object:
        return [self._item_data(child) for child in authored]

    def _item_data(self, child: HasProperties) -> object:
        data = child.to_data()
        if not self.polymorphic:
            data.pop("type", None)  # only one class can stand here
        if self.short is None or not child._written_short or list(data) != [self.short]:
            return data
        return data[self.short]

    def json_schema(self) -> dict[str, object]:
        family = "family" if self.polymorphic else "class"
        item: dict[str, object] = {"x-mjrig": {family: self.base}}
        if self.short is not None:
            item = {"anyOf": [{"type": "string"}, item]}
        return {"type": "array", "items": item}

    def default_text(self) -> str:
        return "[]"


def _nested(
    prop: Nested[C] | NestedList[C],
    obj: HasProperties,
    value: object,
    role: str,
    index: tuple[int, ...] = (),
) -> C:
    """The child a value stands for, owned by `obj`, its arrays spread like the owner's."""
    base = prop.base
    if isinstance(value, base):
        if value._parent is not None and (value._parent, value._inside) != (obj, prop.name):
            where = value._parent.label
            raise prop.error(obj, f"{value!r} already belongs to {where}; pass a copy()", index)
        obj.adopt(value, role, prop.name)
        child = value
    elif isinstance(value, Mapping):
        data = dict(value)
        cls = _class_named(prop, obj, data, index) if prop.polymorphic else base
        child = cls.blank()
        child.own(obj, role, prop.name)
        try:
            child.assign(data)
        except PropertyError as error:
            raise error.below(prop.name, *index) from None
    elif isinstance(prop, NestedList) and prop.short is not None and isinstance(value, str):
        child = _nested(prop, obj, {prop.short: value}, role, index)
        child._written_short = True
        return child
    else:
        raise _item_error(prop, obj, index, f"must be a mapping, got {value!r}")
    if obj._slots is not None:
        try:
            child.spread_over(obj._slots)
        except PropertyError as error:
            raise error.below(prop.name, *index) from None
    return child


def _class_named(
    prop: Nested[C] | NestedList[C],
    obj: HasProperties,
    data: dict[str, Any],
    index: tuple[int, ...],
) -> type[C]:
    """The class a mapping's `type` names; the key is taken out of the mapping."""
    if "type" not in data:
        known = ", ".join(registry.names(prop.base))
        raise _item_error(prop, obj, index, f"needs a 'type', one of {known}")
    name = data.pop("type")
    try:
        return registry.get(str(name), prop.base)
    except PropertyError as error:
        raise _item_error(prop, obj, index, str(error), at=("type",)) from None


def _item_error(
    prop: Property[Any],
    obj: HasProperties,
    index: tuple[int, ...],
    problem: str,
    at: tuple[str, ...] = (),
) -> PropertyError:
    """An error about one item of a list, or about the one nested component."""
    where = "".join(f"[{i}]" for i in index)
    return PropertyError(f"{obj.label}.{prop.name}{where}: {problem}", (prop.name, *index), at=at)
