"""Plots as SVG text: lines over time, with axes, without dependencies."""

import math
from collections.abc import Iterator, Sequence
from html import escape

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray

WIDTH, HEIGHT = 460, 190
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 26, 30
#: Width of a letter of labels and of titles, about, and what is kept free at the edges [pixels].
LETTER, TITLE_LETTER, EDGE = 6.2, 6.7, 4.0
#: More points than this cannot be distinguished.
POINTS = 600
Line = tuple[str, str, npt.ArrayLike, npt.ArrayLike]


def plot(
    title: str,
    unit: str,
    lines: Sequence[Line],
    *,
    log: bool = False,
    span: tuple[float, float] | None = None,
    across: str = "s",
    equal: bool = False,
    shaded: Sequence[tuple[float, float]] = (),
) -> str:
    """One figure: lines of (label, CSS class, x, y).

    Args:
        title: what is drawn.
        unit: of y.
        lines: curves, each with a name that is shown at the pointer.
        log: decades upwards.
        span: part of x that is shown; None: from 0, or all of it if x is not time.
        across: unit of x.
        equal: one scale for both axes, as on a map.
        shaded: parts of x with another background.
    """
    drawn = [(label, style, *_part(x, y, span)) for label, style, x, y in lines]
    values = [y[np.isfinite(y)] for _, _, _, y in drawn]
    if log:
        values = [y[y > 0.0] for y in values]
    flat = np.concatenate([*values, np.empty(0)])
    times = np.concatenate([*(x[np.isfinite(x)] for _, _, x, _ in drawn), np.empty(0)])
    if not len(flat) or not len(times):
        return _frame(title, [f'<text x="{WIDTH / 2}" y="{HEIGHT / 2}" class="m">nothing</text>'])
    low, high = _extent(flat, log)
    first = 0.0 if span is None and across == "s" else float(times.min())
    ends = first, max(float(times.max()), first + 1e-9)
    if equal:
        low, high, *around = _mapped(low, high, *ends)
        ends = around[0], around[1]
    parts = [*_shades(shaded, ends), *_axes(low, high, ends, log, across)]
    for label, style, x, y in drawn:
        points = _points(x, y, low, high, ends, log)
        tip = f"<title>{escape(label)}</title>"
        parts += [f'<polyline class="{style}" points="{p}">{tip}</polyline>' for p in points]
    return _frame(f"{title} [{unit}]", parts)


def _part(
    x: npt.ArrayLike, y: npt.ArrayLike, span: tuple[float, float] | None
) -> tuple[FloatArray, FloatArray]:
    times, values = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if span is not None:
        inside = ~((times < span[0]) | (times > span[1]))  # a gap has no time
        times, values = times[inside], values[inside]
    return _thinned(times, values)


def _frame(title: str, parts: Sequence[str]) -> str:
    head = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
    return "".join([head, heading(title, LEFT), *parts, "</svg>"])


def heading(title: str, left: float) -> str:
    """The title above a figure, further left or narrower where it would not fit."""
    start = max(EDGE, min(left, WIDTH - EDGE - TITLE_LETTER * len(title)))
    narrow = squeezed(title, WIDTH - EDGE - start, TITLE_LETTER)
    return f'<text x="{start:.0f}" y="16" class="t"{narrow}>{escape(title)}</text>'


def squeezed(text: str, room: float, letter: float = LETTER) -> str:
    """What makes a text as narrow as its room; nothing: it fits as it is."""
    if letter * len(text) <= room:
        return ""
    return f' textLength="{room:.0f}" lengthAdjust="spacingAndGlyphs"'


def _thinned(times: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The lowest and the highest of neighbouring points, so that peaks and gaps stay."""
    every = 2 * math.ceil(len(times) / POINTS)
    if every <= 2:
        return times, values
    kept: list[int] = []
    for first in range(0, len(values), every):
        part = values[first : first + every]
        gaps = np.flatnonzero(~np.isfinite(part))
        ends = [] if len(gaps) == len(part) else [int(np.nanargmin(part)), int(np.nanargmax(part))]
        kept += sorted({first + k for k in (*ends, *gaps[:1].tolist())})
    return times[kept], values[kept]


def _shades(shaded: Sequence[tuple[float, float]], ends: tuple[float, float]) -> Iterator[str]:
    scale = (WIDTH - LEFT - RIGHT) / (ends[1] - ends[0])
    for low, high in shaded:
        x, width = LEFT + (low - ends[0]) * scale, (high - low) * scale
        height = HEIGHT - TOP - BOTTOM
        yield (f'<rect class="shade" x="{x:.1f}" y="{TOP}" width="{width:.1f}" height="{height}"/>')


def _extent(values: FloatArray, log: bool) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    if log:
        low, high = math.floor(math.log10(low)), math.ceil(math.log10(high))
        return float(low), float(max(high, low + 1))
    room = 0.05 * (high - low) or max(abs(high), 1.0) * 0.05
    return low - room, high + room


def _mapped(low: float, high: float, left: float, right: float) -> tuple[float, ...]:
    """Both ranges, the one that is too short for one scale widened on both sides."""
    wide, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    scale = max((right - left) / wide, (high - low) / tall)
    x, y = (left + right) / 2, (low + high) / 2
    across, up = scale * wide / 2, scale * tall / 2
    return y - up, y + up, x - across, x + across


def _points(
    x: FloatArray,
    y: FloatArray,
    low: float,
    high: float,
    ends: tuple[float, float],
    log: bool,
) -> list[str]:
    """Points in pixels, a new line after every gap."""
    with np.errstate(divide="ignore", invalid="ignore"):
        v = np.log10(y) if log else y
    px = LEFT + (x - ends[0]) / (ends[1] - ends[0]) * (WIDTH - LEFT - RIGHT)
    py = HEIGHT - BOTTOM - (v - low) / (high - low) * (HEIGHT - TOP - BOTTOM)
    found: list[list[str]] = [[]]
    for a, b in zip(px, py, strict=True):
        if math.isfinite(a + b):
            found[-1].append(f"{a:.1f},{b:.1f}")
        elif found[-1]:
            found.append([])
    return [" ".join(points) for points in found if points]


def _axes(low: float, high: float, ends: tuple[float, float], log: bool, across: str) -> list[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = [f'<path class="a" d="M{LEFT},{TOP} V{bottom} H{right}"/>']
    marks = range(int(low), int(high) + 1) if log else ticks(low, high)
    stride = max(1, math.ceil(len(marks) / 6))
    for tick in list(marks)[::stride]:
        y = bottom - (tick - low) / (high - low) * (bottom - TOP)
        text = f"1e{tick}" if log else f"{tick:.6g}"
        parts.append(f'<path class="g" d="M{LEFT},{y:.1f} H{right}"/>')
        parts.append(f'<text x="{LEFT - 5}" y="{y + 3.5:.1f}" class="y">{text}</text>')
    for tick in ticks(*ends):
        x = LEFT + (tick - ends[0]) / (ends[1] - ends[0]) * (right - LEFT)
        parts.append(f'<text x="{x:.1f}" y="{bottom + 14}" class="m">{tick:.6g}</text>')
    parts.append(f'<text x="{right}" y="{HEIGHT - 4}" class="y">{escape(across)}</text>')
    return parts


def ticks(low: float, high: float) -> list[float]:
    """About four round numbers between two."""
    span = high - low
    step = 10.0 ** math.floor(math.log10(span / 4.0))
    step *= next(f for f in (1.0, 2.0, 5.0, 10.0) if span / (step * f) <= 6.0)
    first = math.ceil(low / step)
    return [k * step for k in range(first, math.floor(high / step) + 1)]
