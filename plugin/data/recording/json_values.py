"""JSON in recordings: non-finite numbers, and checks of its shape that name the faulty entry.

A shape is a type or several, `[shape]` for a list, `(shape, shape)` for a list of that length, or
a dictionary: by key, `"key?"` may be absent, or `{str: shape}` for any keys. Other keys are
ignored.
"""

import math
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import UnionType
from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import RecordingError

# Values -------------------------------------------------------------------------------------------


def to_json(values: Iterable[float]) -> list[float | str | None]:
    """Floats for JSON: `inf` and `-inf` as text, NaN as null."""
    return [_word(float(value)) for value in values]


def _word(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def from_json(values: Iterable[float | str | None]) -> FloatArray:
    """The reverse."""
    return np.array([math.nan if v is None else float(v) for v in values], dtype=np.float64)


def plain(value: object) -> object:
    """A value for JSON, nested values included."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return _word(value)
    return value if isinstance(value, str | int | bool | None) else str(value)


# Json shape ---------------------------------------------------------------------------------------
# The shape of JSON in a recording, checked once: errors name the place and what it must hold.


Shape = Any
#: A number in JSON: "inf" and "-inf" are texts, NaN is null.
NUMBER = int | float | str | None
_WORDS: dict[object, str] = {
    int: "a whole number", float: "a number", str: "a text", bool: "true or false", list: "a list",
    dict: "an object", NUMBER: 'a number, "inf", "-inf" or null',
}  # fmt: skip
PLANT: Shape = {
    "overall?": {str: object},
    "joints?": {str: {str: NUMBER}},
    "recovered?": [str],
    "enforced?": {str: object},
}


def check_shape(path: Path, name: str, value: object, shape: Shape) -> None:
    """Reject JSON of another shape.

    Args:
        path: the file.
        name: where the value is in it: an attribute, an array, a key.
        value: parsed JSON.
        shape: see the module.

    Raises:
        RecordingError: names the first place, what it must be and what it is.
    """
    if isinstance(shape, dict):
        _check_object(path, name, _typed(path, name, value, dict), shape)
    elif isinstance(shape, list):
        for k, item in enumerate(_typed(path, name, value, list)):
            check_shape(path, f"{name}[{k}]", item, shape[0])
    elif isinstance(shape, tuple):
        items = _typed(path, name, value, list)
        if len(items) != len(shape):
            raise _error(path, name, f"a list of {len(shape)}", value)
        for k, (item, inner) in enumerate(zip(items, shape, strict=True)):
            check_shape(path, f"{name}[{k}]", item, inner)
    elif shape is NUMBER:
        _check_number(path, name, value)
    else:
        _typed(path, name, value, shape)


def _check_object(
    path: Path, name: str, value: Mapping[str, Any], shape: Mapping[Any, Any]
) -> None:
    if str in shape:
        for key, item in value.items():
            check_shape(path, f"{name}.{key}", item, shape[str])
        return
    for key, inner in shape.items():
        plain = key.removesuffix("?")
        if plain in value:
            check_shape(path, f"{name}.{plain}", value[plain], inner)
        elif plain == key:
            raise RecordingError(f"{path}: is damaged: {name}: {key!r} is missing")


def _check_number(path: Path, name: str, value: object) -> None:
    is_word = value is None or (isinstance(value, str) and value in ("inf", "-inf"))
    is_number = isinstance(value, float) or (
        isinstance(value, int) and abs(value) <= sys.float_info.max  # JSON has larger ones
    )
    if not is_word and not is_number:
        raise _error(path, name, _WORDS[NUMBER], value)


def _typed(path: Path, name: str, value: Any, kind: Any) -> Any:
    allowed = int | float if kind is float else kind
    is_flag = isinstance(value, bool) and kind in (int, float)
    if is_flag or not isinstance(value, allowed):
        words = _WORDS.get(kind, str(kind) if isinstance(kind, UnionType) else kind.__name__)
        raise _error(path, name, words, value)
    return value


def _error(path: Path, name: str, expected: str, value: object) -> RecordingError:
    return RecordingError(f"{path}: is damaged: {name}: must be {expected}, got {value!r:.60}")
