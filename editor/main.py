"""Open the editor's window and run it until it is closed or a signal ends it."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import imgui_bundle  # noqa: F401 - before glfw and mujoco: all of them share its GLFW

from mjrig.core.errors import UntrustedError
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.session import autosave
from mjrig.editor.session.recording import streaming
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import SimThread
from mjrig.editor.session.state import EditorState
from mjrig.editor.window.scene_files import is_recording, open_file
from mjrig.editor.window.window import Screen, window_on

# Ending signals -----------------------------------------------------------------------------------
# Signals that end the editor: it closes its window and keeps unsaved changes.


#: Windows has no SIGHUP.
_ENDING = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


@contextmanager
def ending_signals(state: EditorState) -> Iterator[None]:
    """Let a signal end the window's loop after its frame; a second one ends it at once.

    Outside of the main thread, as in a notebook, signals are not the editor's.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        if state.ended_by:  # the loop does not come round
            raise SystemExit(128 + number)
        state.ended_by = number

    before = {number: signal.signal(number, end) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# Main ---------------------------------------------------------------------------------------------


class Editor:
    """One window with a scene, simulated on a separate thread."""

    def __init__(self, scene: Scene, screen: Screen | None = None) -> None:
        self.simulation = SimThread(World(scene))
        self.state = EditorState(Session(scene, self.simulation))
        self.window = window_on(screen or _desktop(), self.state)

    def run(self, loop: Callable[[], None] | None = None) -> int:
        """Stay until the window is closed, or a signal ends the editor.

        Unless the user saved or discarded them, unsaved changes are offered at the next start.

        Args:
            loop: shows the window and stays in it; None: as a window of the desktop.

        Returns:
            The exit code: 0, or 128 and the number of the signal.
        """
        logger, app = logging.getLogger("mjrig"), self.window.app
        logger.addHandler(self.state.console)
        self.simulation.start()
        try:
            with ending_signals(self.state):
                if loop is not None:
                    loop()
                else:
                    app.run(app.runner_params(), self.window.may_close)
        finally:
            self.window.files.report_unsaved()  # also if the window did not come to its end
            self.simulation.stop()
            logger.removeHandler(self.state.console)
        return 128 + self.state.ended_by if self.state.ended_by else 0


def _desktop() -> Screen:
    from mjrig.editor.desktop import Desktop  # needs OpenGL, which a server may lack

    return Desktop()


def edit(path: Path | None, *, trust: bool = False, stream: str | None = None) -> int:
    """Edit a scene, a model or the scene of a recording; returns the exit code.

    Args:
        path: the file; None: an empty scene.
        trust: run code beside the scene without asking.
        stream: where signals go while it runs, as `--stream` takes it; None: nowhere.

    Raises:
        SceneError: the file or the display cannot be opened.
        MjrigError: the stream cannot be opened.
    """
    from mjrig.editor.desktop import need_display  # needs OpenGL, which a server may lack

    need_display()  # early: loading a scene may take long
    editor = opened(path, trust=trust)
    with streaming(editor.simulation, stream):
        return editor.run()


def opened(path: Path | None, *, trust: bool, screen: Screen | None = None) -> Editor:
    """An editor with a scene, a model or the scene of a recording; on the desktop if not told."""
    try:
        editor = Editor(open_file(path, trust), screen)
    except UntrustedError:  # the window asks
        assert path is not None
        editor = Editor(Scene(), screen)
        editor.window.files.open_path(path)
    else:
        editor.window.files.note_recent(path)
        if path is not None and is_recording(path):
            editor.state.wants_to_replay = path, ""
    editor.window.tour.offer()
    editor.window.files.offer(autosave.unsaved())
    return editor
