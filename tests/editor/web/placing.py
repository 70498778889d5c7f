"""Where things of the world are in the window."""

from typing import Any

import numpy as np

from mjrig.editor.viewport.drawing import camera_matrices


def on_screen(window: Any) -> list[float]:
    """The middle of the first body of the first actor."""
    drawing = window.viewport.drawing
    x, y, width, height = window.viewport.rect
    view, projection = camera_matrices(drawing.scene, width / height)
    clip = projection @ view @ np.append(drawing.data.xipos[1], 1.0)
    ndc = clip[:2] / clip[3]
    return [float(x + (ndc[0] + 1) / 2 * width), float(y + (1 - ndc[1]) / 2 * height)]
