"""mjrig bench from end to end: paired, resumable, and honest about what cannot run."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from mjrig.cli.main import main
from mjrig.core.errors import MjrigError
from mjrig.lab.bench.report import bench_data, described
from mjrig.lab.bench.runner import Benched, bench
from mjrig.lab.bench.standings import leaderboard, margins, mean_of, pairings
from mjrig.lab.bench.trial import PolicyTrial
from mjrig.lab.bench.verdicts import suspicions
from mjrig.lab.report.html_page import to_html
from mjrig.lab.report.text import to_text
from tests.plugin.lab.scenes import BUNDLED
from tests.wording import mentions

WALK = BUNDLED / "quadruped_walk.yaml"
ASSETS = BUNDLED.parents[1] / "assets"
SUITE = """
seeds: 2
tasks:
  - {name: stand, command: stand, duration: 0.6, settle: 0.1, randomise: "start=0.05"}
  - {name: weak, duration: 0.6, settle: 0.1, vary: strength, levels: [1, 0.05]}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE)
    return path


def variant(folder: Path, name: str, policy: str, kv: float = 5.0) -> Path:
    """The walking scene with another damping or policy file."""
    text = WALK.read_text().replace("../../assets/walk/policy.yaml", policy)
    text = text.replace("../../assets", str(ASSETS)).replace("kv: 5", f"kv: {kv:g}")
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


def stiff(folder: Path) -> Path:
    return variant(folder, "stiff", str(ASSETS / "walk/policy.yaml"), kv=9.0)


def swapped(folder: Path) -> Path:
    """The walking scene whose policy file has left and right legs swapped."""
    text = (ASSETS / "walk/policy.yaml").read_text()
    text = text.replace("network: walk.onnx", f"network: {ASSETS / 'walk/walk.onnx'}")
    for one, two in (("FL_", "FR_"), ("RL_", "RR_")):
        text = text.replace(one, "?").replace(two, one).replace("?", two)
    (folder / "swapped_policy.yaml").write_text(text)
    return variant(folder, "swapped", "swapped_policy.yaml")


def test_a_bench_writes_a_table_and_resumes(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    line = ["bench", str(WALK), str(stiff(tmp_path)), "--suite", str(suite), "-o", str(out)]
    line += ["--executor", "inline"]
    assert main(line) == 0
    said = capsys.readouterr().out
    assert "quadruped_walk" in said and "12 episodes" in said and "[0." in said
    first = (out / "results.csv").read_text()
    rows = list(csv.DictReader(first.splitlines()))
    assert {(r["policy"], r["task"], r["seed"]) for r in rows} == {
        (p, t, s)
        for p in ("quadruped_walk", "stiff")
        for t in ("stand", "weak_1", "weak_0.05")
        for s in "01"
    }
    data = json.loads((out / "bench.json").read_text())
    assert data["versions"]["mujoco"] and data["definitions"]["power"]["unit"] == "W"
    assert len(data["policies"]["stiff"]["sha256"]) == 64
    page = (out / "bench.html").read_text()
    assert "stiff" in page and "<svg" in page and "http-equiv" not in page
    assert (out / "bench.svg").read_text().count("<circle") == 2 + 2 * 3
    assert main([*line, "--fail-below", "weak_0.05=0.9"]) == 1
    said = capsys.readouterr().out
    assert "12 episodes, 12 done before" in said
    assert "FAIL quadruped_walk: weak_0.05: 0.00 [0.00, 0.66] is below 0.9" in said
    assert (out / "results.csv").read_text() == first


@pytest.mark.parametrize("tied", [True, False])
def test_a_page_explains_the_sign_of_a_shared_rank_where_there_is_one(
    suite: Path, tmp_path: Path, tied: bool
) -> None:
    policies = [WALK, stiff(tmp_path)] if tied else [WALK]
    found = bench(policies, suite, executor="inline", seeds=1, only=["stand"])
    page = to_html(described(found, "suite.yaml"))
    assert ('<td class="l">1=</td>' in page) is tied
    assert ("= : the interval overlaps" in page) is tied


def test_seeds_give_the_same_bits_alone_and_beside_others(suite: Path) -> None:
    whole = bench([WALK], suite, executor="inline")
    alone = bench([WALK], suite, executor="inline", seeds=[1], only=["weak_1"])
    (row,) = alone.results["quadruped_walk"]["weak_1"].rows
    same = whole.results["quadruped_walk"]["weak_1"].rows[1]
    assert row.metrics == same.metrics and row.task == same.task


def test_a_policy_that_cannot_run_has_its_reason(suite: Path, tmp_path: Path) -> None:
    arm = BUNDLED / "arm.yaml"
    found = bench([WALK, arm], suite, executor="inline", only=["stand"], seeds=1)
    assert "one actor with a Policy" in found.entrants[1].problem
    assert "arm: not run: " in to_text(described(found, "s")) and "arm" not in found.results
    with pytest.raises(MjrigError, match="no policy can run"):
        bench([arm], suite, executor="inline")
    with pytest.raises(MjrigError, match=r"no task 'stnd'.*stand"):
        bench([WALK], suite, executor="inline", only=["stnd"])


def test_a_path_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("tasks: [{name: a, set: {robot.PDController.kq: 3}}]")
    with pytest.raises(MjrigError, match=r"s.yaml:1:25: tasks\[0\].set: .*kq"):
        bench([WALK], path, executor="inline")


def made(falls: dict[str, list[list[int]]], levels: tuple[float, ...] = (1.0, 2.0)) -> Benched:
    """A bench with known falls: policy → level → seeds that fell, of 20."""
    from mjrig.lab.bench.runner import Entrant, TaskResult
    from mjrig.lab.bench.suite import BenchSuite
    from mjrig.lab.rollouts.results import SweepRow

    said = ", ".join(f"{level:g}" for level in levels)
    suite = BenchSuite.parse(
        f"tasks: [{{name: kick, vary: kick, levels: [{said}]}}]", Path("s.yaml")
    )
    found = Benched(suite, tuple(range(20)), [Entrant(name, Path(name)) for name in falls])
    for name, fallen in falls.items():
        found.results[name] = {}
        for level, seeds in zip(suite.levels(), fallen, strict=True):
            rows = [
                SweepRow(
                    "", s, {}, {"fell": float(s in seeds), "survival": 6.0, "power": s}, 0, "ok"
                )
                for s in range(20)
            ]
            found.results[name][level.name] = TaskResult(level, tuple(rows))
    return found


def test_the_worked_reference_of_paired_seeds() -> None:
    found = made({"a": [[4], list(range(8))], "b": [[], []]})
    board = leaderboard(found)
    assert [(s.name, s.survived, s.rank) for s in board] == [("b", 40, 1), ("a", 31, 2)]
    one, two = pairings(found)
    assert (one.only_first, one.only_second, one.p) == (1, 0, 1.0)
    assert (two.only_first, two.only_second) == (8, 0) and two.p == pytest.approx(0.0078125)
    assert two.adjusted == pytest.approx(2 * 0.0078125)


def test_overlapping_intervals_are_ties() -> None:
    board = leaderboard(made({"a": [[1], []], "b": [[], []], "c": [list(range(20))] * 2}))
    assert [(s.name, s.rank) for s in board] == [("b", 1), ("a", 1), ("c", 3)]


def test_metrics_of_too_few_survivors_are_blank_and_others_are_over_survivors() -> None:
    found = made({"a": [list(range(10)), list(range(17))]})
    results = list(found.results["a"].values())
    assert mean_of(results[0], "power") == pytest.approx(14.5)
    assert mean_of(results[1], "power") != mean_of(results[1], "power")  # NaN
    assert mean_of(results[1], "survival") == 6.0 and mean_of(results[1], "fell") == 0.85
    json.dumps(bench_data(found), allow_nan=False)


def test_a_margin_is_interpolated_between_levels() -> None:
    found = made({"a": [list(range(5)), list(range(15))], "b": [[], []], "c": [[*range(15)]] * 2})
    assert margins(found, "a") == {"kick": pytest.approx(1.5)}
    assert margins(found, "b")["kick"] == float("inf") and margins(found, "c")["kick"] == 1.0


def test_a_policy_that_falls_everywhere_gets_findings(tmp_path: Path) -> None:
    from mjrig.lab.bench.runner import Entrant

    (note,) = suspicions(Entrant.load(swapped(tmp_path), "swapped"))
    assert note.startswith("joint order: ") and "FL_roll_hip, FL_pitch_thigh, FL_pitch_calf" in note


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--fail-below", "2"], "a share from 0 to 1"),
        (["--fail-below", "stnd=0.5"], "no task 'stnd'"),
        (["--seed", "1", "--record", "x.h5"], "--record needs one policy, one --task"),
        (["--seeds", "0"], "seeds must be >= 1"),
    ],
)
def test_wrong_words_are_refused(
    words: list[str],
    said: str,
    suite: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bench", str(WALK), "--suite", str(suite), *words]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("task", "place", "said"),
    [
        ("  set: {robot.PDController.kvv: 3}", "5:9", "tasks[0].set: robot.PDController.kvv: "),
        ("  set:\n    sim.timestep: -1", "6:5", "tasks[0].set: sim.timestep: "),
        ("  set: {robbot.PDController.kv: 3}", "5:9", "tasks[0].set: robbot.PDController.kv: "),
        ("  add: {box: {prp: 3}}", "5:9", "tasks[0].add: box: "),
        ("  add:\n    box:\n      prop: {type: BoxPorp}", "6:5", "tasks[0].add: box: "),
    ],
)
def test_what_a_scene_refuses_of_a_task_is_told_with_its_line(
    task: str, place: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(f"tasks:\n- name: a\n  duration: 1\n  settle: 0.2\n{task}\n")
    with pytest.raises(MjrigError) as told:
        bench([WALK], path, seeds=1, executor="inline")
    assert str(told.value).startswith(f"{path}:{place}: {said}")
    assert str(told.value).endswith(f"(in {WALK})")


def test_the_tables_of_another_suite_are_not_replaced(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, other = tmp_path / "out", tmp_path / "other.yaml"
    other.write_text(SUITE.replace("stand, command", "stay, command"))
    line = ["--task", "weak_1", "--seeds", "1", "--executor", "inline", "-o", str(out)]
    assert main(["bench", str(WALK), "--suite", str(suite), *line]) == 0
    before = {p: p.read_bytes() for p in out.iterdir() if p.is_file()}
    capsys.readouterr()
    assert main(["bench", str(WALK), "--suite", str(other), *line]) == 1
    told = capsys.readouterr().err
    assert mentions(told, "has the tables of … 'suite', … 'other' …")
    assert "give another folder with -o" in told
    assert {p: p.read_bytes() for p in out.iterdir() if p.is_file()} == before
    assert main(["bench", str(WALK), "--suite", str(suite), *line]) == 0


@pytest.mark.parametrize("stop", [2, 4, 5])
@pytest.mark.parametrize("is_kept", [True, False])
def test_an_interrupted_bench_says_how_many_episodes_are_done(
    stop: int,
    is_kept: bool,
    suite: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, calls, run = tmp_path / "out", [0], PolicyTrial.run

    def counted(self: PolicyTrial, *given: Any, **more: Any) -> Any:
        calls[0] += 1
        if calls[0] == stop:
            raise KeyboardInterrupt
        return run(self, *given, **more)

    monkeypatch.setattr(PolicyTrial, "run", counted)
    line = ["bench", str(WALK), "--suite", str(suite), "--executor", "inline"]
    assert main([*line, *(["-o", str(out)] if is_kept else [])]) == 130
    told = capsys.readouterr().err
    assert mentions(
        told, f"interrupted; {stop - 1} of 6 episodes done … {('kept' if is_kept else 'lost')}"
    )
    rows = [r for f in out.rglob("episodes/**/results.csv") for r in f.read_text().splitlines()[1:]]
    assert len(rows) == (stop - 1 if is_kept else 0)
