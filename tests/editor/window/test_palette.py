"""The palette and the sheet of keys: made from the same list of commands as the menus."""

from typing import Any

import pytest
from imgui_bundle import imgui

from mjrig.editor.ui.chords import chord, global_chord
from tests.editor.windows import SWINGS, Bench, press

KEY = imgui.Key


def test_a_command_is_found_by_some_letters_and_run_by_enter() -> None:
    bench = Bench.on(SWINGS)

    def finds(ctx: Any) -> None:
        press(ctx, KEY.mod_ctrl, KEY.p)
        ctx.key_chars("wiref")
        ctx.yield_(2)
        press(ctx, KEY.enter)

    bench.run(finds)
    assert not bench.window.palette.is_open
    assert bench.drawing.scene.flags[1]  # wireframe


def test_a_property_is_selected_and_searched_for_in_the_inspector() -> None:
    bench = Bench.on(SWINGS)
    seen: list[str] = []

    def finds(ctx: Any) -> None:
        press(ctx, KEY.mod_ctrl, KEY.p)
        ctx.key_chars("right.pdcontroller.kv")
        ctx.yield_(2)
        seen.extend(entry.text for entry in bench.window.palette.found())
        press(ctx, KEY.enter)

    bench.run(finds)
    assert seen == ["right.PDController.kv"]
    assert bench.state.selection.paths == ["right.PDController"]
    assert bench.window.inspector._search == "kv"


def test_escape_closes_it_and_nothing_is_done() -> None:
    bench = Bench.on(SWINGS)

    def gives_up(ctx: Any) -> None:
        press(ctx, KEY.mod_ctrl, KEY.p)
        ctx.key_chars("quit")
        press(ctx, KEY.escape)

    bench.run(gives_up)
    assert not bench.window.palette.is_open
    assert not bench.state.wants_to_close


def test_every_command_is_in_the_palette_and_every_key_in_the_sheet() -> None:
    bench = Bench.on(SWINGS)
    counts: list[Any] = []

    def looks(ctx: Any) -> None:
        ctx.yield_(2)
        window = bench.window
        commands = window.all_commands.all()
        texts = {entry.text for entry in window.palette.entries()}
        counts.append([c.label for c in commands if c.enabled and c.label not in texts])
        listed = {(what, keys) for _, what, keys in window.sheet.rows(window.all_commands)}
        keyed = [c for c in commands if c.keys]
        pairs = [(c.label, ", ".join(filter(None, (c.keys, c.other_keys)))) for c in keyed]
        counts.append([pair for pair in pairs if pair not in listed])
        press(ctx, KEY.f1)
        counts.append(window.sheet.is_open)
        ctx.item_input("//Keys and commands/##search")
        ctx.key_chars("undo")
        ctx.yield_(2)
        counts.append([row[1] for row in window.sheet.rows(window.all_commands)])

    bench.run(looks)
    assert counts == [[], [], True, ["Undo"]]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Ctrl+Shift+S", (KEY.mod_ctrl, KEY.mod_shift, KEY.s)),
        ("Ctrl+1", (KEY.mod_ctrl, KEY._1)),
        ("F12", (KEY.f12,)),
    ],
)
def test_keys_with_ctrl_and_function_keys_act_anywhere(text: str, keys: tuple[Any, ...]) -> None:
    assert global_chord(text) == chord(*keys)


@pytest.mark.parametrize("text", ["", "Del", "Esc", "W", "Space", "Right", "F"])
def test_single_keys_do_not(text: str) -> None:
    assert global_chord(text) is None
