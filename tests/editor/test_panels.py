"""Panels of other packages, found by their entry point; those that fail are told of."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from imgui_bundle import imgui

from mjrig.core.properties import registry
from mjrig.editor.ui.panel import PLACES, Panel, plugin_panels
from mjrig.editor.viewport.scene_renderer import NullView
from mjrig.editor.window.window import Window
from tests.editor.ui_driver import app_with, editor_state, run_ui_tests
from tests.editor.windows import SWINGS, Bench
from tests.places import ROOT, THIRD_PARTY
from tests.wording import mentions

SPRINGS = """
mjrig: 1
actors:
  - name: left
    model: package:mjrig.assets/pendulum/pendulum.xml
    components:
      - {type: SpringController, limit: 20}
"""


def _install(folder: Path, monkeypatch: pytest.MonkeyPatch, points: str) -> None:
    """What installing a package leaves behind: its modules and its entry points on the path."""
    info = folder / "mjrig_example-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mjrig-example\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(folder))


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example package, installed."""
    groups = tomllib.loads((THIRD_PARTY / "pyproject.toml").read_text())["project"]["entry-points"]
    points = ""
    for group, entries in groups.items():
        points += f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items())
    monkeypatch.syspath_prepend(str(THIRD_PARTY))
    _install(tmp_path / "site", monkeypatch, points)
    registry.refresh()
    yield
    monkeypatch.undo()
    registry.refresh()


@pytest.mark.usefixtures("example")
def test_a_panel_of_another_package_is_docked_and_edits_through_the_session() -> None:
    bench = Bench.on(SPRINGS)
    try:

        def drags(ctx: Any) -> None:
            ctx.window_focus("//Springs")
            ctx.item_input_value("//Springs/left.SpringController.limit", 55.0)
            ctx.yield_(2)

        bench.run(drags)
    finally:
        sys.modules.pop("mjrig_example_panel", None)
    assert [p.title for p in bench.window.app.panels][-1] == "Springs"
    assert bench.state.scene["left"].components[0].to_data()["limit"] == 55.0
    assert bench.entries == ["Set left.SpringController.limit"]
    assert not bench.problems


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="no checkout beside the tests")
def test_the_page_shows_the_panel_of_the_example_package_which_needs_nothing_private() -> None:
    code = (THIRD_PARTY / "mjrig_example_panel.py").read_text(encoding="utf-8")
    assert f"```python\n{code}```" in (ROOT / "docs/extending.md").read_text(encoding="utf-8")
    names = [n.attr for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Attribute)]
    assert {n for n in names if n.startswith("_")} == {
        "_limit",
        "__name__",
    }  # its own, and Python's


@pytest.mark.parametrize("where", PLACES)
def test_a_panel_of_another_package_can_be_docked_at_every_place(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"panel_{where.replace(' ', '_')}"
    text = f"from mjrig.editor import Panel\nclass Mine(Panel):\n    place = {where!r}\n"
    (tmp_path / f"{module}.py").write_text(text)
    _install(tmp_path / "site", monkeypatch, f"[mjrig.panels]\nmine = {module}:Mine\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    state = editor_state(SWINGS)
    app = app_with(state, [])
    assert [panel.place for panel in app.panels] == [where]
    assert not state.console.lines
    docking = app.runner_params().docking_params
    spaces = {"MainDockSpace", *(split.new_dock for split in docking.docking_splits)}
    assert {window.dock_space_name for window in docking.dockable_windows} <= spaces


BROKEN = '''
from imgui_bundle import imgui
from mjrig.editor import Panel

class Lost(Panel):
    place = "middle"

class Raises(Panel):
    title = "Raises"

    def __init__(self, state):
        raise RuntimeError("no luck")

class Forgetful(Panel):
    """Leaves out what its base class does."""

    title = "Forgetful"

    def __init__(self, state):
        self.calls = 0

    def draw(self):
        self.calls += 1
        imgui.text(f"{len(self.state.scene.actors)} actors")
        if self.calls == 2:
            raise RuntimeError("the second time")

def function(state):
    return None
'''


def test_panels_that_cannot_be_made_are_told_of_and_the_others_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_panels.py").write_text(BROKEN)
    names = ("Lost", "Raises", "Forgetful", "function", "gone")
    lines = "".join(f"{name} = broken_panels:{name}\n" for name in names)
    points = f"[mjrig.panels]\n{lines}absent = no_such_module:Panel\n"
    _install(tmp_path / "site", monkeypatch, points)
    monkeypatch.syspath_prepend(str(tmp_path))
    state = editor_state(SWINGS)
    window = Window(state, NullView)
    assert [p.title for p in window.app.panels][-1] == "Forgetful"
    problems = "\n".join(line.text for line in state.console.lines)
    assert mentions(problems, "the panel 'Lost' cannot be … ValueError: … 'middle'")
    assert mentions(problems, "the panel 'Raises' cannot be … RuntimeError: …")
    assert mentions(problems, "the panel 'absent' cannot be … ModuleNotFoundError")
    assert mentions(problems, "the panel 'function' cannot be … TypeError: …")
    assert mentions(problems, "the panel 'gone' cannot be … AttributeError")
    state.console.lines.clear()

    def retries(ctx: Any) -> None:
        ctx.window_focus("//Forgetful")
        ctx.yield_(4)
        ctx.item_click("//Forgetful/Retry")
        ctx.yield_(3)
        assert not ctx.item_exists("//Forgetful/Retry")

    run_ui_tests(window.app, retries)
    assert [line.text for line in state.console.lines] == [
        "Forgetful: RuntimeError: the second time"
    ]


def test_without_other_packages_there_are_no_more_panels() -> None:
    state = editor_state(SWINGS)
    assert plugin_panels(state) == []
    assert not state.console.lines


class _Deep(Panel):
    """Fails in the middle of everything imgui can nest."""

    title = "Deep"

    def draw(self) -> None:
        imgui.push_style_color(imgui.Col_.text, imgui.ImVec4(1, 0, 0, 1))
        imgui.push_id("here")
        imgui.begin_child("inner")
        if imgui.begin_table("cells", 2):
            imgui.table_next_row()
            imgui.table_next_column()
        imgui.begin_disabled(True)
        raise KeyError("deep")


def test_a_panel_may_fail_in_the_middle_of_anything() -> None:
    state = editor_state(SWINGS)

    def retries(ctx: Any) -> None:
        for _ in range(3):
            ctx.item_click("//Deep/Retry")
            ctx.yield_(2)

    run_ui_tests(app_with(state, [_Deep(state)]), retries)
    texts = [line.text for line in state.console.lines]
    assert texts == ["Deep: KeyError: 'deep'"] * 4
