"""A whole window without OpenGL, in a folder of its own, for the tests of workflows (level 2)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from imgui_bundle import imgui

from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import Simulation
from mjrig.editor.session.state import EditorState
from mjrig.editor.ui.key_chords import chord
from mjrig.editor.viewport.drawing import Drawing, camera_matrices
from mjrig.editor.viewport.scene_renderer import NullView
from mjrig.editor.window.window import Window
from tests.editor.ui_driver import run_ui_tests

SWINGS = """\
mjrig: 1   # two of a kind
actors:
  - name: left
    model: package:tests.editor/pendulum.xml
    components:
      - {type: PDController, kp: 10, kv: 0.5}
  - name: right
    model: package:tests.editor/pendulum.xml
    pose: {position: [0, 2, 0]}   # beside it
    components:
      - {type: PDController, kp: 20, kv: 1}
"""
BOX = """<mujoco><worldbody><body name="box"><freejoint name="root"/>
<geom size=".2 .2 .2" type="box"/></body></worldbody></mujoco>"""
#: One free box high up, with a camera that looks at it.
BOXES = "mjrig: 1\nactors:\n  - {name: box, model: box.xml, pose: {position: [0, 0, 3]}}\n"


class Bench:
    """A window on a scene, and the things a person does with it."""

    def __init__(self, scene: Scene) -> None:
        self.state = EditorState(Session(scene, Simulation(World(scene, "python"))))
        self.window = Window(self.state, NullView)

    @classmethod
    def on(cls, text: str, base: Path | str = ".") -> "Bench":
        """A window on a scene that has no file."""
        return cls(Scene.parse(text, base))

    @classmethod
    def on_file(cls, path: Path, text: str) -> "Bench":
        """A window on a scene file."""
        path.write_text(text)
        return cls(Scene.load(path))

    def run(self, *tests: Callable[[Any], None]) -> None:
        """Show the window and do this in it."""
        run_ui_tests(self.window.app, *tests)

    # What is to be seen -------------------------------------------------------------------------

    @property
    def said(self) -> list[str]:
        """The messages of the console."""
        return [line.text for line in self.state.console.lines]

    @property
    def problems(self) -> list[str]:
        """The messages of the console that are errors."""
        return [line.text for line in self.state.console.lines if line.level == "error"]

    @property
    def entries(self) -> list[str]:
        """The undo entries."""
        return list(self.state.session.undo_stack.names)

    @property
    def actors(self) -> list[str]:
        """The actors of the scene."""
        return [actor.name for actor in self.state.scene.actors]

    @property
    def drawing(self) -> Drawing:
        """What the viewport draws."""
        assert self.window.viewport.drawing is not None
        return self.window.viewport.drawing

    def on_screen(self, point: Any) -> Any:
        """Where a point of the world is in the window."""
        x, y, width, height = self.window.viewport.rect
        view, projection = camera_matrices(self.drawing.scene, width / height)
        clip = projection @ view @ np.append(point, 1.0)
        ndc = clip[:2] / clip[3]
        return imgui.ImVec2(x + (ndc[0] + 1) / 2 * width, y + (1 - ndc[1]) / 2 * height)


def press(ctx: Any, *keys: Any) -> None:
    """Press keys together, and let a frame pass."""
    ctx.key_press(chord(*keys))
    ctx.yield_(2)


def point_at_viewport(ctx: Any) -> None:
    """Move the mouse there: single keys are meant for what it points at."""
    ctx.mouse_move("//Viewport/##view")
    ctx.yield_(2)


def menu(ctx: Any, path: str) -> None:
    """Choose an item of the menu bar."""
    ctx.menu_click(f"//##MainMenuBar/{path}")
    ctx.yield_(2)
