"""The pictures of the editor in docs/, made from its window as it is now.

python tools/editor_pictures.py                              # all of docs/images/editor_*.png
python tools/editor_pictures.py tuning --scale 2 --to /tmp   # one of them, as a 2x display shows it
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "images"
#: What a script does in a window: it yields what to wait for, seconds or a condition.
Script = Iterator[float | Callable[[], bool]]
#: A step of a script that waits longer than this has failed [s].
_PATIENCE = 120.0


def tuning(window: Any) -> Script:
    """The hips of a trotting quadruped: gains, plot and step response."""
    tuning, state = window.gains.tuning, window.state
    yield 1.0
    state.selection.only("quadruped")
    _show("Response")
    state.session.play()
    yield lambda: state.simulation.frame.time > 6.0
    state.simulation.pause()
    tuning.filter, tuning.every = "hip", True
    tuning.choose(tuning.visible[0])
    tuning.test()
    yield lambda: not tuning.lab.is_busy and tuning.lab.result is not None
    tuning.set_gain(tuning.visible[0], "kp", 60.0)
    yield 1.0
    yield lambda: not tuning.lab.is_busy
    yield 1.5


def drop(window: Any) -> Script:
    """A second robot, dropped from the assets and moved with the gizmo."""
    from mjrig.editor.assets.drops import drop as drop_asset
    from mjrig.editor.viewport.gizmo import Tool

    state = window.state
    _show("Assets")
    yield 3.0
    drop_asset(
        state, "model", "package:mjrig.assets/quadruped/quadruped.xml", None, (0.5, 0.55, 0.0)
    )
    state.selection.only("quadruped_2")
    window.viewport.gizmo.tool = Tool.MOVE
    window.viewport.drawing.camera.distance *= 1.25
    yield lambda: not window.assets.thumbnails.is_drawing
    yield 4.0


def replay(window: Any) -> Script:
    """A recording, compared with the scene."""
    panel, state = window.replay, window.state
    state.selection.only("quadruped")
    window.show_recording(Path("assets/walk/walk.npz"))
    yield lambda: panel.replaying.recording is not None
    panel.replaying.set_mode("targets")
    panel.replaying.seek(0.8)
    panel.compare()
    yield lambda: not panel.runner.is_busy
    yield 8.0  # the message with the path of the file is gone from the status bar


def policy(window: Any) -> Script:
    """A policy that walks: its command on sliders, what it sees and does."""
    state = window.state
    state.selection.only("quadruped")
    _show("Command")
    state.session.play()
    yield lambda: state.simulation.frame.time > 2.0
    window.commands.driving.hold(window.commands.driving.driven(), [0.5, 0.0, 0.0])
    yield lambda: state.simulation.frame.time > 7.0
    state.simulation.pause()
    yield 3.0


def light(window: Any) -> Script:
    """The light colours, with a joint that is selected."""
    state = window.state
    window.theme.use("light")
    state.session.play()
    yield lambda: state.simulation.frame.time > 6.0
    state.simulation.pause()
    state.selection.only("quadruped.joint:FL_pitch_thigh")
    yield 3.0


PICTURES: dict[str, tuple[Callable[[Any], Script], str]] = {
    "tuning": (tuning, "quadruped_trot"),
    "drop": (drop, "quadruped_trot"),
    "replay": (replay, "quadruped_walk"),
    "policy": (policy, "quadruped_walk"),
    "light": (light, "quadruped_trot"),
}


def _show(panel: str) -> None:
    from mjrig.editor.ui.panel import bring_forward

    bring_forward(panel)


def make(name: str, scale: float, folder: Path) -> None:
    """Open the window, do what the picture shows, and write it."""
    from imgui_bundle import hello_imgui

    from mjrig.core.scene.editing.scene import Scene
    from mjrig.editor.main import Editor
    from mjrig.editor.window.capture import save_picture

    script, scene = PICTURES[name]
    editor = Editor(Scene.load(Path("config/scenes") / f"{scene}.yaml"))
    app, params = editor.window.app, editor.window.app.runner_params
    each_frame, steps = app.frame, script(editor.window)
    waits: list[tuple[float, float | Callable[[], bool]]] = [(time.monotonic(), 2.0)]

    def watched() -> None:
        each_frame()
        since, until = waits[-1]
        waited = time.monotonic() - since
        if waited > _PATIENCE:
            raise TimeoutError(f"{name}: step {len(waits)} takes longer than {_PATIENCE:g} s")
        if until() if callable(until) else waited > until:
            try:
                waits.append((time.monotonic(), next(steps)))
            except StopIteration:
                editor.window.state.wants_to_close = True

    def scaled(*args: Any) -> Any:
        made = params(*args)
        made.dpi_aware_params.dpi_window_size_factor = scale
        return made

    app.frame, app.runner_params = watched, scaled  # type: ignore[assignment,method-assign]
    editor.run()
    picture = hello_imgui.final_app_window_screenshot()
    save_picture(picture[:, :, :3].copy(), folder / f"editor_{name}.png")


def main() -> None:
    """Make each picture in a process and on a display of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(PICTURES)}; all if none")
    parser.add_argument("--scale", type=float, default=1.0, help="pixels per point")
    parser.add_argument("--to", type=Path, default=FOLDER, help="folder to write to")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.names or list(PICTURES)
    if options.here:
        make(names[0], options.scale, options.to)
        return
    if shutil.which("xvfb-run") is None:
        sys.exit("editor_pictures: xvfb-run is not installed")
    screen = f"-screen 0 {int(1280 * options.scale)}x{int(720 * options.scale)}x24"
    for name in names:
        command = ["xvfb-run", "-a", "-s", screen, sys.executable, __file__, name, "--here"]
        command += ["--scale", str(options.scale), "--to", str(options.to.resolve())]
        with tempfile.TemporaryDirectory() as own:  # no settings of who makes them
            own_folders = {"XDG_CONFIG_HOME": own, "XDG_CACHE_HOME": own, "MJRIG_STATE": own}
            subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, **own_folders})
        print(options.to / f"editor_{name}.png")


if __name__ == "__main__":
    main()
