"""Numbers work alike everywhere: click and type, Tab, Enter, Esc, drag."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from imgui_bundle import imgui
from imgui_bundle.imgui.test_engine_checks import CHECK

from mjrig.editor.ui.number_cell import number_cell, whole_number_cell
from mjrig.editor.ui.number_validation import take_notes
from tests.editor.ui_driver import Frames, plain_imgui
from tests.editor.windows import SWINGS, Bench, press

KEY = imgui.Key
LONG = 0.123456789012345


class Cells:
    """Three cells, one below the other."""

    def __init__(self, *, clamps: bool = False) -> None:
        self.values: list[float] = [LONG, 2.0, 3]
        self.changes = 0
        self._clamps = clamps
        self.at = [(0.0, 0.0)] * 3

    def draw(self) -> None:
        for i, value in enumerate(self.values):
            imgui.set_next_item_width(200)
            if i < 2:
                changed, new = number_cell(
                    f"##{i}", value, 0.1, -9.0, 9.0, ends=(-9.0, 9.0), clamps=self._clamps
                )
            else:
                changed, new = whole_number_cell(
                    f"##{i}", int(value), 0.1, -9, 9, clamps=self._clamps
                )
            low = imgui.get_item_rect_min()
            self.at[i] = (low.x + 50, low.y + 8)
            self.changes += changed
            self.values[i] = new


@pytest.fixture
def drawn() -> Iterator[tuple[Cells, Frames]]:
    cells = Cells()
    with plain_imgui(cells.draw) as frames:
        frames(2)
        yield cells, frames


def _ends(frames: Frames, key: Any) -> None:
    frames.key(key)
    frames(2)


def test_one_click_types_and_enter_applies(drawn: tuple[Cells, Frames]) -> None:
    cells, frames = drawn
    frames.click(*cells.at[1])
    frames.type("7.25")
    frames(2)
    assert cells.values == [LONG, 7.25, 3] and cells.changes == 1
    frames.click(*cells.at[2])
    frames.type("-4")
    frames(2)
    assert cells.values == [LONG, 7.25, -4]


def test_escape_gives_up(drawn: tuple[Cells, Frames]) -> None:
    cells, frames = drawn
    frames.click(*cells.at[1])
    frames.type("7.25", enter=False)
    _ends(frames, KEY.escape)
    assert cells.values == [LONG, 2.0, 3] and not cells.changes


def test_tab_applies_and_types_into_the_next(drawn: tuple[Cells, Frames]) -> None:
    cells, frames = drawn
    frames.click(*cells.at[0])
    _ends(frames, KEY.tab)  # nothing typed: every digit stays
    frames.type("5", enter=False)
    _ends(frames, KEY.tab)
    frames.type("6")
    frames(2)
    assert cells.values == [LONG, 5.0, 6]


def test_a_click_and_enter_change_no_digit(drawn: tuple[Cells, Frames]) -> None:
    cells, frames = drawn
    frames.click(*cells.at[0])
    _ends(frames, KEY.enter)
    assert cells.values[0] == LONG and not cells.changes


def test_a_drag_drags(drawn: tuple[Cells, Frames]) -> None:
    cells, frames = drawn
    frames.drag(*cells.at[1], 30)
    assert cells.values[1] > 3.0 and cells.values[::2] == [LONG, 3]


# In the window ----------------------------------------------------------------------------------


def test_table_and_inspector_take_the_same_keys(tmp_path: Path) -> None:
    bench = Bench.on_file(tmp_path / "swings.yaml", SWINGS)
    state = bench.state

    def kps() -> list[Any]:
        return [state.scene[name].components[0].authored("kp") for name in ("left", "right")]

    def kvs() -> list[Any]:
        return [state.scene[name].components[0].authored("kv") for name in ("left", "right")]

    def types(ctx: Any, cell: str, keys: str) -> None:
        ctx.item_click(cell)
        ctx.yield_(2)
        ctx.key_chars(keys)
        ctx.yield_()

    def edits(ctx: Any) -> None:
        cell = "//Gains/gains 3/left.PDController.swing/##"
        types(ctx, cell + "kp", "41")
        press(ctx, KEY.tab)
        ctx.key_chars("1.5")
        press(ctx, KEY.enter)
        CHECK((kps(), kvs()) == ([41, 20], [1.5, 1]))
        types(ctx, cell + "kp", "99")
        press(ctx, KEY.escape)
        CHECK(kps() == [41, 20])
        state.selection.only("left.PDController")
        ctx.yield_(3)
        ctx.set_ref(ctx.window_info("//Inspector/rows").window)
        types(ctx, "props/kp/##v", "42")
        press(ctx, KEY.tab)
        ctx.key_chars("1.25")
        press(ctx, KEY.enter)
        CHECK((kps(), kvs()) == ([42, 20], [1.25, 1]))
        types(ctx, "props/kp/##v", "99")
        press(ctx, KEY.escape)
        CHECK(kps() == [42, 20])
        ctx.item_drag_with_delta("props/kp/##v", imgui.ImVec2(40, 0))
        ctx.yield_(2)
        CHECK(kps()[0] > 42)

    bench.run(edits)
    assert bench.entries and not bench.problems


# What is no number ------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", [0, 1, 2])
@pytest.mark.parametrize("text", ["abc", "12o", "1 2", "--3", "5 deg", "1_0"])
def test_a_text_that_is_no_number_is_refused_with_a_word(
    drawn: tuple[Cells, Frames], cell: int, text: str
) -> None:
    cells, frames = drawn
    take_notes()
    before = list(cells.values)
    frames.click(*cells.at[cell])
    frames.type(text)
    frames(3)
    assert cells.values == before and cells.changes == 0
    [reason] = take_notes()
    assert repr(text) in reason and "stays as it was" in reason
    frames.click(*cells.at[cell])  # the cell works as before
    frames.type("4")
    frames(2)
    assert cells.values[cell] == 4.0 and not take_notes()


def test_a_fraction_is_no_whole_number(drawn: tuple[Cells, Frames]) -> None:
    cells, frames = drawn
    take_notes()
    frames.click(*cells.at[2])
    frames.type("2.5")
    frames(2)
    assert cells.values[2] == 3
    assert "no whole number" in take_notes()[0]


@pytest.mark.parametrize("text", ["", "  ", "-1.5e0", "+2", ".5", "0,5", "1e-1"])
def test_numbers_and_nothing_are_not_refused(drawn: tuple[Cells, Frames], text: str) -> None:
    cells, frames = drawn
    take_notes()
    frames.click(*cells.at[1])
    frames.type(text)
    frames(2)
    assert not take_notes()
    written = text.strip().replace(",", ".")
    assert cells.values[1] == (float(written) if written else 2.0)


def test_giving_up_or_dragging_is_not_refused(drawn: tuple[Cells, Frames]) -> None:
    cells, frames = drawn
    take_notes()
    frames.click(*cells.at[1])
    frames.type("abc", enter=False)
    _ends(frames, KEY.escape)
    frames.drag(*cells.at[0], 40)
    assert not take_notes() and cells.values[0] != LONG and cells.values[1] == 2.0


def test_the_window_says_what_was_typed() -> None:
    bench = Bench.on(SWINGS)
    bench.state.selection.only("left.PDController")

    def types(ctx: Any) -> None:
        ctx.item_click("//Gains/#TAB")
        ctx.yield_(3)
        row = bench.window.gains.tuning.rows[0]
        ctx.item_click(f"//Gains/gains 3/{row.key}/##kp")
        ctx.key_chars_replace("12o")
        press(ctx, KEY.enter)
        ctx.yield_(3)

    bench.run(types)
    assert any("'12o' is no number" in line for line in bench.said)
    assert bench.state.scene["left"].components[0].to_data()["kp"] == 10 and not bench.entries


# What is out of range -----------------------------------------------------------------------------


@pytest.mark.parametrize("cell", [1, 2])
@pytest.mark.parametrize(
    ("text", "result", "words"),
    [
        ("12", 9, "12 is above the largest value; it became 9"),
        ("-1e3", -9, "-1e3 is below the smallest value; it became -9"),
        ("9", 9, ""),
        ("-9", -9, ""),
    ],
)
def test_a_clamped_number_is_reported_with_its_bound(
    cell: int, text: str, result: float, words: str
) -> None:
    cells = Cells(clamps=True)
    take_notes()
    with plain_imgui(cells.draw) as frames:
        frames(2)
        frames.click(*cells.at[cell])
        frames.type(text if cell == 1 else text.replace("1e3", "1000"))
        frames(3)
    assert cells.values[cell] == result
    assert take_notes() == ([words.replace("1e3", "1000") if cell == 2 else words] if words else [])


def test_a_cell_that_does_not_clamp_reports_nothing(drawn: tuple[Cells, Frames]) -> None:
    cells, frames = drawn
    take_notes()
    frames.click(*cells.at[1])
    frames.type("12")
    frames(3)
    assert cells.values[1] == 12.0 and not take_notes()


def test_gains_out_of_range_are_reported_in_the_table_and_in_the_inspector(tmp_path: Path) -> None:
    bench = Bench.on_file(tmp_path / "swings.yaml", SWINGS)
    state = bench.state
    results: dict[str, Any] = {}

    def kp(actor: str = "left") -> Any:
        return state.scene[actor].components[0].authored("kp")

    def lines() -> list[str]:
        return [line.text for line in state.console.lines]

    def edits(ctx: Any) -> None:
        ctx.item_click("//Gains/gains 3/left.PDController.swing/##kp")
        ctx.yield_(2)
        ctx.key_chars("-5")
        press(ctx, KEY.enter)
        ctx.yield_(2)
        results["table"] = kp(), lines()[-1:]
        state.selection.only("left.PDController")
        ctx.yield_(3)
        ctx.set_ref(ctx.window_info("//Inspector/rows").window)
        ctx.item_click("props/kp/##v")
        ctx.yield_(2)
        ctx.key_chars("-7")
        press(ctx, KEY.enter)
        ctx.yield_(2)
        results["inspector"] = kp(), dict(state.problems)

    bench.run(edits)
    assert results["table"] == (0, ["-5 is below the smallest value; it became 0"])
    value, problems = results["inspector"]
    assert value == 0 and any("-7" in text for text in problems.values())
