"""The backdrop of a model without a sky: what MuJoCo does not draw is transparent."""

from imgui_bundle import ImVec2, imgui

from mjrig.editor.ui.colours import SKY_ABOVE, SKY_BELOW

#: A rectangle of the window: x, y, width, height.
Rect = tuple[float, float, float, float]


def paint_sky(rect: Rect) -> None:
    """Fill a rectangle of the current window with a gradient in the colours of the theme."""
    x, y, width, height = rect
    above, below = imgui.get_color_u32(SKY_ABOVE), imgui.get_color_u32(SKY_BELOW)
    imgui.get_window_draw_list().add_rect_filled_multi_color(
        ImVec2(x, y), ImVec2(x + width, y + height), above, above, below, below
    )
