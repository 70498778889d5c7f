"""The window lives with whatever its panels do."""

from typing import Any

from imgui_bundle import imgui

from mjrig.editor.ui.panel import Panel
from tests.editor.ui_driver import app_with, editor_state, run_ui_tests

SCENE = """
mjrig: 1
actors:
  - name: swing
    model: package:mjrig.assets/pendulum/pendulum.xml
"""


class _Broken(Panel):
    title = "Broken"

    def draw(self) -> None:
        imgui.begin_child("inner")
        raise RuntimeError("no such thing")


class _Works(Panel):
    title = "Works"
    clicks = 0

    def draw(self) -> None:
        if imgui.button("Count"):
            _Works.clicks += 1


def test_a_panel_that_raises_is_shown_and_the_others_go_on() -> None:
    state = editor_state(SCENE)

    def clicks(ctx: Any) -> None:
        ctx.set_ref("//Works")
        ctx.item_click("Count")

    run_ui_tests(app_with(state, [_Broken(state), _Works(state)]), clicks)
    assert _Works.clicks == 1
    assert "Broken: RuntimeError: no such thing" in [line.text for line in state.console.lines]


def test_only_a_panel_that_floats_fills_its_background() -> None:
    """A docked one has the window's: filling it again would cost half of a frame without a GPU."""
    state = editor_state(SCENE)
    fills: list[bool] = []
    no_background = int(imgui.WindowFlags_.no_background)

    def look(ctx: Any) -> None:
        ctx.yield_(3)
        flags = imgui.internal.find_window_by_name("Works").flags
        fills.append(not int(flags) & no_background)

    def floats(ctx: Any) -> None:
        look(ctx)
        ctx.undock_window("//Works")
        look(ctx)
        ctx.dock_into("//Works", "//Other")
        look(ctx)

    class Other(_Works):
        title = "Other"
        place = "left"

    app = app_with(state, [_Works(state), Other(state)])
    run_ui_tests(app, floats)
    assert fills == [False, True, False]
    assert not app.runner_params().docking_params.main_dock_space_node_flags
