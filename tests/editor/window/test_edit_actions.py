"""Undo and redo as the menu and the keys do them."""

import pytest

pytest.importorskip("imgui_bundle")

from mjrig.core.scene.editing.scene import Scene
from mjrig.editor.window.window_parts import EditActions
from tests.editor.ui_driver import editor_state
from tests.places import SCENES


def test_a_refused_value_is_no_longer_marked_after_undo_and_redo() -> None:
    state = editor_state(Scene.load(SCENES / "pendulum.yaml"))
    path = "pendulum.PDController.kp"
    actions = EditActions(state)
    state.session.set(path, 50.0)
    for step in (actions.undo, actions.redo):
        assert not state.attempt(lambda: state.session.set(path, float("nan")), path)
        assert path in state.problems
        step()
        assert not state.problems
