"""Report of a fit on disk: report.html for people, report.json for programs."""

import json
import math
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

import numpy as np

from mjrig.files.replacing import whole_file
from mjrig.names import how_many
from mjrig.sim2sim.report.html_page import html_page, html_table
from mjrig.sim2sim.report.plain import plain
from mjrig.sim2sim.report.report import prepare_folder
from mjrig.tuning.estimates.estimate import Estimate
from mjrig.tuning.fitting.fit import Fit
from mjrig.tuning.fitting.fit_figures import MOST_CELLS, correlation_matrix, intervals, overlays
from mjrig.tuning.fitting.fit_report import elsewhere, number, position_units, report_data
from mjrig.tuning.simulated.plant import CREEP

#: Most numbers of a curve in the data.
POINTS = 2000
#: Most pairs of correlated parameters that are listed.
LISTED = 40


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
                "units": list(c.units),
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
    known = [e for e in found.estimates if e.identifiable]
    if found.rejection:
        text = escape(found.rejection)
        yield f'<p class="bad">{text[:1].upper()}{text[1:]}.</p>'
    elif not found.converged:
        yield '<p class="bad">The search did not converge: nothing is identified.</p>'
    else:
        yield f"<p>{len(known)} of {how_many(len(found.estimates), 'parameter')} found.</p>"
    yield from _errors(found)
    yield from _parameters(found, known)
    shown = {found.rejection, *map(str, found.correlated)}
    lines = [*(note for note in found.notes if note not in shown), *elsewhere(found)]
    if lines:
        yield "<h2>Remarks</h2><ul>"
        yield from (f"<li>{escape(line)}</li>" for line in lines)
        yield "</ul>"
    yield from _motion(found)
    yield from _correlations(found)


def _errors(found: Fit) -> Iterator[str]:
    parts = [("fitted to", found.rms_before, found.rms_after)]
    if found.held_after:
        parts.append(("held out", found.held_before, found.held_after))
    if not found.rms_after:
        return
    yield "<h2>Error of the positions, root mean square</h2>"
    units = position_units(found)
    head = ["", *(f"{name}, {when}" for name, *_ in parts for when in ("before", "after")), "unit"]
    rows = [
        [j, *(f"{values[j]:.3g}" for _, old, new in parts for values in (old, new)), units[j]]
        for j in found.rms_after
    ]
    yield from html_table(head, rows, words=(len(head) - 1,))


def _parameters(found: Fit, known: Sequence[Estimate]) -> Iterator[str]:
    if known:
        rejected = "Values of the rejected model: they make up for what is wrong elsewhere"
        yield f"<h2>{rejected if found.rejection else 'Parameters'}</h2>"
        head = ("", "parameter", "was", "is", "95 % from", "to", "unit", "by")
        reasons = [e.reason for e in known]
        yield from html_table(head, [_row(e) for e in known], words=(1, 6, 7), remarks=reasons)
    rows = [
        (e.joint, e.parameter, f"{e.old:.5g}", e.unit, e.reason)
        for e in found.estimates
        if not e.identifiable
    ]
    if rows:
        yield "<h2>What could not be found</h2>"
        head = ("", "parameter", "stays", "unit", "why, and what would show it")
        yield from html_table(head, rows, words=(1, 3, 4))
    if known and not found.rejection:
        yield (
            '<h2>Intervals</h2><p class="key"><span class="key rec">fitted, with its 95 % interval'
            '</span> · <span class="dim">| the scene as it was</span></p><div class="plots">'
        )
        yield from intervals(found.estimates)
        yield "</div>"


def _row(e: Estimate) -> tuple[str, ...]:
    shown = map(number, (e.old, e.value, e.low, e.high))
    return (e.joint, e.parameter, *shown, e.unit, e.evidence)


def _motion(found: Fit) -> Iterator[str]:
    """One part for each recording: each has a time of its own."""
    for name in dict.fromkeys(c.recording for c in found.curves):
        own = [c for c in found.curves if c.recording == name]
        yield f"<h2>Motion in {escape(name)}</h2>"
        held = (
            ' · <span class="key held">held out</span>' if any(c.is_held_out for c in own) else ""
        )
        yield (
            '<p class="key"><span class="key goal">recorded (wide)</span> · <span class="key here">'
            f'scene as it was</span> · <span class="key rec">fitted</span>{held}</p>'
        )
        yield '<div class="plots">'
        yield from overlays(own)
        yield "</div>"


def _correlations(found: Fit) -> Iterator[str]:
    labels = found.correlations.labels
    if not labels:
        return
    yield "<h2>Correlation of the parameters</h2>"
    if found.correlated:
        yield "<p>Hardly told apart by this motion:</p><ul>"
        yield from (f"<li>{escape(str(pair))}</li>" for pair in found.correlated[:LISTED])
        yield "</ul>"
        if len(found.correlated) > LISTED:
            yield f"<p>and {len(found.correlated) - LISTED} more, in report.json</p>"
    if len(labels) > MOST_CELLS:
        yield f"<p>All of the {len(labels)} parameters are in report.json.</p>"
        return
    creep = any(label.startswith(f"{CREEP} ") for label in labels)
    also = "; creep: how much a joint creeps while friction holds it, found along with the others"
    yield (
        '<p><span class="key rec">blue: where one value is too large, the other is too</span> · '
        '<span class="key here">orange: the other is too small</span>; '
        f"the fuller, the closer to ±1{also if creep else ''}.</p>"
    )
    yield from correlation_matrix(found.correlations)
