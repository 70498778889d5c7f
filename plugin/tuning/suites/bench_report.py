"""Reports of a bench: text for a terminal, a table of all episodes, and JSON with definitions."""

import csv
import io
import json
import math
import platform
from importlib.metadata import version
from pathlib import Path

import mujoco

from mjrig.errors import MjrigError
from mjrig.files.replacing import cannot_be_written
from mjrig.files.writing import write_atomically
from mjrig.names import how_many
from mjrig.terminal.table import format_table
from mjrig.tuning.suites.bench import Benched
from mjrig.tuning.suites.episode_metrics import DEFINITIONS, METRICS
from mjrig.tuning.suites.standings import (
    leaderboard,
    margins,
    mean_of,
    pairings,
    success,
    worst_seeds,
)

#: Metrics of the text, with their headings.
SHOWN = {
    "survival": "survival s",
    "lin_vel_rmse": "v rmse m/s",
    "yaw_rate_rmse": "wz rmse rad/s",
    "cost_of_transport": "CoT",
    "power": "power W",
    "action_rate": "action rate rad",
    "saturation": "saturation",
}
#: p below which a difference is called one.
SIGNIFICANT = 0.05


def number_text(value: float) -> str:
    """Three digits; nothing where there is no number."""
    return "" if math.isnan(value) else f"{value:.3g}"


def text_report(found: Benched, suite: str) -> str:
    """Leaderboard, tasks, comparisons, and the commands that show the worst falls."""
    parts = [*_standings(found), "", *task_lines(found)]
    parts += _section("paired with the best, by seeds on which one alone stayed up", _pairs(found))
    parts += _section("level at which half of the episodes fall", _margin_lines(found))
    parts += _section("earliest falls", replay_lines(found, suite))
    notes = [f"{name}: {note}" for name, own in found.notes.items() for note in own]
    parts += _section("notes", notes)
    problems = [f"{e.name}: not run: {e.problem}" for e in found.entrants if e.problem]
    return "\n".join([*parts, *_section("problems", [*problems, *error_lines(found)])])


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", f"{title}:", *(f"  {line}" for line in lines)] if lines else []


def _standings(found: Benched) -> list[str]:
    board = leaderboard(found)
    ranks = [standing.rank for standing in board]
    rows = [
        (
            f"{s.rank}{'=' if ranks.count(s.rank) > 1 else ''}",
            s.name,
            f"{s.survived}/{s.episodes}",
            str(s.success),
        )
        for s in board
    ]
    return format_table(("rank", "policy", "up", "share up [95 %]"), rows)


def task_rows(found: Benched) -> list[tuple[str, ...]]:
    """Per task and policy: what stayed up with its interval, and the means of metrics."""
    rows: list[tuple[str, ...]] = []
    for task in found.tasks:
        for name, results in found.results.items():
            result = results[task]
            up = len(result.fell) - sum(result.fell.values())
            means = (number_text(mean_of(result, metric)) for metric in SHOWN)
            rate = str(success([result])) if result.fell else ""
            rows.append((task, name, f"{up}/{len(result.fell)}", rate, *means))
    return rows


TASK_HEAD = ("task", "policy", "up", "share up [95 %]", *SHOWN.values())


def task_lines(found: Benched) -> list[str]:
    """The table of all tasks."""
    return format_table(TASK_HEAD, task_rows(found))


def error_lines(found: Benched) -> list[str]:
    """Episodes that could not be run, and why."""
    return [
        f"{name}, {task}: {error}"
        for name, results in found.results.items()
        for task, result in results.items()
        for error in result.errors
    ]


def _pairs(found: Benched) -> list[str]:
    return [
        f"{p.task}: {p.first} {p.only_first} : {p.only_second} {p.second}, "
        f"p = {p.p:.3g}, {p.adjusted:.3g} after Holm"
        + (", a difference" if p.adjusted < SIGNIFICANT else "")
        for p in pairings(found)
        if p.only_first or p.only_second
    ]


def _margin_lines(found: Benched) -> list[str]:
    lines = []
    for name in found.results:
        known = {t: m for t, m in margins(found, name).items() if math.isfinite(m)}
        if known:
            lines.append(f"{name}: " + ", ".join(f"{t} {m:.3g}" for t, m in known.items()))
    return lines


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
        "versions": {
            "mjrig": version("mjrig"),
            "mujoco": mujoco.__version__,
            "python": platform.python_version(),
            "machine": platform.machine(),
        },
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


def write_json(found: Benched, path: Path) -> None:
    """`bench_data` as a file."""
    text = json.dumps(bench_data(found), indent=2, ensure_ascii=False, allow_nan=False)
    with cannot_be_written(path):
        write_atomically(path, f"{text}\n")


def headline(found: Benched, folder: Path) -> str:
    """What was run, in a line."""
    episodes = sum(len(r.rows) for results in found.results.values() for r in results.values())
    text = f"{folder}: {how_many(episodes, 'episode')}"
    return text + (f", {found.kept} done before" if found.kept else "")
