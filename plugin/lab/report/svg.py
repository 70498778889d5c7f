"""Figures of reports as SVG text: curves, intervals and matrices, without dependencies."""

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.lab.report.content import Figure, Intervals, Matrix, ReportCurves, ReportInterval

#: Colours and line styles, in light and dark; of a page with figures and of a figure alone.
STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --dim: #687078; --rule: #d8dce0;
  --orange: #c2410c; --blue: #2563eb; --grey: #7c8794; --good: #15803d; --fair: #a16207;
  --bad: #b91c1c; --paper: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --dim: #9aa2aa; --rule: #3a4046;
  --orange: #fb923c; --blue: #7aa7ff; --grey: #8b949e; --good: #4ade80; --fair: #facc15;
  --bad: #f87171; --paper: #16181b; } }
svg { font: 11px system-ui, sans-serif; } svg text { fill: var(--dim); }
svg .t { fill: var(--ink); font-size: 12px; } svg .m { text-anchor: middle; }
svg .y { text-anchor: end; } svg .a { stroke: var(--dim); fill: none; }
svg .g { stroke: var(--rule); stroke-width: .5; }
svg polyline { fill: none; stroke-width: 1.4; } svg .span { fill: var(--fair); fill-opacity: .13; }
svg .blue { stroke: var(--blue); } svg .orange { stroke: var(--orange); }
svg .dashed { stroke: var(--grey); stroke-dasharray: 4 3; }
svg .wide { stroke: var(--grey); stroke-width: 4.5; stroke-opacity: .5; }
"""
WIDTH, HEIGHT = 460, 190
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 26, 30
#: Width of a letter of labels and of titles, about, and the margin at the edges [pixels].
LETTER, TITLE_LETTER, EDGE = 6.2, 6.7, 4.0
#: More points than this cannot be distinguished.
POINTS = 600


def figure_svg(figure: Figure) -> str:
    """Any figure."""
    if isinstance(figure, ReportCurves):
        return curves_svg(figure)
    return intervals_svg(figure) if isinstance(figure, Intervals) else matrix_svg(figure)


def standalone_svg(figure: Figure) -> str:
    """A figure as a file that needs no page."""
    start, rest = figure_svg(figure).split(">", 1)
    return f'{start} xmlns="http://www.w3.org/2000/svg"><style>{STYLE}</style>{rest}\n'


# Curves -------------------------------------------------------------------------------------------


def curves_svg(curves: ReportCurves) -> str:
    """Curves with axes; the name of each is shown at the pointer."""
    window, log = curves.window, curves.log
    drawn = [(one.label, one.look, *_part(one.x, one.y, window)) for one in curves.series]
    title = f"{curves.title} [{curves.unit}]" if curves.unit else curves.title
    values = [y[np.isfinite(y)] for _, _, _, y in drawn]
    if log:
        values = [y[y > 0.0] for y in values]
    flat = np.concatenate([*values, np.empty(0)])
    times = np.concatenate([*(x[np.isfinite(x)] for _, _, x, _ in drawn), np.empty(0)])
    if not len(flat) or not len(times):
        empty = f'<text x="{WIDTH / 2}" y="{HEIGHT / 2}" class="m">nothing</text>'
        return _frame(title, LEFT, [empty])
    low, high = _extent(flat, log)
    first = 0.0 if window is None and curves.x_unit == "s" else float(times.min())
    ends = first, max(float(times.max()), first + 1e-9)
    if curves.equal:
        low, high, *around = _mapped(low, high, *ends)
        ends = around[0], around[1]
    parts = [*_shades(curves.spans, ends), *_axes(low, high, ends, log, curves.x_unit)]
    for label, look, x, y in drawn:
        points = _points(x, y, low, high, ends, log)
        tip = f"<title>{escape(label)}</title>"
        parts += [f'<polyline class="{look}" points="{p}">{tip}</polyline>' for p in points]
    return _frame(title, LEFT, parts)


def _part(
    x: npt.ArrayLike, y: npt.ArrayLike, span: tuple[float, float] | None
) -> tuple[FloatArray, FloatArray]:
    times, values = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if span is not None:
        inside = ~((times < span[0]) | (times > span[1]))  # a gap has no time
        times, values = times[inside], values[inside]
    return _thinned(times, values)


def _frame(
    title: str, left: float, parts: Sequence[str], size: tuple[float, float] = (WIDTH, HEIGHT)
) -> str:
    """A figure with its title above, further left or narrower if it would not fit."""
    width, height = size
    start = max(EDGE, min(left, width - EDGE - TITLE_LETTER * len(title)))
    narrow = squeezed(title, width - EDGE - start, TITLE_LETTER)
    head = f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(title)}">'
    text = f'<text x="{start:.0f}" y="16" class="t"{narrow}>{escape(title)}</text>'
    return "".join([head, text if title else "", *parts, "</svg>"])


def squeezed(text: str, space: float, letter: float = LETTER) -> str:
    """The attribute that narrows a text to its space; empty: it fits as it is."""
    if letter * len(text) <= space:
        return ""
    return f' textLength="{space:.0f}" lengthAdjust="spacingAndGlyphs"'


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
        yield (f'<rect class="span" x="{x:.1f}" y="{TOP}" width="{width:.1f}" height="{height}"/>')


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


# Intervals ----------------------------------------------------------------------------------------


#: Colours of names that differ in light, in dark, and for the colour-blind; then they repeat.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
#: Width of a figure with several names; height of a row, and of one interval of several [pixels].
WIDER, ROW, LINE = 720, 16, 11
#: Least margin next to values, as a fraction of them: values that agree to it are drawn as one.
LEAST_MARGIN = 0.01


def intervals_svg(figure: Intervals) -> str:
    """Values with their intervals, row by row; a bar is the mark they are compared with."""
    width = WIDER if figure.names else WIDTH
    left = min(24.0 + LETTER * max(map(len, figure.rows)), 0.5 * width)
    heights = [max(ROW, LINE * len(row) + 12 * bool(figure.names)) for row in figure.rows.values()]
    top = 26 + (ROW if figure.names else 0)
    height = top + sum(heights) + 20
    low, high = figure.ends or _ends(list(figure.rows.values()))

    def across(value: float) -> float:
        fraction = (min(max(value, low), high) - low) / (high - low)
        return left + fraction * (width - 12 - left)

    parts = list(_names(figure.names, left))
    for tick in ticks(low, high):
        x, text = across(tick), f"{tick:.6g}"
        parts.append(f'<path class="g" d="M{x:.1f},{top - 4} V{height - 20}"/>')
        middle = min(x, width - 0.5 * LETTER * len(text))
        parts.append(f'<text x="{middle:.1f}" y="{height - 6}" class="m">{text}</text>')
    y = float(top)
    for (label, row), tall in zip(figure.rows.items(), heights, strict=True):
        narrow = squeezed(label, left - 12)
        place = f'x="{left - 8:.0f}" y="{y + tall / 2 + 3.5:.1f}"'
        parts.append(f'<text {place} class="y"{narrow}>{escape(label)}</text>')
        first = y + (tall - LINE * (len(row) - 1)) / 2
        for k, interval in enumerate(row):
            colour = COLOURS[k % len(COLOURS)] if figure.names else "var(--blue)"
            parts += _interval(interval, first + LINE * k, colour, across)
        y += tall
    return _frame(figure.title, left, parts, (width, height))


def _ends(rows: Sequence[Sequence[ReportInterval]]) -> tuple[float, float]:
    known = [n for row in rows for i in row for n in (i.value, i.mark)]
    known += [n for row in rows for i in row if not math.isnan(i.value) for n in (i.low, i.high)]
    ends = np.array([n for n in known if math.isfinite(n)] or [0.0])
    margin = max(0.06 * float(np.ptp(ends)), LEAST_MARGIN * float(np.abs(ends).max())) or 1.0
    return float(ends.min()) - margin, float(ends.max()) + margin


def _names(names: Sequence[str], left: float) -> Iterator[str]:
    x = left
    for k, name in enumerate(names):
        yield f'<circle cx="{x:.0f}" cy="28" r="4" fill="{COLOURS[k % len(COLOURS)]}"/>'
        yield f'<text x="{x + 8:.0f}" y="32">{escape(name)}</text>'
        x += 24 + 7 * len(name)


def _interval(
    interval: ReportInterval, y: float, colour: str, across: Callable[[float], float]
) -> Iterator[str]:
    value, mark = interval.value, interval.mark
    if not math.isnan(mark):
        yield f'<path class="a" d="M{across(mark):.1f},{y - 6:.1f} V{y + 6:.1f}"/>'
    if math.isnan(value):
        if not math.isnan(mark):
            yield f'<text x="{across(mark) + 6:.1f}" y="{y + 3.5:.1f}">not found</text>'
        return
    tip = f"<title>{escape(interval.label)}</title>"
    if math.isfinite(interval.low) and math.isfinite(interval.high):
        ends = across(interval.low), across(interval.high)
        caps = "".join(f" M{end:.1f},{y - 3:.1f} v6" for end in ends)
        line = f"M{ends[0]:.1f},{y:.1f} H{ends[1]:.1f}{caps}"
        yield f'<path d="{line}" stroke="{colour}" stroke-width="1.6" fill="none">{tip}</path>'
    yield f'<circle cx="{across(value):.1f}" cy="{y:.1f}" r="3.5" fill="{colour}">{tip}</circle>'


# Matrix -------------------------------------------------------------------------------------------


#: Up to so many rows, the cells contain their numbers; above this value, in a light colour.
NUMBERED, DARK = 14, 0.75


def matrix_svg(matrix: Matrix) -> str:
    """One cell per pair: blue if the value is positive, orange if it is negative."""
    names, count = matrix.labels, len(matrix.labels)
    size = 30 if count <= NUMBERED else 14
    edge = round(12 + LETTER * max(map(len, names)))
    width = edge + size * count + 4
    style = f'style="width: {width}px; max-width: none"'
    parts = [f'<svg viewBox="0 0 {width} {width}" {style} role="img">']
    for row in range(count):
        middle, name = edge + size * row + size / 2 + 4, escape(names[row])
        parts.append(f'<text x="{edge - 6}" y="{middle:.0f}" class="y">{name}</text>')
        turn = f"translate({middle:.0f} {edge - 6}) rotate(-90)"
        parts.append(f'<text transform="{turn}">{name}</text>')
        for column in range(count):
            pair = f"{names[row]} · {names[column]}"
            place = edge + size * column, edge + size * row
            value = float(matrix.values[row, column])
            parts += _cell(*place, size, value, pair, is_numbered=count <= NUMBERED)
    return "".join([*parts, "</svg>"])


def _cell(
    x: int, y: int, size: int, value: float, names: str, *, is_numbered: bool
) -> Iterator[str]:
    colour = "var(--blue)" if value > 0.0 else "var(--orange)"
    yield (
        f'<rect x="{x}" y="{y}" width="{size - 1}" height="{size - 1}" fill="{colour}" '
        f'fill-opacity="{abs(value):.2f}"><title>{escape(names)}: {value:+.3f}</title></rect>'
    )
    if is_numbered and abs(value) >= 0.005:
        shade = "paper" if abs(value) > DARK else "ink"
        text = f"{value:.2f}".replace("0.", ".").replace("1.00", "1")
        place = f'x="{x + size / 2}" y="{y + size / 2 + 4}"'
        yield f'<text {place} class="m" style="fill: var(--{shade})">{text}</text>'
