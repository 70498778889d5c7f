"""A window on your own simulation loop: you step, `sync` draws and applies edits.

with mjrig.editor.view(world) as viewer:
    while not viewer.closed:
        world.step()
        viewer.sync()
"""

import time
from types import TracebackType
from typing import Self

from imgui_bundle import immapp  # before glfw and mujoco

from mjrig.core.errors import BindingError
from mjrig.core.sim.world import World
from mjrig.editor.desktop import Desktop
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import Simulation
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.ui.panel import finish_frame
from mjrig.editor.window.window import window_on

#: Most frames drawn per second.
FPS = 60.0


class ScriptSimulation(Simulation):
    """The world of a script: the script steps it, the window only shows and edits it."""

    can_replace = False

    def play(self) -> None:
        """The script's own loop is the one that steps."""

    def replace(self, world: World, carry: object) -> None:
        raise BindingError(tr("this edit needs a new world; the script holds the one it made"))


class Viewer:
    """The window of a script. `closed` once the user closed it."""

    def __init__(self, world: World) -> None:
        self._simulation = ScriptSimulation(world)
        self.state = EditorState(Session(world.scene, self._simulation))
        self._window = window_on(Desktop(), self.state)
        self._params = self._window.app.runner_params()
        self._next = 0.0
        self._steps = world.steps
        self.closed = False
        self._window.app.begin(self._params)

    def sync(self) -> bool:
        """Apply pending edits and draw, at most 60 times a second; returns whether it drew."""
        simulation = self._simulation
        if simulation.signals.watched and simulation.world.steps != self._steps:
            self._steps = simulation.world.steps
            simulation.signals.sample(simulation.world)
        now = time.perf_counter()
        if self.closed or (now < self._next and not self.state.wants_to_close):
            return False
        simulation.drain()
        simulation.publish()
        self._window.app.frame()
        immapp.manual_render.render()
        done = time.perf_counter()
        # Where drawing is slow, the script has at least as much time as the window.
        self._next = max(now + 1.0 / FPS, done + (done - now))
        if self._params.app_shall_exit or self.state.wants_to_close:
            self.close()
        return True

    def close(self) -> None:
        """Close the window; the world stays, edits that were not saved are forgotten."""
        self._window.files.discard()
        self._close()

    def _close(self) -> None:
        if not self.closed:
            self.closed = True
            finish_frame()
            immapp.manual_render.tear_down()
            self._window.files.report_unsaved()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._close()  # the script failed: the next start of the editor offers the edits


def view(world: World) -> Viewer:
    """Attach a window to a world that the caller steps.

    Raises:
        SceneError: there is no display, or it has no OpenGL.
    """
    return Viewer(world)
