"""Labels of geoms, which MuJoCo writes into its picture; here the window writes them over it."""

import numpy as np
from imgui_bundle import imgui

from mjrig.editor.viewport.drawing import camera_matrices
from mjrig.editor.viewport.sky import Rect
from mjrig.editor.web.scene_words import SceneWords

_WHITE, _BLACK = 0xFFFFFFFF, 0xFF000000


def draw_labels(words: SceneWords, rect: Rect) -> None:
    """Write the labels of a scene that is shown in a rectangle of the current window."""
    labels = words.labels()
    if not labels:
        return
    x, y, width, height = rect
    view, projection = camera_matrices(words.scene, width / height)
    matrix, paint = projection @ view, imgui.get_window_draw_list()
    for text, point in labels:
        clip = matrix @ np.append(point, 1.0)
        if clip[3] <= 0.0 or np.abs(clip[:2]).max() > clip[3]:
            continue
        left = x + (clip[0] / clip[3] + 1.0) / 2.0 * width
        low = y + (1.0 - clip[1] / clip[3]) / 2.0 * height
        top = low - imgui.get_font_size()
        paint.add_text(imgui.ImVec2(left + 1.0, top + 1.0), _BLACK, text)
        paint.add_text(imgui.ImVec2(left, top), _WHITE, text)
