"""Single keys act on the viewport only while they are meant for it, and tell what they did."""

from typing import Any

import pytest
from imgui_bundle import imgui

from mjrig.editor.ui.chords import global_chord, single_key
from mjrig.editor.viewport import cameras
from mjrig.editor.window.command import Command
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
