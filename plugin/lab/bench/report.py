"""Reports of a bench: text for a terminal, a table of all episodes, JSON, and an HTML page."""

import csv
import io
import json
import math
import platform
from collections.abc import Iterator
from html import escape
from importlib.metadata import version
from pathlib import Path
from urllib.parse import quote

import mujoco

from mjrig.core.errors import MjrigError
from mjrig.core.files.atomic_writes import cannot_be_written, write_atomically
from mjrig.core.names import how_many
from mjrig.lab.bench.episode_metrics import DEFINITIONS, METRICS
from mjrig.lab.bench.runner import Benched, Film
from mjrig.lab.bench.standings import leaderboard, margins, mean_of, pairings, success, worst_seeds
from mjrig.lab.report.html_page import html_page, html_table
from mjrig.lab.report.output import format_table

# Bench report -------------------------------------------------------------------------------------
# Reports of a bench: text for a terminal, a table of all episodes, and JSON with definitions.


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


# Bench html ---------------------------------------------------------------------------------------
# HTML page of a bench: intervals as a picture, tables, and commands for the worst falls.


#: Colours of policies that differ in light, in dark, and for the colour-blind; then they repeat.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_WIDTH, _LEFT, _ROW, _TOP = 720, 150, 11, 34
#: All columns of the table of tasks fit on the page.
_STYLE = """.intervals svg { min-width: 27rem; }
td, th { font-size: .85rem; padding: .2rem .4rem; }"""


def interval_picture(found: Benched) -> str:
    """SVG of the share of episodes without a fall, per task and policy, with its interval."""
    names, tasks = list(found.results), found.tasks
    step = _ROW * len(names) + 12
    height = _TOP + step * len(tasks) + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        'font-family="sans-serif" font-size="11">'
    ]
    parts += list(_legend(names))
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = _x(share)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{height - 18}" stroke="#8884"/>'
            f'<text x="{x:.1f}" y="{height - 6}" text-anchor="middle" fill="#808080">'
            f"{share:g}</text>"
        )
    for i, task in enumerate(tasks):
        y = _TOP + step * i + 10
        middle = y + _ROW * (len(names) - 1) / 2 + 4
        parts.append(f'<text x="8" y="{middle:.1f}" fill="#808080">{escape(task)}</text>')
        for k, name in enumerate(names):
            parts.append(_mark(found, name, task, y + _ROW * k, COLOURS[k % len(COLOURS)]))
    return "\n".join([*parts, "</svg>"])


def _x(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - 20)


def _legend(names: list[str]) -> Iterator[str]:
    at = float(_LEFT)
    for k, name in enumerate(names):
        colour = COLOURS[k % len(COLOURS)]
        yield f'<circle cx="{at:.0f}" cy="14" r="4" fill="{colour}"/>'
        yield f'<text x="{at + 8:.0f}" y="18" fill="#808080">{escape(name)}</text>'
        at += 24 + 7 * len(name)


def _mark(found: Benched, name: str, task: str, y: float, colour: str) -> str:
    result = found.results[name][task]
    if not result.fell:
        return ""
    rate = success([result])
    tip = f"<title>{escape(name)}, {escape(task)}: {rate}</title>"
    return (
        f'<line x1="{_x(rate.low):.1f}" x2="{_x(rate.high):.1f}" y1="{y:.1f}" y2="{y:.1f}" '
        f'stroke="{colour}" stroke-width="2">{tip}</line>'
        f'<circle cx="{_x(rate.value):.1f}" cy="{y:.1f}" r="4" fill="{colour}">{tip}</circle>'
    )


def bench_page(found: Benched, suite: str) -> str:
    """The whole page, self-contained."""
    return html_page(f"Bench: {found.suite.title}", _body(found, suite))


def _body(found: Benched, suite: str) -> Iterator[str]:
    seeds = len(found.seeds)
    yield f"<style>{_STYLE}</style>"
    yield f"<h1>Bench: {escape(found.suite.title)}</h1>"
    yield f'<p class="dim">{seeds} paired seeds per task; intervals are Wilson, 95 %.</p>'
    ranks = [row.rank for row in leaderboard(found)]
    board = [
        (f"{r.rank}{'=' if ranks.count(r.rank) > 1 else ''} {r.name}",
         f"{r.survived}/{r.episodes}", str(r.success))
        for r in leaderboard(found)
    ]  # fmt: skip
    yield from html_table(("policy", "up", "share up [95 %]"), board)
    if len(set(ranks)) < len(ranks):
        yield '<p class="dim">= : the interval overlaps that of the best of the rank.</p>'
    yield "<h2>Share of episodes without a fall</h2>"
    yield f'<div class="scroll intervals">{interval_picture(found)}</div>'
    yield "<h2>Tasks</h2>"
    rule = "blank where fewer than five are left (or fell among fewer), or fewer than 20 %"
    yield f'<p class="dim">Means over episodes without a fall; {rule}.</p>'
    # Intervals stay on one line: the table scrolls where it is too wide.
    rows = [[cell.replace(" ", "\u00a0") for cell in row] for row in task_rows(found)]
    yield from html_table(TASK_HEAD, rows)
    yield from _films(found)
    yield from _html_pairs(found)
    yield from _list("Level at which half of the episodes fall", _margins(found))
    yield from _list("Earliest falls", replay_lines(found, suite))
    notes = [f"{name}: {note}" for name, own in found.notes.items() for note in own]
    yield from _list("Notes", notes)
    yield from _list("Not run", [f"{e.name}: {e.problem}" for e in found.entrants if e.problem])
    yield "<h2>Definitions</h2>"
    yield from html_table((), [(name, unit, text) for name, (unit, text) in DEFINITIONS.items()])


def _films(found: Benched) -> Iterator[str]:
    if found.no_films:
        yield f'<h2>Videos</h2><p class="dim">None: {escape(found.no_films)}</p>'
    if not found.films:
        return
    yield f"<h2>Videos</h2><style>{_FILM_STYLE}</style>"
    yield (
        '<p class="dim">Each is the very episode of its seed. Worst: the earliest fall, else the '
        "largest error of the velocity.</p>"
    )
    for task in found.tasks:
        own = [film for film in found.films if film.task == task]
        ranks = list(dict.fromkeys(film.rank for film in own))
        own.sort(key=lambda film: ranks.index(film.rank))  # the worst of all side by side
        if own:
            yield f'<h3>{escape(task)}</h3><div class="films">'
            yield from map(_film, own)
            yield "</div>"


def _film(film: Film) -> str:
    end = "stayed up" if film.fell is None else f"fell after {film.fell:.1f} s"
    tone = "good" if film.fell is None else "bad"
    about = f"{film.policy}, {film.task}, seed {film.seed}: {end}"
    return (
        f'<figure><img loading="lazy" width="320" height="180" src="{quote(film.file)}" '
        f'alt="{escape(about)}"><figcaption>{escape(film.policy)}<br>'
        f'<span class="dim">{film.rank}, seed {film.seed}:</span> '
        f'<span class="{tone}">{end}</span></figcaption></figure>'
    )


_FILM_STYLE = """
h3 { font-size: 1rem; margin: 1rem 0 .3rem; }
.films { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(17rem, 100%), 1fr));
  gap: 1rem; }
figure { margin: 0; } figure img { width: 100%; height: auto; border-radius: 6px; }
figcaption { font-size: .85rem; }
"""


def _html_pairs(found: Benched) -> Iterator[str]:
    rows = []
    for p in pairings(found):
        speed = p.differences.get("lin_vel_rmse")
        rows.append(
            (p.task, f"{p.first}, {p.second}", f"{p.only_first} : {p.only_second}", f"{p.p:.3g}",
             f"{p.adjusted:.3g}",
             f"{speed.value:+.3f} [{speed.low:+.3f}, {speed.high:+.3f}]" if speed else "")
        )  # fmt: skip
    if rows:
        head = ("task", "pair", "only one up", "p", "p (Holm)", "Δ v rmse [95 %] m/s")
        yield "<h2>Paired with the best</h2>"
        yield from html_table(head, rows)


def _margins(found: Benched) -> list[str]:
    return [
        f"{name}, {task}: " + (f"{level:.3g}" if level != float("inf") else "beyond the last level")
        for name in found.results
        for task, level in margins(found, name).items()
    ]


def _list(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield f"<h2>{escape(title)}</h2><ul>"
        yield from (f"<li>{escape(line)}</li>" for line in lines)
        yield "</ul>"


def write_page(found: Benched, suite: str, folder: Path) -> None:
    """Write `bench.html` and the picture in it, `bench.svg`."""
    for name, text in (("bench.html", bench_page(found, suite)), ("bench.svg", _picture(found))):
        with cannot_be_written(folder / name):
            write_atomically(folder / name, text)


def _picture(found: Benched) -> str:
    return interval_picture(found) + "\n"
