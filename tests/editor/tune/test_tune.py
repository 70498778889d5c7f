"""Tune: which joints are meant, what tasks find, and how it gets into the scene."""

from pathlib import Path
from typing import Any

import pytest

from mjrig.core.scene.editing.scene import Scene
from mjrig.editor.tune.tune_model import Tune, TuneTask
from mjrig.editor.tune.tune_settings import GainAxis
from mjrig.lab.gains.gain_presets import read_preset
from mjrig.lab.rollouts.results import Ranked
from tests.editor.gains.test_gain_edits import LEGS, authored, rows_of
from tests.editor.tune.tuned import SINE, recorded, tune_legs, tune_on, work
from tests.editor.ui_driver import editor_state
from tests.wording import matches


@pytest.fixture
def tune(models: Path) -> Tune:
    return tune_legs(models)


def actuators(tune: Tune) -> list[str]:
    tune.refresh()
    return [row.actuator for row in tune.rows]


def kp_of(tune: Tune, actuator: str) -> float:
    return rows_of(tune.state)[actuator].values["kp"]


def said(tune: Tune) -> list[str]:
    return [line.text for line in tune.state.console.lines]


# Joints -----------------------------------------------------------------------------------------


def test_without_a_choice_all_joints_that_are_shown_are_meant(tune: Tune) -> None:
    assert actuators(tune) == ["left_hip", "left_knee", "right_hip", "right_knee"]
    assert tune.who == "4 joints, all shown"
    tune.tuning.filter = "knee"
    assert actuators(tune) == ["left_knee", "right_knee"]


def test_who_chose_last_counts(tune: Tune) -> None:
    tune.tuning.choose(tune.tuning.rows[1])
    assert actuators(tune) == ["left_knee"]
    assert tune.who == "1 joint, selected"
    tune.state.selection.paths = ["dog.joint:right_hip", "dog.actuator:left_hip"]
    assert actuators(tune) == ["left_hip", "right_hip"]
    assert tune.who == "2 joints, selected"
    tune.tuning.choose(tune.tuning.rows[3])
    assert actuators(tune) == ["right_knee"]


def test_a_selection_without_joints_leaves_the_choice_of_the_table(tune: Tune) -> None:
    tune.tuning.choose(tune.tuning.rows[1])
    tune.refresh()
    tune.state.selection.only("dog.PDController")
    assert actuators(tune) == ["left_knee"]


def test_an_actor_without_gains_is_told_of(tune: Tune) -> None:
    tune.state.selection.only("cat")
    tune.refresh()
    text = "no controller with gains is shown; select an actor that has one"
    assert tune.who == text
    assert not tune.run(TuneTask.RESPOND)
    assert tune.state.problems == {"tune respond": text}
    assert said(tune) == [f"respond: {text}"]


def test_joints_of_two_actors_are_refused(models: Path) -> None:
    part = "\n  - {{name: {}, model: hinge.xml, components: [{{type: PDController, kp: 9}}]}}"
    text = "mjrig: 1\nactors:" + part.format("a") + part.format("b")
    tune = tune_on(editor_state(Scene.parse(text, models)), None)
    assert not tune.run(TuneTask.ASSIGN)
    assert matches(tune.state.problems["tune assign"], "the chosen joints belong …")


# Tasks ------------------------------------------------------------------------------------------


def test_responses_have_frequencies_and_change_nothing(tune: Tune) -> None:
    tune.tuning.choose(tune.tuning.rows[0])
    tune.refresh()
    work(tune, TuneTask.RESPOND)
    (one,) = tune.found[TuneTask.RESPOND].result
    assert one.label == "dog.left_hip"
    assert one.measured is not None and len(one.measured.frequency) > 3
    assert tune.runner.told[-1][0] > 0  # type: ignore[attr-defined]
    assert not tune.state.session.is_dirty
    assert said(tune) == ["respond chirp on dog, 1 joint: done in 0.0 s"]


def test_assigned_gains_are_one_edit(tune: Tune) -> None:
    work(tune, TuneTask.ASSIGN)
    assert tune.apply(TuneTask.ASSIGN)
    assert list(tune.state.session.undo_stack.names) == ["Assign 5 Hz to 4 joints"]
    plan = tune.found[TuneTask.ASSIGN].result
    assert kp_of(tune, "left_hip") == pytest.approx(plan.assignments[0].kp, rel=1e-3)
    assert kp_of(tune, "left_hip") != 50
    tune.state.session.undo()
    assert authored(tune.state) == 50
    assert kp_of(tune, "left_hip") == 50


def test_only_the_chosen_joints_get_gains(tune: Tune) -> None:
    tune.tuning.choose(tune.tuning.rows[1])
    tune.refresh()
    work(tune, TuneTask.ASSIGN)
    assert tune.apply(TuneTask.ASSIGN)
    assert kp_of(tune, "left_knee") != 50
    assert kp_of(tune, "left_hip") == kp_of(tune, "right_knee") == 50


def test_a_result_that_no_longer_fits_changes_nothing(tune: Tune) -> None:
    work(tune, TuneTask.ASSIGN)
    tune.state.session.set("dog.PDController.actuators", "left_.*")
    tune.refresh()
    assert not tune.apply(TuneTask.ASSIGN)
    problem = "dog.PDController.right_hip: is no longer in the gain table"
    assert tune.state.problems["tune assign"] == problem
    assert authored(tune.state) == 50


def test_a_fit_is_one_edit(tune: Tune, tmp_path: Path) -> None:
    tune.fit.recordings = [recorded(tune, tmp_path / "walk.npz", kp=70.0)]
    tune.fit.parameters = ["torque_limit", "kp"]
    tune.tuning.choose(tune.tuning.rows[0])
    tune.refresh()
    work(tune, TuneTask.FIT)
    found = tune.found[TuneTask.FIT].result
    assert [e.parameter for e in found.estimates] == ["kp", "torque_limit"]
    assert not found["left_hip", "torque_limit"].identifiable
    assert tune.apply(TuneTask.FIT)
    assert list(tune.state.session.undo_stack.names) == ["Fit dog"]
    assert kp_of(tune, "left_hip") == pytest.approx(found["left_hip", "kp"].value, rel=1e-3)
    assert kp_of(tune, "left_knee") == 50
    assert rows_of(tune.state)["left_hip"].values["torque_limit"] == 30


def test_a_fit_needs_recordings_and_parameters(tune: Tune) -> None:
    assert not tune.run(TuneTask.FIT)
    assert matches(tune.state.problems["tune fit"], "add a recording to …")
    tune.fit.recordings, tune.fit.parameters = [Path("walk.npz")], []
    assert not tune.run(TuneTask.FIT)
    assert matches(tune.state.problems["tune fit"], "tick a parameter to …")


def test_a_recording_that_is_not_there_is_told_of(tune: Tune, tmp_path: Path) -> None:
    tune.fit.recordings = [tmp_path / "none.h5"]
    work(tune, TuneTask.FIT)
    found = tune.found[TuneTask.FIT]
    assert "none.h5" in found.problem and found.result is None
    assert said(tune) == [f"fit kp, kv of dog, 4 joints: {found.problem}"]


# Sweeps -----------------------------------------------------------------------------------------


def swept(tune: Tune, **axes: GainAxis) -> Any:
    tune.sweep.axes = axes
    work(tune, TuneTask.SWEEP)
    return tune.found[TuneTask.SWEEP].result


def test_the_best_point_of_a_sweep_is_one_edit(tune: Tune) -> None:
    result = swept(tune, kp=GainAxis(20, 80, 2), kv=GainAxis(1, 4, 2))
    assert len(result.ranking) == 4
    assert tune.runner.told[-1] == (1.0, "4 of 4")  # type: ignore[attr-defined]
    assert tune.apply(TuneTask.SWEEP)
    assert list(tune.state.session.undo_stack.names) == ["Best of 4 points"]
    assert kp_of(tune, "right_knee") == result.best.values["dog.PDController.kp"]


def test_a_picked_point_is_applied_instead_of_the_best(tune: Tune) -> None:
    result = swept(tune, kp=GainAxis(20, 80, 2))
    tune.picked = 1
    assert tune.apply(TuneTask.SWEEP)
    assert kp_of(tune, "left_hip") == result.ranking[1].values["dog.PDController.kp"]


def test_a_sweep_of_some_joints_leaves_the_others(tune: Tune) -> None:
    tune.tuning.choose(tune.tuning.rows[1])
    tune.refresh()
    result = swept(tune, kp=GainAxis(20, 80, 2))
    assert list(result.best.values) == ["dog.PDController.kp[left_knee]"]
    assert tune.apply(TuneTask.SWEEP)
    assert kp_of(tune, "left_knee") in (20, 80)
    assert kp_of(tune, "left_hip") == 50


def test_other_properties_are_swept_by_path(tune: Tune) -> None:
    tune.sweep.more, tune.sweep.way, tune.sweep.options.sample = (
        "dog.PDController.kv=1:4\n",
        "lhs",
        3,
    )
    result = swept(tune)
    assert [list(r.values) for r in result.ranking] == [["dog.PDController.kv"]] * 3


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"axes": {}}, "tick a gain to …"),
        ({"axes": {"kp": GainAxis(5, 5)}}, "low must be below … 5 … 5"),
        ({"axes": {"ki": GainAxis(1, 2)}}, "ki: the chosen joints are …"),
        ({"test": "replay"}, "choose a recording to …"),
        ({"test": "run", "seconds": 0.0}, "the duration of a … > 0, … 0"),
    ],
)
def test_what_is_wrong_with_a_sweep_is_told(
    tune: Tune, change: dict[str, Any], problem: str
) -> None:
    tune.sweep.axes = {"kp": GainAxis(20, 80)}
    for name, value in change.items():
        setattr(tune.sweep, name, value)
    assert not tune.run(TuneTask.SWEEP)
    assert matches(tune.state.problems["tune sweep"], f"…{problem}")


def test_a_metric_that_there_is_not_is_told_of(tune: Tune) -> None:
    tune.sweep.axes, tune.sweep.options.metric = {"kp": GainAxis(20, 80, 2)}, "rsme"
    work(tune, TuneTask.SWEEP)
    assert "did you mean 'rmse'?" in tune.found[TuneTask.SWEEP].problem


def test_a_point_that_failed_cannot_be_applied(tune: Tune) -> None:
    result = swept(tune, kp=GainAxis(20, 80, 2))
    result.ranking[1] = Ranked(result.ranking[1].values, float("inf"), ())
    assert tune.why_not_applied(TuneTask.SWEEP) == ""
    tune.picked = 1
    assert tune.why_not_applied(TuneTask.SWEEP) == "this point failed"
    assert not tune.apply(TuneTask.SWEEP)
    assert tune.state.problems["tune sweep"] == "this point failed"


def test_an_axis_begins_around_what_is_in_force() -> None:
    assert GainAxis.around([40.0, 60.0]) == GainAxis(20.0, 120.0)
    assert GainAxis.around([0.0]) == GainAxis.around([float("inf")]) == GainAxis(0.0, 1.0)


# Keeping ----------------------------------------------------------------------------------------


def test_results_are_saved_as_presets(tune: Tune, models: Path, tmp_path: Path) -> None:
    work(tune, TuneTask.ASSIGN)
    assert tune.save(TuneTask.ASSIGN, "five_hertz")
    assert tune.save(TuneTask.ASSIGN, "")
    folder = models / "gains"
    assert sorted(p.name for p in folder.iterdir()) == ["five_hertz.yaml", "tuned.yaml"]
    swept(tune, kp=GainAxis(20, 80, 2))
    assert tune.save(TuneTask.SWEEP, "best")
    assert {*read_preset(folder / "best.yaml")} == {"PDController"}
    tune.fit.recordings = [recorded(tune, tmp_path / "walk.npz", kp=70.0)]
    tune.tuning.choose(tune.tuning.rows[0])
    tune.refresh()
    work(tune, TuneTask.FIT)
    assert tune.save(TuneTask.FIT, "fitted")
    kp = read_preset(folder / "fitted.yaml")["PDController"]["kp"]
    assert list(kp) == ["left_hip"]
    assert said(tune)[-1] == f"gains saved to {folder / 'fitted.yaml'}"
    assert not tune.state.session.is_dirty


def test_a_result_is_old_once_the_scene_was_edited_by_others(tune: Tune) -> None:
    work(tune, TuneTask.ASSIGN)
    assert not tune.is_old(tune.found[TuneTask.ASSIGN])
    assert tune.apply(TuneTask.ASSIGN)
    assert not tune.is_old(tune.found[TuneTask.ASSIGN])
    tune.state.session.set("dog.PDController.kv", 3.0)
    assert tune.is_old(tune.found[TuneTask.ASSIGN])


def test_another_scene_begins_without_results(tune: Tune, models: Path) -> None:
    work(tune, TuneTask.ASSIGN)
    tune.state.open(Scene.parse(tune.state.scene.to_text(), models))
    tune.hear()
    assert tune.found == {}


def test_replays_and_free_runs_are_tests_too(tune: Tune, tmp_path: Path) -> None:
    tune.sweep.test, tune.sweep.seconds = "run", 0.1
    assert "travel" in swept(tune, kp=GainAxis(20, 80, 2)).plan.experiment.scenario.metrics
    tune.sweep.test, tune.sweep.recording = "replay", tmp_path / "walk.npz"
    tune.sweep.signal = SINE
    assert "max_error" in tune.job(TuneTask.SWEEP).scenario.metrics  # type: ignore[attr-defined]


def test_gains_of_an_included_scene_are_shown_but_not_applied(models: Path) -> None:
    (models / "legs.yaml").write_text(LEGS.format(kp=50))
    tune = tune_on(editor_state(Scene.parse("mjrig: 1\ninclude: [legs.yaml]\n", models)))
    work(tune, TuneTask.ASSIGN)
    locked = (
        "dog.PDController.left_hip: it is described in legs.yaml, which this scene includes; "
        "edit that file"
    )
    assert tune.why_not_applied(TuneTask.ASSIGN) == locked
    tune.sweep.axes = {"kp": GainAxis(20, 80)}
    assert not tune.run(TuneTask.SWEEP)
    assert tune.state.problems["tune sweep"] == locked
