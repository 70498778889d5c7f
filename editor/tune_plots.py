"""The pictures of the Tune panel: Bode plots, a heat map, parallel coordinates."""

from collections.abc import Sequence

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui, implot

from mjrig.editor.colours import GREY, RED
from mjrig.property_kinds import FloatArray
from mjrig.tuning.frequency import FrequencyResponse
from mjrig.tuning.respond import JointResponse
from mjrig.tuning.results import Ranked
from mjrig.tuning.results_plot import Axis, Heat, short, worked

#: At most this many joints, and points of a sweep, are drawn.
JOINTS, POINTS = 8, 200
_NO_LEGEND = implot.Flags_.no_legend
_CIRCLE = implot.Marker_.circle
_PLAIN = int(implot.Flags_.no_title | implot.Flags_.no_menus)
_FIT = int(implot.AxisFlags_.auto_fit)
_BARE = int(implot.AxisFlags_.no_grid_lines | implot.AxisFlags_.no_tick_marks)


def bode(found: Sequence[JointResponse], height: float) -> None:
    """Gain and phase over frequency: what was measured, and faint the linear response.

    The i-th joint has the colour `joint_colour(i)`; side by side where there is more width.
    """
    shown = drawn(found)
    shape = (1, 2) if imgui.get_content_region_avail().x > 1.6 * height else (2, 1)
    flags = int(implot.SubplotFlags_.link_all_x | implot.SubplotFlags_.no_menus)
    if not shown or not implot.begin_subplots("##bode", *shape, ImVec2(-1, height), flags):
        return
    for name, unit in (("gain", "dB"), ("phase", "°")):
        if not implot.begin_plot(f"##{name}", ImVec2(-1, -1), _PLAIN | int(_NO_LEGEND)):
            continue
        implot.setup_axes("Hz", f"{name} [{unit}]", _FIT, _FIT)
        implot.setup_axis_scale(implot.ImAxis_.x1, implot.Scale_.log10)
        for i, one in enumerate(shown):
            colour = joint_colour(i)
            label = one.response.actuator
            if one.linear is not None:
                faint = ImVec4(colour.x, colour.y, colour.z, 0.45)
                _line(f"##linear {label}" if one.measured else label, name, one.linear, faint)
            if one.measured is not None:
                _line(label, name, one.measured, colour)
        implot.end_plot()
    implot.end_subplots()


def over_time(found: Sequence[JointResponse], height: float) -> None:
    """How far the joints moved, and grey how far they should have."""
    if not implot.begin_plot("##time", ImVec2(-1, height), _PLAIN | int(_NO_LEGEND)):
        return
    implot.setup_axes("t [s]", "moved [rad or m]", _FIT, _FIT)
    for i, one in enumerate(drawn(found)):
        trace, label = one.response.trace, one.response.actuator
        if trace is not None:
            _points(f"##target {label}", trace.time, trace.target - trace.start, GREY, 1.0)
            _points(label, trace.time, trace.position - trace.start, joint_colour(i), 1.0)
    implot.end_plot()


def drawn(found: Sequence[JointResponse]) -> list[JointResponse]:
    """The joints that were tested, as many as are drawn."""
    return [one for one in found if one.response.trace is not None][:JOINTS]


def joint_colour(i: int) -> ImVec4:
    """The colour of a joint's curves."""
    return implot.get_colormap_color(i)


def _line(label: str, name: str, response: FrequencyResponse, colour: ImVec4) -> None:
    spec = implot.Spec()
    spec.line_color = colour
    if len(response.frequency) == 1:  # a sine
        spec.marker = implot.Marker_.circle
        spec.marker_fill_color = colour
    values = 20.0 * np.log10(np.maximum(response.gain, 1e-9)) if name == "gain" else response.phase
    implot.plot_line(label, response.frequency, np.ascontiguousarray(values), spec)


def heat_map(heat: Heat, height: float) -> None:
    """The objective over two parameters; a ring marks the best."""
    low, high = float(np.nanmin(heat.grid)), float(np.nanmax(heat.grid))
    implot.push_colormap(implot.Colormap_.viridis)
    if implot.begin_plot("##heat", ImVec2(-70, height), _PLAIN | int(implot.Flags_.no_legend)):
        names = [short(n).replace("\n", ".") for n in heat.names[:2]]
        implot.setup_axes(names[0], names[1], _BARE, _BARE)
        implot.setup_axes_limits(0.0, heat.x.cells, 0.0, heat.y.cells, imgui.Cond_.always)
        for side, axis in ((implot.ImAxis_.x1, heat.x), (implot.ImAxis_.y1, heat.y)):
            ticks, labels = _ticks(axis)
            implot.setup_axis_ticks(side, ticks, labels)
        rows = np.ascontiguousarray(heat.grid[::-1])  # the first row is drawn on top
        # A cell without a point is drawn like the worst: nothing good is known of it.
        values = np.where(np.isnan(rows), high, rows)
        corners = implot.Point(0, 0), implot.Point(heat.x.cells, heat.y.cells)
        implot.plot_heatmap("##cells", values, low, high if high > low else low + 1.0, "", *corners)
        ring = implot.Spec()
        ring.marker, ring.marker_size = implot.Marker_.circle, 8.0
        ring.marker_fill_color, ring.marker_line_color = ImVec4(0, 0, 0, 0), RED
        ring.line_weight = 2.0
        column, row = heat.best
        implot.plot_scatter("##best", np.array([column + 0.5]), np.array([row + 0.5]), ring)
        implot.end_plot()
    imgui.same_line()
    implot.colormap_scale("##scale", low, high, ImVec2(60, height), "%.3g")
    implot.pop_colormap()


def _ticks(axis: Axis) -> tuple[list[float], list[str]]:
    """At most eight names, in the middle of their cells."""
    every = max(1, -(-axis.cells // 8))
    places = range(0, axis.cells, every)
    return [i + 0.5 for i in places], [axis.labels[i] for i in places]


def parallel(
    ranking: Sequence[Ranked], names: Sequence[str], objective: str, picked: int, height: float
) -> None:
    """One line per point through its values and its objective; the picked one in front."""
    shown = worked(ranking)[:POINTS]
    columns = [[r.values[n] for r in shown] for n in names] + [[r.score for r in shown]]
    heights = np.column_stack([Axis(values).heights for values in columns])
    places: FloatArray = np.arange(len(columns), dtype=float)
    if not implot.begin_plot("##parallel", ImVec2(-1, height), _PLAIN | int(_NO_LEGEND)):
        return
    bare = int(implot.AxisFlags_.no_decorations)
    implot.setup_axes("", "", 0, bare)
    implot.setup_axes_limits(-0.1, len(columns) - 0.7, -0.08, 1.08, imgui.Cond_.always)
    labels = [short(n).replace("\n", ".") for n in names]
    implot.setup_axis_ticks(implot.ImAxis_.x1, list(map(float, places)), [*labels, objective])
    implot.push_colormap(implot.Colormap_.viridis)
    for i in reversed(range(len(shown))):  # the best are drawn last
        if i != picked:
            colour = implot.sample_colormap(0.95 * i / max(1, len(shown) - 1))
            _points(f"##{i}", places, heights[i], colour, 1.0)
    implot.pop_colormap()
    if picked < len(shown):
        _points("##picked", places, heights[picked], RED, 2.5)
    for x, values in enumerate(columns):
        for text, y in Axis(values).marks:
            implot.plot_text(text, float(x), y, ImVec2(18, 0))
    implot.end_plot()


def curve(ranking: Sequence[Ranked], name: str, objective: str, height: float) -> None:
    """The objective over the one parameter there is."""
    shown = worked(ranking)
    try:
        x = np.array([float(r.values[name]) for r in shown])
    except (TypeError, ValueError):  # words, lists
        return
    order = np.argsort(x)
    y = np.array([r.score for r in shown])
    if implot.begin_plot("##curve", ImVec2(-1, height), _PLAIN | int(_NO_LEGEND)):
        implot.setup_axes(short(name).replace("\n", "."), objective, _FIT, _FIT)
        _points("##line", x[order], y[order], implot.get_colormap_color(0), 1.5)
        spec = implot.Spec()
        spec.marker, spec.marker_fill_color, spec.marker_line_color = _CIRCLE, GREY, GREY
        implot.plot_scatter("##points", x[order], y[order], spec)
        implot.end_plot()


def _points(label: str, x: FloatArray, y: FloatArray, colour: ImVec4, weight: float) -> None:
    spec = implot.Spec()
    spec.line_color, spec.line_weight = colour, weight
    implot.plot_line(label, np.ascontiguousarray(x), np.ascontiguousarray(y), spec)
