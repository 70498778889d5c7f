"""Refusals: why what was dropped was not taken, in full, over the viewport until it is closed."""

from collections.abc import Sequence

from imgui_bundle import imgui

from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.colours import ALARM
from mjrig.editor.ui.scale import px

#: Widest that it gets [pixels at scale 1].
_WIDTH = 460.0


class Refusals:
    """The reasons of the latest drop; empty: it was taken."""

    def __init__(self) -> None:
        self.reasons: Sequence[str] = ()

    def draw(self, rect: tuple[float, float, float, float]) -> None:
        """Build them at the top of a rectangle (x, y, width, height)."""
        if not self.reasons:
            return
        x, y, width, _ = rect
        imgui.set_cursor_screen_pos(imgui.ImVec2(x + px(12), y + px(12)))
        imgui.push_style_color(imgui.Col_.child_bg, ALARM)
        wide = max(min(width - px(24), px(_WIDTH)), px(120))
        flags = imgui.ChildFlags_.auto_resize_y | imgui.ChildFlags_.always_use_window_padding
        imgui.begin_child("refusals", imgui.ImVec2(wide, 0), flags)
        for reason in self.reasons:
            imgui.text_wrapped(reason)
        if imgui.button(tr("Close")):
            self.reasons = ()
        imgui.end_child()
        imgui.pop_style_color()
