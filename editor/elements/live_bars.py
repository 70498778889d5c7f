"""Bars of live values: a number within its range, drawn from zero or from the low end."""

import math

from imgui_bundle import ImVec2, ImVec4, imgui

from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.colours import AMBER, GREEN, GREY, RED
from mjrig.editor.ui.scale import px

#: Share of the range at its ends that is marked.
_NEAR = 0.02
_FAINT = 0.45


def bar(value: float, ends: tuple[float, float] | None, text: str) -> None:
    """A number as text over a bar that shows where it is within its range."""
    width, height = imgui.get_content_region_avail().x, imgui.get_frame_height()
    corner = imgui.get_cursor_screen_pos()
    lines = imgui.get_window_draw_list()
    low_corner = ImVec2(corner.x + width, corner.y + height)
    rounding = imgui.get_style().frame_rounding
    frame = imgui.get_color_u32(imgui.Col_.frame_bg)
    lines.add_rect_filled(corner, low_corner, frame, rounding)
    if ends is not None and math.isfinite(value):
        zero = _place(0.0, ends) if ends[0] <= 0.0 <= ends[1] else 0.0
        now = _place(value, ends)
        left, right = sorted((zero, now))
        shade = _colour(value, ends)
        faint = ImVec4(shade.x, shade.y, shade.z, _FAINT)
        inside = ImVec2(corner.x + left * width, corner.y)
        outside = ImVec2(corner.x + max(right * width, left * width + 1.0), corner.y + height)
        lines.add_rect_filled(inside, outside, imgui.color_convert_float4_to_u32(faint), rounding)
        at = corner.x + now * width
        solid = imgui.color_convert_float4_to_u32(shade)
        lines.add_line(ImVec2(at, corner.y), ImVec2(at, corner.y + height), solid, px(2))
    room = imgui.calc_text_size(text)
    at = corner.x + max((width - room.x) / 2, px(4))
    middle = ImVec2(at, corner.y + (height - room.y) / 2)
    lines.add_text(middle, imgui.get_color_u32(imgui.Col_.text), text)
    imgui.dummy(ImVec2(width, height))


def _place(value: float, ends: tuple[float, float]) -> float:
    share = (value - ends[0]) / (ends[1] - ends[0]) if ends[1] > ends[0] else 0.5
    return min(max(share, 0.0), 1.0)


def _colour(value: float, ends: tuple[float, float]) -> ImVec4:
    if not ends[0] <= value <= ends[1]:
        return RED
    share = _place(value, ends)
    near = ends[1] > ends[0] and (share > 1.0 - _NEAR or (share < _NEAR and ends[0] != 0.0))
    return AMBER if near else GREEN


def plain_row(name: str, text: str) -> None:
    """A row of the same table without a range."""
    row(name, math.nan, None, text, range_text="")


def row(
    name: str,
    value: float,
    ends: tuple[float, float] | None,
    text: str,
    *,
    range_text: str | None = None,
) -> None:
    """A row of a table of three columns: name, bar, range; the range's own text unless given."""
    imgui.table_next_row()
    imgui.table_next_column()
    imgui.align_text_to_frame_padding()
    imgui.text(name)
    imgui.table_next_column()
    bar(value, ends, text)
    imgui.table_next_column()
    imgui.align_text_to_frame_padding()
    known = f"{ends[0]:.4g} … {ends[1]:.4g}" if ends else tr("no limit")
    imgui.text_colored(GREY, known if range_text is None else range_text)
