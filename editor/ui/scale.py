"""Lengths in the window, all derived from the font: they grow with the scale of the display."""

from imgui_bundle import imgui

#: Height of the font on a display of scale 1 [pixels].
FONT = 15.0


def px(length: float) -> float:
    """A length in pixels of a display of scale 1, in pixels of this one."""
    return length * imgui.get_font_size() / FONT


def size(width: float, height: float) -> imgui.ImVec2:
    """The same for two lengths; 0 and negative ones keep their meaning: all the room, less that."""
    return imgui.ImVec2(px(width), px(height))
