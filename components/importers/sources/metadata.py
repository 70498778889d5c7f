"""Metadata written by the ONNX exporters of BeyondMimic and mjlab: comma-separated texts."""

import math
from collections.abc import Mapping

from mjrig.errors import SceneError
from mjrig.names import suggestion


class Metadata:
    """The texts of one file; every error names the file and the key."""

    def __init__(self, file: str, texts: Mapping[str, str]) -> None:
        self.file, self.texts = file, texts

    def error(self, key: str, problem: str) -> SceneError:
        """An error about one key."""
        return SceneError(f"{self.file}: metadata {key!r} {problem}")

    def __contains__(self, key: str) -> bool:
        return bool(self.texts.get(key, "").strip())

    def names(self, key: str) -> list[str]:
        """A list of names.

        Raises:
            SceneError: it is missing, or a name is listed twice.
        """
        names = [n.strip("'\" ") for n in self._items(key)]
        for i, name in enumerate(names):
            if name in names[:i]:
                raise self.error(key, f"has the name {name!r} twice")
        return names

    def numbers(self, key: str, size: int, *, finite: bool = True) -> list[float]:
        """One number per entry; a single one stands for all.

        Raises:
            SceneError: it is missing, of the wrong length, or not a list of numbers.
        """
        values = [self._number(key, text) for text in self._items(key)]
        if finite and not all(map(math.isfinite, values)):
            raise self.error(key, f"must be finite, got {self.texts[key]!r}")
        if len(values) == 1:
            return values * size
        if len(values) != size:
            raise self.error(key, f"has {len(values)} values, needs {size}")
        return values

    def pairs(self, key: str, size: int) -> list[list[float] | None]:
        """Pairs [low, high]; None where both are infinite or the text is None."""
        found: list[list[float] | None] = []
        for text in self._items(key):
            inner = text.strip("[]() ")
            numbers = [] if inner in ("None", "") else _split(inner)
            values = [self._number(key, n) for n in numbers]
            if values and len(values) != 2:
                raise self.error(key, f"must be pairs, got {text!r}")
            found.append(None if not values or all(map(math.isinf, values)) else values)
        if len(found) == 2 * size and all(p is None for p in found):
            return [None] * size
        if len(found) != size:
            raise self.error(key, f"has {len(found)} pairs, needs {size}")
        return found

    def _items(self, key: str) -> list[str]:
        if key not in self:
            raise self.error(key, f"is missing; {suggestion(key, self.texts, label='has')}")
        return _split(self.texts[key].strip())

    def _number(self, key: str, text: str) -> float:
        words = {"true": 1.0, "false": 0.0}
        try:
            value = words.get(text.strip().lower())
            value = float(text.strip("[]() ")) if value is None else value
        except ValueError:
            raise self.error(key, f"must be numbers, got {text!r}") from None
        if math.isnan(value):
            raise self.error(key, f"must be numbers, got {text!r}")
        return value


def _split(text: str) -> list[str]:
    """Items between commas that are not inside brackets; brackets around it all are dropped."""
    if text.startswith("[") and text.endswith("]") and _depth_ends_late(text):
        text = text[1:-1]
    items, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            items.append(text[start:i].strip())
            start = i + 1
    items.append(text[start:].strip())
    return [item for item in items if item]


def _depth_ends_late(text: str) -> bool:
    """Whether the first bracket is closed by the last one."""
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if depth == 0:
            return i == len(text) - 1
    return False
