"""Data that a scene file can hold, whatever Python made it of."""

from collections.abc import Mapping

import numpy as np

from mjrig.files.paths import shortened

#: Levels of lists and mappings in one value: a file has at most 100, and the deepest table of a
#: scene (`actors[0].actuators[0].plugin_config`) is 6 deep.
MAX_DEPTH = 94
#: Digits of an integer: a file is read with at most 300.
MAX_DIGITS = 300


def plain_data(value: object, depth: int = 0) -> object:
    """A copy of plain data: arrays and tuples become lists, numbers of NumPy those of Python.

    Raises:
        ValueError: a file cannot hold it; the text completes "must be …".
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | float | str):
        return value
    if isinstance(value, int):
        if abs(value) >= 10**MAX_DIGITS:
            raise ValueError(f"a number of at most {MAX_DIGITS} digits")
        return value
    if depth >= MAX_DEPTH:
        raise ValueError(f"nested at most {MAX_DEPTH} deep")
    if isinstance(value, list | tuple):
        return [plain_data(item, depth + 1) for item in value]
    if not isinstance(value, Mapping):
        raise ValueError("plain data: text, numbers, lists and mappings")
    for key in value:
        if not isinstance(key, str):
            raise ValueError(f"a mapping with names as keys, not {key!r}")
    return {key: plain_data(item, depth + 1) for key, item in value.items()}


def shown(value: object) -> str:
    """A value in a message, however large."""
    try:
        return shortened(repr(value))
    except ValueError:  # Python does not print integers of thousands of digits
        return "a value with thousands of digits"
