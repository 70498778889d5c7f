"""Play, pause, step, stop, reset, speed and time travel, by button and by key."""

import time
from pathlib import Path
from typing import Any

import pytest
from imgui_bundle import imgui

from mjrig.core.control.setpoints import Source
from mjrig.editor.session import autosave
from mjrig.editor.session.simulation import AS_FAST_AS_POSSIBLE
from mjrig.editor.window.toolbar import SPEEDS, commanders, neighbour, speed_text
from tests.editor.windows import SWINGS, Bench, point_at_viewport, press
from tests.wording import matches

KEY = imgui.Key
BAR = "//##Top_2123243/"


def test_buttons_play_pause_step_and_reset() -> None:
    bench = Bench.on(SWINGS)
    simulation = bench.state.simulation
    seen: list[Any] = []

    def transport(ctx: Any) -> None:
        ctx.set_ref(BAR)
        ctx.item_click("###play")
        seen.append(simulation.playing)
        ctx.item_click("###play")
        seen.append(simulation.playing)
        ctx.item_click("Step")
        ctx.item_click("Step")
        seen.append(simulation.frame.steps)
        ctx.item_click("Reset")
        seen.append(simulation.frame.steps)

    bench.run(transport)
    assert seen == [True, False, 2, 0]
    assert not bench.problems


def test_keys_of_mujocos_viewer_move_time() -> None:
    bench = Bench.on(SWINGS)
    simulation = bench.state.simulation
    seen: list[Any] = []

    def keys(ctx: Any) -> None:
        point_at_viewport(ctx)
        press(ctx, KEY.space)
        seen.append(simulation.playing)
        press(ctx, KEY.space)
        seen.append(simulation.playing)
        press(ctx, KEY.right_arrow)
        seen.append(simulation.frame.steps)
        simulation.step_once(100)
        before = simulation.frame.time
        press(ctx, KEY.left_arrow)
        seen.append(0.0 < simulation.frame.time < before)
        press(ctx, KEY.backspace)
        seen.append(simulation.frame.steps)

    bench.run(keys)
    assert seen == [True, False, 1, True, 0]


def test_keys_that_are_typed_into_a_field_do_nothing_else() -> None:
    bench = Bench.on(SWINGS)

    def types(ctx: Any) -> None:
        ctx.item_input("//Hierarchy/##filter")
        ctx.key_chars("left")
        press(ctx, KEY.space)
        ctx.key_press(int(KEY.backspace))

    bench.run(types)
    assert not bench.state.simulation.playing
    assert not bench.drawing.option.flags[0]


def test_the_pace_is_chosen_from_the_list_and_by_key() -> None:
    bench = Bench.on(SWINGS)
    simulation = bench.state.simulation
    seen: list[float] = []

    def chooses(ctx: Any) -> None:
        ctx.item_click(BAR + "##speed")
        ctx.item_click("//##Combo_00/0.25x")
        seen.append(simulation.speed)
        point_at_viewport(ctx)
        press(ctx, KEY.equal)
        seen.append(simulation.speed)
        press(ctx, KEY.minus)
        press(ctx, KEY.minus)
        press(ctx, KEY.minus)
        seen.append(simulation.speed)
        ctx.item_click(BAR + "##speed")
        ctx.item_click("//##Combo_00/max")
        seen.append(simulation.speed)

    bench.run(chooses)
    assert seen == [0.25, 0.5, 0.1, AS_FAST_AS_POSSIBLE]


@pytest.mark.parametrize(("speed", "way", "next_one"), [(1.0, 1, 2.0), (1.0, -1, 0.5)])
def test_speeds_have_neighbours(speed: float, way: int, next_one: float) -> None:
    assert neighbour(speed, way) == next_one
    assert neighbour(SPEEDS[0], -1) == SPEEDS[0]
    assert neighbour(SPEEDS[-1], 1) == SPEEDS[-1]
    assert neighbour(SPEEDS[-1], -1) == 4.0
    assert [speed_text(s) for s in SPEEDS] == "0.1x 0.25x 0.5x 1x 2x 4x max".split()


def test_the_slider_goes_back_and_the_future_is_the_same() -> None:
    bench = Bench.on(SWINGS)
    simulation = bench.state.simulation
    simulation.advance(1000)
    simulation.publish()
    end = simulation.frame
    times: list[float] = []

    def scrubs(ctx: Any) -> None:
        ctx.item_input_value(BAR + "##time", 0.4)
        ctx.yield_(2)
        times.append(simulation.frame.time)
        times.append(simulation.frame.reach[1])

    bench.run(scrubs)
    assert times[0] == pytest.approx(0.4, abs=0.04)
    assert times[1] > 0.9  # the way forward again is still there
    simulation.step_once(end.steps - simulation.frame.steps)
    assert simulation.frame.state.tobytes() == end.state.tobytes()


def test_after_a_structural_edit_time_goes_back_to_it_and_no_further() -> None:
    bench = Bench.on(SWINGS)
    simulation, session = bench.state.simulation, bench.state.session
    simulation.advance(200)
    session.set("right.pose.position", [0, 3, 0])
    edited = simulation.frame
    assert edited.steps == 200
    assert edited.reach == (edited.time, edited.time)
    simulation.advance(200)
    end = simulation.world.snapshot().integration
    assert simulation.go_to(0.0) == edited.time
    assert simulation.frame.state.tobytes() == edited.state.tobytes()
    simulation.step_once(200)
    assert simulation.world.snapshot().integration.tobytes() == end.tobytes()


def test_who_commands_is_told() -> None:
    state = Bench.on(SWINGS).state
    assert matches(commanders(state), "left: manual control; right: manual …")
    state.simulation.call(lambda w: w["left"].take(Source.UI, holder="a slider"))
    state.simulation.call(lambda w: w["right"].hold("home"))
    state.simulation.publish()
    assert matches(commanders(state), "left: a slider; right: holds …")
    assert commanders(Bench.on("mjrig: 1\n").state) == "no actors"


def test_the_status_bar_tells_what_is_unsaved_and_the_last_problem() -> None:
    bench = Bench.on(SWINGS)
    drawn: list[str] = []
    text, coloured = imgui.text, imgui.text_colored

    def read(what: str) -> str:
        drawn.append(what)
        return what

    def reads(ctx: Any) -> None:
        bench.state.session.set("left.PDController.kp", 11)
        bench.state.console.fail("it broke")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(imgui, "text", lambda t: text(read(t)))
            patch.setattr(imgui, "text_colored", lambda c, t: coloured(c, read(t)))
            ctx.yield_(2)

            drawn.append("later")
            now = time.monotonic()
            patch.setattr(time, "monotonic", lambda: now + 20.0)
            ctx.yield_(2)

    bench.run(reads)
    assert "it broke" not in drawn[drawn.index("later") :]  # it is in the console
    assert "unsaved: Set left.PDController.kp" in drawn
    assert "it broke" in drawn
    assert "paused" in drawn


def test_the_status_bar_warns_while_changes_cannot_be_autosaved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MJRIG_STATE", str(tmp_path / "file" / "state"))
    monkeypatch.setattr(autosave, "INTERVAL", 0.0)
    bench = Bench.on(SWINGS)
    shown: dict[str, list[str]] = {}
    coloured = imgui.text_colored

    def draw(ctx: Any, moment: str) -> None:
        lines = shown[moment] = []
        with monkeypatch.context() as patch:
            patch.setattr(imgui, "text_colored", lambda c, t: (lines.append(t), coloured(c, t))[1])
            ctx.yield_(3)

    def reads(ctx: Any) -> None:
        draw(ctx, "saved")
        bench.state.session.set("left.PDController.kp", 11)
        draw(ctx, "failing")
        (tmp_path / "file").unlink()
        draw(ctx, "mended")

    bench.run(reads)
    warned = [any(t.startswith("not autosaved: ") for t in lines) for lines in shown.values()]
    assert warned == [False, True, False]
    (line,) = bench.problems  # one, however often it is tried
    assert str(tmp_path / "file" / "state") in line and "Not a directory" in line
