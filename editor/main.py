"""Open the editor's window and stay in it until it is closed."""

import logging
import os
import warnings
from pathlib import Path
from typing import Any

from imgui_bundle import glfw_utils  # before glfw and mujoco: all of them share its GLFW

from mjrig.editor.assets.opening import is_recording, open_file
from mjrig.editor.replay import gamepad
from mjrig.editor.session import autosave
from mjrig.editor.session.session import Session
from mjrig.editor.session.sim_thread import SimThread
from mjrig.editor.session.state import EditorState
from mjrig.editor.texts.texts import tr
from mjrig.editor.viewport import gl_view
from mjrig.editor.window.window import Window
from mjrig.errors import SceneError, UntrustedError
from mjrig.scene_edit.scene import Scene
from mjrig.sim.world import World


class Editor:
    """One window with a scene, simulated on a separate thread."""

    def __init__(self, scene: Scene) -> None:
        self.simulation = SimThread(World(scene))
        self.state = EditorState(Session(scene, self.simulation))
        self.window = Window(
            self.state, gl_view.GLView, upload=gl_view.upload, on_start=accept_files
        )

    def run(self) -> None:
        """Stay until the window is closed."""
        logger, app = logging.getLogger("mjrig"), self.window.app
        logger.addHandler(self.state.console)
        self.simulation.start()
        try:
            app.run(app.runner_params(), self.window.may_close)
        finally:
            self.simulation.stop()
            logger.removeHandler(self.state.console)


def edit(path: Path | None, *, trust: bool = False) -> int:
    """Edit a scene, a model or the scene of a recording; returns the exit code.

    Args:
        path: the file; None: an empty scene.
        trust: run code beside the scene without asking.

    Raises:
        SceneError: the file or the display cannot be opened.
    """
    need_display()
    try:
        editor = Editor(open_file(path, trust))
    except UntrustedError:  # the window asks
        assert path is not None
        editor = Editor(Scene())
        editor.window.files.open_path(path)
    else:
        editor.window.files.note_recent(path)
        if path is not None and is_recording(path):
            editor.state.wants_to_replay = path, ""
    editor.window.tour.offer()
    editor.window.files.offer(autosave.unsaved())
    editor.run()
    return 0


def need_display() -> None:
    """Check early, with a readable error, that there is a display.

    Raises:
        SceneError: there is none.
    """
    import glfw  # after imgui_bundle, whose library it uses

    with warnings.catch_warnings():  # pyGLFW warns of what is raised below
        warnings.simplefilter("ignore")
        if not glfw.init():
            name = os.environ.get("DISPLAY", "")
            raise SceneError(tr("the display {name!r} cannot be opened", name=name))


def accept_files(window: Window) -> None:
    """With an OpenGL context: detect software rendering and accept files from the desktop."""
    import glfw

    window.quality.use(software=gl_view.is_software())
    handle: Any = glfw_utils.glfw_window_hello_imgui()

    def dropped(_: object, paths: list[str]) -> None:
        window.files_dropped([Path(p) for p in paths], glfw.get_cursor_pos(handle))

    window.commands.read_pad = gamepad.read
    window.show_title = lambda title: glfw.set_window_title(handle, title)
    window.keep_alive = dropped  # GLFW holds no reference
    glfw.set_drop_callback(handle, dropped)  # type: ignore[arg-type]
