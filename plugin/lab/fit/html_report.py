"""Report of a fit on disk: report.html with figures for people, report.json for programs."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.files.atomic_writes import whole_file
from mjrig.core.names import how_many
from mjrig.lab.fit.estimates import Correlations, Curves, Estimate
from mjrig.lab.fit.identification import Fit
from mjrig.lab.fit.plant import CREEP
from mjrig.lab.fit.report import elsewhere, number, position_units, report_data
from mjrig.lab.replay.report import prepare_folder
from mjrig.lab.report.html_page import html_page, html_table
from mjrig.lab.report.output import plain
from mjrig.lab.report.svg import LETTER, WIDTH, heading, plot, squeezed, ticks

# Fit figures --------------------------------------------------------------------------------------
# Figures of a fit as SVG text: motion and what is left of it, intervals, correlations.


#: What is left after a fit is drawn this many times larger at most, in powers of ten.
MOST_MAGNIFIED = 3
#: Correlations of more parameters than this are shown as a list only.
MOST_CELLS = 90
#: Up to so many, the cells hold their numbers.
NUMBERED = 14
#: Least room beside values, as a share of them.
LEAST_ROOM = 0.01
#: Height of a row of intervals [pixels].
ROW = 16
#: Correlations above this are dark enough for light numbers.
DARK = 0.75


# Motion -----------------------------------------------------------------------------------------


def overlays(curves: Sequence[Curves]) -> Iterator[str]:
    """Positions in a recording, and beside them what is left, joint by joint; shaded: held out."""
    curves = sorted(curves, key=lambda c: float(c.time[0]))
    time = _joined(c.time for c in curves)
    span = float(np.nanmin(time)), float(np.nanmax(time))
    held = [(float(c.time[0]), float(c.time[-1])) for c in curves if c.is_held_out]
    for k, (joint, unit) in enumerate(zip(curves[0].joints, curves[0].units, strict=True)):
        recorded, before, after = (
            _joined(getattr(c, name)[:, k] for c in curves)
            for name in ("recorded", "before", "after")
        )
        lines = [
            ("recorded", "wide", time, recorded),
            ("scene as it was", "here", time, before),
            ("fitted", "rec", time, after),
        ]
        yield plot(joint, unit, lines, span=span, shaded=held)
        old, new = before - recorded, after - recorded
        times = magnified(old, new)
        label = "fitted" if times == 1 else f"fitted, ×{times}"
        lines = [(label, "rec", time, times * new), ("scene as it was", "here", time, old)]
        said = "" if times == 1 else f" (fitted: ×{times})"
        yield plot(f"{joint}: simulated − recorded{said}", unit, lines, span=span, shaded=held)


def magnified(before: FloatArray, after: FloatArray) -> int:
    """The power of ten that makes what is left as visible as what was."""
    old, new = (float(np.nanmax(np.abs(x))) for x in (before, after))
    if not 0.0 < new < old:
        return 1
    return int(10 ** min(math.floor(math.log10(old / new)), MOST_MAGNIFIED))


def _joined(parts: Iterable[FloatArray]) -> FloatArray:
    """One after the other, with a gap between."""
    return np.concatenate([p for part in parts for p in (part, [np.nan])][:-1])


# Intervals --------------------------------------------------------------------------------------


def intervals(estimates: Sequence[Estimate]) -> Iterator[str]:
    """Values with their intervals beside the scene's, one figure per parameter and unit."""
    groups: dict[tuple[str, str], list[Estimate]] = {}
    for e in estimates:
        groups.setdefault((e.parameter, e.unit), []).append(e)
    for (name, unit), own in groups.items():
        if any(e.identifiable for e in own):
            yield _interval_figure(f"{name} [{unit}]" if unit else name, own)


def _interval_figure(title: str, own: Sequence[Estimate]) -> str:
    left = min(24.0 + LETTER * max(len(e.joint) for e in own), 0.5 * WIDTH)
    height = 26 + ROW * len(own) + 20
    known = [n for e in own if e.identifiable for n in (e.low, e.high, e.value)]
    ends = np.array([n for n in [*known, *(e.old for e in own)] if math.isfinite(n)])
    # Values that agree to a hundredth are one place.
    room = max(0.06 * float(np.ptp(ends)), LEAST_ROOM * float(np.abs(ends).max())) or 1.0
    low, high = float(ends.min()) - room, float(ends.max()) + room

    def across(value: float) -> float:
        share = (min(max(value, low), high) - low) / (high - low)
        return left + share * (WIDTH - 12 - left)

    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f"{heading(title, left)}"
    ]
    for tick in ticks(low, high):
        x = across(tick)
        parts.append(f'<path class="g" d="M{x:.1f},22 V{height - 20}"/>')
        text = f"{tick:.6g}"
        middle = min(x, WIDTH - 0.5 * LETTER * len(text))
        parts.append(f'<text x="{middle:.1f}" y="{height - 6}" class="m">{text}</text>')
    for i, e in enumerate(own):
        parts += _interval_row(e, 26 + ROW * i + ROW / 2, left, across)
    return "".join([*parts, "</svg>"])


def _interval_row(e: Estimate, y: float, left: float, across: object) -> Iterator[str]:
    assert callable(across)
    name, old = escape(e.joint), across(e.old)
    narrow = squeezed(e.joint, left - 12)
    yield f'<text x="{left - 8:.0f}" y="{y + 3.5:.1f}" class="y"{narrow}>{name}</text>'
    yield f'<path class="a" d="M{old:.1f},{y - 6:.1f} V{y + 6:.1f}"/>'
    if not e.identifiable:
        yield f'<text x="{old + 6:.1f}" y="{y + 3.5:.1f}">not found</text>'
        return
    if math.isfinite(e.low) and math.isfinite(e.high):
        yield f'<path class="rec" d="M{across(e.low):.1f},{y:.1f} H{across(e.high):.1f}"/>'
        for end in (e.low, e.high):
            yield f'<path class="rec" d="M{across(end):.1f},{y - 3:.1f} v6"/>'
    tip = f"{name}: {e.value:.5g}, 95 % from {e.low:.5g} to {e.high:.5g}, was {e.old:.5g}"
    yield f'<circle cx="{across(e.value):.1f}" cy="{y:.1f}" r="3" class="dot">'
    yield f"<title>{tip}</title></circle>"


# Correlations -----------------------------------------------------------------------------------


def correlation_matrix(found: Correlations) -> Iterator[str]:
    """One cell per pair, joint by joint; nothing if there are too many."""
    names = [" ".join(reversed(label.split(" ", 1))) for label in found.labels]
    places = {joint: i for i, joint in enumerate(dict.fromkeys(map(_joint, found.labels)))}
    order = sorted(range(len(names)), key=lambda i: places[_joint(found.labels[i])])
    count = len(order)
    if not 0 < count <= MOST_CELLS:
        return
    size = 30 if count <= NUMBERED else 14
    edge = round(12 + LETTER * max(map(len, names)))
    width = edge + size * count + 4
    yield (
        f'<div class="scroll"><svg viewBox="0 0 {width} {width}" '
        f'style="width: {width}px; max-width: none" role="img">'
    )
    for row, i in enumerate(order):
        middle = edge + size * row + size / 2 + 4
        yield f'<text x="{edge - 6}" y="{middle:.0f}" class="y">{escape(names[i])}</text>'
        turn = f"translate({middle:.0f} {edge - 6}) rotate(-90)"
        yield f'<text transform="{turn}">{escape(names[i])}</text>'
        for column, j in enumerate(order):
            value = float(found.matrix[i, j])
            yield from _cell(edge + size * column, edge + size * row, size, value,
                             f"{names[i]} · {names[j]}", is_numbered=count <= NUMBERED)  # fmt: skip
    yield "</svg></div>"


def _joint(label: str) -> str:
    return label.split(" ", 1)[-1]


def _cell(
    x: int, y: int, size: int, value: float, names: str, *, is_numbered: bool
) -> Iterator[str]:
    tone = "var(--rec)" if value > 0.0 else "var(--here)"
    yield (
        f'<rect x="{x}" y="{y}" width="{size - 1}" height="{size - 1}" fill="{tone}" '
        f'fill-opacity="{abs(value):.2f}"><title>{escape(names)}: {value:+.3f}</title></rect>'
    )
    if is_numbered and abs(value) >= 0.005:
        shade = "paper" if abs(value) > DARK else "ink"
        text = f"{value:.2f}".replace("0.", ".").replace("1.00", "1")
        place = f'x="{x + size / 2}" y="{y + size / 2 + 4}"'
        yield f'<text {place} class="m" style="fill: var(--{shade})">{text}</text>'


# Fit page -----------------------------------------------------------------------------------------
# Report of a fit on disk: report.html for people, report.json for programs.


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
