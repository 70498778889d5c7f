"""The console: what is told, once, and how it is read."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
from imgui_bundle import imgui

from mjrig.core.control.finite_guard import Event
from mjrig.editor.panels.console_panel import ConsolePanel, ConsoleView, as_text, clock
from mjrig.editor.session.console import QUIET, Console, EventTeller
from mjrig.editor.session.simulation import Simulation
from mjrig.editor.session.state import EditorState
from tests.editor.ui_driver import app_with, editor_state, plain_imgui, run_ui_tests
from tests.worlds import ROVER, make_world

SCENE = """
mjrig: 1
actors:
  - name: swing
    model: package:tests.editor/pendulum.xml
    components:
      - {type: PDController, kp: 30}
"""


def texts(console: Console) -> list[str]:
    return [line.text for line in console.lines]


# Events of the world ----------------------------------------------------------------------------


def test_events_of_the_world_reach_the_console_once() -> None:
    state = editor_state(SCENE)
    robot = state.simulation.world["swing"]
    state.simulation.advance(2)
    robot.setpoints.position[:] = np.nan
    state.simulation.advance(3)
    state.hear_events()
    state.hear_events()
    (line,) = state.console.lines
    assert line.level == "warning"
    assert line.text == str(state.simulation.world.events[0])


def test_a_divergence_is_an_error_and_is_told_once_although_it_is_logged_too() -> None:
    state = editor_state(SCENE)
    logger = logging.getLogger("mjrig")
    logger.addHandler(state.console)
    try:
        state.simulation.advance(2)
        state.simulation.world.data.qvel[:] = 1e12
        state.simulation.advance(2)
    finally:
        logger.removeHandler(state.console)
    state.hear_events()
    (line,) = state.console.lines
    assert line.level == "error"
    assert "diverged" in line.text


def test_taking_single_steps_is_not_cut_short_by_events() -> None:
    state = editor_state(SCENE)
    state.simulation.world["swing"].setpoints.position[:] = np.nan
    state.simulation.step_once(5)
    assert state.simulation.world.steps == 5


def _event(message: str, time: float = 0.0) -> Event:
    return Event(time, "dog", "non-finite setpoint", "hip", "hip", message)


def test_what_repeats_with_every_step_is_summed_up() -> None:
    console = Console()
    teller = EventTeller(console)
    teller.tell([_event("a", 0.1), _event("a", 0.2), _event("b", 0.2)], now=0.0)
    teller.tell([_event("a", 0.3)], now=1.0)
    assert texts(console) == ["t=0.1000 s: a", "t=0.2000 s: b"]
    teller.tell([], now=QUIET)
    assert texts(console)[2:] == ["t=0.3000 s: a (again, 2 times)"]
    teller.tell([_event("b", 7.0)], now=QUIET + 1.0)
    assert texts(console)[3:] == ["t=7.0000 s: b"]
    teller.tell([], now=3 * QUIET)
    teller.tell([_event("a", 20.0)], now=3 * QUIET)
    assert texts(console)[4:] == ["t=20.0000 s: a"]


def test_events_of_a_new_world_are_heard_too() -> None:
    simulation = Simulation(make_world(ROVER))
    simulation.replace(make_world(ROVER), lambda old, new: None)
    simulation.world["robot"].setpoints.position[:] = np.nan
    simulation.advance(1)
    assert [e.actor for e in simulation.take_events()] == ["robot"]
    assert simulation.take_events() == []


# The view ---------------------------------------------------------------------------------------


def _filled() -> Console:
    console = Console()
    console.say("opened dog.yaml")
    console.warn("no limit on hip")
    console.fail("cannot save\nthe disk is full", "Traceback:\n  line 1\nOSError: full\n")
    return console


def test_levels_and_words_choose_the_lines() -> None:
    view = ConsoleView(_filled())
    assert view.counts() == {"info": 1, "warning": 1, "error": 1}
    view.toggle_level("info")
    assert [line.level for line in view.lines()] == ["warning", "error"]
    view.words = "OSERROR save"
    assert [line.level for line in view.lines()] == ["error"]
    view.toggle_level("error")
    assert view.lines() == []
    assert view.counts()["error"] == 1


def test_details_open_row_by_row() -> None:
    view = ConsoleView(_filled())
    assert [row.text for row in view.rows()][-1] == "cannot save"
    line = view.console.lines[-1]
    view.toggle(line)
    assert [(row.text, row.is_detail) for row in view.rows()][2:] == [
        ("cannot save", False),
        ("the disk is full", True),
        ("Traceback:", True),
        ("  line 1", True),
        ("OSError: full", True),
    ]
    view.toggle(line)
    assert len(view.rows()) == 3
    view.clear()
    assert not view.rows()


def test_lines_are_copied_with_time_level_and_details() -> None:
    console = _filled()
    first, *_, last = console.lines
    assert as_text([first, last]) == (
        f"{clock(first)} info: opened dog.yaml\n"
        f"{clock(last)} error: cannot save\nthe disk is full\nTraceback:\n  line 1\nOSError: full"
    )


# The panel --------------------------------------------------------------------------------------


def _panel() -> tuple[EditorState, ConsolePanel]:
    state = editor_state("mjrig: 1\nactors: []\n")
    return state, ConsolePanel(state)


def test_filter_details_copy_and_clear() -> None:
    state, panel = _panel()
    state.console.say("all is well")
    state.console.fail("it broke", "the traceback")
    copied: list[str] = []

    def uses(ctx: Any) -> None:
        ctx.set_ref("//Console")
        ctx.item_click("###info")
        ctx.item_click("Copy")
        copied.append(imgui.get_clipboard_text())
        ctx.item_click("###info")
        ctx.item_input_value("##words", "broke")
        ctx.yield_(2)
        ctx.item_click("**/$$0/###line")
        assert panel.view.is_open(state.console.lines[1])
        ctx.item_input_value("##words", "")
        ctx.item_click("Clear")

    run_ui_tests(app_with(state, [panel]), uses)
    assert copied[0].endswith("error: it broke\nthe traceback")
    assert "well" not in copied[0]
    assert not state.console.lines


def test_it_scrolls_along_until_somebody_scrolls_up() -> None:
    state, panel = _panel()
    at: list[tuple[float, float]] = []
    lines = panel._lines

    def watched() -> None:
        lines()
        at.append((imgui.get_scroll_y(), imgui.get_scroll_max_y()))

    panel._lines = watched  # type: ignore[method-assign]
    with plain_imgui(panel.draw) as frames:
        for i in range(200):
            state.console.say(f"line {i}")
        frames(4)
        assert at[-1][0] == at[-1][1] > 0.0
        frames.move(200, 300)
        imgui.get_io().add_mouse_wheel_event(0.0, 3.0)
        frames(3)
        assert not panel.follows
        stood = at[-1][0]
        assert stood < at[-1][1]
        state.console.say("more")
        frames(3)
        assert at[-1][0] == stood
        imgui.get_io().add_mouse_wheel_event(0.0, -30.0)
        frames(4)
        assert panel.follows
        state.console.say("and more")
        frames(4)
        assert at[-1][0] == at[-1][1]


def test_percent_signs_and_letters_are_shown_as_they_are(tmp_path: Path) -> None:
    state, panel = _panel()
    state.console.fail("100%s of %d ä € ##x", "50%n")
    panel.view.toggle(state.console.lines[0])
    with plain_imgui(panel.draw) as frames:
        frames(3)
    assert not panel._error
