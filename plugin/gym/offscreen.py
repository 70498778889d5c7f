"""Offscreen: pictures of a running world as arrays, in this process."""

import os
import sys
from importlib import import_module
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.errors import MjrigError


class Offscreen:
    """Draws a model at the size asked for, or at the size of its own buffer if that is smaller."""

    def __init__(self, model: Any, width: int, height: int, camera: str) -> None:
        own = model.vis.global_
        names = [str(model.camera(i).name) for i in range(model.ncam)]
        if camera and camera not in names:
            known = ", ".join(names) or "none"
            raise MjrigError(f"the scene has no camera {camera!r}; it has: {known}")
        self._camera: str | int = camera or -1
        size = min(height, int(own.offheight)), min(width, int(own.offwidth))
        _without_a_screen()
        try:
            self._renderer = mujoco.Renderer(model, *size)
        except Exception as error:  # the backends raise whatever their libraries do
            raise MjrigError(
                f"no picture can be drawn here ({type(error).__name__}: {error}); "
                "`mjrig doctor` lists what works, MUJOCO_GL chooses it"
            ) from error

    def draw(self, data: Any) -> npt.NDArray[np.uint8]:
        """The present state: height × width × 3."""
        self._renderer.update_scene(data, camera=self._camera)
        return np.array(self._renderer.render(), dtype=np.uint8)

    def close(self) -> None:
        """Free the buffers."""
        self._renderer.close()


def _without_a_screen() -> None:
    """Let MuJoCo draw with EGL where its choice, a window, cannot work: Linux without a display.

    MuJoCo chooses when it is imported, which is long over here.
    """
    if sys.platform != "linux" or os.environ.get("MUJOCO_GL") or os.environ.get("DISPLAY"):
        return
    try:
        egl = import_module("mujoco.egl")
        chosen: Any = import_module("mujoco.rendering.classic.gl_context")
    except Exception:  # no EGL, or an OpenGL library that was set up for a window before
        return
    chosen.GLContext = egl.GLContext
