"""The axis of a selected joint, drawn over the picture."""

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui

from mjrig.arrays import FloatArray
from mjrig.editor.session.elements import JointElement
from mjrig.editor.ui.scale import px
from mjrig.editor.viewport.drawing import Drawing, camera_matrices

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
