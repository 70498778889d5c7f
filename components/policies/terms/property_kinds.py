"""Property kinds of policy files: lists of names, limits, and numbers or a word."""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray, frozen
from mjrig.core.patterns import Slots
from mjrig.core.properties.collection_kinds import Check
from mjrig.core.properties.declaration import Property, number, plain
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.per_actuator import PerActuator

#: Lowest and highest value, each one number or one per entry.
Range = tuple[FloatArray, FloatArray]


class Names(Property[tuple[str, ...]]):
    """A list of names, in order, none of them twice."""

    kind = "names"

    def __init__(self, **about: Any) -> None:
        super().__init__((), **about)

    def __set__(self, obj: HasProperties, value: Sequence[str]) -> None:
        self.assign(obj, value)

    def accept(self, obj: HasProperties, value: object) -> tuple[object, tuple[str, ...]]:
        if not isinstance(value, list | tuple):
            raise self.error(obj, f"must be a list of names, got {value!r}")
        for i, name in enumerate(value):
            if not isinstance(name, str) or not name:
                raise self.error(obj, f"must be names, got {name!r}", (i,))
            if name in value[:i]:
                raise self.error(obj, f"{name!r} is listed twice", (i,))
        return list(value), tuple(value)

    def json_schema(self) -> dict[str, object]:
        return {"type": "array", "items": {"type": "string"}}

    def default_text(self) -> str:
        return "[]"


class Limits(Property[Range | str | None]):
    """A bound c for ±c, a pair [low, high], a pair of lists, one of some words, or nothing.

    Args:
        words: words allowed instead; `none` always is.
        each: lists with one bound per entry are allowed.
    """

    kind = "limits"

    def __init__(self, *, words: tuple[str, ...] = (), each: bool = False, **about: Any) -> None:
        super().__init__(None, **about)
        self.words, self.each = words, each

    def accept(self, obj: HasProperties, value: object) -> tuple[object, Range | str | None]:
        if value is None or value == "none":
            return value, None
        if isinstance(value, str) and value in self.words:
            return value, value
        if isinstance(value, np.ndarray):
            value = value.tolist()
        bound = number(value)
        if bound is not None:
            if not bound >= 0.0:
                raise self.error(obj, f"must be >= 0 as a bound, got {value!r}")
            return plain(value), (frozen(-bound), frozen(bound))
        if isinstance(value, list | tuple) and len(value) == 2:
            low, high = (self._side(obj, value[i], i) for i in (0, 1))
            if low.shape != high.shape and low.ndim and high.ndim:
                raise self.error(obj, f"has {low.size} lower and {high.size} upper bounds")
            if np.any(low > high):
                raise self.error(obj, f"the lower bound is above the upper one in {value!r}")
            return [plain(v) if number(v) is not None else [*v] for v in value], (low, high)
        words = f", or one of {', '.join(('none', *self.words))}" if self.words else ""
        lists = " of numbers or lists" if self.each else ""
        raise self.error(obj, f"must be a bound or [low, high]{lists}{words}; got {value!r}")

    def _side(self, obj: HasProperties, value: object, index: int) -> FloatArray:
        several = self.each and isinstance(value, list | tuple)
        items: Any = value if several else [value]
        found = [number(item) for item in items]
        if not found or any(f is None or math.isnan(f) for f in found):
            what = "a number or a list of numbers" if self.each else "a number"
            raise self.error(obj, f"must be {what}, got {value!r}", (index,))
        return frozen(found if several else found[0])

    def json_schema(self) -> dict[str, object]:
        one: dict[str, object] = {"type": ["number", "string"]}
        side = {"anyOf": [one, {"type": "array", "items": one}]} if self.each else one
        pair = {"type": "array", "items": side, "minItems": 2, "maxItems": 2}
        return {"anyOf": [one, pair, {"type": "null"}]}

    def default_text(self) -> str:
        return "none"


class PerJoint(PerActuator):
    """One value per joint of a policy: a number, a list in its order, or values by pattern.

    Args:
        words: words allowed instead; the array is then NaN everywhere, and `word` is the one
            that was given.
    """

    def __init__(
        self, *, words: tuple[str, ...] = (), word: str | None = None, **about: Any
    ) -> None:
        super().__init__(finite=True, **about)
        self.words, self.initial = words, word

    def accept(self, obj: HasProperties, value: object) -> tuple[Any, FloatArray]:
        if isinstance(value, str) and number(value) is None and self.words:
            if value not in self.words:
                raise self.error(
                    obj, f"must be numbers or {' or '.join(self.words)}, got {value!r}"
                )
            return value, obj.__dict__[self.name]
        return super().accept(obj, value)

    def word(self, obj: HasProperties) -> str | None:
        """The word that stands for the numbers, or None."""
        authored = obj._authored.get(self.name, self.initial)
        return authored if isinstance(authored, str) else None

    def resolve(self, obj: HasProperties, slots: Slots) -> Any:
        if self.word(obj) is not None:
            return frozen(np.full(len(slots), math.nan)), ()
        return super().resolve(obj, slots)

    def json_schema(self) -> dict[str, object]:
        return {"anyOf": [super().json_schema(), *({"const": word} for word in self.words)]}

    def default_text(self) -> str:
        return self.initial or super().default_text()


def one_of(choices: type[StrEnum]) -> Check:
    """A check for `Table`: each value is a member."""

    def check(item: object) -> tuple[object, object] | str:
        for member in choices:
            if item == member.value:
                return member.value, member
        return f"one of {', '.join(choices)}"

    return check
