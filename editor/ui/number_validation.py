"""Notes at number cells: texts that are not numbers are rejected, values out of range are clamped.

imgui reports neither: `12o` is 12 to it, `abc` nothing at all, and -5 becomes 0 in a clamped cell.
"""

import math
import time
from dataclasses import dataclass

from imgui_bundle import imgui

from mjrig.editor.text import tr
from mjrig.editor.ui.colours import AMBER

#: How long the reason stays at the cell [s].
_SECONDS = 4.0


@dataclass
class _Typing:
    """The cell that is typed into: its id, and its text at first and now."""

    item: int = 0
    first: str = ""
    now: str = ""


@dataclass
class _Note:
    item: int = 0
    text: str = ""
    until: float = 0.0


_typing = _Typing()
_note = _Note()
#: Notes that nobody has taken yet.
_untold: list[str] = []


def is_refused(*, whole: bool, clamps_to: tuple[float, float] | None = None) -> bool:
    """Whether the last item, a number cell, was just left with a text that is no number.

    The reason is shown at the cell for a moment, and likewise that a number was clamped.

    Args:
        whole: whether it takes whole numbers only.
        clamps_to: the range to which the cell clamps what is typed; None: it does not.
    """
    item = imgui.get_item_id()
    refused = _follow(item, whole=whole, clamps_to=clamps_to)
    if _note.item == item and time.monotonic() < _note.until and not imgui.is_item_active():
        _show()
    return refused


def note(text: str) -> None:
    """Show a text at the last item for a moment; the console gets it once."""
    is_new = (_note.item, _note.text) != (imgui.get_item_id(), text) or not is_shown()
    _note.item, _note.text = imgui.get_item_id(), text
    _note.until = time.monotonic() + _SECONDS
    if is_new:
        _untold.append(text)


def take_notes() -> list[str]:
    """Why texts were refused or numbers clamped since this was asked last; each once."""
    taken = list(_untold)
    _untold.clear()
    return taken


def is_shown() -> bool:
    """Whether a note is shown at a cell now."""
    return time.monotonic() < _note.until


def is_number(text: str, *, whole: bool) -> bool:
    """Whether a text is a number as files have them, all of it."""
    try:
        value = float(text.replace("_", "?"))
    except ValueError:
        return False
    return not whole or (math.isfinite(value) and value == int(value) and "." not in text)


def _follow(item: int, *, whole: bool, clamps_to: tuple[float, float] | None) -> bool:
    """Remember what is typed; when it ends, whether that is refused."""
    if imgui.internal.temp_input_is_active(item):
        state = imgui.internal.get_input_text_state(item)
        text = state.get_text() if state is not None else ""
        if _typing.item != item:
            _typing.item, _typing.first = item, text
        _typing.now = text
        return False
    if _typing.item != item:
        return False
    _typing.item = 0
    text = _typing.now.strip()
    is_given_up = imgui.is_key_pressed(imgui.Key.escape) or _typing.now == _typing.first
    if not text or is_given_up:
        return False
    if is_number(text, whole=whole):
        if clamps_to is not None:
            _note_clamped(text, *clamps_to)
        return False
    kind = tr("whole number") if whole else tr("number")
    note(tr("{text!r} is no {what}; the value stays as it was", text=text, what=kind))
    return True


def _note_clamped(text: str, low: float, high: float) -> None:
    value = float(text)
    if value < low:
        note(tr("{text} is below the smallest value; it became {bound:g}", text=text, bound=low))
    elif value > high:
        note(tr("{text} is above the largest value; it became {bound:g}", text=text, bound=high))


def _show() -> None:
    """Above the cell, over everything: the tooltip of the cell may be there too."""
    low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
    extent, pad = imgui.calc_text_size(_note.text), imgui.get_style().frame_padding
    edge = imgui.get_main_viewport().size.x
    left = max(min(low.x, edge - extent.x - 3 * pad.x), 0.0)
    corner = imgui.ImVec2(left, low.y - extent.y - 3 * pad.y)
    end = imgui.ImVec2(left + extent.x + 2 * pad.x, low.y - pad.y)
    paint = imgui.get_foreground_draw_list()
    paint.add_rect_filled(corner, end, imgui.get_color_u32(imgui.Col_.popup_bg), 3.0)
    paint.add_rect(low, high, imgui.get_color_u32(AMBER), 3.0)
    paint.add_text(corner + pad, imgui.get_color_u32(AMBER), _note.text)
