"""Whether a memory from a file is one that a component can have: types, shapes, kinds of numbers.

A component trusts its memory. A value of another type would fail much later, in a step or in a
reset, and an array of another shape would replace one that the prepared calls use.
"""

import dataclasses
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

_NUMBERS = (bool, int, float, np.generic)
_SEQUENCES = (list, deque)


def mismatch(saved: Any, now: Any, at: str = "", *, strict: bool) -> str:
    """Why a stored memory does not fit; empty: it does.

    Args:
        saved: from the file.
        now: the memory that the component has after a reset. None: any type fits.
        at: place in the memory, for the message.
        strict: numbers are of one type and mappings have the same keys: mjrig's own components.
    """
    if now is None or (saved is None and isinstance(now, _NUMBERS) and not strict):
        return ""
    if isinstance(now, np.ndarray):
        return _array_mismatch(saved, now, at)
    if not strict and isinstance(now, _NUMBERS) and isinstance(saved, _NUMBERS):
        return ""
    if isinstance(now, _SEQUENCES) and isinstance(saved, _SEQUENCES):
        return _list_mismatch(saved, now, at, strict=strict)
    if type(saved) is not type(now):
        return f"{_place(at)}is {_kind(saved)} and must be {_kind(now)}"
    return _inner_mismatch(saved, now, at, strict=strict)


def _inner_mismatch(saved: Any, now: Any, at: str, *, strict: bool) -> str:
    """The same for two values of one type."""
    match now:
        case tuple() if len(saved) == len(now):
            return _first(saved, now, at, strict=strict)
        case dict():
            return _dict_mismatch(saved, now, at, strict=strict)
        case tuple() | bytes() if len(saved) != len(now) and (strict or isinstance(now, tuple)):
            return f"{_place(at)}has {len(saved)} items and must have {len(now)}"
        case np.random.Generator():
            states = saved.bit_generator.state, now.bit_generator.state
            return mismatch(*states, at, strict=True)
        case _ if dataclasses.is_dataclass(now):
            return mismatch(vars(saved), vars(now), at, strict=strict)
    return ""


def equal(one: Any, other: Any) -> bool:
    """Whether two values of any types are equal; arrays are equal to none."""
    try:
        return bool(one == other)
    except (ValueError, TypeError):
        return False


def _array_mismatch(saved: Any, now: np.ndarray[Any, Any], at: str) -> str:
    if not isinstance(saved, np.ndarray):
        return f"{_place(at)}is {_kind(saved)} and must be an array"
    if (saved.dtype, saved.shape) != (now.dtype, now.shape):
        return (
            f"{_place(at)}is an array of {saved.dtype} of shape {saved.shape} and must be of "
            f"{now.dtype} of shape {now.shape}"
        )
    return ""


def _list_mismatch(saved: Any, now: Any, at: str, *, strict: bool) -> str:
    if len(saved) == len(now):
        return _first(saved, now, at, strict=strict)
    if not strict or not now:  # queues may have any length
        return ""
    return _first(saved, [now[0]] * len(saved), at, strict=strict)


def _first(saved: Any, now: Any, at: str, *, strict: bool) -> str:
    pairs = enumerate(zip(saved, now, strict=True))
    reasons = (mismatch(s, n, f"{at}[{i}]", strict=strict) for i, (s, n) in pairs)
    return next(filter(None, reasons), "")


def _dict_mismatch(
    saved: Mapping[Any, Any], now: Mapping[Any, Any], at: str, *, strict: bool
) -> str:
    odd = [key for key in (*now, *saved) if key not in saved or key not in now]
    if strict and now and odd:
        return f"{_place(at)}has the keys {list(saved)!r:.100} and must have {list(now)!r:.100}"
    common = [key for key in now if key in saved]
    reasons = (mismatch(saved[k], now[k], f"{at}[{k!r}]", strict=strict) for k in common)
    return next(filter(None, reasons), "")


def _place(at: str) -> str:
    return f"{at[:100]} " if at else ""


def _kind(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"
