"""Report of a bench, and the table of all its episodes."""

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mjrig.core.errors import MjrigError
from mjrig.core.files.atomic_writes import cannot_be_written, write_atomically
from mjrig.core.names import how_many, listed
from mjrig.lab.bench.episode_metrics import DEFINITIONS, METRICS
from mjrig.lab.bench.runner import Benched
from mjrig.lab.bench.standings import (
    LeaderboardRow,
    leaderboard,
    margins,
    mean_of,
    pairings,
    success,
    worst_seeds,
)
from mjrig.lab.report.content import (
    BAD,
    GOOD,
    Images,
    Intervals,
    Plots,
    Report,
    ReportColumn,
    ReportImage,
    ReportInterval,
    ReportTable,
    ReportText,
    versions,
    words,
)
from mjrig.lab.report.html_page import write_report
from mjrig.lab.report.svg import standalone_svg

#: Metrics of the text, with their headings.
SHOWN = {
    "survival": ReportColumn("survival", "s"),
    "lin_vel_rmse": ReportColumn("v rmse", "m/s"),
    "yaw_rate_rmse": ReportColumn("wz rmse", "rad/s"),
    "cost_of_transport": ReportColumn("CoT"),
    "power": ReportColumn("power", "W"),
    "action_rate": ReportColumn("action rate", "rad"),
    "saturation": ReportColumn("saturation"),
}
#: p below which a difference is called one.
SIGNIFICANT = 0.05


def described(found: Benched, suite: str) -> Report:
    """Standings, tasks, comparisons, and the commands that show the worst falls."""
    board = leaderboard(found)
    best = [row.name for row in board if row.rank == 1]
    problems = [f"{e.name}: not run: {e.problem}" for e in found.entrants if e.problem]
    notes = [f"{name}: {note}" for name, texts in found.notes.items() for note in texts]
    return Report(
        f"Bench: {found.suite.title}",
        f"best: {listed(best)}" if len(board) > 1 else "",
        facts=[
            ("seeds", f"{len(found.seeds)} per task, the same for every policy"),
            ("intervals", "Wilson, 95 %"),
        ],
        sections=[
            _standings(board),
            Plots(title="share of episodes without a fall", figures=[interval_figure(found)]),
            _tasks(found),
            _videos(found),
            _pairs(found),
            ReportText(title="level at which half of the episodes fall", lines=_margins(found)),
            ReportText(title="earliest falls", lines=replay_lines(found, suite)),
            ReportText(title="notes", lines=notes),
            ReportText(title="problems", lines=[*problems, *error_lines(found)]),
            ReportTable(
                title="definitions",
                columns=words("metric", "unit", "meaning"),
                rows=[(name, unit, text) for name, (unit, text) in DEFINITIONS.items()],
                page_only=True,
            ),
        ],
        data=bench_data(found),
    )


def _standings(board: Sequence[LeaderboardRow]) -> ReportTable:
    ranks = [row.rank for row in board]
    is_tied = len(set(ranks)) < len(ranks)
    return ReportTable(
        title="standings",
        columns=[*words("rank", "policy"), ReportColumn("up"), ReportColumn("share up", "95 %")],
        rows=[
            (f"{r.rank}{'=' if ranks.count(r.rank) > 1 else ''}", r.name,
             f"{r.survived}/{r.episodes}", str(r.success))
            for r in board
        ],
        note="= : the interval overlaps that of the best of the rank." if is_tied else "",
    )  # fmt: skip


def _tasks(found: Benched) -> ReportTable:
    """Per task and policy: what stayed up with its interval, and the means of metrics."""
    rows: list[tuple[object, ...]] = []
    for task in found.tasks:
        for name, results in found.results.items():
            result = results[task]
            up = len(result.fell) - sum(result.fell.values())
            means = [mean_of(result, metric) for metric in SHOWN]
            rate = str(success([result])) if result.fell else ""
            cells = ("" if math.isnan(mean) else mean for mean in means)
            rows.append((task, name, f"{up}/{len(result.fell)}", rate, *cells))
    fixed = *words("task", "policy"), ReportColumn("up"), ReportColumn("share up", "95 %")
    return ReportTable(
        title="tasks",
        columns=[*fixed, *SHOWN.values()],
        rows=rows,
        note="Means over episodes without a fall; blank where fewer than five are left (or fell "
        "among fewer), or fewer than 20 %.",
    )


def _pairs(found: Benched) -> ReportTable:
    rows = []
    for p in pairings(found):
        speed = p.differences.get("lin_vel_rmse")
        change = f"{speed.value:+.3f} [{speed.low:+.3f}, {speed.high:+.3f}]" if speed else ""
        counts = f"{p.only_first} : {p.only_second}"
        differs = "yes" if p.adjusted < SIGNIFICANT else "no"
        rows.append((p.task, f"{p.first}, {p.second}", counts, p.p, p.adjusted, differs, change))
    return ReportTable(
        title="paired with the best, by seeds on which one alone stayed up",
        columns=[
            *words("task", "pair"), ReportColumn("only one up"), ReportColumn("p"),
            ReportColumn("p (Holm)"),
            ReportColumn("differs"), ReportColumn("Δ v rmse [95 %]", "m/s"),
        ],
        rows=rows,
    )  # fmt: skip


def _margins(found: Benched) -> list[str]:
    return [
        f"{name}, {task}: " + (f"{level:.3g}" if level != math.inf else "beyond the last level")
        for name in found.results
        for task, level in margins(found, name).items()
    ]


def interval_figure(found: Benched) -> Intervals:
    """The share of episodes without a fall, per task and policy, with its interval."""
    rows = {task: [_rate(found, name, task) for name in found.results] for task in found.tasks}
    return Intervals("", rows, list(found.results), (0.0, 1.0))


def _rate(found: Benched, name: str, task: str) -> ReportInterval:
    result = found.results[name][task]
    if not result.fell:
        return ReportInterval("", math.nan, math.nan, math.nan)
    rate = success([result])
    return ReportInterval(f"{name}, {task}: {rate}", rate.value, rate.low, rate.high)


def _videos(found: Benched) -> Images:
    note = f"None: {found.no_films}" if found.no_films else ""
    if found.films:
        note = "Each is the very episode of its seed. Worst: the earliest fall, else the largest "
        note += "error of the velocity."
    groups: dict[str, list[ReportImage]] = {}
    for task in found.tasks:
        films = [film for film in found.films if film.task == task]
        ranks = list(dict.fromkeys(film.rank for film in films))
        films.sort(key=lambda film: ranks.index(film.rank))  # the worst of all side by side
        groups[task] = [
            ReportImage(
                film.file,
                film.policy,
                f"{film.rank}, seed {film.seed}",
                "stayed up" if film.fell is None else f"fell after {film.fell:.1f} s",
                GOOD if film.fell is None else BAD,
            )
            for film in films
        ]
    return Images(
        groups, title="videos", note=f"None: {found.no_films}" if found.no_films else note
    )


def error_lines(found: Benched) -> list[str]:
    """Episodes that could not be run, and why."""
    return [
        f"{name}, {task}: {error}"
        for name, results in found.results.items()
        for task, result in results.items()
        for error in result.errors
    ]


def replay_lines(found: Benched, suite: str) -> list[str]:
    """Commands that run the worst episodes again."""
    paths = {entrant.name: entrant.path for entrant in found.entrants}
    return [
        f"{name}, {task}, seed {seed}, after {survival:.1f} s: mjrig bench {paths[name]} "
        f"--suite {suite} --task {task} --seed {seed} --record {task}_{seed}.h5"
        for name in found.results
        for task, seed, survival in worst_seeds(found, name)
    ]


# Files --------------------------------------------------------------------------------------------


def write_csv(found: Benched, path: Path) -> None:
    """All episodes: policy, task, level, seed, metrics, status, error."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("policy", "task", "level", "seed", *METRICS, "status", "error"))
    for name, results in found.results.items():
        for task, result in results.items():
            level = "" if result.level.level is None else f"{result.level.level:g}"
            for row in result.rows:
                metrics = (repr(row.metrics[m]) if m in row.metrics else "" for m in METRICS)
                writer.writerow((name, task, level, row.seed, *metrics, row.status, row.error))
    with cannot_be_written(path):
        write_atomically(path, text.getvalue())


def bench_data(found: Benched) -> dict[str, object]:
    """Everything but the episodes as plain data."""
    return {
        "suite": found.suite.to_data(),
        "seeds": list(found.seeds),
        "definitions": {n: {"unit": u, "text": t} for n, (u, t) in DEFINITIONS.items()},
        "versions": {n: v for n, v in versions().items() if n != "numpy"},
        "policies": {
            e.name: {
                "file": str(e.path),
                "sha256": found.digests.get(e.name),
                "problem": e.problem or None,
                "notes": found.notes.get(e.name, []),
            }
            for e in found.entrants
        },
        "leaderboard": [
            {**vars(s), "success": _plain(vars(s.success))} for s in leaderboard(found)
        ],
        "tasks": [
            {
                "task": task,
                "policy": name,
                "success": _plain(vars(success([results[task]]))),
                "episodes": len(results[task].fell),
                "means": _plain({m: mean_of(results[task], m) for m in METRICS}),
                "errors": results[task].errors,
            }
            for task in found.tasks
            for name, results in found.results.items()
        ],
        "pairs": [
            {**vars(p), "differences": {m: _plain(vars(d)) for m, d in p.differences.items()}}
            for p in pairings(found)
        ],
        "margins": {name: _plain(margins(found, name)) for name in found.results},
        "videos": [vars(film) for film in found.films],
    }


def _plain(values: dict[str, float]) -> dict[str, float | None]:
    """JSON has no NaN and no infinity."""
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def check_folder(folder: Path, title: str) -> None:
    """Refuse a folder with the tables of another suite, which would be replaced.

    Raises:
        MjrigError: it has them; the message names the way out.
    """
    try:
        before = json.loads((folder / "bench.json").read_text("utf-8"))["suite"]["title"]
    except (OSError, ValueError, KeyError, TypeError):
        return  # there are none
    if before != title:
        raise MjrigError(
            f"{folder}: has the tables of the suite {before!r}, which those of {title!r} would "
            "replace; give another folder with -o, or remove this one"
        )


def headline(found: Benched, folder: Path) -> str:
    """What was run, in a line."""
    episodes = sum(len(r.rows) for results in found.results.values() for r in results.values())
    text = f"{folder}: {how_many(episodes, 'episode')}"
    return text + (f", {found.kept} done before" if found.kept else "")


def write_files(found: Benched, suite: str, folder: Path, command: str = "") -> None:
    """Write `bench.html`, the figure in it as `bench.svg`, `bench.json` and `results.csv`.

    Raises:
        MjrigError: one of them cannot be written.
    """
    write_csv(found, folder / "results.csv")
    report = replace(described(found, suite), command=command)
    write_report(report, folder / "bench.html", folder / "bench.json")
    with cannot_be_written(folder / "bench.svg"):
        write_atomically(folder / "bench.svg", standalone_svg(interval_figure(found)))
