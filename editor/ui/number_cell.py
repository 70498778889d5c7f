"""The number cell: a click types, a drag drags, Tab goes to the next, Enter applies, Esc gives up.

Every number in the window is one of these, so that they all work alike.
"""

import ctypes
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from imgui_bundle import imgui

from mjrig.editor.ui import number_validation, scalars
from mjrig.editor.ui.layout import px

#: Height of the line that shows where in its range a number is [pixels at scale 1].
_BAR = 2.0
_CLAMP = int(imgui.SliderFlags_.always_clamp)


def number_cell(
    label: str,
    value: float,
    speed: float,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    fmt: str = "%.6g",
    flags: int = 0,
    ends: tuple[float, float] | None = None,
    clamps: bool = False,
) -> tuple[bool, float]:
    """A real number; dragging stops at the bounds, typing does not unless the cell clamps.

    Args:
        label: as imgui's.
        value: what is shown.
        speed: how much a pixel of a drag changes.
        low, high: bounds of a drag.
        fmt: how it is shown.
        flags: imgui's for drags.
        ends: usual range; a line at the lower edge shows where in it the number is.
        clamps: whether a typed number out of bounds becomes the bound, with a note at the cell.

    Returns:
        Whether it changed, and the new value.
    """
    box = ctypes.c_double(value)
    changed = _cell(label, box, speed, (low, high), fmt, flags, ends, clamps=clamps)
    return changed, box.value


def whole_number_cell(
    label: str,
    value: int,
    speed: float,
    low: float,
    high: float,
    *,
    fmt: str = "%d",
    flags: int = 0,
    ends: tuple[float, float] | None = None,
    clamps: bool = False,
) -> tuple[bool, int]:
    """The same for a whole number."""
    box = ctypes.c_int64(value)
    long = fmt.replace("%d", "%lld")
    changed = _cell(label, box, speed, (low, high), long, flags, ends, clamps=clamps)
    return changed, box.value


def _cell(
    label: str,
    box: scalars.Box,
    speed: float,
    bounds: tuple[float, float],
    fmt: str,
    flags: int,
    ends: tuple[float, float] | None,
    *,
    clamps: bool,
) -> bool:
    """The number in a box; a text that is not a number leaves it as it was, with a note."""
    before: Any = box.value
    imgui.get_io().config_drag_click_to_input_text = True  # one click types
    changed = scalars.drag(label, box, speed, bounds, fmt, flags | (_CLAMP if clamps else 0))
    is_integer = isinstance(box, ctypes.c_int64)
    if number_validation.is_refused(whole=is_integer, clamps_to=bounds if clamps else None):
        box.value, changed = before, False
    if ends is not None:
        _bar(before, *ends)
    return changed


@contextmanager
def no_tab_stop() -> Iterator[None]:
    """Let Tab pass over the widgets built inside: it goes from number to number."""
    imgui.push_item_flag(imgui.ItemFlags_.no_tab_stop, True)
    try:
        yield
    finally:
        imgui.pop_item_flag()


def _bar(value: float, low: float, high: float) -> None:
    """A line at the lower edge of the last cell: how far it is between two ends."""
    share = min(max((value - low) / (high - low), 0.0), 1.0) if math.isfinite(value) else 0.0
    least, most = imgui.get_item_rect_min(), imgui.get_item_rect_max()
    corner = imgui.ImVec2(least.x, most.y - px(_BAR))
    end = imgui.ImVec2(least.x + share * (most.x - least.x), most.y)
    colour = imgui.get_color_u32(imgui.Col_.slider_grab)
    imgui.get_window_draw_list().add_rect_filled(corner, end, colour)
