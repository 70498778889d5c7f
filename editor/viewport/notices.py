"""Notice: a short line over the viewport that tells what a key just changed."""

import time

from imgui_bundle import imgui

#: How long a notice is shown [s].
SHOWN_FOR = 3.0


class Notice:
    """The latest notice."""

    def __init__(self) -> None:
        self.text = ""
        self._until = 0.0

    def show(self, text: str) -> None:
        """Show a line for a moment, in place of the one before."""
        self.text, self._until = text, time.monotonic() + SHOWN_FOR

    @property
    def is_shown(self) -> bool:
        """Whether it is still to be seen."""
        return bool(self.text) and time.monotonic() < self._until

    def draw(self, rect: tuple[float, float, float, float]) -> None:
        """Draw it at the lower edge of the viewport (x, y, width, height), in the middle."""
        if not self.is_shown:
            return
        x, y, width, height = rect
        em, size = imgui.get_font_size(), imgui.calc_text_size(self.text)
        left, top = x + 0.5 * (width - size.x), y + height - size.y - 1.5 * em
        pad, paint = 0.5 * em, imgui.get_window_draw_list()
        low = imgui.ImVec2(left - pad, top - 0.5 * pad)
        high = imgui.ImVec2(left + size.x + pad, top + size.y + 0.5 * pad)
        paint.add_rect_filled(low, high, imgui.get_color_u32(imgui.Col_.popup_bg), 0.3 * em)
        paint.add_text(imgui.ImVec2(left, top), imgui.get_color_u32(imgui.Col_.text), self.text)
