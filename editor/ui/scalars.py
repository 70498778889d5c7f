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


#: A number that imgui changes in place.
Box = ctypes.c_double | ctypes.c_int64


def drag(
    label: str,
    box: Box,
    speed: float,
    ends: tuple[float, float],
    fmt: str,
    flags: int = 0,
) -> bool:
    """Drag the number in a box; dragging stops at the ends, typing does not."""
    whole = isinstance(box, ctypes.c_int64)
    most = MOST_INT if whole else _HUGE
    low, high = (_like(box, min(max(end, -most), most)) for end in ends)
    kind = imgui.DataType_.s64 if whole else imgui.DataType_.double
    return imgui.drag_scalar(label, kind, _at(box), speed, _at(low), _at(high), fmt, flags)


def _like(box: Box, value: float) -> Box:
    return ctypes.c_int64(int(value)) if isinstance(box, ctypes.c_int64) else ctypes.c_double(value)


def decimals(speed: float) -> int:
    """How many decimals a drag at this speed needs, so that files get round numbers."""
    return max(0, -math.floor(math.log10(speed))) if speed > 0.0 else 0
