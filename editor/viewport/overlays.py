"""Overlays of the viewport: joint axis, rays of a height scan, notices, refused drops, sky."""

import time
from collections.abc import Sequence

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui

from mjrig.core.arrays import FloatArray
from mjrig.editor.session.elements import JointElement
from mjrig.editor.session.world_frame import WorldFrame
from mjrig.editor.text import tr
from mjrig.editor.ui.colours import ALARM, SKY_ABOVE, SKY_BELOW
from mjrig.editor.ui.layout import px
from mjrig.editor.viewport.drawing import Drawing, camera_matrices

# Sky ----------------------------------------------------------------------------------------------
# The backdrop of a model without a sky: what MuJoCo does not draw is transparent.


#: A rectangle of the window: x, y, width, height.
Rect = tuple[float, float, float, float]


def paint_sky(rect: Rect) -> None:
    """Fill a rectangle of the current window with a gradient in the colours of the theme."""
    x, y, width, height = rect
    above, below = imgui.get_color_u32(SKY_ABOVE), imgui.get_color_u32(SKY_BELOW)
    imgui.get_window_draw_list().add_rect_filled_multi_color(
        ImVec2(x, y), ImVec2(x + width, y + height), above, above, below, below
    )


# Joint axis ---------------------------------------------------------------------------------------
# The axis of a selected joint, drawn over the picture.


_COLOUR = ImVec4(1.0, 0.55, 0.05, 1.0)
#: Half of its length, as a share of the model's size.
_REACH = 0.12


def draw_axis(
    drawing: Drawing, joint: JointElement, rect: tuple[float, float, float, float]
) -> None:
    """A line along the axis of a hinge or slide through its anchor; nothing for other joints."""
    if joint.kind not in ("hinge", "slide"):
        return
    anchor, axis = drawing.data.xanchor[joint.joint_id], drawing.data.xaxis[joint.joint_id]
    reach = _REACH * float(drawing.model.stat.extent) * axis
    places = [
        _on_screen(drawing, point, rect) for point in (anchor - reach, anchor, anchor + reach)
    ]
    if any(place is None for place in places):
        return  # behind the camera
    tail, middle, head = (place for place in places if place is not None)
    lines, colour = imgui.get_window_draw_list(), imgui.color_convert_float4_to_u32(_COLOUR)
    x, y, width, height = rect
    lines.push_clip_rect(ImVec2(x, y), ImVec2(x + width, y + height), True)
    lines.add_line(tail, head, colour, px(2))
    lines.add_circle_filled(middle, px(4), colour)
    lines.add_circle_filled(head, px(3), colour)
    lines.pop_clip_rect()


def _on_screen(
    drawing: Drawing, point: FloatArray, rect: tuple[float, float, float, float]
) -> ImVec2 | None:
    x, y, width, height = rect
    view, projection = camera_matrices(drawing.scene, width / height)
    clip = projection @ view @ np.append(point, 1.0)
    if clip[3] <= 0.0:
        return None
    right, up = clip[:2] / clip[3]
    return ImVec2(x + (right + 1.0) / 2.0 * width, y + (1.0 - up) / 2.0 * height)


# Ray lines ----------------------------------------------------------------------------------------
# The rays of a policy's height scan, drawn over the picture.


_LINE = ImVec4(0.1, 0.65, 1.0, 0.25)
_POINT = ImVec4(1.0, 0.3, 0.1, 0.9)
#: Lines are drawn over this length before the point that was hit [m].
_SHOWN = 0.3


def draw_rays(
    drawing: Drawing, frame: WorldFrame, actor: str | None, rect: tuple[float, float, float, float]
) -> None:
    """A point where each ray of the selected actor's policy ended, and the end of the ray."""
    robot = frame.robots.get(actor) if actor is not None else None
    if robot is None or robot.policy is None or frame.generation != drawing.generation:
        return
    places = on_screen(drawing, ends_of(robot.policy.rays), rect)
    lines = imgui.get_window_draw_list()
    line, point = (imgui.color_convert_float4_to_u32(colour) for colour in (_LINE, _POINT))
    x, y, width, height = rect
    lines.push_clip_rect(ImVec2(x, y), ImVec2(x + width, y + height), True)
    for start, end in places:
        lines.add_line(ImVec2(*start), ImVec2(*end), line, px(1))
        lines.add_circle_filled(ImVec2(*end), px(2), point)
    lines.pop_clip_rect()


def ends_of(rays: FloatArray) -> FloatArray:
    """The last piece of each ray: (n, 2, 3)."""
    along = rays[:, 1] - rays[:, 0]
    lengths = np.maximum(np.linalg.norm(along, axis=1), 1e-9)
    back = along * np.minimum(_SHOWN / lengths, 1.0)[:, None]
    return np.stack([rays[:, 1] - back, rays[:, 1]], axis=1)


def on_screen(
    drawing: Drawing, rays: FloatArray, rect: tuple[float, float, float, float]
) -> FloatArray:
    """Pixels of rays, (n, 2, 2), of those that are before the camera."""
    x, y, width, height = rect
    view, projection = camera_matrices(drawing.scene, width / height)
    whole = np.concatenate([rays, np.ones((*rays.shape[:2], 1))], axis=2)
    clip = whole @ (projection @ view).T
    clip = clip[(clip[..., 3] > 0.0).all(axis=1)]
    places = clip[..., :2] / clip[..., 3:]
    return np.stack(
        [x + (places[..., 0] + 1.0) / 2.0 * width, y + (1.0 - places[..., 1]) / 2.0 * height],
        axis=2,
    )


# Notices ------------------------------------------------------------------------------------------


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


# Refusals -----------------------------------------------------------------------------------------


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
