"""Single keys act on the viewport only while they are meant for it, and tell what they did."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from imgui_bundle import imgui

from mjrig.editor.ui.key_chords import CTRL, Modifiers, global_chord, single_key
from mjrig.editor.viewport import cameras
from mjrig.editor.window.window_commands import Command
from tests.editor.windows import SWINGS, Bench, point_at_viewport, press

KEY = imgui.Key
#: Every single key of MuJoCo's viewer that changes something.
SINGLE = (KEY._0, KEY._2, KEY._5, KEY.w, KEY.c, KEY.t, KEY.f6, KEY.f7, KEY.backspace, KEY.space)


def looks(bench: Bench) -> tuple[Any, ...]:
    """All that single keys change."""
    drawing = bench.drawing
    option = drawing.option
    return (
        bytes(option.flags),
        bytes(drawing.scene.flags),
        bytes(option.geomgroup),
        bytes(option.sitegroup),
        option.frame,
        option.label,
        bench.state.simulation.playing,
        bench.state.simulation.frame.steps,
        bench.state.simulation.speed,
    )


@pytest.mark.parametrize("place", ["//Hierarchy", "//Gains", "//Inspector"])
def test_single_keys_do_nothing_where_the_mouse_and_the_focus_are_elsewhere(place: str) -> None:
    bench = Bench.on(SWINGS)
    seen: list[Any] = []

    def types(ctx: Any) -> None:
        bench.state.selection.only("left")
        bench.state.simulation.step_once(10)
        ctx.yield_(3)
        ctx.window_focus(place)
        ctx.mouse_move_to_pos(imgui.ImVec2(2, 2))
        ctx.yield_(2)
        seen.append(looks(bench))
        for key in SINGLE:
            press(ctx, key)
        seen.append(looks(bench))

    bench.run(types)
    assert seen[0] == seen[1]
    assert not bench.window.viewport.notice.text


def test_the_same_keys_act_over_the_viewport_and_tell_what_they_changed() -> None:
    bench = Bench.on(SWINGS)
    told: list[str] = []

    def types(ctx: Any) -> None:
        point_at_viewport(ctx)
        for key in (KEY._2, KEY._2, KEY.w, KEY.equal, KEY.f7, KEY.space, KEY.backspace):
            press(ctx, key)
            told.append(bench.window.viewport.notice.text)

    bench.run(types)
    assert told == [
        "Geom group 2 hidden; 2 switches back",
        "Geom group 2 shown; 2 switches back",
        "Wireframe shown; W switches back",
        "Speed 2x; - goes back",
        "Labels: body; F7 shows others",
        "Playing; Space pauses",
        "Reset to the start",
    ]


def test_escape_is_meant_for_an_open_popup_first() -> None:
    bench = Bench.on(SWINGS)
    seen: list[bool] = []

    def escapes(ctx: Any) -> None:
        ctx.yield_(2)
        cameras.follow(bench.drawing, "left")
        ctx.menu_action(imgui.test_engine.TestAction.open, "//##MainMenuBar/Draw")
        ctx.yield_(2)
        ctx.mouse_move_to_pos(imgui.ImVec2(640, 250))
        press(ctx, KEY.escape)
        seen.append(cameras.is_free(bench.drawing))
        ctx.popup_close_all()
        ctx.yield_(3)
        press(ctx, KEY.escape)
        seen.append(cameras.is_free(bench.drawing))

    bench.run(escapes)
    assert seen == [False, True]
    assert bench.window.viewport.notice.text.startswith("Camera free")


def test_escape_answers_a_question_and_closes_the_sheet_and_nothing_else(tmp_path: Path) -> None:
    bench = Bench.on_file(tmp_path / "swings.yaml", SWINGS)
    window, declined = bench.window, list[str]()
    asked: dict[str, Callable[[], object]] = {
        "save": window.files.ask_save,
        "unsaved": window.files.unsaved.open,
        "changed": window.files.changed.open,
        "reload": lambda: window.files.hot.dialog.ask(
            [tmp_path], loses=False, take=lambda: None, decline=lambda: declined.append("no")
        ),
        "keys": window.sheet.toggle,
    }
    stayed: list[str] = []

    def escapes(ctx: Any) -> None:
        ctx.yield_(2)
        cameras.follow(bench.drawing, "left")
        for name, ask in asked.items():
            ask()
            ctx.yield_(3)
            ctx.mouse_move_to_pos(imgui.ImVec2(200, 100))  # over the viewport
            is_open = [*(d.is_open for d in window._dialogs), window.sheet.is_open]
            press(ctx, KEY.escape)
            is_closed = not any([*(d.is_open for d in window._dialogs), window.sheet.is_open])
            if not any(is_open) or not is_closed or cameras.is_free(bench.drawing):
                stayed.append(name)
        ctx.yield_(2)

    bench.run(escapes)
    assert not stayed
    assert declined == ["no"]


def test_every_key_that_is_listed_exists_and_means_one_thing() -> None:
    bench = Bench.on(SWINGS)
    commands: list[Command] = []

    def looks(ctx: Any) -> None:
        ctx.yield_(2)
        commands.extend(c for c in bench.window.all_commands.all() if c.keys)

    bench.run(looks)
    keys = [k for c in commands for k in (c.keys, c.other_keys) if k]
    assert len(keys) == len(set(keys)) > 60
    for key in keys:
        assert global_chord(key) is not None or single_key(key)[0] is not None
    everywhere = [c for c in commands if global_chord(c.keys) is None or c.over_viewport]
    assert all(c.notice is not None for c in everywhere if not c.repeats and c.keys != "Del")


def test_enter_takes_the_file_that_is_suggested(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    bench = Bench.on(SWINGS, tmp_path)

    def saves(ctx: Any) -> None:
        press(ctx, KEY.mod_ctrl, KEY.s)
        ctx.yield_(3)
        press(ctx, KEY.enter)

    bench.run(saves)
    assert (tmp_path / "scene.yaml").is_file()
    assert not bench.state.session.is_dirty


def test_a_name_without_suffix_replaces_nothing_unasked(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("mjrig: 1   # of somebody else\n")
    bench = Bench.on_file(tmp_path / "swings.yaml", SWINGS)
    written: list[str] = []

    def types(ctx: Any) -> None:
        for name in ("other", "new"):
            press(ctx, KEY.mod_ctrl, KEY.mod_shift, KEY.s)
            ctx.yield_(3)
            ctx.item_input("//$FOCUSED/##path")
            ctx.key_chars_replace_enter(str(tmp_path / name))
            ctx.yield_(2)
            written.append((tmp_path / "other.yaml").read_text())
            if bench.window.choose.is_open:
                press(ctx, KEY.escape)

    bench.run(types)
    assert written == ["mjrig: 1   # of somebody else\n"] * 2
    assert (tmp_path / "new.yaml").read_text() == SWINGS


# Chords, whatever the order of events -------------------------------------------------------------


def _orders() -> list[tuple[str, ...]]:
    """S goes down while Ctrl is held; clicks and releases come anywhere."""
    events = ("ctrl", "s", "ctrl up", "s up", "click", "frame")
    found = []
    for order in itertools.permutations(events):
        place = {event: order.index(event) for event in events}
        if place["ctrl"] < place["s"] < min(place["s up"], place["ctrl up"]):
            found.append(order)
    return found


def test_ctrl_s_never_acts_as_s_in_any_order_of_events(tmp_path: Path) -> None:
    """Single S switches the shadows."""
    bench = Bench.on_file(tmp_path / "swings.yaml", SWINGS)
    acted: list[tuple[str, ...]] = []
    orders = _orders()[::2]

    def does(ctx: Any, event: str) -> None:
        if event == "ctrl":
            ctx.key_down(KEY.mod_ctrl)
        elif event == "ctrl up":
            ctx.key_up(KEY.mod_ctrl)
        elif event == "s":
            ctx.key_down(KEY.s)
        elif event == "s up":
            ctx.key_up(KEY.s)
        elif event == "click":
            ctx.mouse_click(2)
        else:
            ctx.yield_()

    def types(ctx: Any) -> None:
        point_at_viewport(ctx)
        for order in orders:
            before = looks(bench)
            for event in order:
                does(ctx, event)
            ctx.yield_(2)
            if looks(bench) != before:
                acted.append(order)
            bench.window.keys.modifiers = Modifiers()
            ctx.yield_(2)
        press(ctx, KEY.s)
        acted.append(("last",) if looks(bench) == before else ("alone",))

    bench.run(types)
    assert len(orders) > 20 and acted == [("alone",)]  # alone it does act


def test_a_chord_whose_ctrl_the_window_did_not_see_is_still_a_chord(tmp_path: Path) -> None:
    """Ctrl was held when the window got the focus: only the desktop knows of it."""
    path = tmp_path / "swings.yaml"
    bench = Bench.on_file(path, SWINGS)
    seen: list[Any] = []

    def saves(ctx: Any) -> None:
        point_at_viewport(ctx)
        bench.state.session.set("left.PDController.kp", 44)
        seen.append(looks(bench))
        bench.window.keys.modifiers.heard(CTRL)
        press(ctx, KEY.s)
        seen.append(looks(bench))

    bench.run(saves)
    assert seen[0] == seen[1]
    assert "kp: 44" in path.read_text() and not bench.problems


def test_keys_do_not_drive_while_they_are_part_of_a_chord() -> None:
    bench = Bench.on(SWINGS)
    seen: list[bool] = []

    def holds(ctx: Any) -> None:
        point_at_viewport(ctx)
        seen.append(bench.window.commands._has_focus())
        ctx.key_down(KEY.mod_ctrl)
        ctx.yield_(2)
        seen.append(bench.window.commands._has_focus())
        ctx.key_up(KEY.mod_ctrl)

    bench.run(holds)
    assert seen == [True, False]
