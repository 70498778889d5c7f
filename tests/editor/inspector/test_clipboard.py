"""What is copied can be pasted; what cannot be pasted says why."""

from collections.abc import Iterator

import pytest

from mjrig.core.errors import PropertyError
from mjrig.editor.edits.edits import UNSET
from mjrig.editor.inspector import property_rows
from mjrig.editor.inspector.fields import EditedObject, Field
from mjrig.editor.session.panel_edits import PanelEdits
from mjrig.editor.session.state import EditorState
from tests.editor.inspector.inspected import SCENE, registered
from tests.editor.ui_driver import editor_state
from tests.wording import matches


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Iterator[EditorState]:
    with registered(monkeypatch):
        yield editor_state(SCENE)


def target(state: EditorState, path: str) -> EditedObject:
    obj = state.described(path)
    assert obj is not None
    return EditedObject(path, obj)


def test_a_value_is_copied_as_it_stands_in_the_file(state: EditorState) -> None:
    one = target(state, "one.Everything")
    texts = {
        name: property_rows.value_text(
            Field((one,), one.obj.property_named(name), PanelEdits(state))
        )
        for name in ("gain", "where", "colour", "maybe", "which", "curve", "knob", "weights")
    }
    assert texts == {
        "gain": "60",
        "where": "[1, 2, 3]",
        "colour": "red",
        "maybe": "null",
        "which": "[.*]",
        "curve": "[]",
        "knob": "null",
        "weights": "{}",
    }


def test_a_category_is_what_is_authored_under_its_heading(state: EditorState) -> None:
    one = target(state, "one.Everything")
    assert property_rows.category_text(one.obj, "Numbers") == "gain: 60\nwhere: [1, 2, 3]\n"
    assert property_rows.category_text(one.obj, "General") == "{}\n"


def test_a_whole_component_replaces_another(state: EditorState) -> None:
    text = property_rows.object_text(target(state, "one.Everything").obj)
    assert text == "type: Everything\ngain: 60\nwhere: [1, 2, 3]\n"
    state.session.set("two.Everything.note", "old")
    assert property_rows.values_to_paste(target(state, "two.Everything"), text) == {
        "two.Everything.note": UNSET,
        "two.Everything.gain": 60,
        "two.Everything.where": [1, 2, 3],
    }


def test_an_actor_keeps_its_name(state: EditorState) -> None:
    text = property_rows.object_text(target(state, "one").obj)
    values = property_rows.values_to_paste(target(state, "two"), text)
    assert set(values) == {"two.model", "two.components"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "cannot paste: the clipboard …"),
        ("[1", "cannot paste the clipboard: value:1:3: … YAML"),
        ("5", "cannot paste: one.Everything needs a … 5"),
        ("type: PDController", "cannot paste: the clipboard … PDController, one.Everything …"),
        ("gian: 5", "cannot paste: Everything has no … 'gian'; … 'gain'?"),
        ("{}", "cannot paste: the clipboard …"),
    ],
)
def test_a_text_that_cannot_be_pasted_says_why(
    state: EditorState, text: str, expected: str
) -> None:
    with pytest.raises(PropertyError) as caught:
        property_rows.values_to_paste(target(state, "one.Everything"), text)
    assert matches(str(caught.value), f"{expected}…")
