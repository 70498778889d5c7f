"""The table of a sweep: written as results come, read again, never mixed by accident."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.lab.report.content import BAD, GOOD, Plots, ReportCurves
from mjrig.lab.rollouts.experiment import DIVERGED, FAILED, OK, Rollout, Variation
from mjrig.lab.rollouts.results import Objective, Ranked, Results, ResultsFile
from mjrig.lab.sweep.results_plot import heat_map, parallel_coordinates
from mjrig.lab.sweep.sweep_report import described, ranking_table
from tests.plugin.lab.sweep.swept import refused

ABOUT = {"scene": "abc", "test": "FreeRun"}
GOAL = Objective.read("rmse", ["rmse"])


def outcome(kp: object, rmse: float | None, seed: int = 0) -> Rollout:
    task = Variation.of("", {"kp": kp}, seed)
    if rmse is None:
        return Rollout(task, FAILED, {}, 0.5, 'kp: "no",\nsaid it')
    return Rollout(task, OK, {"rmse": rmse}, 0.5)


def table(folder: Path, *, about: dict[str, str] | None = None, mix: bool = False) -> ResultsFile:
    return ResultsFile(folder, ["kp"], ["rmse"], ABOUT if about is None else about, mix=mix)


def test_rows_are_read_back_as_they_were(tmp_path: Path) -> None:
    with table(tmp_path) as first:
        for value, rmse in ((40, 0.1), (1 / 3, 1e-300), ([1, 2], None), ({"a": 1}, math.inf)):
            assert first.add(outcome(value, rmse))
    with table(tmp_path) as second:
        assert [(r.values, dict(r.metrics), r.status) for r in second] == [
            ({"kp": 40}, {"rmse": 0.1}, OK),
            ({"kp": 1 / 3}, {"rmse": 1e-300}, OK),
            ({"kp": [1, 2]}, {}, FAILED),
            ({"kp": {"a": 1}}, {"rmse": math.inf}, OK),
        ]
        assert [r.error for r in second][2] == 'kp: "no", said it'


def test_a_task_has_one_row_however_often_it_comes(tmp_path: Path) -> None:
    with table(tmp_path) as found:
        assert found.add(outcome(1, 0.1))
        assert not found.add(outcome(1, 0.2))
        lines = found.path.read_text().splitlines()
    assert len(lines) == 2 and ",0.1," in lines[1]


def test_a_line_is_on_disk_as_soon_as_it_is_added(tmp_path: Path) -> None:
    with table(tmp_path) as found:
        found.add(outcome(1, 0.25))
        assert found.path.read_text().endswith("0,1,0.25,0.500000,mujoco float64,ok,\n")


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_torn_last_line_is_cut_off_and_its_task_runs_again(tmp_path: Path, cut: int) -> None:
    with table(tmp_path) as first:
        first.add(outcome(1, 0.1))
        first.add(outcome(2, 0.2))
    whole = first.path.read_bytes()
    first.path.write_bytes(whole[:-cut])
    with table(tmp_path) as second:
        assert [r.values["kp"] for r in second] == [1]
        second.add(outcome(2, 0.2))
    assert second.path.read_bytes() == whole


def test_a_torn_header_is_written_again(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("task,se")
    with table(tmp_path) as found:
        assert found.path.read_text() == "task,seed,kp,rmse,seconds,engine,status,error\n"


def test_results_of_something_else_are_not_mixed_by_accident(tmp_path: Path) -> None:
    with table(tmp_path):
        pass
    other = {"scene": "xyz", "test": "FreeRun"}
    with refused(f"{tmp_path}: holds results of something … --mix"):
        table(tmp_path, about=other).__enter__()
    with table(tmp_path, about=other, mix=True) as mixed:
        assert len(mixed) == 0


def test_other_columns_are_refused(tmp_path: Path) -> None:
    with table(tmp_path):
        pass
    with refused(
        f"{tmp_path / 'results.csv'}: has the columns task, seed, kp, rmse, seconds, engine, "
        f"status, error; "
        "these … task, seed, kv, rmse, seconds, engine, status, error; …"
    ):
        ResultsFile(tmp_path, ["kv"], ["rmse"], ABOUT).__enter__()


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    with table(tmp_path) as found:
        found.add(outcome(1, 0.1))
    text = found.path.read_text()
    found.path.write_text(text + "abc,0\n")
    with refused(f"{found.path}:3: has 2 columns instead of 8; …"):
        table(tmp_path).__enter__()


def test_two_processes_do_not_write_to_one_table(tmp_path: Path) -> None:
    with table(tmp_path) as found:
        with refused(f"{found.path}: another process is writing …"):
            table(tmp_path).__enter__()


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with refused(f"{tmp_path / 'file' / 'results.csv'}: cannot be written: File exists"):
        table(tmp_path / "file").__enter__()


def test_the_ranking_is_of_means_over_seeds_with_failures_last() -> None:
    results = Results(["kp"], ["rmse"])
    for one in (outcome(1, 0.3), outcome(1, 0.5, 1), outcome(2, 0.1), outcome(2, None, 1)):
        results.add(one)
    results.add(Rollout(Variation.of("", {"kp": 3}, 0), DIVERGED, {}, 0.1))
    results.add(outcome(4, 0.2))
    ranking = results.ranking(GOAL)
    assert [r.values["kp"] for r in ranking] == [4, 1, 2, 3]
    assert ranking[1].score == ranking[1].mean("rmse") == pytest.approx(0.4)
    assert ranking[2].score == math.inf


def test_parquet_holds_the_same_numbers(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    results = Results(["kp"], ["rmse"])
    results.add(outcome(1, 0.3))
    results.add(outcome(2, None))
    results.write_parquet(tmp_path / "results.parquet")
    columns = parquet.read_table(tmp_path / "results.parquet").to_pydict()
    assert (columns["kp"], columns["rmse"]) == ([1.0, 2.0], [0.3, None])
    assert columns["status"] == [OK, FAILED]


def sample(values: list[dict[str, object]], scores: list[float]) -> Results:
    results = Results(list(values[0]), ["rmse"])
    for point, score in zip(values, scores, strict=True):
        results.add(Rollout(Variation.of("", point, 0), OK, {"rmse": score}, 0.1))
    return results


def test_plots_are_drawn_of_numbers_words_and_samples(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    points: list[dict[str, object]] = [
        {"a.b.kp": 10.0 * i / 7, "a.b.mode": "xy"[i % 2], "a.b.kv[.*_calf]": i % 3}
        for i in range(24)
    ]
    ranking = sample(points, [float(i) for i in range(24)]).ranking(GOAL)
    for name, draw in (("a.png", parallel_coordinates), ("b.png", heat_map)):
        draw(tmp_path / name, ranking, list(points[0]), "rmse")
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_an_objective_with_weights_is_written_out(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib import figure

    labels: list[str] = []
    usual = figure.Figure.savefig

    def keep(shown: figure.Figure, *given: Any, **options: Any) -> None:
        labels.extend(t.get_text() for t in shown.axes[0].get_xticklabels())
        usual(shown, *given, **options)

    objective = "rmse + 0.01*effort - 2.5e-3*travel"
    ranking = sample([{"x.y.kp": 1.0}, {"x.y.kp": 2.0}], [0.1, 0.2]).ranking(GOAL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figure.Figure, "savefig", keep)
        parallel_coordinates(tmp_path / "x.png", ranking, ["x.y.kp"], objective)
    assert [label.replace("\n", " ") for label in labels] == ["y kp", objective]


def test_a_heat_map_needs_two_parameters_that_vary(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    ranking = sample([{"a": 1, "b": 1}, {"a": 2, "b": 1}], [0.1, 0.2]).ranking(GOAL)
    with refused("a heat map needs …"):
        heat_map(tmp_path / "x.png", ranking, ["a", "b"], "rmse")
    with pytest.raises(mjrig.MjrigError, match="no point succeeded"):
        parallel_coordinates(tmp_path / "x.png", [], ["a"], "rmse")


def test_what_results_depend_on_is_kept_as_json(tmp_path: Path) -> None:
    with table(tmp_path):
        pass
    assert json.loads((tmp_path / "sweep.json").read_text()) == ABOUT


def test_metrics_are_shown_in_the_units_of_responses() -> None:
    class Point(Ranked):
        def mean(self, metric: str) -> float:
            return {"rise_time": 0.25, "overshoot": 0.125, "rmse": 0.5}[metric]

    metrics = ("rise_time", "overshoot", "rmse")
    table = ranking_table([Point({"kp": 3.0}, 1.5, ())], ("kp",), metrics)
    assert table.heads == ("kp", "objective", "rise_time [s]", "overshoot [%]", "rmse [rad or m]")
    assert table.cells == [("3", "1.5", "0.25", "12.5", "0.5")]


def test_the_report_has_the_best_objective_at_each_value_of_a_parameter() -> None:
    points: list[dict[str, object]] = [
        {"a.kp": a, "a.kv": b} for a in (1.0, 2.0) for b in (3.0, 4.0)
    ]
    ranking = sample(points, [0.4, 0.3, 0.1, 0.2]).ranking(GOAL)
    report = described("Sweep", ranking, ("a.kp", "a.kv"), ("rmse",), "rmse")
    assert report.tone == GOOD
    (plots,) = (section for section in report.sections if isinstance(section, Plots))
    curves = [figure.series[0] for figure in plots.figures if isinstance(figure, ReportCurves)]
    np.testing.assert_array_equal(
        [(c.x, c.y) for c in curves], [[[1, 2], [0.3, 0.1]], [[3, 4], [0.1, 0.2]]]
    )


def test_a_sweep_without_a_success_has_a_bad_verdict() -> None:
    report = described("Sweep", [], ("a",), ("rmse",), "rmse")
    assert (report.verdict, report.tone) == ("no point succeeded", BAD)
