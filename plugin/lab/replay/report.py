"""Report of a replay on disk: report.json for programs, report.html with plots for people."""

import json
import os
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import MjrigError
from mjrig.core.files.atomic_writes import whole_file
from mjrig.lab.replay.comparison import BaseCurves, Comparison, Curve, yaw
from mjrig.lab.replay.finding import ReplayFinding, sentence
from mjrig.lab.replay.result import NONE, UNCLEAR, Replay, tone, versions
from mjrig.lab.report.html_page import html_page, html_table
from mjrig.lab.report.output import plain
from mjrig.lab.report.svg import plot

# Plots --------------------------------------------------------------------------------------------
# Plots of a replay: errors, the base's path and speed, and the joints that matter.


#: Joints that are plotted: the worst ones, and of these some with efforts.
PLOTTED, EFFORTS = 8, 4
#: Around the first divergence this much is shown [s].
BEFORE, AFTER = 0.1, 0.3
#: Speeds are means over this time: a gait sways [s].
MEAN = 0.5


def plots(replay: Replay) -> Iterator[str]:
    """The section with all figures."""
    found = replay.comparison
    figures = list(_figures(replay, found))
    if not figures:
        return
    yield "<h2>Plots</h2>"
    if found is not None:
        yield (
            '<p><b class="key rec">recorded</b> <b class="key here">here</b> '
            '<b class="key goal">target or command</b></p>'
        )
    yield '<div class="plots">' + "\n".join(figures) + "</div>"


def _figures(replay: Replay, found: Comparison | None) -> Iterator[str]:
    if found is not None and (found.error > 0.0).any():
        lines = [("largest error of any joint", "here", found.time, found.error)]
        yield plot("largest position error", "rad, m", lines, log=True)
    if found is not None and found.base is not None:
        yield from _base(found.base, replay)
    for name, (time, values, unit) in replay.series.items():
        yield plot(name, unit, [(f"{name} here", "here", time, values)])
    if found is None:
        return
    worst = sorted(found.curves, key=lambda n: -found.joints[n].rmse_position)[:PLOTTED]
    first = replay.first_divergence
    if first is not None and isinstance(first["time"], float):
        name = str(first["joint"])
        if name in found.curves:
            span = max(0.0, first["time"] - BEFORE), first["time"] + AFTER
            title = f"{name} where it diverges"
            yield plot(title, "rad, m", _positions(name, found.curves[name]), span=span)
    for i, name in enumerate(worst):
        curve = found.curves[name]
        yield plot(f"{name}: position", "rad, m", _positions(name, curve))
        if i < EFFORTS and curve.effort is not None:
            yield plot(f"{name}: effort", "N·m, N", _efforts(name, curve))


Lines = list[tuple[str, str, FloatArray, FloatArray]]


def _positions(name: str, curve: Curve) -> Lines:
    lines: Lines = []
    if curve.target is not None:
        lines.append((f"{name}: target here", "goal", curve.time, curve.target))
    lines.append((f"{name}: recorded", "rec", curve.time, curve.recorded))
    return [*lines, (f"{name}: here", "here", curve.time, curve.here)]


def _efforts(name: str, curve: Curve) -> Lines:
    lines: Lines = []
    if curve.effort_recorded is not None:
        lines.append((f"{name}: effort recorded", "rec", *curve.effort_recorded))
    if curve.effort is not None:
        lines.append((f"{name}: effort here", "here", *curve.effort))
    return lines


def _base(base: BaseCurves, replay: Replay) -> Iterator[str]:
    """The path over ground, and forward speed and turning rate against the command."""
    poses = (("recorded", "rec", base.recorded), ("here", "here", base.here))
    path: Lines = [(f"path {n}", style, p[:, 0], p[:, 1]) for n, style, p in poses]
    yield plot("path over ground: y over x", "m", path, across="m", equal=True)
    speeds = [(n, style, _speeds(base.time, p)) for n, style, p in poses]
    for k, (title, unit) in enumerate((("forward speed", "m/s"), ("turning rate", "rad/s"))):
        lines: Lines = [(f"{title} {n}", style, t, v[k]) for n, style, (t, v) in speeds if len(t)]
        command = _command(replay, float(base.time[-1]), (0, 2)[k])
        if command is not None:
            lines.insert(0, (f"{title} commanded", "goal", *command))
        if lines:
            yield plot(title, unit, lines)


def _speeds(
    time: FloatArray, poses: FloatArray
) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """Forward speed and turning rate, as means over some time, at their middles."""
    ends = np.searchsorted(time, time + MEAN)
    rows = np.flatnonzero(ends < len(time))
    rows = rows[:: max(1, len(rows) // 300)]
    last = ends[rows]
    span = time[last] - time[rows]
    heading = yaw(poses[:, 3:7])
    middle = heading[(rows + last) // 2]
    moved = (poses[last, :2] - poses[rows, :2]) / span[:, None]
    forward = moved[:, 0] * np.cos(middle) + moved[:, 1] * np.sin(middle)
    return time[rows] + span / 2, (forward, (heading[last] - heading[rows]) / span)


def _command(replay: Replay, end: float, column: int) -> tuple[FloatArray, FloatArray] | None:
    """A recorded command as steps; None: it is not a velocity of three values."""
    rows = [(t, v[column]) for t, v in replay.schedule if len(v) == 3]
    if not rows:
        return None
    time, values = [], []
    for (t, v), following in zip(rows, [*(t for t, _ in rows[1:]), end], strict=True):
        time += [t, following]
        values += [v, v]
    return np.array(time), np.array(values)


# Html ---------------------------------------------------------------------------------------------
# report.html: one self-contained file with embedded plots.


def page(replay: Replay) -> str:
    """The whole file."""
    return html_page(f"{replay.source}: {replay.verdict}", _lines(replay))


def _lines(replay: Replay) -> Iterator[str]:
    yield f'<h1 class="{tone(replay.verdict)}">{escape(replay.verdict)}</h1>'
    what = f"{replay.source} in {replay.scene}, mode {replay.mode}"
    yield f'<p class="dim">{escape(what)}</p>'
    yield f"<p>Evidence: {escape(replay.evidence)}.</p>"
    yield from _facts(replay)
    if replay.diagnosis:
        yield "<h2>Diagnosis</h2><ol>"
        yield from (_finding(f, replay.origin) for f in replay.diagnosis)
        yield "</ol>"
    yield from _trials(replay)
    yield from plots(replay)
    yield from _joints(replay)
    unclear = [n.removeprefix(UNCLEAR) for n in replay.notes if n.startswith(UNCLEAR)]
    yield from _list("Could not be judged", unclear)
    yield from _list("Notes", [n for n in replay.notes if not n.startswith(UNCLEAR)])
    yield from _made(replay)


def _finding(finding: ReplayFinding, origin: str) -> str:
    """The sentence, and the edit that repairs it, to paste."""
    sure = "" if finding.share is None or finding.confident else " <i>(a suspicion)</i>"
    text = f"<li>{escape(sentence(finding, origin))}{sure}"
    if isinstance(finding.recorded, list):
        text += f"<pre>{escape(json.dumps(finding.recorded))}</pre>"
    for edit in finding.fix:
        value = json.dumps(plain(edit.value), ensure_ascii=False)
        changed = f"  # {edit.changed}" if edit.changed else ""
        line = f"{edit.file}: {edit.path}{changed}\n{value}"
        text += f"<pre>{escape(line)}</pre>"
    return f"{text}</li>"


def _list(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"<h2>{escape(title)}</h2><ul>"
        yield from (f"<li>{escape(line)}</li>" for line in lines)
        yield "</ul>"


def _made(replay: Replay) -> Iterator[str]:
    """How it was made: the command line, the policy's commands, versions."""
    yield "<h2>Made by</h2>"
    rows = [("command", replay.command)] if replay.command else []
    if replay.schedule:
        steps = [f"{t:g} s: {', '.join(f'{v:g}' for v in values)}" for t, values in replay.schedule]
        rows.append(("recorded commands", "; ".join(steps)))
    yield from html_table((), [*rows, *versions().items()])


def _facts(replay: Replay) -> Iterator[str]:
    facts: list[tuple[str, str]] = [("duration", f"{replay.duration:g} s")]
    if replay.bit_exact is not None:
        facts.append(("bit-exact", "yes" if replay.bit_exact else "no"))
    if replay.max_abs_position_error is not None:
        facts.append(("largest position error", f"{replay.max_abs_position_error:.4g} rad or m"))
    first = replay.first_divergence
    if first is not None:
        facts.append(("first divergence", f"{first['joint']} at {first['time']:.3f} s"))
    facts.append(("fell", f"at {replay.fell_at:.2f} s" if replay.fell_at is not None else "no"))
    for name, place in (("base start", replay.base_start), ("base end", replay.base_end)):
        if place is not None:
            facts.append((name, ", ".join(f"{x:.3f}" for x in place) + " m"))
    if replay.base_drift is not None:
        facts.append(("base drift", f"{replay.base_drift:.4g} m"))
    yield from html_table((), facts)


def _trials(replay: Replay) -> Iterator[str]:
    if len(replay.trials) < 2:
        return
    yield "<h2>Trials</h2>"
    rows = [
        (
            t.name,
            "fell" if t.fell else "upright",
            f"{t.duration:.2f}",
            f"{t.upright:.3f}",
            NONE if t.tracking_error is None else f"{t.tracking_error:.3f}",
            f"{t.saturation:.1%}",
        )
        for t in replay.trials
    ]
    head = ("trial", "result", "duration [s]", "least upright", "tracking error", "saturated")
    yield from html_table(head, rows)


def _joints(replay: Replay) -> Iterator[str]:
    if not replay.joints:
        return
    yield "<h2>Joints</h2>"
    keys = ("rmse_position", "rmse_velocity", "rmse_effort", "max_position_error")
    rows = []
    for name, joint in replay.joints.items():
        cells = [NONE if (v := joint.get(k)) is None else f"{v:.4g}" for k in keys]
        for key in ("saturation", "saturation_recorded"):
            share = joint.get(key)
            cells.append(NONE if share is None else f"{share:.1%}")
        rows.append((name, *cells))
    head = ("joint", "rmse position [rad, m]", "velocity [rad/s, m/s]", "effort [N·m, N]",
            "largest position error", "saturated here", "recorded")  # fmt: skip
    yield from html_table(head, rows)


# Report -------------------------------------------------------------------------------------------
# Reports on disk: report.json for programs, report.html for people.


def prepare_folder(folder: Path) -> None:
    """Check that a report can be written, before a long run rather than after it.

    Raises:
        MjrigError: it cannot be written there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MjrigError(f"{folder}: cannot be written: {error.strerror}") from error
    if not os.access(folder, os.W_OK):
        raise MjrigError(f"{folder}: cannot be written: Permission denied")


def write_report(replay: Replay, folder: Path) -> None:
    """Write `report.json` and `report.html` into a folder; it is made if need be.

    Raises:
        MjrigError: it cannot be written there.
    """
    prepare_folder(folder)
    text = json.dumps(plain(replay.to_data()), indent=2, ensure_ascii=False, allow_nan=False)
    with whole_file(folder / "report.json") as data, whole_file(folder / "report.html") as shown:
        data.write_text(f"{text}\n", encoding="utf-8")
        shown.write_text(page(replay), encoding="utf-8")
