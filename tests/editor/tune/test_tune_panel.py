"""The Tune panel: it draws at any moment, and clicks run, cancel and apply."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from imgui_bundle import imgui
from imgui_bundle.imgui.test_engine_checks import CHECK

from mjrig.editor.session.job_runner import Finished
from mjrig.editor.tune.tune_model import Tune, TuneTask
from mjrig.editor.tune.tune_panel import _LOOKS, TunePanel
from mjrig.editor.tune.tune_plots import fit_errors, overlays
from mjrig.editor.tune.tune_settings import TESTS, WAYS, GainAxis
from mjrig.lab.responses.gain_test import GainTest, GainVerdict
from mjrig.lab.rollouts.results import Ranked
from mjrig.lab.rollouts.signals import Kind, Signal
from tests.editor.gains.test_gain_edits import LEGS
from tests.editor.tune.tuned import CHIRP, SINE, STEP, recorded, tune_legs, work
from tests.editor.ui_driver import plain_imgui, wait_until
from tests.editor.windows import Bench
from tests.wording import matches


@pytest.fixture
def tune(models: Path) -> Tune:
    return tune_legs(models)


def panel_of(tune: Tune) -> TunePanel:
    panel = TunePanel(tune.state, tune.tuning)
    panel.tune = tune
    return panel


def draw(panel: TunePanel, task: TuneTask, frames: int = 2) -> None:
    """One task as the panel shows it."""

    def show() -> None:
        panel.tune.refresh()
        panel._task(task, _LOOKS[task])

    with plain_imgui(show) as some:
        some(frames)


def test_forms_draw_whatever_is_chosen_in_them(tune: Tune) -> None:
    panel = panel_of(tune)
    with plain_imgui(panel.draw) as frames:
        frames(2)
    for task in TuneTask:
        draw(panel, task)
    tune.sweep.axes = {"kp": GainAxis(20, 80), "kv": GainAxis(1, 2, log=True)}
    for way in WAYS:
        tune.sweep.way = way
        draw(panel, TuneTask.SWEEP)
    for test in TESTS:
        tune.sweep.test = test
        draw(panel, TuneTask.SWEEP)
    tune.fit.recordings = [Path("walk.h5")]
    tune.assign.step = 0.2
    draw(panel, TuneTask.FIT)
    draw(panel, TuneTask.ASSIGN)
    tune.state.selection.only("cat")
    for task in TuneTask:
        draw(panel, task)


@pytest.mark.parametrize("signal", [CHIRP, STEP, Signal(Kind.SINE, 0.05, 20.0, duration=0.2)])
def test_responses_are_drawn(tune: Tune, signal: Signal) -> None:
    tune.respond.signal = signal
    work(tune, TuneTask.RESPOND)
    draw(panel_of(tune), TuneTask.RESPOND)


def test_gains_fits_and_problems_are_drawn(tune: Tune, tmp_path: Path) -> None:
    panel = panel_of(tune)
    work(tune, TuneTask.ASSIGN)
    draw(panel, TuneTask.ASSIGN)
    tune.fit.recordings = [recorded(tune, tmp_path / "walk.npz", kp=70.0)]
    tune.fit.parameters = ["kp", "torque_limit"]
    work(tune, TuneTask.FIT)
    found = tune.found[TuneTask.FIT].result
    assert not all(e.identifiable for e in found.estimates)
    motion = {errors.name: errors for errors in fit_errors(found)}["motion"]
    assert set(motion.before) == set(motion.after)
    assert max(motion.after.values()) < max(motion.before.values())
    shown = overlays(found)
    assert {o.title for o in shown} == set(found.curves[0].joints)
    drawn = {o.title: [np.asarray(one.y) for one in o.series] for o in shown}
    errors = [np.nanmean((before - log) ** 2) for log, before, _ in drawn.values()]
    assert errors == sorted(errors, reverse=True)
    spans = [(c.time[0], c.time[-1]) for c in found.curves if c.is_held_out]
    for overlay in shown:
        assert list(overlay.spans) == spans
        log, *simulated = drawn[overlay.title]
        off = [np.nanmax(abs(x - log)) for x in simulated]
        assert off[1] < off[0]
        tune.fit_joint = overlay.title
        draw(panel, TuneTask.FIT)
    rejected = replace(found, rejection="the model is rejected: it moves otherwise")
    done = tune.found[TuneTask.FIT]
    tune.found[TuneTask.FIT] = replace(done, finished=Finished(done.finished.job, rejected))
    assert tune.why_not_applied(TuneTask.FIT) == rejected.rejection
    draw(panel, TuneTask.FIT)
    tune.fit.recordings = [tmp_path / "none.npz"]
    work(tune, TuneTask.FIT)
    draw(panel, TuneTask.FIT)


def test_gain_tests_are_drawn_and_their_report_is_written(tune: Tune) -> None:
    panel = panel_of(tune)
    tune.state.session.set("dog.gain_tests.overshoot", 0.0)
    tune.test.tests = [GainTest.LIMITS, GainTest.STEP]
    tune.tuning.choose(tune.tuning.rows[0])
    tune.refresh()
    work(tune, TuneTask.TEST)
    report = tune.found[TuneTask.TEST].result
    assert [r.verdict for r in report.results] == [GainVerdict.SKIPPED, GainVerdict.FAIL]
    for shown in (None, 0, 1):
        tune.shown = shown
        draw(panel, TuneTask.TEST)
    offered: list[Path] = []
    tune.state.offer_file = offered.append
    assert tune.save_report() and offered == [tune.report_path()]
    assert "1 failed, 1 skipped" in tune.report_path().read_text()
    assert tune.report_path().with_suffix(".json").is_file()
    tune.test.tests = []
    assert not tune.run(TuneTask.TEST)
    assert matches(tune.state.problems["tune test"], "tick a test to …")


def test_sweeps_of_any_size_are_drawn(tune: Tune) -> None:
    panel = panel_of(tune)
    tune.sweep.axes = {"kp": GainAxis(20, 80, 2)}
    work(tune, TuneTask.SWEEP)
    draw(panel, TuneTask.SWEEP)
    tune.sweep.axes["kv"] = GainAxis(1, 2, 2)
    tune.sweep.more = "dog.PDController.torque_limit=20,.inf"
    work(tune, TuneTask.SWEEP)
    draw(panel, TuneTask.SWEEP)
    ranking = tune.found[TuneTask.SWEEP].result.ranking
    ranking[:] = [Ranked(r.values, float("inf"), r.rows) for r in ranking]
    draw(panel, TuneTask.SWEEP)


# The whole window -------------------------------------------------------------------------------


@pytest.fixture
def bench(models: Path) -> Iterator[Bench]:
    made = Bench.on(LEGS.format(kp=50), models)
    made.state.selection.only("dog")
    made.window.tune.tune.assign.poses = 2
    yield made
    made.window.tune.tune.close()


def open_task(ctx: Any, task: TuneTask) -> None:
    ctx.yield_(3)
    ctx.window_focus("//Tune")
    ctx.item_click(f"//Tune/tasks/{task}")
    ctx.yield_(2)


def wait(ctx: Any, tune: Tune) -> None:
    wait_until(ctx, lambda: tune.running is None)
    ctx.yield_(2)


def gain_tests(bench: Bench) -> Callable[[Any], None]:
    """A person ticks a test, sets a threshold, runs it and looks at a curve."""
    tune = bench.window.tune.tune

    def tests(ctx: Any) -> None:
        tune.test.tests = [GainTest.LOAD]
        open_task(ctx, TuneTask.TEST)
        ctx.item_click("//Tune/**/step")
        ctx.item_click("//Tune/**/load")
        CHECK(tune.test.tests == [GainTest.STEP])
        world = bench.state.simulation.world
        ctx.set_ref(ctx.window_info("//Tune/tasks/test/form").window)
        ctx.item_input_value("thresholds/settling_time/##v", 0.01)
        ctx.yield_(3)
        CHECK(bench.entries[-1] == "Set dog.gain_tests.settling_time")
        CHECK(bench.state.simulation.world is world)
        ctx.item_click("Run")
        ctx.set_ref("")
        wait(ctx, tune)
        report = tune.found[TuneTask.TEST].result
        CHECK([r.verdict for r in report.results] == [GainVerdict.FAIL] * 4)
        CHECK(tune.shown is None)
        result = ctx.window_info("//Tune/tasks/test/result").window
        ctx.scroll_to_bottom(imgui.test_engine.TestRef(result.id_))
        ctx.yield_(2)
        ctx.item_click("//Tune/**/###2")
        ctx.yield_(2)
        CHECK(tune.shown == 2)
        bench.state.session.undo()
        ctx.yield_(2)
        CHECK(tune.is_old(tune.found[TuneTask.TEST]))

    return tests


@pytest.mark.slow
def test_a_person_cancels_runs_applies_and_undoes(bench: Bench) -> None:
    tune = bench.window.tune.tune

    def cancel(ctx: Any) -> None:
        tune.respond.signal = Signal(Kind.CHIRP, 0.1, 0.2, 20.0, 5000.0)
        open_task(ctx, TuneTask.RESPOND)
        ctx.item_click("//Tune/**/Run")
        wait_until(ctx, lambda: tune.runner.progress.share is not None)
        CHECK(tune.running is TuneTask.RESPOND)
        ctx.item_click("//Tune/**/Cancel")
        ctx.yield_(2)
        CHECK(tune.running is None)
        CHECK(bench.said == ["respond: cancelled"])

    def apply(ctx: Any) -> None:
        open_task(ctx, TuneTask.ASSIGN)
        ctx.item_input_value("//Tune/**/frequency", 3.0)
        ctx.item_click("//Tune/**/Run")
        wait(ctx, tune)
        CHECK(tune.assign.frequency == 3.0)
        ctx.item_click("//Tune/**/Apply")
        ctx.yield_(2)
        CHECK(bench.entries == ["Assign 3 Hz to 4 joints"])
        bench.state.session.undo()
        ctx.item_click("//Tune/**/Save preset")
        ctx.yield_(2)
        CHECK(tune.preset_path("tuned").is_file())

    def sweep_while_hidden(ctx: Any) -> None:
        tune.sweep.signal = SINE
        open_task(ctx, TuneTask.SWEEP)
        ctx.item_click("//Tune/**/kp/kp")
        ctx.yield_(2)
        CHECK(tune.sweep.axes == {"kp": GainAxis(25.0, 100.0)})
        ctx.item_click("//Tune/**/Run")
        ctx.window_focus("//Gains")
        wait(ctx, tune)
        CHECK(TuneTask.SWEEP in tune.found)
        ctx.window_focus("//Tune")
        ctx.yield_(2)
        ctx.item_click("//Tune/**/###2")
        ctx.yield_(2)
        CHECK(tune.picked == 2)
        ctx.item_click("//Tune/**/Apply")
        ctx.yield_(2)
        CHECK(bench.entries[-1] == "Best of 5 points")

    bench.run(cancel, apply, gain_tests(bench), sweep_while_hidden)
    assert bench.problems == []


def test_a_recording_is_added_by_the_file_chooser(bench: Bench, models: Path) -> None:
    tune = bench.window.tune.tune
    (models / "walk.npz").write_bytes(b"")

    def choose(ctx: Any) -> None:
        open_task(ctx, TuneTask.FIT)
        ctx.item_click("//Tune/**/Add…")
        ctx.yield_(3)
        ctx.set_ref("//$FOCUSED")
        ctx.item_input_value("**/##path", str(models / "walk.npz"))
        ctx.yield_(3)
        CHECK(tune.fit.recordings == (models / "walk.npz",))
        open_task(ctx, TuneTask.FIT)
        ctx.item_click("//Tune/**/x")
        ctx.yield_(2)
        CHECK(tune.fit.recordings == ())

    bench.run(choose)
