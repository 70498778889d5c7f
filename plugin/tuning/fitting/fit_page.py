"""Report of a fit on disk: report.html for people, report.json for programs."""

import json
import math
from collections.abc import Iterator
from html import escape
from pathlib import Path

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.files.replacing import whole_file
from mjrig.sim2sim.report.html_page import html_page, html_table
from mjrig.sim2sim.report.plain import plain
from mjrig.sim2sim.report.report import prepare_folder
from mjrig.sim2sim.report.svg import plot
from mjrig.tuning.fitting.fit import Fit
from mjrig.tuning.fitting.fit_report import elsewhere, report_data
from mjrig.tuning.fitting.identifiability import Curves, Estimate
from mjrig.tuning.simulated.plant import UNITS

#: Most numbers of a curve in the data.
POINTS = 2000
#: Correlations of more parameters than this are shown as a list only.
MOST_CELLS = 90


def write_page(found: Fit, folder: Path) -> None:
    """Write `report.html` and `report.json` into a folder; it is made if need be.

    Raises:
        MjrigError: it cannot be written there.
    """
    prepare_folder(folder)
    data = {**report_data(found), "correlations": _matrix_data(found), "curves": _curves(found)}
    text = json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False)
    with whole_file(folder / "report.json") as numbers, whole_file(folder / "report.html") as shown:
        numbers.write_text(f"{text}\n", encoding="utf-8")
        shown.write_text(html_page(f"Fit of {found.actor}", _lines(found)), encoding="utf-8")


def _matrix_data(found: Fit) -> dict[str, object]:
    return {
        "labels": list(found.correlations.labels),
        "matrix": np.round(found.correlations.matrix, 4).tolist(),
    }


def _curves(found: Fit) -> list[dict[str, object]]:
    rows = []
    for c in found.curves:
        every = slice(None, None, max(1, math.ceil(len(c.time) / POINTS)))
        rows.append(
            {
                "recording": c.recording,
                "held_out": c.is_held_out,
                "joints": list(c.joints),
                "time": c.time[every].tolist(),
                "recorded": c.recorded[every].tolist(),
                "before": c.before[every].tolist(),
                "after": c.after[every].tolist(),
            }
        )
    return rows


def _lines(found: Fit) -> Iterator[str]:
    yield f"<h1>Fit of {escape(found.actor)}</h1>"
    yield f'<p class="dim">{escape(", ".join(found.recordings))}; {found.seconds:.1f} s</p>'
    if found.rejection:
        yield f'<p class="bad">{escape(found.rejection)}</p>'
    elif not found.converged:
        yield '<p class="bad">The search did not converge: nothing is identified.</p>'
    yield from _errors(found)
    known = [e for e in found.estimates if e.identifiable]
    open_ = [e for e in found.estimates if not e.identifiable]
    yield "<h2>Parameters</h2>"
    head = ("", "parameter", "was", "is", "95 % from", "to", "unit", "by", "")
    yield from html_table(head, [_row(e) for e in known])
    if open_:
        yield "<h2>What could not be found, and why</h2>"
        rows = [(e.joint, e.parameter, f"{e.old:.5g}", e.reason) for e in open_]
        yield from html_table(("", "parameter", "stays", "which motion would show it"), rows)
    lines = [*found.notes, *elsewhere(found)]
    if lines:
        yield "<h2>Remarks</h2><ul>"
        yield from (f"<li>{escape(line)}</li>" for line in lines)
        yield "</ul>"
    for is_held, title in ((False, "What was fitted to"), (True, "What was held out")):
        own = [c for c in found.curves if c.is_held_out is is_held]
        if own:
            yield f"<h2>{title}</h2>"
            yield (
                '<p class="key"><span class="key goal">recorded</span> · <span class="key here">'
                'scene as it was</span> · <span class="key rec">fitted</span></p>'
            )
            yield '<div class="plots">'
            yield from _overlays(own)
            yield "</div>"
    yield from _correlations(found)


def _errors(found: Fit) -> Iterator[str]:
    parts = [("fitted to", found.rms_before, found.rms_after)]
    if found.held_after:
        parts.append(("held out", found.held_before, found.held_after))
    if not found.rms_after:
        return
    yield "<h2>Error of the positions, root mean square</h2>"
    joints = list(found.rms_after)
    head = ["", *(f"{name}, {when}" for name, *_ in parts for when in ("before", "after"))]
    rows = [
        [j, *(f"{values[j]:.3g}" for _, old, new in parts for values in (old, new))] for j in joints
    ]
    yield from html_table(head, rows)


def _row(e: Estimate) -> tuple[str, ...]:
    numbers = (e.old, e.value, e.low, e.high)
    shown = ("-" if math.isnan(n) else f"{n:.5g}" for n in numbers)
    return (e.joint, e.parameter, *shown, UNITS[e.parameter], e.evidence, e.reason)


def _overlays(curves: list[Curves]) -> Iterator[str]:
    """Positions, and below them what is left, joint by joint."""
    for k, joint in enumerate(curves[0].joints):
        time = _joined([c.time for c in curves])
        recorded, before, after = (
            _joined([getattr(c, name)[:, k] for c in curves])
            for name in ("recorded", "before", "after")
        )
        span = float(np.nanmin(time)), float(np.nanmax(time))
        lines = [
            ("before", "here", time, before),
            ("fitted", "rec", time, after),
            ("recorded", "goal", time, recorded),
        ]
        yield plot(joint, "rad or m", lines, span=span)
        left = [
            ("before", "here", time, before - recorded),
            ("fitted", "rec", time, after - recorded),
        ]
        yield plot(f"{joint}: simulated − recorded", "rad or m", left, span=span)


def _joined(parts: list[FloatArray]) -> FloatArray:
    """One after the other, with a gap between."""
    return np.concatenate([p for part in parts for p in (part, [np.nan])][:-1])


def _correlations(found: Fit) -> Iterator[str]:
    labels, matrix = found.correlations.labels, found.correlations.matrix
    if not labels:
        return
    yield "<h2>Correlation of the parameters</h2>"
    if found.correlated:
        yield "<p>Hardly told apart by this motion:</p><ul>"
        yield from (f"<li>{escape(str(pair))}</li>" for pair in found.correlated[:40])
        yield "</ul>"
    if len(labels) > MOST_CELLS:
        return
    size, count = 14, len(labels)
    left = 150
    width = left + size * count
    yield (
        f'<div class="scroll"><svg viewBox="0 0 {width} {size * count + 4}" '
        f'style="width: {width}px; max-width: none" role="img">'
    )
    for i, label in enumerate(labels):
        y = size * i
        yield f'<text x="{left - 6}" y="{y + 11}" class="y">{escape(label)}</text>'
        for j in range(count):
            value = float(matrix[i, j])
            tone = "var(--rec)" if value > 0.0 else "var(--here)"
            yield (
                f'<rect x="{left + size * j}" y="{y}" width="{size - 1}" height="{size - 1}" '
                f'fill="{tone}" fill-opacity="{abs(value):.2f}"><title>{escape(label)} · '
                f"{escape(labels[j])}: {value:+.3f}</title></rect>"
            )
    yield "</svg></div>"
