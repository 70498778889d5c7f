"""Films of a bench: which episodes, that they are those of the bench, and what is said without."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mjrig.cli.main import main
from mjrig.core.errors import MjrigError
from mjrig.lab.bench import episode_replay
from mjrig.lab.bench.report import described
from mjrig.lab.bench.runner import TaskResult, bench
from mjrig.lab.bench.suite import BenchSuite
from mjrig.lab.report.html_page import to_html
from mjrig.lab.rollouts.results import SweepRow
from tests.plugin.lab.bench.test_bench import WALK
from tests.wording import matches, regex

SUITE = """
seeds: 3
tasks:
  - {name: weak, duration: 0.5, settle: 0.1, randomise: "start=0.05", vary: strength,
     levels: [1, 0.05]}
"""


def result(rows: list[tuple[bool, float, float]]) -> TaskResult:
    """A task whose episodes fell or not, after some time, with some error."""
    suite = BenchSuite.parse("tasks: [{name: a}]", Path("s.yaml"))
    made = [
        SweepRow("", s, {}, {"fell": float(f), "survival": t, "lin_vel_rmse": e}, 0.0, "ok")
        for s, (f, t, e) in enumerate(rows)
    ]
    return TaskResult(suite.levels()[0], tuple(made))


@pytest.mark.parametrize("case", range(30))
def test_episodes_are_chosen_from_the_worst_to_the_best(case: int) -> None:
    rng = random.Random(case)
    rows = [
        (rng.random() < 0.4, round(rng.uniform(0.1, 6.0), 1), round(rng.uniform(0.0, 1.0), 1))
        for _ in range(rng.randint(1, 9))
    ]
    falls = sorted((t, s) for s, (f, t, _) in enumerate(rows) if f)
    stays = sorted((-e, s) for s, (f, _, e) in enumerate(rows) if not f)
    order = [s for _, s in falls] + [s for _, s in stays]
    for count in (1, 2, 3):
        found = episode_replay.chosen(result(rows), count)
        wanted = [order[0], order[(len(order) - 1) // 2], order[-1]][:count]
        assert [row.seed for _, row in found] == list(dict.fromkeys(wanted))
        assert found[0][0] == "worst"
        assert len(found) < 3 or [rank for rank, _ in found] == ["worst", "median", "best"]
    assert episode_replay.chosen(result(rows), 0) == []
    whole = episode_replay.chosen(result(rows), len(rows))
    assert len(rows) < 3 or [row.seed for _, row in whole] == order


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "suite.yaml").write_text(SUITE)
    return tmp_path / "suite.yaml"


def test_a_film_is_the_very_episode_and_is_made_once(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    drawn: list[tuple[Path, list[Any], float, Any]] = []

    def draw_loop(model: Any, states: Any, path: Path, seconds: float, look: Any) -> None:
        drawn.append((path, list(states), seconds, look))
        path.write_bytes(b"film")

    monkeypatch.setattr(episode_replay, "draw_loop", draw_loop)
    out = tmp_path / "out"
    line = ["bench", str(WALK), "--suite", str(suite), "-o", str(out),
            "--executor", "inline", "--videos", "2"]  # fmt: skip
    assert main(line) == 0
    assert len(drawn) == 2 * 2
    _, states, seconds, look = drawn[0]
    assert look.follow == "quadruped/trunk" and seconds == len(states) / episode_replay.RATE
    assert len(states) == 1 + round(
        0.5 * episode_replay.RATE
    )  # it begins with the state at the start
    assert not np.array_equal(states[0]["qpos"], states[-1]["qpos"])
    videos = json.loads((out / "bench.json").read_text())["videos"]
    assert {(out / film["file"]).read_bytes() for film in videos} == {b"film"}
    page = (out / "bench.html").read_text()
    assert all(f'src="{film["file"]}"' in page for film in videos)
    assert {film["rank"] for film in videos} == {"worst", "median"}
    assert main(line) == 0 and len(drawn) == 4
    assert main([*line[:-2], "--task", "weak_1"]) == 0
    assert "<img" not in (out / "bench.html").read_text()
    capsys.readouterr()


def test_without_graphics_the_reason_is_said_and_the_rest_is_written(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(episode_replay, "draw_loop", lambda *given: "egl: no display")
    out = tmp_path / "out"
    line = ["bench", str(WALK), "--suite", str(suite), "--seeds", "1", "--executor", "inline"]
    assert main([*line, "-o", str(out), "--videos", "1"]) == 1
    err = capsys.readouterr().err
    assert matches(err.splitlines()[-1], "mjrig: no videos: egl: no …")
    assert "None: egl: no display" in (out / "bench.html").read_text()
    assert (out / "results.csv").is_file()
    assert main([*line, "--videos", "1"]) == 1
    assert "--videos needs -o" in capsys.readouterr().err
    assert main([*line, "-o", str(out), "--videos", "-1"]) == 1
    assert "--videos must be at least 0" in capsys.readouterr().err


def test_an_episode_that_goes_another_way_is_no_film(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(episode_replay, "draw_loop", lambda *given: None)
    found = bench([WALK], suite, executor="inline", seeds=1, only=["weak_1"])
    episode_replay.add_films(found, tmp_path, 1)
    assert len(found.films) == 1 and "stayed up" in to_html(described(found, "s"))
    rows = found.results["quadruped_walk"]["weak_1"].rows
    rows[0].metrics["power"] += 1e-9  # type: ignore[index]
    with pytest.raises(MjrigError, match=regex("the episode went another …")):
        episode_replay.add_films(found, tmp_path, 1)
