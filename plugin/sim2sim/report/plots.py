"""Plots of a replay: errors, the base's path and speed, and the joints that matter."""

from collections.abc import Iterator

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.sim2sim.compare.comparison import BaseCurves, Comparison, Curve
from mjrig.sim2sim.compare.result import Replay
from mjrig.sim2sim.compare.track import yaw
from mjrig.sim2sim.report.svg import plot

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
