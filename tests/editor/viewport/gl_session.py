"""A session with a real window, for the tests that look at pixels; run under a display.

`python -m tests.editor.viewport.gl_session FOLDER` opens FOLDER/scene.yaml, works in it as a
person would,
saves it, and leaves pictures and `result.json` in the folder.
"""

import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from imgui_bundle import imgui  # before glfw and mujoco

from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.desktop import Desktop
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import SimThread
from mjrig.editor.session.state import EditorState
from mjrig.editor.viewport.gizmo import Tool
from mjrig.editor.window.capture import save_picture
from mjrig.editor.window.window import Window, window_on
from tests.editor.ui_driver import run_ui_tests


class _Work:
    """What the person does, step by step; results by name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        scene = Scene.load(folder / "scene.yaml")
        self.simulation = SimThread(World(scene))
        self.state = EditorState(Session(scene, self.simulation))
        self.window = window_on(Desktop(), self.state)
        self.window.quality.fixed = 0.5  # pictures are compared
        self.result: dict[str, Any] = {}
        self._wanted = ""
        self._taken: Any = None
        frame = self.window.app.frame

        def serve() -> None:
            frame()
            if self._wanted:
                self._take()

        self.window.app.frame = serve  # type: ignore[method-assign]

    def picture(self, ctx: Any, name: str) -> Any:
        """What the viewport shows now; the context is current only between frames."""
        self._wanted = name
        while self._wanted:
            ctx.yield_()
        return self._taken

    def _take(self) -> None:
        assert self.window.viewport.view is not None
        self.window.viewport.view.photograph(partial(setattr, self, "_taken"))
        save_picture(self._taken, self.folder / f"{self._wanted}.png")
        self._wanted = ""

    def start_and_play(self, ctx: Any) -> None:
        ctx.yield_(5)
        pixels = self.picture(ctx, "start")
        self.result["colours"] = len({tuple(c) for c in pixels.reshape(-1, 3)[::97].tolist()})
        ctx.item_click("//##MainMenuBar##MenuBar/Edit")
        ctx.key_press(imgui.Key.escape)
        self.state.session.play()
        began = time.monotonic()
        while self.simulation.frame.time < 0.5 and time.monotonic() - began < 20:
            ctx.yield_()
        self.result["played"] = self.simulation.frame.time
        self.simulation.pause()

    def drop_a_second_robot(self, ctx: Any) -> None:
        x, y, width, height = self.window.viewport.rect
        before = self.picture(ctx, "before_drop")
        path = self.folder / "zweiter Röbot.xml"
        self.window.files_dropped([path], (x + 0.75 * width, y + 0.75 * height))
        ctx.yield_(5)
        self.result["actors"] = [a.name for a in self.state.scene.actors]
        after = self.picture(ctx, "after_drop")
        self.result["drop_changed_pixels"] = bool((before != after).any())

    def move_it_with_the_gizmo(self, ctx: Any) -> None:
        name = self.state.scene.actors[-1].name
        self.state.selection.only(name)
        self.window.viewport.gizmo.tool = Tool.MOVE
        ctx.yield_(3)
        drawing = self.window.viewport.drawing
        assert drawing is not None
        spot = _on_screen(self.window, drawing.root_pose(name)[0])
        ctx.mouse_move_to_pos(spot)
        ctx.yield_(3)
        before = self.state.scene.actors[-1].pose
        self.result["position_before"] = before.position.tolist() if before else [0, 0, 0]
        ctx.mouse_down(0)
        ctx.yield_(2)
        ctx.mouse_move_to_pos(imgui.ImVec2(spot.x - 80, spot.y + 10))
        ctx.yield_(3)
        ctx.mouse_up(0)
        ctx.yield_(4)
        after = self.state.scene.actors[-1].pose
        self.result["position_after"] = after.position.tolist() if after else [0, 0, 0]
        self.result["entries"] = list(self.state.session.undo_stack.names)
        self.window.viewport.gizmo.tool = Tool.SELECT

    def drag_a_gain(self, ctx: Any) -> None:
        self.state.selection.only(self.state.scene.actors[0].name)
        path = f"{self.state.scene.actors[0].name}.PDController.kp"
        for value in range(20, 30):
            self.state.session.set(path, value, merge=True)
            ctx.yield_()
        self.state.session.seal()
        live = self.simulation.call(lambda world: next(iter(world.articulations.values())))
        self.result["live_kp"] = float(live.controllers[0].gains()["kp"][0])

    def save(self, ctx: Any) -> None:
        self.window.files.save()
        ctx.yield_(2)
        self.result["dirty"] = self.state.session.is_dirty


def _on_screen(window: Window, point: Any) -> Any:
    """Where a point of the world is on the screen."""
    import numpy as np

    from mjrig.editor.viewport.drawing import camera_matrices

    assert window.viewport.drawing is not None
    x, y, width, height = window.viewport.rect
    view, projection = camera_matrices(window.viewport.drawing.scene, width / height)
    clip = projection @ view @ np.append(point, 1.0)
    ndc = clip[:2] / clip[3]
    return imgui.ImVec2(x + (ndc[0] + 1) / 2 * width, y + (1 - ndc[1]) / 2 * height)


def main(folder: Path) -> None:
    """Work in one window from start to save."""
    work = _Work(folder)
    work.simulation.start()
    try:
        run_ui_tests(
            work.window.app,
            work.start_and_play,
            work.drop_a_second_robot,
            work.move_it_with_the_gizmo,
            work.drag_a_gain,
            work.save,
            null=False,
        )
    finally:
        work.simulation.stop()
    work.result["console"] = [f"{line.level}: {line.text}" for line in work.state.console.lines]
    (folder / "result.json").write_text(json.dumps(work.result, ensure_ascii=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
