"""The gain table and the response panel: what clicks, drags and typed values do."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from imgui_bundle import imgui
from imgui_bundle.imgui.test_engine_checks import CHECK

from mjrig.editor.gains.gain_table import GainTable, gain_panels, unit_of, unit_of_column
from mjrig.editor.gains.response_panel import (
    ResponsePanel,
    beyond_target,
    changed,
    final_value,
    number_text,
)
from mjrig.editor.session.state import EditorState
from mjrig.editor.viewport.scene_renderer import NullView
from mjrig.editor.window.window import Window
from mjrig.lab.gains.gain_presets import save_preset
from mjrig.lab.gains.gain_rows import GainRow
from mjrig.lab.rollouts.joint_bench import Response
from mjrig.lab.rollouts.signals import Kind, Metrics, Signal, Trace, measure
from tests.editor.gains.test_gain_edits import legs, rows_of
from tests.editor.ui_driver import app_with, editor_state, plain_imgui, run_ui_tests
from tests.wording import matches

DOG = """
mjrig: 1
actors:
  - name: dog
    model: package:mjrig.assets/quadruped/quadruped.xml
    components: [{type: PDController, kp: {".*calf": 220}, kv: 5}]
"""


class Bench:
    """Both panels on one small robot."""

    def __init__(self, state: EditorState) -> None:
        self.state = state
        table, response = gain_panels(state)
        assert isinstance(table, GainTable) and isinstance(response, ResponsePanel)
        self.table, self.response, self.tuning = table, response, table.tuning

    def row(self, actuator: str) -> GainRow:
        return rows_of(self.state)[actuator]

    def cell(self, actuator: str, gain: str) -> str:
        table = "gains 3"
        return f"//Gains/{table}/{self.row(actuator).key}/##{gain}"

    def name(self, actuator: str) -> str:
        return f"//Gains/gains 3/{self.row(actuator).key}/###name"

    def drive(self, *tests: Callable[[Any], None]) -> None:
        run_ui_tests(app_with(self.state, [self.table, self.response]), *tests)


@pytest.fixture
def bench(models: Path) -> Iterator[Bench]:
    made = Bench(legs(models))
    made.tuning.lab._debounce = 0.01
    yield made
    made.tuning.close()


# Level 1 ----------------------------------------------------------------------------------------


class Cell:
    """One cell of the table by itself, and where it is."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.at = (0.0, 0.0)
        self.shown = True

    def draw(self) -> None:
        table = self.bench.table
        table.tuning.refresh()
        table._drawn = False
        if self.shown:
            table._gain_cell(self.bench.row("left_hip"), "kp")
            low = imgui.get_item_rect_min()
            self.at = (low.x + 20, low.y + 5)
        if table._dragged and not table._drawn:
            table._let_go()


def test_a_drag_of_a_cell_is_one_undo_entry(bench: Bench) -> None:
    cell = Cell(bench)
    with plain_imgui(cell.draw) as frames:
        frames()
        frames.drag(*cell.at, 60)
        first = bench.row("left_hip").values["kp"]
        assert first > 52
        assert len(bench.state.session.undo_stack) == 1
        frames(30)  # two clicks at once would begin to type
        frames.drag(*cell.at, 60)
    assert bench.row("left_hip").values["kp"] > first
    assert len(bench.state.session.undo_stack) == 2
    assert bench.row("left_knee").values["kp"] == 50


def test_a_cell_that_vanishes_while_it_is_dragged_is_let_go(bench: Bench) -> None:
    cell = Cell(bench)
    with plain_imgui(cell.draw) as frames:
        frames()
        frames.move(*cell.at)
        frames.press()
        frames.move(cell.at[0] + 40, cell.at[1])
        assert bench.table._dragged
        cell.shown = False
        frames(2)
        assert not bench.table._dragged
    undo = bench.state.session.undo_stack.undoable
    assert undo is not None and undo.merge is None


def test_both_panels_draw_at_any_moment(bench: Bench) -> None:
    tuning = bench.tuning

    def draw() -> None:
        bench.table.draw()
        bench.response.draw()

    with plain_imgui(draw) as frames:
        frames(2)
        tuning.filter = "no such (("
        frames(2)
        tuning.filter = "nothing"
        frames(2)
        tuning.filter = ""
        for kind in Kind:
            tuning.signal = Signal(kind, 0.02, duration=0.1)
            tuning.choose(bench.row("left_hip"))
            tuning.test()
            assert tuning.lab.wait()
            frames(2)
        bench.state.selection.only("cat")
        frames(2)
        assert tuning.rows == []
    assert not bench.table._error and not bench.response._error


def test_numbers_that_there_are_not_are_dashes() -> None:
    metrics = Metrics(None, 0.123, None, -0.01234, 0.5, 0.25)
    shown = [number_text(metrics, n) for n in ("rise", "over", "error", "rmse", "sat")]
    assert shown == ["-", "12.3%", "-0.0123", "0.5", "25.0%"]


def test_overshoot_refers_to_a_line_of_the_plot() -> None:
    time = np.linspace(0.01, 2.0, 200)
    damped = 1.0 - np.exp(-5.0 * time) * np.cos(12.0 * time)
    for share in (1.0, 0.8, -0.7):  # a joint that arrives, and two that sag
        step = 0.5 if share > 0 else -0.5
        position = 1.0 + step * abs(share) * damped
        target = np.full(200, 1.0 + step)
        idle = np.zeros(200)
        trace = Trace(time, target, position, idle, idle, idle, 1.0)
        found = measure(trace, Signal(kind=Kind.STEP, amplitude=step))
        response = Response("hip", "hip", trace, found)
        final = final_value(response)
        assert final is not None
        assert final == pytest.approx(1.0 + step * abs(share), abs=0.002)
        assert found.overshoot == pytest.approx(
            (abs(position - 1.0).max() - abs(final - 1.0)) / abs(final - 1.0), abs=0.01
        )
        beyond = abs(position - 1.0).max() / 0.5 - 1.0
        said = beyond_target(response)
        assert f"{beyond:.1%}" in said if beyond > 0 else "never went beyond" in said


def test_the_signal_never_becomes_nonsense(bench: Bench) -> None:
    signal = changed(bench.state, Signal(), duration=0.0)
    assert signal == Signal()
    assert "duration must be > 0" in bench.state.problems["signal"]
    assert changed(bench.state, signal, duration=0.5).duration == 0.5
    assert "signal" not in bench.state.problems


# Level 2 ----------------------------------------------------------------------------------------


def test_gains_are_typed_into_cells(bench: Bench) -> None:
    def types(ctx: Any) -> None:
        ctx.item_input_value(bench.cell("left_hip", "kp"), 80.0)
        ctx.item_input_value(bench.cell("left_knee", "kv"), 1.5)

    bench.drive(types)
    assert bench.row("left_hip").values["kp"] == 80
    assert bench.row("left_knee").values["kv"] == 1.5
    assert bench.state.session.undo_stack.names == [
        "Set dog.PDController.left_hip kp",
        "Set dog.PDController.left_knee kv",
    ]


def test_frequency_and_damping_are_typed(bench: Bench) -> None:
    bench.tuning.refresh()

    def types(ctx: Any) -> None:
        ctx.item_input_value(bench.cell("left_hip", "f"), 4.0)
        ctx.item_input_value(bench.cell("left_hip", "ζ"), 0.7)

    bench.drive(types)
    bench.tuning.refresh()
    assert bench.tuning.frequency(bench.row("left_hip")) == pytest.approx(4.0, rel=1e-3)
    assert bench.tuning.damping(bench.row("left_hip")) == pytest.approx(0.7, rel=1e-3)
    assert bench.row("right_hip").values["kp"] == 50


def test_filter_and_mirror_spread_an_edit(bench: Bench) -> None:
    def types(ctx: Any) -> None:
        ctx.set_ref("//Gains")
        ctx.item_click("mirror")
        ctx.item_input_value(bench.cell("left_hip", "kp"), 70.0)
        ctx.item_click("mirror")
        ctx.item_input_value("##filter", "knee")
        ctx.item_click("###every")
        ctx.item_input_value(bench.cell("left_knee", "kp"), 30.0)

    bench.drive(types)
    assert [r.values["kp"] for r in rows_of(bench.state).values()] == [70, 30, 70, 30]
    assert len(bench.state.session.undo_stack) == 2


def test_an_actuator_is_switched_off_and_on(bench: Bench) -> None:
    limits = []

    def clicks(ctx: Any) -> None:
        ctx.item_click(bench.cell("left_hip", "on"))
        limits.append(bench.row("left_hip").values["torque_limit"])
        ctx.item_click(bench.cell("left_hip", "on"))
        limits.append(bench.row("left_hip").values["torque_limit"])

    bench.drive(clicks)
    assert limits == [0.0, 30.0]
    assert len(bench.state.session.undo_stack) == 2


def test_rows_are_sorted_and_stay_while_a_value_is_dragged(bench: Bench) -> None:
    def sorts(ctx: Any) -> None:
        ctx.item_input_value(bench.cell("right_hip", "kp"), 10.0)
        ctx.table_click_header("//Gains/gains 3", "kp")
        CHECK(bench.table._order[0].endswith("right_hip"))
        ctx.table_click_header("//Gains/gains 3", "kp")
        CHECK(bench.table._order[-1].endswith("right_hip"))
        ctx.item_drag_with_delta(bench.cell("left_hip", "kp"), (-100, 0))

    bench.drive(sorts)
    assert len(bench.state.session.undo_stack) == 2


def test_a_preset_is_saved_and_loaded(bench: Bench, models: Path) -> None:
    rows = list(rows_of(bench.state).values())

    def uses(ctx: Any) -> None:
        ctx.set_ref("//Gains")
        ctx.item_click("Presets")
        ctx.set_ref("//$FOCUSED")
        ctx.item_input_value("##name", "mine")
        ctx.item_click("Save")
        CHECK((models / "gains" / "mine.yaml").is_file())
        ctx.item_input_value(bench.cell("left_hip", "kp"), 99.0)
        ctx.item_click("//Gains/Presets")
        ctx.set_ref("//$FOCUSED")
        ctx.item_click("**/mine")

    bench.drive(uses)
    assert bench.row("left_hip").values["kp"] == 50
    bench.tuning.refresh()
    assert bench.tuning.origin(bench.row("left_hip"), "kp") == "preset mine"
    assert bench.state.session.undo_stack.names[-1] == "Load mine.yaml onto dog"
    save_preset(models / "gains" / "again.yaml", rows)
    assert [p.stem for p in bench.tuning.preset_files()][:2] == ["again", "mine"]


def test_run_says_why_it_cannot_and_runs_on_a_copy(bench: Bench) -> None:
    reasons = [bench.tuning.why_no_test()]
    bench.tuning.refresh()
    bench.tuning.signal = Signal(amplitude=0.05, duration=0.2)
    reasons.append(bench.tuning.why_no_test())

    def runs(ctx: Any) -> None:
        button = ctx.item_info("//Response/Run on a copy")
        CHECK(bool(button.item_flags & imgui.ItemFlags_.disabled))
        ctx.item_click(bench.name("left_hip"))
        ctx.item_click("//Response/Run on a copy")
        CHECK(bench.tuning.lab.wait())
        ctx.yield_(2)

    bench.drive(runs)
    assert reasons[0].startswith("no actuator with gains is shown")
    assert reasons[1].startswith("choose actuators")
    result = bench.tuning.lab.result
    assert result is not None and not result.problem
    assert [r.actuator for r in result.responses] == ["left_hip"]


def test_an_edit_runs_the_test_again(bench: Bench) -> None:
    bench.tuning.refresh()
    bench.tuning.signal = Signal(amplitude=0.05, duration=0.2)
    bench.tuning.choose(bench.row("left_hip"))
    bench.tuning.test()
    assert bench.tuning.lab.wait()
    first = bench.tuning.lab.result

    def edits(ctx: Any) -> None:
        ctx.item_input_value(bench.cell("left_hip", "kp"), 20.0)
        ctx.yield_(3)

    bench.drive(edits)
    assert bench.tuning.lab.wait()
    assert bench.tuning.lab.before is first
    assert bench.tuning.lab.result is not first


def test_a_live_test_runs_while_the_simulation_plays(bench: Bench) -> None:
    state, tuning = bench.state, bench.tuning
    tuning.refresh()
    tuning.signal = Signal(amplitude=0.05, duration=0.1)
    tuning.choose(bench.row("left_hip"))
    assert matches(tuning.why_no_live_test(), "the simulation is paused: … Play")
    state.simulation.play()

    def runs(ctx: Any) -> None:
        ctx.item_click("//Response/Run live")
        CHECK(tuning.live_test is not None)
        for _ in range(6):
            state.simulation.advance(10)
            state.simulation.publish()
            ctx.yield_(1)

    bench.drive(runs)
    assert tuning.live_test is None
    assert tuning.lab.result is not None and tuning.lab.result.where == "live"


def test_a_live_test_names_who_commands_or_holds(bench: Bench) -> None:
    state, tuning = bench.state, bench.tuning
    tuning.refresh()
    tuning.choose(bench.row("left_hip"))
    state.simulation.play()
    lease = state.simulation.world["dog"].take(holder="gait")
    state.simulation.publish()
    assert matches(tuning.why_no_live_test(), "commanded by gait; release …")
    lease.release()
    state.simulation.world["dog"].hold("home")
    state.simulation.publish()
    assert matches(tuning.why_no_live_test(), "the pose 'home' is held; …")


def test_a_slider_jogs_the_joint(bench: Bench) -> None:
    state = bench.state
    bench.tuning.refresh()
    bench.tuning.choose(bench.row("left_knee"))
    holders: list[tuple[str, ...]] = []

    def jogs(ctx: Any) -> None:
        ctx.mouse_move("//Response/###jog")
        ctx.mouse_down(0)
        at = imgui.get_io().mouse_pos
        ctx.mouse_move_to_pos(imgui.ImVec2(at.x + 20, at.y))
        ctx.yield_(2)
        state.simulation.step_once()
        holders.append(state.simulation.frame.robots["dog"].holders)
        ctx.mouse_up(0)
        ctx.yield_(2)

    bench.drive(jogs)
    state.simulation.step_once()
    assert holders == [("jog",)]
    assert state.simulation.frame.robots["dog"].setpoint[0, 1] > 0.05
    assert state.simulation.frame.robots["dog"].holders == ()


# Columns ----------------------------------------------------------------------------------------


def test_units_follow_what_actuators_act_on(bench: Bench) -> None:
    hinge = bench.row("left_hip")
    slide, tendon = replace(hinge, unit="N"), replace(hinge, unit="")
    assert [unit_of(hinge, c) for c in ("kp", "kv", "ki")] == [
        "N·m/rad",
        "N·m·s/rad",
        "N·m/(rad·s)",
    ]
    assert [unit_of(slide, c) for c in ("kp", "torque_limit", "error")] == ["N/m", "N", "m"]
    assert unit_of(tendon, "kp") == "" and unit_of(tendon, "f") == "Hz"
    assert unit_of_column([hinge, tendon], "kp") == "N·m/rad"
    assert unit_of_column([hinge, slide], "kp") == "mixed"


def test_no_column_is_cut_where_the_window_is_1280_pixels_wide() -> None:
    whole = Window(editor_state(DOG), NullView)
    hidden: list[float] = []

    def looks(ctx: Any) -> None:
        ctx.yield_(4)
        table = imgui.internal.table_find_by_id(ctx.get_id("//Gains/gains 3"))
        texts = [whole.gains._origins(row) for row in whole.gains.tuning.rows]
        need = max(imgui.calc_text_size(text).x for text in texts)
        hidden.append(need - whole.gains._fitted["from"])
        hidden.append(table.columns_given_width - table.inner_clip_rect.get_width())

    run_ui_tests(whole.app, looks)
    assert hidden[0] <= 0.0 and hidden[1] <= 0.0
