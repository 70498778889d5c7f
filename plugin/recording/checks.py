"""Checks shared by all readers of recordings; errors name file, column and row."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.errors import RecordingError
from mjrig.names import listed


def number_column(
    path: Path, name: str, values: Any, width: int | None, *, finite: bool = True
) -> FloatArray:
    """A column of numbers: (rows,) for width None, else (rows, width).

    Raises:
        RecordingError: wrong shape, not numeric, or not finite.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise RecordingError(f"{path}: {name}: must hold numbers, got {array.dtype}")
    wanted = "(rows,)" if width is None else f"(rows, {width})"
    if array.ndim != (1 if width is None else 2) or (width is not None and array.shape[1] != width):
        raise RecordingError(f"{path}: {name}: must have shape {wanted}, got {array.shape}")
    column = array.astype(np.float64, copy=False)
    if finite:
        check_finite(path, name, column)
    return column


def check_finite(path: Path, name: str, column: FloatArray) -> None:
    """Refuse values that are not finite.

    Raises:
        RecordingError: names the first row that has one.
    """
    bad = ~np.isfinite(column)
    if bad.any():
        place = np.argwhere(bad)[0].tolist()
        at = "" if len(place) == 1 else f", column {place[1]}"
        raise RecordingError(f"{path}: {name}: row {place[0]}{at} is {column[tuple(place)]}")


def positive(path: Path, name: str, value: Any) -> float:
    """A number > 0.

    Raises:
        RecordingError: it is something else.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not 0.0 < number < np.inf:
        raise RecordingError(f"{path}: {name}: must be a number > 0, got {value!r}")
    return number


def required(path: Path, columns: Mapping[str, Any], name: str) -> Any:
    """A required column.

    Raises:
        RecordingError: it is missing; lists the columns there are.
    """
    if name not in columns:
        raise RecordingError(f"{path}: {name}: is missing; has: {listed(columns)}")
    return columns[name]


def check_increasing(path: Path, name: str, steps: npt.NDArray[Any], most: float = np.inf) -> None:
    """Refuse step numbers that do not increase, or are not between 0 and `most`.

    Raises:
        RecordingError: names the first row.
    """
    bad = np.flatnonzero(steps[1:] <= steps[:-1])
    if len(bad):
        row = int(bad[0]) + 1
        raise RecordingError(
            f"{path}: {name}: must increase, but row {row} is {steps[row]} after {steps[row - 1]}"
        )
    if len(steps) and not 0 <= steps[0] <= steps[-1] <= most:
        wrong = steps[0] if steps[0] < 0 else steps[-1]
        raise RecordingError(f"{path}: {name}: must be steps from 0 to {most}, got {wrong}")
