"""Desktop: a window of the desktop, through GLFW and OpenGL."""

import os
import sys
import warnings
from pathlib import Path
from typing import Any

from imgui_bundle import glfw_utils  # before glfw and mujoco: all of them share its GLFW

from mjrig.core.errors import SceneError
from mjrig.editor.assets.thumbnails import Picture
from mjrig.editor.panels import gamepad
from mjrig.editor.text import tr
from mjrig.editor.viewport import gl_view
from mjrig.editor.viewport.scene_renderer import SceneRenderer
from mjrig.editor.window.window import Window


def need_display() -> None:
    """Check that there is a display, with an error that names the way out.

    Raises:
        SceneError: there is none, or it cannot be opened.
    """
    import glfw  # after imgui_bundle, whose library it uses

    name = os.environ.get("DISPLAY", "")
    if sys.platform == "linux" and not name:
        raise SceneError(
            tr(
                "there is no display to open a window on (DISPLAY is not set); "
                "`mjrig edit … --web` shows the editor in a browser, "
                "mjrig.show(world) a world in a notebook"
            )
        )
    with warnings.catch_warnings():  # pyGLFW warns of what is raised below
        warnings.simplefilter("ignore")
        if not glfw.init():
            raise SceneError(tr("the display {name!r} cannot be opened", name=name))


class Desktop:
    """A `Screen`; works once hello_imgui has opened its window.

    Raises:
        SceneError: there is no display.
    """

    def __init__(self) -> None:
        need_display()

    def make_view(self, model: Any) -> SceneRenderer:
        """What draws the worlds of a model."""
        return gl_view.GLView(model)

    def upload(self, picture: Picture) -> int:
        """Make a texture of a picture, for thumbnails."""
        return gl_view.upload(picture)

    def start(self, window: Window) -> None:
        """With an OpenGL context: detect software rendering and accept files from the desktop."""
        import glfw

        window.quality.use(software=gl_view.is_software())
        self._handle: Any = glfw_utils.glfw_window_hello_imgui()

        def dropped(_: object, paths: list[str]) -> None:
            window.files_dropped([Path(p) for p in paths], glfw.get_cursor_pos(self._handle))

        hear = self._hear_modifiers(window)
        window.keep_alive = dropped, hear  # GLFW holds no reference
        glfw.set_drop_callback(self._handle, dropped)  # type: ignore[arg-type]

    def _hear_modifiers(self, window: Window) -> object:
        """Take the modifiers of every key, then let imgui's own callback have it."""
        import glfw

        library: Any = vars(glfw)["_glfw"]  # pyGLFW's own function forgets a callback of C
        set_callback = library.glfwSetKeyCallback
        before: list[Any] = []

        def hear(handle: Any, key: int, code: int, action: int, bits: int) -> None:
            if action == glfw.PRESS:
                window.keys.modifiers.heard(bits)
            if before and before[0]:
                before[0](handle, key, code, action, bits)

        heard = set_callback.argtypes[1](hear)
        before.append(set_callback(self._handle, heard))
        return heard, before

    def show_title(self, text: str) -> None:
        """Put a text into the title bar."""
        import glfw

        glfw.set_window_title(self._handle, text)

    def read_pad(self) -> gamepad.Sticks | None:
        """The sticks of the user's gamepad; None: there is none."""
        return gamepad.read()

    def offer(self, path: Path) -> None:
        """It lies on the user's own disk: the console names it."""
