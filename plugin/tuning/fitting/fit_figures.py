"""Figures of a fit as SVG text: motion and what is left of it, intervals, correlations."""

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.sim2sim.report.svg import LETTER, WIDTH, heading, plot, squeezed, ticks
from mjrig.tuning.estimates.estimate import Correlations, Curves, Estimate

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
