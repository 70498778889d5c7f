"""The rays of a policy's height scan, drawn over the picture."""

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui

from mjrig.arrays import FloatArray
from mjrig.editor.session.world_frame import WorldFrame
from mjrig.editor.ui.scale import px
from mjrig.editor.viewport.drawing import Drawing, camera_matrices

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
