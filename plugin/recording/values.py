"""Numbers in JSON: non-finite values as text or null."""

import math
from collections.abc import Iterable

import numpy as np

from mjrig.arrays import FloatArray


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
