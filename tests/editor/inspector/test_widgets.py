"""Each widget by mouse and keyboard, in frames of plain imgui."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from imgui_bundle import imgui

from mjrig.editor.inspector.fields import EditedObject, Field
from mjrig.editor.inspector.number_widgets import tidy
from mjrig.editor.inspector.text_widgets import yaml_value
from mjrig.editor.inspector.widget_context import Sheet, Widget
from mjrig.editor.inspector.widgets import register, widget_for
from mjrig.editor.session.panel_edits import PanelEdits
from mjrig.editor.session.state import EditorState
from mjrig.editor.ui import scalars
from tests.editor.inspector.inspected import SCENE, Pair, registered
from tests.editor.ui_driver import Frames, editor_state, plain_imgui
from tests.wording import mentions

ONE, TWO = "one.Everything", "two.Everything"


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Iterator[EditorState]:
    with registered(monkeypatch):
        yield editor_state(SCENE)


class Bench:
    """One widget on its own."""

    def __init__(self, state: EditorState, name: str, *paths: str) -> None:
        self.state, self.name, self.paths = state, name, paths or (ONE,)
        self.edits = PanelEdits(state)
        self.sheet = Sheet(state)
        self.rect = (0.0, 0.0, 0.0, 0.0)
        self.frames: Frames

    def field(self) -> Field:
        targets = []
        for path in self.paths:
            obj = self.state.described(path)
            assert obj is not None
            targets.append(EditedObject(path, obj, self.state.live(path)))
        return Field(tuple(targets), targets[0].obj.property_named(self.name), self.edits)

    def draw(self) -> None:
        imgui.push_item_width(300)
        field = self.field()
        widget_for(field.prop)(field, self.sheet)
        low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
        self.rect = (low.x, low.y, high.x, high.y)
        imgui.pop_item_width()
        self.edits.finish_frame()

    def values(self) -> list[Any]:
        return [t.obj.authored(self.name) for t in self.field().targets]

    @property
    def value(self) -> Any:
        return self.values()[0]

    @property
    def undo(self) -> list[str]:
        return list(self.state.session.undo_stack.names)

    def at(self, share: float = 0.5) -> tuple[float, float]:
        x, y, right, bottom = self.rect
        return x + share * (right - x), (y + bottom) / 2

    def drag(self, dx: float, share: float = 0.5) -> None:
        self.frames.drag(*self.at(share), dx)

    def type(self, text: str) -> None:
        """Type into a drag or slider: Ctrl and a click first."""
        io = imgui.get_io()
        io.add_key_event(imgui.Key.mod_ctrl, True)
        self.frames.click(*self.at())
        io.add_key_event(imgui.Key.mod_ctrl, False)
        self.frames()
        self.frames.type(text)
        self.frames(2)

    def write(self, text: str) -> None:
        """Replace the text of a line."""
        io = imgui.get_io()
        self.frames.click(*self.at())
        io.add_key_event(imgui.Key.mod_ctrl, True)
        self.frames.key(imgui.Key.a)
        io.add_key_event(imgui.Key.mod_ctrl, False)
        self.frames()
        self.frames.key(imgui.Key.delete)
        self.frames.type(text)
        self.frames(2)


@contextmanager
def bench(state: EditorState, name: str, *paths: str) -> Iterator[Bench]:
    made = Bench(state, name, *paths)
    with plain_imgui(made.draw) as frames:
        made.frames = frames
        frames(2)
        yield made


@contextmanager
def key(which: Any, frames: Frames) -> Iterator[None]:
    imgui.get_io().add_key_event(which, True)
    frames()
    yield
    imgui.get_io().add_key_event(which, False)
    frames()


def test_a_slid_number_is_one_undo_entry_and_reaches_the_running_world(state: EditorState) -> None:
    with bench(state, "gain") as b:
        b.drag(100, 0.6)
        assert b.value > 70
        assert b.undo == ["Set one.Everything.gain"]
        live = state.live(ONE)
        assert live is not None and vars(live)["gain"] == b.value
        b.drag(-50, 0.5)
        assert len(b.undo) == 2
    state.session.undo()
    state.session.undo()
    assert state.scene.to_text() == SCENE


def test_a_typed_number_keeps_every_digit_and_may_leave_the_soft_range(state: EditorState) -> None:
    with bench(state, "gain") as b:
        b.type("123.45678901234")
        assert b.value == 123.45678901234
        assert b.undo == ["Set one.Everything.gain"]


def test_a_typed_number_out_of_range_is_refused_with_the_reason(state: EditorState) -> None:
    with bench(state, "gain") as b:
        b.type("-1")
        assert b.value == 60
        assert state.problems == {f"{ONE}.gain": "one.Everything.gain: must be >= 0 N, got -1"}
        assert b.undo == []
        b.type("5")
        assert b.value == 5 and state.problems == {}


def test_a_drag_stops_inside_the_hard_range(state: EditorState) -> None:
    with bench(state, "free") as b:
        b.drag(2000)
        assert b.value == 4.0
        b.frames(30)  # else it is a double click
        b.drag(-4000)
        assert b.value == pytest.approx(0.501)
    assert state.problems == {}


def test_radians_are_shown_and_typed_in_degrees(state: EditorState) -> None:
    with bench(state, "angle") as b:
        b.type("90")
        assert b.value == pytest.approx(1.5707963267948966, abs=1e-15)


def test_a_whole_number_slides_and_stays_whole(state: EditorState) -> None:
    with bench(state, "count") as b:
        b.type("7")
        assert b.value == 7 and isinstance(b.value, int)


def test_a_whole_number_beyond_exact_drags_is_text(state: EditorState) -> None:
    state.session.set(f"{ONE}.big", 2**60 + 1)
    with bench(state, "big") as b:
        b.write(str(2**60 + 3))
        assert b.value == 2**60 + 3


def test_a_switch_is_clicked(state: EditorState) -> None:
    with bench(state, "on") as b:
        b.frames.click(*b.at())
        assert b.value is True
        assert b.undo == ["Set one.Everything.on"]


def test_an_optional_number_comes_and_goes(state: EditorState) -> None:
    with bench(state, "maybe") as b:
        x, y = b.rect[0] - 15, b.at()[1]  # the checkbox stands left of the word `none`
        b.frames.click(x, y)
        assert b.value == 0.0
        b.type("2.5")
        assert b.value == 2.5
        b.frames.click(x, y)
        assert b.value is None


def test_a_vector_writes_the_dragged_component_alone(state: EditorState) -> None:
    with bench(state, "where", ONE, TWO) as b:
        b.type("9")  # the last component
        assert b.values() == [[1, 2, 9], [4, 5, 9]]
    state.session.undo()
    assert state.scene.to_text() == SCENE


def test_numbers_of_several_objects_are_typed_at_once(state: EditorState) -> None:
    with bench(state, "gain", ONE, TWO) as b:
        assert b.field().is_mixed
        b.type("70")
        assert b.values() == [70, 70]
        assert b.undo == ["Set gain of one.Everything, two.Everything"]
    state.session.undo()
    assert state.scene.to_text() == SCENE


def test_an_alt_drag_changes_several_by_the_same_amount(state: EditorState) -> None:
    with bench(state, "gain", ONE, TWO) as b, key(imgui.Key.mod_alt, b.frames):
        b.drag(30)
    one, two = b.values()
    assert one > 60 and two - one == pytest.approx(20)
    assert len(b.undo) == 1


def test_a_line_of_text_is_taken_when_it_is_confirmed(state: EditorState) -> None:
    with bench(state, "note") as b:
        b.write("hello: world")
        assert b.value == "hello: world"
        assert b.undo == ["Set one.Everything.note"]


@pytest.mark.parametrize(
    ("typed", "expected"), [("swing", "swing"), ("[a, b.*]", ["a", "b.*"]), ("[ab]", "[ab]")]
)
def test_patterns_are_one_text_or_a_list(state: EditorState, typed: str, expected: object) -> None:
    with bench(state, "which") as b:
        b.write(typed)
        assert b.value == expected


def test_a_wrong_pattern_is_refused(state: EditorState) -> None:
    with bench(state, "which") as b:
        b.write("(")
        assert b.value is None
    assert mentions(state.problems[f"{ONE}.which"], "is not a valid …")


def test_a_file_is_typed_and_a_wrong_suffix_refused(state: EditorState) -> None:
    with bench(state, "file") as b:
        b.write("table.csv")
        assert b.value == "table.csv"
        b.write("table.txt")
        assert b.value == "table.csv"
    assert state.problems[f"{ONE}.file"] == (
        "one.Everything.file: must end in .csv, got 'table.txt'"
    )


def test_a_browsed_file_is_written_relative_to_the_scene(
    state: EditorState, tmp_path: Path
) -> None:
    state.scene._base = tmp_path
    asked: list[tuple[tuple[str, ...], Callable[[str], None]]] = []
    with bench(state, "file") as b:
        b.sheet.browse = lambda suffixes, then: asked.append((suffixes, then))
        b.frames(2)
        b.frames.click(*b.at())
        assert asked[0][0] == (".csv",)
        asked[0][1](str(tmp_path / "data" / "t.csv"))
        b.frames()
        assert b.value == "data/t.csv"


@pytest.mark.parametrize(
    ("name", "typed", "expected"),
    [
        ("pair", "[x, y]", ["x", "y"]),
        ("curve", "[1, 2.5]", [1, 2.5]),
        ("curve", "[[1, 2], [3, 4]]", [[1, 2], [3, 4]]),
    ],
)
def test_what_has_no_widget_is_yaml(
    state: EditorState, name: str, typed: str, expected: object
) -> None:
    with bench(state, name) as b:
        b.write(typed)
        assert b.value == expected


@pytest.mark.parametrize("typed", ["[x", "[x]"])
def test_yaml_that_is_wrong_is_refused(state: EditorState, typed: str) -> None:
    with bench(state, "pair") as b:
        b.write(typed)
        assert b.value is None
    assert state.problems[f"{ONE}.pair"]


def test_one_of_several_numbers_is_dragged_and_a_list_is_text(state: EditorState) -> None:
    with bench(state, "low") as b:
        b.type("3.5")
        assert b.value == 3.5
        state.session.set(f"{ONE}.low", [1, 2])
        b.frames(2)
        b.write("[1, 2, 3]")
        assert b.value == [1, 2, 3]


def test_a_package_may_bring_a_widget_for_its_kind(
    state: EditorState, monkeypatch: pytest.MonkeyPatch
) -> None:
    prop = Pair(("a", "b"))
    assert widget_for(prop) is yaml_value

    def own(field: Field, sheet: Sheet) -> None:
        imgui.text("own")

    widgets: dict[type, Widget] = {}
    monkeypatch.setattr("mjrig.editor.inspector.widgets._WIDGETS", widgets)
    register(Pair, own)
    assert widget_for(prop) is own


def test_whole_numbers_stay_whole_only_where_they_were() -> None:
    assert [repr(tidy(5.0, 4)), repr(tidy(5.5, 4)), repr(tidy(5.0, 4.0))] == ["5", "5.5", "5.0"]


def test_drags_get_the_decimals_their_speed_needs() -> None:
    assert [scalars.decimals(s) for s in (10.0, 1.0, 0.5, 0.01)] == [0, 0, 1, 2]
