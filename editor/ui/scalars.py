"""Drags of full precision: imgui's own Python ones round to 32 bits.

The binding takes the address of a value in a capsule.
"""

import ctypes
import math
from typing import Any

from imgui_bundle import imgui

_HUGE = 1e300  # imgui takes no infinite bound on one side only
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_NAME = b"nb_handle"  # what the binding expects a raw address to be called

#: Whole numbers beyond this are written as text: imgui's arithmetic is not exact there.
MOST_INT = 2**53


def _at(box: Any) -> Any:
    return _new_capsule(ctypes.addressof(box), _NAME, None)


def drag(
    label: str,
    value: float,
    speed: float,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    fmt: str = "%.6g",
    flags: int = 0,
) -> tuple[bool, float]:
    """Drag a real number; dragging stops at the bounds, typing does not."""
    box = ctypes.c_double(value)
    ends = ctypes.c_double(max(low, -_HUGE)), ctypes.c_double(min(high, _HUGE))
    kind = imgui.DataType_.double
    changed = imgui.drag_scalar(
        label, kind, _at(box), speed, _at(ends[0]), _at(ends[1]), fmt, flags
    )
    return changed, box.value


def drag_int(
    label: str,
    value: int,
    speed: float,
    low: float,
    high: float,
    *,
    fmt: str = "%lld",
    flags: int = 0,
) -> tuple[bool, int]:
    """Drag a whole number."""
    box = ctypes.c_int64(value)
    least, most = max(low, -MOST_INT), min(high, MOST_INT)
    ends = ctypes.c_int64(int(least)), ctypes.c_int64(int(most))
    kind = imgui.DataType_.s64
    changed = imgui.drag_scalar(
        label, kind, _at(box), speed, _at(ends[0]), _at(ends[1]), fmt, flags
    )
    return changed, box.value


def decimals(speed: float) -> int:
    """How many decimals a drag at this speed needs, so that files get round numbers."""
    return max(0, -math.floor(math.log10(speed))) if speed > 0.0 else 0
