"""What is typed into number cells: a text that is no number is refused with a word, never dropped.

imgui reads as far as it can and says nothing: `12o` is 12 to it, `abc` nothing at all.
"""

import math
import time
from dataclasses import dataclass

from imgui_bundle import imgui

from mjrig.editor.texts.texts import tr
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
class _Refusal:
    item: int = 0
    text: str = ""
    until: float = 0.0


_typing = _Typing()
_refusal = _Refusal()
#: Refusals that nobody has taken yet.
_untold: list[str] = []


def is_refused(*, whole: bool) -> bool:
    """Whether the last item, a number cell, was just left with a text that is no number.

    Its reason is shown at the cell for a moment.
    """
    item = imgui.get_item_id()
    refused = _follow(item, whole=whole)
    if _refusal.item == item and time.monotonic() < _refusal.until and not imgui.is_item_active():
        _show()
    return refused


def take_refusals() -> list[str]:
    """Why texts were refused since this was asked last; each once."""
    taken = list(_untold)
    _untold.clear()
    return taken


def is_shown() -> bool:
    """Whether a reason stands at a cell now."""
    return time.monotonic() < _refusal.until


def is_number(text: str, *, whole: bool) -> bool:
    """Whether a text is a number as files have them, all of it."""
    try:
        value = float(text.replace("_", "?"))
    except ValueError:
        return False
    return not whole or (math.isfinite(value) and value == int(value) and "." not in text)


def _follow(item: int, *, whole: bool) -> bool:
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
    if not text or is_given_up or is_number(text, whole=whole):
        return False
    _refuse(item, text, whole=whole)
    return True


def _refuse(item: int, text: str, *, whole: bool) -> None:
    what = tr("whole number") if whole else tr("number")
    reason = tr("{text!r} is no {what}; the value stays as it was", text=text, what=what)
    _refusal.item, _refusal.text = item, reason
    _refusal.until = time.monotonic() + _SECONDS
    _untold.append(reason)


def _show() -> None:
    """Above the cell, over everything: the tooltip of the cell may be there too."""
    low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
    extent, pad = imgui.calc_text_size(_refusal.text), imgui.get_style().frame_padding
    edge = imgui.get_main_viewport().size.x
    left = max(min(low.x, edge - extent.x - 3 * pad.x), 0.0)
    corner = imgui.ImVec2(left, low.y - extent.y - 3 * pad.y)
    end = imgui.ImVec2(left + extent.x + 2 * pad.x, low.y - pad.y)
    paint = imgui.get_foreground_draw_list()
    paint.add_rect_filled(corner, end, imgui.get_color_u32(imgui.Col_.popup_bg), 3.0)
    paint.add_rect(low, high, imgui.get_color_u32(AMBER), 3.0)
    paint.add_text(corner + pad, imgui.get_color_u32(AMBER), _refusal.text)
