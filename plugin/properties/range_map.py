"""Ranges by name pattern: `range: {".*_hip": [-0.8, 0.8]}`."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from mjrig.properties.bounds import number, plain
from mjrig.properties.declaration import Property
from mjrig.properties.has_properties import HasProperties

Range = tuple[float, float]


class RangeMap(Property[Mapping[str, Range]]):
    """A range [low, high] by name pattern, for the joints or actuators of an actor."""

    kind = "range_map"
    refers = ("joint",)

    def __init__(self, **about: Any) -> None:
        super().__init__(MappingProxyType({}), **about)

    def accept(self, obj: HasProperties, value: object) -> tuple[object, Mapping[str, Range]]:
        if not isinstance(value, Mapping):
            raise self.error(obj, f"must be a mapping of name patterns to ranges, got {value!r}")
        authored: dict[str, list[Any]] = {}
        made: dict[str, Range] = {}
        for pattern, item in value.items():
            if not isinstance(pattern, str):
                raise self.error(
                    obj, f"{pattern!r} is not a name pattern; quote it", (pattern,), about_key=True
                )
            authored[pattern], made[pattern] = self._one(obj, pattern, item)
        return authored, MappingProxyType(made)

    def _one(self, obj: HasProperties, pattern: str, item: object) -> tuple[list[Any], Range]:
        items = item.tolist() if isinstance(item, np.ndarray) else item
        found = [number(i) for i in items] if isinstance(items, list | tuple) else []
        match found:
            case [float(low), float(high)] if math.isfinite(low) and math.isfinite(high):
                if low < high:
                    assert isinstance(items, list | tuple)
                    return [plain(i) for i in items], (low, high)
                problem = f"its low end must be below its high end, got {item!r} for {pattern!r}"
                raise self.error(obj, problem, (pattern,))
        problem = f"must be two finite numbers, [low, high], got {item!r} for {pattern!r}"
        raise self.error(obj, problem, (pattern,))

    def json_schema(self) -> dict[str, object]:
        one = {"type": ["number", "string"]}
        ends = {"type": "array", "items": one, "minItems": 2, "maxItems": 2}
        return {"type": "object", "additionalProperties": ends}

    def default_text(self) -> str:
        return "{}"
