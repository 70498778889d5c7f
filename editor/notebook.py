"""The editor in a notebook: a page in a frame, and the notebook's own world in it."""

import atexit
import threading
from collections.abc import Callable

import imgui_bundle  # noqa: F401 - before glfw and mujoco: all of them share its GLFW

from mjrig.core.errors import BindingError, MjrigError
from mjrig.core.sim.world import World
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import SimThread
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.web.live_window import LiveWindow
from mjrig.editor.web.server import ServerSettings
from mjrig.editor.window.window import Window, window_on

#: Pages that may hold the editor in a frame: notebooks on this computer or a tunnel, VS Code's too.
_PARENTS = " ".join(
    ("http://localhost:*", "http://127.0.0.1:*", "https://localhost:*", "https://127.0.0.1:*",
     "vscode-webview:", "vscode-file:")
)  # fmt: skip
_FRAME = (
    '<iframe src="{address}" width="100%" height="{height}" style="border:0" '
    'allow="clipboard-read; clipboard-write; gamepad"></iframe>'
)
#: How long a view may take to end [s].
_PATIENCE = 60.0
_shown: "NotebookView | None" = None


class NotebookSimulation(SimThread):
    """A world that cells step; the view steps it only while it plays."""

    can_replace = False

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._is_wanted = True

    def publish(self) -> None:
        """Only what was asked for: a cell may be stepping the world right now."""
        if self._playing or self._is_wanted:
            self._is_wanted = False
            super().publish()

    def show_now(self) -> None:
        """Make the present state visible; not while another thread steps."""
        self._is_wanted = True
        self.call(lambda world: self.publish())

    def replace(self, world: World, carry: Callable[[World, World], None]) -> None:
        raise BindingError(tr("this edit needs a new world; the notebook holds the one it made"))


class NotebookView:
    """A live view of a world in a notebook; one at a time."""

    def __init__(self, world: World, height: int) -> None:
        self._height = height
        self._simulation = NotebookSimulation(world)
        self.state = EditorState(Session(world.scene, self._simulation))
        self._screen = LiveWindow(ServerSettings(parents=_PARENTS))
        self._window: Window = window_on(self._screen, self.state)
        self._simulation.start()
        self._thread = threading.Thread(target=self._run, name="mjrig-notebook", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._screen.run(self._window)
        self._simulation.stop()

    @property
    def address(self) -> str:
        """Where a browser finds it; whoever has it can run code as you."""
        return self._screen.server.address(self._screen.server.tokens.command)

    def sync(self) -> None:
        """Show the present state of the world; call it after stepping."""
        self._simulation.show_now()
        self._screen.attend()

    def close(self) -> None:
        """End the view; the world stays, edits that were not saved are forgotten.

        Raises:
            MjrigError: it does not end.
        """
        self._window.files.discard()
        self.state.wants_to_close = True
        self._screen.attend()
        self._thread.join(_PATIENCE)
        if self._thread.is_alive():  # two windows in one process would end it
            raise MjrigError(tr("the view before this one does not end"))

    def _repr_html_(self) -> str:
        return _FRAME.format(address=self.address, height=self._height)


def show(world: World, height: int = 600) -> NotebookView:
    """A live view of a world; the one before is closed."""
    global _shown  # noqa: PLW0603 - Dear ImGui has one window per process
    _close()
    _shown = NotebookView(world, height)
    return _shown


@atexit.register
def _close() -> None:
    """End the view that is shown; its thread must not outlive the interpreter."""
    if _shown is not None:
        _shown.close()
