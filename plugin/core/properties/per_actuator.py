"""Per-actuator properties: a scalar, a list in binding order, or a mapping of name patterns."""

import math
from collections.abc import Hashable, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, overload

import numpy as np

from mjrig.core.arrays import FloatArray, frozen
from mjrig.core.errors import BindingError
from mjrig.core.names import is_literal, listed, literal
from mjrig.core.patterns import Slots
from mjrig.core.properties.declaration import Bounds, Property, number, plain
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.hooks import required

DEFAULT = "default"
T = TypeVar("T")
Authored = float | int | list[Any] | dict[str, Any] | None
PerActuatorInput = float | Sequence[float] | FloatArray | Mapping[str, float] | None


class Origin(StrEnum):
    """Where the value of one actuator comes from."""

    DEFAULT = "default"
    PATTERN = "pattern"
    EXPLICIT = "explicit"


class PerActuator(Property[FloatArray]):
    """One value per actuator, authored compactly and read as a dense array.

    Two layers: what was authored is kept as written; the read-only array is resolved from it when
    the component is bound and whenever it or its fallback changes. Unbound, the array is empty.

    Args:
        fallback: the scalar property used for actuators that the value does not cover.
        constant: the value for them where there is no such property.
        finite: refuse infinity.
        whole: refuse fractions.
    """

    kind = "per_actuator"
    refers = ("actuator", "joint")

    def __init__(
        self,
        *,
        fallback: str | None = None,
        constant: float = 0.0,
        min: float = -math.inf,
        max: float = math.inf,
        soft_min: float | None = None,
        soft_max: float | None = None,
        above: bool = False,
        finite: bool = False,
        whole: bool = False,
        **about: Any,
    ) -> None:
        super().__init__(frozen([]), **about)
        self.fallback = fallback
        self.constant = constant
        self.finite = finite
        self.whole = whole
        self.bounds = Bounds(self.unit, min, max, soft_min, soft_max, above=above)

    if TYPE_CHECKING:  # beside __set__ again: reading gives an array, whatever was assigned

        @overload
        def __get__(self, obj: None, owner: type) -> Self: ...
        @overload
        def __get__(self, obj: object, owner: type) -> FloatArray: ...
        def __get__(self, obj: object | None, owner: type) -> Self | FloatArray: ...

    def __set__(self, obj: HasProperties, value: PerActuatorInput) -> None:
        self.assign(obj, value)

    def authored_default(self) -> object:
        # Not a number means that there is no value.
        covered = self.fallback is not None or math.isnan(self.constant)
        return None if covered else self.constant

    # Authored layer -----------------------------------------------------------------------------

    def accept(self, obj: HasProperties, value: object) -> tuple[Authored, FloatArray]:
        """Ranges are checked now; names and lengths as soon as the actuators are known."""
        written: Authored = None
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        if isinstance(value, Mapping):
            written = self.checked_mapping(obj, value)
        elif isinstance(value, list | tuple | np.ndarray):
            self._check_whole(obj, value)
            items = value.tolist() if isinstance(value, np.ndarray) else value
            written = [plain(item) for item in items]
        elif value is not None:
            written = self._one(obj, value, "", ())
        return written, obj.__dict__[self.name]

    def checked_mapping(self, obj: HasProperties, value: Mapping[Any, Any]) -> dict[str, float]:
        """A mapping whose keys are texts and whose values are inside the range.

        Raises:
            PropertyError: a key or a value does not fit.
        """
        for pattern in value:
            if not isinstance(pattern, str):
                problem = f"{pattern!r} is not a name pattern; quote it"
                raise self.error(obj, problem, (pattern,), about_key=True)
        return {p: self._one(obj, v, f" for {p!r}", (p,)) for p, v in value.items()}

    def _check_whole(self, obj: HasProperties, values: Sequence[object] | FloatArray) -> None:
        """Check a list; the vectorised test keeps gain scheduling cheap."""
        if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind == "f":
            low, high = values.min(initial=math.inf), values.max(initial=-math.inf)
            inside = low > self.bounds.low or (low == self.bounds.low and not self.bounds.above)
            bounded = high <= self.bounds.high and not (
                self.finite and (high == math.inf or low == -math.inf)
            )
            whole = not self.whole or (high < math.inf and bool((values == np.floor(values)).all()))
            if values.size and inside and bounded and whole and not np.isnan(values).any():
                return
        names = obj._slots.names if obj._slots and len(obj._slots) == len(values) else None
        for i, item in enumerate(values):
            self._one(obj, item, f" for {names[i]!r}" if names else f" at index {i}", (i,))

    def _one(
        self, obj: HasProperties, value: object, where: str, at: tuple[Hashable, ...]
    ) -> float | int:
        found = number(value)
        if found is None:
            raise self.error(obj, f"must be a number, got {value!r}{where}", at)
        problem = self.bounds.problem(found)
        if problem is None and self.finite and math.isinf(found):
            problem = f"must be finite, got {found:g}"
        if problem is None and self.whole and not found.is_integer():
            problem = f"must be a whole number, got {found:g}"
        if problem:
            raise self.error(obj, problem + where, at)
        kept = plain(value)
        return kept if isinstance(kept, int) else found

    # Resolved layer -----------------------------------------------------------------------------

    def refresh(self, obj: HasProperties) -> None:
        slots = obj._slots
        if slots is None:
            obj.__dict__[self.name] = self.default
            return
        values, _ = self.resolve(obj, slots)
        obj.__dict__[self.name] = values

    def fallback_value(self, obj: HasProperties) -> float:
        """The value of an actuator that nothing authored covers."""
        return float(obj.__dict__[self.fallback]) if self.fallback else self.constant

    def resolve(self, obj: HasProperties, slots: Slots) -> tuple[FloatArray, tuple[Origin, ...]]:
        """The dense array and where each value comes from.

        Raises:
            PropertyError: a wrong length, a pattern without a match, two patterns that disagree.
        """
        authored: Any = obj._authored.get(self.name)
        size = len(slots)
        if authored is None:
            return frozen(np.full(size, self.fallback_value(obj))), (Origin.DEFAULT,) * size
        if isinstance(authored, list):
            if len(authored) != size:
                order = f"; order: {listed(slots.names)}" if size else ""
                raise self.error(
                    obj, f"must have {size} values, one per actuator, got {len(authored)}{order}"
                )
            return frozen([number(v) for v in authored]), (Origin.EXPLICIT,) * size
        if not isinstance(authored, dict):
            return frozen(np.full(size, authored)), (Origin.EXPLICIT,) * size
        try:
            chosen = slots.spread({p: v for p, v in authored.items() if p != DEFAULT})
        except BindingError as error:
            raise self.error(obj, str(error), error.at, about_key=True) from None
        rest = authored.get(DEFAULT, self.fallback_value(obj))
        values, origins = [rest] * size, [Origin.DEFAULT] * size
        for i, (pattern, value) in chosen.items():
            values[i] = value
            origins[i] = Origin.EXPLICIT if is_literal(pattern) else Origin.PATTERN
        return frozen(values), tuple(origins)

    def merged(self, obj: HasProperties, patch: Mapping[str, float]) -> Authored:
        """What was authored with a patch merged into it.

        A pattern that shares actuators with the patch is replaced by the names it still covers,
        since two patterns that disagree about an actuator are an error.

        Raises:
            PropertyError: a list is authored and the actuators are not known yet.
        """
        authored: Any = obj._authored.get(self.name)
        slots = obj._slots
        if isinstance(authored, list):
            if slots is None:
                raise self.error(obj, "is a list; a patch by name needs a bound component")
            self.resolve(obj, slots)  # an open group may hold a list of another length
            authored = dict(zip(map(literal, slots.names), authored, strict=True))
        elif not isinstance(authored, dict):
            authored = {} if authored is None else {DEFAULT: authored}
        if slots is None:
            return {**authored, **patch}
        return {**self._disjoint(obj, authored, patch, slots), **patch}

    def _disjoint(
        self,
        obj: HasProperties,
        authored: dict[str, float],
        patch: Mapping[str, float],
        slots: Slots,
    ) -> dict[str, float]:
        try:
            taken = set(slots.spread({p: v for p, v in patch.items() if p != DEFAULT}))
        except BindingError as error:
            raise self.error(obj, str(error), error.at, about_key=True) from None
        return slots.without(authored, taken, kept=(DEFAULT,))

    # Description --------------------------------------------------------------------------------

    def is_modified(self, obj: HasProperties) -> bool:
        return obj._authored[self.name] is not None  # also where no array is resolved yet

    def changed(self, before: FloatArray, after: FloatArray) -> bool:
        return not np.array_equal(before, after)

    def range_text(self) -> str:
        return self.bounds.text()

    def default_text(self) -> str:
        return f"`{self.fallback}`" if self.fallback else f"{self.constant:g}"

    def json_schema(self) -> dict[str, object]:
        one = self.bounds.json_schema()
        return {
            "anyOf": [
                one,
                {"type": "array", "items": one},
                {"type": "object", "additionalProperties": one},
                {"type": "null"},
            ]
        }


class ByPattern(Property[Mapping[str, T]]):
    """Values by name pattern; the kinds say what a value may be."""

    refers = ("joint",)

    def __init__(self, **about: Any) -> None:
        super().__init__(MappingProxyType({}), **about)

    #: What the values are, in messages.
    items: ClassVar[str]

    @required()
    def one(self, item: object) -> T | str:
        """The value of one pattern, or what is wrong with it."""
        raise NotImplementedError

    def accept(self, obj: HasProperties, value: object) -> tuple[object, Mapping[str, T]]:
        if not isinstance(value, Mapping):
            problem = f"must be a mapping of name patterns to {self.items}, got {value!r}"
            raise self.error(obj, problem)
        made: dict[str, T] = {}
        for pattern, item in value.items():
            if not isinstance(pattern, str):
                raise self.error(
                    obj, f"{pattern!r} is not a name pattern; quote it", (pattern,), about_key=True
                )
            found = self.one(item)
            if isinstance(found, str):
                raise self.error(obj, f"{found} for {pattern!r}", (pattern,))
            made[pattern] = found
        return {p: _as_written(v) for p, v in value.items()}, MappingProxyType(made)


def _as_written(item: Any) -> Any:
    return [plain(i) for i in item] if isinstance(item, list | tuple) else plain(item)


class PatternMap(ByPattern[float]):
    """Numbers by name pattern, for the joints of an actor."""

    kind = "pattern_map"
    items = "numbers"

    def __init__(
        self,
        *,
        min: float = -math.inf,
        max: float = math.inf,
        above: bool = False,
        **about: Any,
    ) -> None:
        super().__init__(**about)
        self.bounds = Bounds(self.unit, min, max, None, None, above=above)

    def one(self, item: object) -> float | str:
        found = number(item)
        if found is None or not math.isfinite(found):
            return f"must be a finite number, got {item!r}"
        return self.bounds.problem(found) or found

    def json_schema(self) -> dict[str, object]:
        return {"type": "object", "additionalProperties": {"type": ["number", "string"]}}


class PatternLists(ByPattern[tuple[float, ...]]):
    """Lists of numbers by name pattern.

    Args:
        sizes: the least and the largest count; one number may then be written alone.
        ordered: each number must be above the one before, as in a range.
    """

    kind = "pattern_lists"
    items = "lists of numbers"

    def __init__(self, sizes: tuple[int, int], *, ordered: bool = False, **about: Any) -> None:
        super().__init__(**about)
        self.sizes, self.ordered = sizes, ordered

    def one(self, item: object) -> tuple[float, ...] | str:
        least, most = self.sizes
        items = item if isinstance(item, list | tuple) else [item]
        found = [number(i) for i in items]
        values = tuple(v for v in found if v is not None and math.isfinite(v))
        if len(values) < len(found) or not least <= len(found) <= most:
            count = f"{least} to {most}" if least < most else f"{most}"
            what = "two finite numbers [low, high]" if self.ordered else f"{count} finite numbers"
            return f"must be {what}, got {item!r}"
        if self.ordered and any(a >= b for a, b in pairwise(values)):
            return f"must be [low, high] with low < high, got {item!r}"
        return values

    def json_schema(self) -> dict[str, object]:
        one: dict[str, object] = {"type": ["number", "string"]}
        least, most = self.sizes
        many = {"type": "array", "items": one, "minItems": least, "maxItems": most}
        item = many if least > 1 else {"anyOf": [one, many]}
        return {"type": "object", "additionalProperties": item}


def origins(obj: HasProperties, name: str) -> tuple[Origin, ...]:
    """Where each value of a bound per-actuator property comes from; empty while unbound."""
    prop = obj.property_named(name)
    if obj._slots is None or not isinstance(prop, PerActuator):
        return ()
    return prop.resolve(obj, obj._slots)[1]


def resolved(obj: HasProperties) -> dict[str, FloatArray]:
    """The dense arrays of all per-actuator properties by name."""
    return {p.name: obj.__dict__[p.name] for p in obj.properties() if isinstance(p, PerActuator)}


def authored(obj: HasProperties) -> dict[str, FloatArray]:
    """The same as written by its owner: without values that are in place for a while."""
    slots = obj._slots
    if slots is None:
        return resolved(obj)
    own = [p for p in obj.properties() if isinstance(p, PerActuator)]
    return {p.name: p.resolve(obj, slots)[0] for p in own}


def patch(obj: HasProperties, values: Mapping[str, object]) -> None:
    """Merge values into what was authored, all or nothing.

    Raises:
        PropertyError: a name is unknown or a value does not fit; nothing was changed.
    """
    with obj.changes():
        for name, value in values.items():
            prop = obj.property_named(name)
            if isinstance(prop, PerActuator) and isinstance(value, Mapping):
                prop.assign(obj, prop.merged(obj, prop.checked_mapping(obj, value)))
            else:
                prop.assign(obj, value)
