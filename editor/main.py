"""Open the editor's window and stay in it until it is closed."""

import logging
from pathlib import Path
from typing import Any

from imgui_bundle import glfw_utils  # before glfw and mujoco: all of them share its GLFW

from mjrig.editor import autosave, gl_view
from mjrig.editor.opening import open_file
from mjrig.editor.session import Session
from mjrig.editor.simulation import SimThread
from mjrig.editor.state import EditorState
from mjrig.editor.window import Window
from mjrig.world import World


def edit(path: Path | None) -> int:
    """Edit a scene or a model; returns the exit code.

    Raises:
        SceneError: the file cannot be opened.
    """
    scene = open_file(path)
    simulation = SimThread(World(scene))
    state = EditorState(Session(scene, simulation))
    logging.getLogger("mjrig").addHandler(state.console)
    window = Window(state, gl_view.GLView, upload=gl_view.upload, on_start=accept_files)
    window.offer(autosave.unsaved())
    simulation.start()
    try:
        window.app.run(window.app.runner_params(), window.may_close)
    finally:
        simulation.stop()
        logging.getLogger("mjrig").removeHandler(state.console)
    return 0


def accept_files(window: Window) -> None:
    """With a context now: find out how it draws, and take files dropped from the desktop."""
    import glfw

    window.quality.software = gl_view.is_software()
    handle: Any = glfw_utils.glfw_window_hello_imgui()

    def dropped(_: object, paths: list[str]) -> None:
        window.files_dropped([Path(p) for p in paths], glfw.get_cursor_pos(handle))

    window.show_title = lambda title: glfw.set_window_title(handle, title)
    window.keep_alive = dropped  # GLFW holds no reference
    glfw.set_drop_callback(handle, dropped)  # type: ignore[arg-type]
