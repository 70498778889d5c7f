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
