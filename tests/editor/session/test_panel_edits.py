"""Edits are applied after the frame: one undo entry per drag, whatever becomes of its row."""

from collections.abc import Iterator

import pytest

from mjrig.editor.edits.edits import UNSET
from mjrig.editor.session.panel_edits import PanelEdits, named
from mjrig.editor.session.state import EditorState
from tests.editor.inspector.inspected import SCENE, registered
from tests.editor.ui_driver import editor_state

GAIN = "one.Everything.gain"


class Clock:
    """A clock that somebody else moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.tick = 0.0

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Iterator[EditorState]:
    with registered(monkeypatch):
        yield editor_state(SCENE)


def gain(state: EditorState) -> object:
    obj = state.described("one.Everything")
    assert obj is not None
    return obj.authored("gain")


def drag(edits: PanelEdits, *values: float) -> None:
    for value in values:
        edits.drag({GAIN: value})
        edits.finish_frame()


def test_a_drag_is_one_entry_and_the_next_another(state: EditorState) -> None:
    edits = PanelEdits(state)
    drag(edits, 61.0, 62.0, 63.0)
    edits.end()
    edits.finish_frame()
    drag(edits, 64.0)
    assert state.session.undo_stack.names == [f"Set {GAIN}"] * 2
    state.session.undo()
    assert gain(state) == 63.0
    state.session.undo()
    assert state.scene.to_text() == SCENE


def test_a_drag_that_is_held_still_goes_on(state: EditorState) -> None:
    edits = PanelEdits(state)
    drag(edits, 61.0)
    edits.touch({GAIN: None})
    edits.finish_frame()
    drag(edits, 62.0)
    assert len(state.session.undo_stack) == 1


def test_a_drag_whose_row_vanished_is_over(state: EditorState) -> None:
    edits = PanelEdits(state)
    drag(edits, 61.0)
    edits.finish_frame()  # nobody touched it
    drag(edits, 62.0)
    assert len(state.session.undo_stack) == 2


def test_while_the_world_is_slow_values_are_shown_at_once_and_the_last_one_counts(
    state: EditorState,
) -> None:
    clock = Clock()
    edits = PanelEdits(state, clock)
    clock.tick = 1.0  # every look at the clock is a second later: an edit takes long
    drag(edits, 61.0)
    clock.tick = 0.0
    drag(edits, 62.0)
    drag(edits, 63.0)
    assert gain(state) == 61.0 and edits.held(GAIN) == 63.0
    edits.end()
    edits.finish_frame()
    assert gain(state) == 63.0 and edits.held(GAIN) is UNSET
    assert len(state.session.undo_stack) == 1


def test_a_slow_drag_catches_up_while_it_is_held(state: EditorState) -> None:
    clock = Clock()
    edits = PanelEdits(state, clock)
    clock.tick = 1.0
    drag(edits, 61.0)
    clock.tick = 0.0
    drag(edits, 62.0)
    clock.now += 100.0
    edits.touch({GAIN: None})
    edits.finish_frame()
    assert gain(state) == 62.0


def test_a_refused_value_is_told_of_at_its_field_and_changes_nothing(state: EditorState) -> None:
    edits = PanelEdits(state)
    edits.put({GAIN: 5.0, "two.Everything.gain": -5.0})
    edits.finish_frame()
    assert state.problems == {GAIN: "two.Everything.gain: must be >= 0 N, got -5"}
    assert state.scene.to_text() == SCENE
    assert len(state.session.undo_stack) == 0


def test_a_drag_that_is_refused_tells_the_console_once(state: EditorState) -> None:
    edits = PanelEdits(state, Clock())
    drag(edits, -1.0, -2.0, -3.0)
    assert state.problems == {GAIN: f"{GAIN}: must be >= 0 N, got -3"}
    edits.end()
    edits.finish_frame()
    assert [line.text for line in state.console.lines] == [f"{GAIN}: must be >= 0 N, got -3"]
    drag(edits, 5.0)
    assert state.problems == {}


def test_unset_returns_to_the_default(state: EditorState) -> None:
    edits = PanelEdits(state)
    edits.put({GAIN: UNSET})
    edits.finish_frame()
    assert gain(state) is None
    assert state.session.undo_stack.names == [f"Reset {GAIN}"]


def test_undo_calls_edits_by_what_they_change() -> None:
    assert named({"dog.pd.kp": 1}) == "Set dog.pd.kp"
    assert named({"dog.pd.kp": UNSET}) == "Reset dog.pd.kp"
    assert named({"dog.pd.kp": 1, "cat.pd.kp": 1}) == "Set kp of dog.pd, cat.pd"
