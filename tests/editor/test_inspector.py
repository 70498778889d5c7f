"""The inspector, driven as a person would."""

from collections.abc import Iterator
from typing import Any

import pytest

from mjrig.editor.inspector import Inspector
from mjrig.editor.state import EditorState
from tests.editor.inspected import SCENE, registered
from tests.editor.ui import app_with, editor_state, run_ui_tests


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Iterator[EditorState]:
    with registered(monkeypatch):
        yield editor_state(SCENE)


def rows(ctx: Any) -> None:
    """Refer to rows by the names of their properties from now on."""
    ctx.set_ref("//Inspector")
    ctx.yield_(2)
    info = ctx.window_info("//Inspector/rows")
    ctx.set_ref(info.window)


def test_try(state: EditorState) -> None:
    state.selection.only("one.Everything")

    def types_a_value(ctx: Any) -> None:
        rows(ctx)
        ctx.item_click("props/on/##v")
        ctx.item_input_value("props/gain/##v", 61.5)

    run_ui_tests(app_with(state, [Inspector(state)]), types_a_value)
    print(state.scene.to_text())
    print([line.text for line in state.console.lines], state.session.undo_stack.names)
    assert 0
