"""A person at a browser: a served editor, and its page in Chromium."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.editor.web.chromium import Chromium, wait_for
from tests.editor.web.served import ServedEditor
from tests.places import ASSETS, SCENES

SCENE = (SCENES / "quadruped_trot.yaml").read_text()
CTRL = 2
#: The names of the files that the page offers.
OFFERED = "[...document.querySelectorAll('#offers span')].map((s) => s.textContent)"


def repeat(act: Callable[[], object], condition: Callable[[], Any]) -> Any:
    """Do something until it has its effect: a slow machine may still be drawing before it."""
    for _ in range(6):
        act()
        end = time.monotonic() + 10.0
        while time.monotonic() < end:
            value = condition()
            if value:
                return value
            time.sleep(0.05)
    raise AssertionError("it has no effect")


PANEL = """
from imgui_bundle import imgui
from mjrig.editor import Panel

class Counting(Panel):
    title, count = "Counting", 0

    def draw(self):
        self.count += imgui.button("Count")
"""


def _third_party(folder: Path) -> str:
    """A package of somebody else, installed into a folder, with a panel."""
    info = folder / "counting-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: counting\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[mjrig.panels]\ncounting = counting:Counting\n")
    (folder / "counting.py").write_text(PANEL)
    return str(folder)


class Session:
    """A served editor, and a page of it in a browser."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        models = json.dumps(str(ASSETS))[1:-1]
        (folder / "scene.yaml").write_text(SCENE.replace("../../assets", models))
        self.editor = ServedEditor(folder / "scene.yaml", folder, _third_party(folder / "site"))
        self.chromium = Chromium()
        self.tab = self.chromium.new_tab()
        self.tab.resize(1280, 720)
        self.tab.open(self.editor.address)
        self.tab.wait_for(
            "window.mjrig && mjrig.statistics.drawn > 1 && mjrig.world.solids"
            " && mjrig.world.solids.missing === 0",
        )

    def kp(self) -> float:
        """kp of the first actuator, in the running world."""
        value: float = self.editor.ask("float(editor.state.live('quadruped.PDController').kp[0])")
        return value

    def view(self) -> tuple[float, float, float, float]:
        """Where the viewport is."""
        x, y, width, height = self.editor.ask("list(window.viewport.rect)")
        return x, y, width, height

    def bring_forward(self, panel: str) -> None:
        """Show a panel that another may hide, and wait until it is drawn."""
        self.editor.ask(f"bring_forward({panel!r})")
        self.tab.mouse("Moved", 30, 400)
        frames = self.editor.ask("screen.frames")
        wait_for(lambda: self.editor.ask("screen.frames") > frames + 5, "drawn")

    def type_into(self, name: str) -> None:
        """Click a field of the gain table, and wait until it takes text."""
        self.bring_forward("Gains")
        self.tab.click(*self.editor.place(name))
        types = "__import__('imgui_bundle').imgui.get_io().want_text_input"
        wait_for(lambda: self.editor.ask(types), "the field takes text")

    def agree_to_upload(self) -> None:
        """Answer the question; its dialog moves to the middle in its second frame."""
        tab, editor = self.tab, self.editor
        wait_for(lambda: editor.ask("screen._uploads.dialog.is_open"), "asked")
        tab.mouse("Moved", 600, 200)
        frames = editor.ask("screen.frames")
        wait_for(lambda: editor.ask("screen.frames") > frames + 5, "drawn")
        tab.click(*editor.place("button Upload"))

    def close(self) -> None:
        self.chromium.close()
        self.editor.stop()
