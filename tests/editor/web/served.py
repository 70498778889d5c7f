"""The editor of the browser tests, in a process of its own, which answers questions about itself.

`python -m tests.editor.web.served SCENE` prints its address, then evaluates a Python expression per
line of its input and prints the result as JSON. `editor`, `window`, `screen` and `places` are
known: `places` are the rectangles of some widgets, as they were drawn last.
"""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from mjrig.editor.main import Editor, opened
from mjrig.editor.web.live_window import LiveWindow
from mjrig.editor.web.server import ServerSettings


def _note_places() -> dict[str, list[float]]:
    """Note where widgets are, whenever they are drawn."""
    from imgui_bundle import imgui

    from mjrig.editor.assets.asset_panel import AssetPanel
    from mjrig.editor.gains.gain_table import GainTable

    places: dict[str, list[float]] = {}

    def note(name: str) -> None:
        low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
        places[name] = [low.x, low.y, high.x, high.y]

    def noting(owner: Any, method: str, named: Any) -> None:
        plain = getattr(owner, method)

        def noted(*given: Any, **more: Any) -> Any:
            result = plain(*given, **more)
            note(named(*given))
            return result

        setattr(owner, method, noted)

    noting(GainTable, "_gain_cell", lambda table, row, gain: f"{row.actuator} {gain}")
    noting(AssetPanel, "_tile", lambda panel, asset: f"asset {asset.name}")
    noting(imgui, "input_text_with_hint", lambda label, hint, *rest: f"field {hint}")
    noting(imgui, "button", lambda label, *rest: f"button {label}")
    return places


def _serve(scene: Path) -> None:
    screen = LiveWindow(ServerSettings())
    places = _note_places()
    editor: Editor = opened(scene, trust=False, screen=screen)
    editor.window.tour.skip()
    tokens = screen.server.tokens
    print(screen.server.address(tokens.command), screen.server.address(tokens.watch), flush=True)
    known: dict[str, Any] = {
        "editor": editor,
        "window": editor.window,
        "screen": screen,
        "places": places,
    }

    def answer() -> None:
        from mjrig.editor.ui.panel import bring_forward
        from tests.editor.web.placing import on_screen

        known["bring_forward"], known["on_screen"] = bring_forward, on_screen
        for line in sys.stdin:
            try:
                value = eval(line, known)
                print(json.dumps(value, default=str), flush=True)
            except Exception as error:
                print(json.dumps(f"{type(error).__name__}: {error}"), flush=True)
        editor.window.files.discard()
        editor.state.wants_to_close = True

    threading.Thread(target=answer, daemon=True).start()
    editor.run(lambda: screen.run(editor.window))


class ServedEditor:
    """The editor's process.

    Args:
        scene: what it shows.
        folder: for its settings.
        packages: a folder of packages that are installed besides; empty: none.
    """

    def __init__(self, scene: Path, folder: Path, packages: str = "") -> None:
        names = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "MJRIG_STATE")
        env = {**os.environ, **{name: str(folder / name) for name in names}}
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (packages, env.get("PYTHONPATH"))))
        env.pop("DISPLAY", None)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.editor.web.served", str(scene)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        assert self._process.stdout is not None
        self.address, self.watching = self._process.stdout.readline().split()

    def ask(self, expression: str) -> Any:
        """The value of an expression in the editor's process."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{expression}\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    def place(self, name: str) -> tuple[float, float]:
        """The middle of a widget."""
        left, top, right, bottom = self.ask(f"places[{name!r}]")
        return (left + right) / 2, (top + bottom) / 2

    def stop(self) -> None:
        """End it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(15.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
