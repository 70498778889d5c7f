"""Metadata written by the ONNX exporters of BeyondMimic and mjlab: lists as texts.

Entries are separated by commas. A list inside of an entry is `-inf;inf` by the present exporter,
and Python's `[-inf, inf]` or `(-inf, inf)` by older ones.
"""

import math
from collections.abc import Mapping

from mjrig.core.errors import SceneError
from mjrig.core.names import suggestion

_NAMED = ("joint_names", "observation_names", "command_names", "body_names")


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
        values = [self._number(key, part) for text in self._items(key) for part in _inner(text)]
        if finite and not all(map(math.isfinite, values)):
            raise self.error(key, f"must be finite, got {self.texts[key]!r}")
        if len(values) == 1:
            return values * size
        if len(values) != size:
            raise self.error(key, f"has {len(values)} values, needs {size}")
        return values

    def lists(self, key: str, size: int) -> list[list[float]]:
        """One list of numbers per entry; empty where the text is None.

        Raises:
            SceneError: it is missing, has another number of entries, or is not of numbers.
        """
        found = [[self._number(key, part) for part in _inner(text)] for text in self._items(key)]
        if len(found) == 1 and size > 1:
            found = [list(found[0]) for _ in range(size)]
        if len(found) != size:
            raise self.error(key, f"has {len(found)} entries, needs {size}")
        return found

    def pairs(self, key: str, size: int) -> list[list[float] | None]:
        """Pairs [low, high]; None where both are infinite or the text is None.

        Raises:
            SceneError: it is missing, has another number of pairs, or is not of pairs.
        """
        entries = [[self._number(key, part) for part in _inner(text)] for text in self._items(key)]
        if len(entries) == 2 * size and all(len(entry) == 1 for entry in entries):
            entries = [[*low, *high] for low, high in zip(entries[::2], entries[1::2], strict=True)]
        if len(entries) != size:
            raise self.error(key, f"has {len(entries)} pairs, needs {size}")
        odd = next((entry for entry in entries if entry and len(entry) != 2), None)
        if odd is not None:
            raise self.error(key, f"must be pairs, got {odd}")
        return [entry if entry and not all(map(math.isinf, entry)) else None for entry in entries]

    def _items(self, key: str) -> list[str]:
        if key not in self:
            raise self.error(key, f"is missing; {suggestion(key, self.texts, label='has')}")
        found = _split(self.texts[key].strip())
        # Names never hold a semicolon: a list without commas has these between its entries.
        return _split(found[0], ";") if len(found) == 1 and key in _NAMED else found

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


def _inner(text: str) -> list[str]:
    """The numbers of one entry: `2;2;1`, `[2, 2, 1]`, `2`; none for None."""
    inner = text.strip("[]() ")
    if inner in ("None", ""):
        return []
    return _split(inner, ";" if ";" in inner else ",")


def _split(text: str, separator: str = ",") -> list[str]:
    """Items between separators that are not inside brackets; brackets around it all are dropped."""
    if text.startswith("[") and text.endswith("]") and _depth_ends_late(text):
        text = text[1:-1]
    items, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "[(") - (letter in "])")
        if letter == separator and depth == 0:
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
