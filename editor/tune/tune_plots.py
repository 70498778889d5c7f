"""Plots of the Tune panel: responses over time and frequency, fits, sweeps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui, implot

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import MjrigError
from mjrig.editor.text import tr
from mjrig.editor.ui.colours import GREY, RED
from mjrig.editor.ui.layout import px, size
from mjrig.editor.ui.report_view import FIT, LEGEND, PLOT
from mjrig.lab.fit.identification import Fit
from mjrig.lab.fit.report import effort_units, motions, position_units
from mjrig.lab.report.content import ReportCurves
from mjrig.lab.responses.frequency_response import FrequencyResponse
from mjrig.lab.responses.joint_response import JointResponse
from mjrig.lab.rollouts.results import Ranked
from mjrig.lab.sweep.results_plot import Heat, PlotAxis, short, worked

# Tune plots ---------------------------------------------------------------------------------------
# Response plots: over time, and over frequency as a Bode plot.


#: At most this many joints are drawn.
JOINTS = 8
PLAIN = int(implot.Flags_.no_title | implot.Flags_.no_menus | implot.Flags_.no_legend)


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
        if not implot.begin_plot(f"##{name}", ImVec2(-1, -1), PLAIN):
            continue
        implot.setup_axes("f [Hz]", f"{name} [{unit}]", FIT, FIT)
        implot.setup_axis_scale(implot.ImAxis_.x1, implot.Scale_.log10)
        for i, one in enumerate(shown):
            colour = joint_colour(i)
            label = one.response.actuator
            if one.linear is not None:
                faint = ImVec4(colour.x, colour.y, colour.z, 0.45)
                _curve(f"##linear {label}" if one.measured else label, name, one.linear, faint)
            if one.measured is not None:
                _curve(label, name, one.measured, colour)
        implot.end_plot()
    implot.end_subplots()


def over_time(found: Sequence[JointResponse], height: float) -> None:
    """How far the joints moved, and grey how far they should have."""
    if not implot.begin_plot("##time", ImVec2(-1, height), PLAIN):
        return
    implot.setup_axes("t [s]", tr("moved [rad or m]"), FIT, FIT)
    for i, one in enumerate(drawn(found)):
        trace, label = one.response.trace, one.response.actuator
        if trace is not None:
            line(f"##target {label}", trace.time, trace.target - trace.start, GREY, 1.0)
            line(label, trace.time, trace.position - trace.start, joint_colour(i), 1.0)
    implot.end_plot()


def drawn(found: Sequence[JointResponse]) -> list[JointResponse]:
    """The joints that were tested, as many as are drawn."""
    return [one for one in found if one.response.trace is not None][:JOINTS]


def joint_colour(i: int) -> ImVec4:
    """The colour of a joint's curves."""
    return implot.get_colormap_color(i)


def _curve(label: str, name: str, response: FrequencyResponse, colour: ImVec4) -> None:
    spec = implot.Spec()
    spec.line_color = colour
    if len(response.frequency) == 1:  # a sine
        spec.marker = implot.Marker_.circle
        spec.marker_fill_color = colour
    values = 20.0 * np.log10(np.maximum(response.gain, 1e-9)) if name == "gain" else response.phase
    implot.plot_line(label, response.frequency, np.ascontiguousarray(values), spec)


def line(label: str, x: FloatArray, y: FloatArray, colour: ImVec4, weight: float) -> None:
    """A curve in a colour."""
    spec = implot.Spec()
    spec.line_color, spec.line_weight = colour, weight
    implot.plot_line(label, np.ascontiguousarray(x), np.ascontiguousarray(y), spec)


# Tune fit plots -----------------------------------------------------------------------------------
# Plots of a fit: the motion of a joint, and the error of every joint, before and after.


#: Width of a bar, as a share of the room of a joint.
_BAR = 0.35
#: Lines of text that legend, axis and margins take.
_AROUND = 8


class FitErrors(NamedTuple):
    """One measure of how far a model is from what was recorded, by joint."""

    name: str
    unit: str
    before: Mapping[str, float]
    after: Mapping[str, float]


def fit_errors(fit: Fit) -> list[FitErrors]:
    """The measures that a fit has; each is a plot of its own."""
    found = [
        FitErrors(tr("motion"), _all(position_units(fit)), fit.rms_before, fit.rms_after),
        FitErrors(tr("held out"), _all(position_units(fit)), fit.held_before, fit.held_after),
        FitErrors(tr("efforts"), _all(effort_units(fit)), fit.effort_before, fit.effort_after),
    ]
    return [errors for errors in found if errors.after]


def _all(units: Mapping[str, str]) -> str:
    return ", ".join(dict.fromkeys(units.values()))


def overlays(fit: Fit) -> list[ReportCurves]:
    """Every joint in every recording, those first that were furthest off."""
    names = list(dict.fromkeys(c.recording for c in fit.curves))
    figures = []
    for name in names:
        for motion in motions([c for c in fit.curves if c.recording == name]):
            title = motion.title if len(names) == 1 else f"{motion.title}, {name}"
            figures.append(replace(motion, title=title))
    return sorted(figures, key=_mean_square_error, reverse=True)


def _mean_square_error(motion: ReportCurves) -> float:
    """Of the scene before the fit."""
    recorded, before, _ = (np.asarray(one.y, float) for one in motion.series)
    return float(np.nanmean((before - recorded) ** 2))


def draw_fit(fit: Fit, height: float) -> None:
    """The error of every joint, grey before and coloured after, one plot per measure."""
    found = fit_errors(fit)
    for i, errors in enumerate(found):
        if i:
            imgui.same_line()
        room = imgui.get_content_region_avail().x / (len(found) - i)
        spacing = imgui.get_style().item_spacing.x if i + 1 < len(found) else 0.0
        # Names lie below each other: side by side they would lie on each other.
        rows = imgui.get_text_line_height() * (len(errors.after) + _AROUND)
        _bars(errors, ImVec2(room - spacing, max(height, rows)), joint_colour(i))


def _bars(errors: FitErrors, size: ImVec2, colour: ImVec4) -> None:
    joints = list(errors.after)
    if not implot.begin_plot(f"##fit {errors.name}", size, PLOT):
        return
    places = np.arange(len(joints), dtype=np.float64)
    label = tr("rms error, {what} [{unit}]", what=errors.name, unit=errors.unit)
    down = int(implot.AxisFlags_.no_highlight | implot.AxisFlags_.invert)
    implot.setup_axes(label, "", FIT, down)
    ends = -0.6, len(joints) - 0.4
    implot.setup_axis_limits(implot.ImAxis_.y1, *ends, int(implot.Cond_.always))
    implot.setup_axis_ticks(implot.ImAxis_.y1, places.tolist(), joints, False)
    implot.setup_legend(implot.Location_.north, LEGEND)
    for name, values, offset, shade in (
        (tr("before"), errors.before, -0.5 * _BAR, GREY),
        (tr("after"), errors.after, 0.5 * _BAR, colour),
    ):
        spec = implot.Spec()
        spec.fill_color, spec.line_color = shade, shade
        spec.flags = int(implot.BarsFlags_.horizontal)
        lengths = np.array([values.get(joint, np.nan) for joint in joints])
        implot.plot_bars(name, lengths, places + offset, _BAR, spec)
    implot.end_plot()


# Tune sweep plots ---------------------------------------------------------------------------------
# Plots of a sweep: a heat map, parallel coordinates.


#: At most so many lines of parallel coordinates are drawn, and names beside an axis.
LINES, NAMES = 200, 8
_BARE = int(implot.AxisFlags_.no_grid_lines | implot.AxisFlags_.no_tick_marks)
Marks = list[tuple[str, float]]


@dataclass(frozen=True)
class SweepPicture:
    """What is drawn of a sweep, worked out once.

    Attributes:
        labels: labels of the parameters and of the objective.
        heights: (points, labels) heights in parallel coordinates, best point first.
        marks: texts and heights beside each of those axes.
        heat: the heat map; None: see `why_no_heat`.
    """

    labels: tuple[str, ...]
    heights: FloatArray
    marks: tuple[Marks, ...]
    heat: Heat | None
    why_no_heat: str = ""

    @classmethod
    def of(cls, ranking: Sequence[Ranked], names: Sequence[str], objective: str) -> "SweepPicture":
        """Work it out.

        Raises:
            MjrigError: every point failed.
        """
        all_points = worked(ranking)
        shown = all_points[:LINES]
        columns = [[r.values[n] for r in shown] for n in names] + [[r.score for r in shown]]
        axes = [PlotAxis(values) for values in columns]
        labels = (*(short(n).replace("\n", ".") for n in names), objective)
        try:
            heat, why = Heat.of(all_points, names), ""
        except MjrigError as error:
            heat, why = None, str(error)
        heights = np.column_stack([axis.heights for axis in axes])
        marks = tuple(axis.marks for axis in axes)
        return cls(labels, heights, marks, heat, why)


def draw_sweep(picture: SweepPicture, picked: int, height: float) -> None:
    """Draw it: a choice of two pictures."""
    if not imgui.begin_tab_bar("pictures"):
        return
    if imgui.begin_tab_item(tr("heat map"))[0]:
        if picture.heat is not None:
            _draw_heat(picture.heat, height)
        else:
            imgui.text_disabled(picture.why_no_heat)
        imgui.end_tab_item()
    if imgui.begin_tab_item(tr("parallel coordinates"))[0]:
        _draw_parallel(picture, picked, height)
        imgui.end_tab_item()
    imgui.end_tab_bar()


def _draw_heat(heat: Heat, height: float) -> None:
    """The objective over two parameters; a ring marks the best."""
    low, high = float(np.nanmin(heat.grid)), float(np.nanmax(heat.grid))
    implot.push_colormap(implot.Colormap_.viridis)
    if implot.begin_plot("##heat", ImVec2(px(-70), height), PLAIN):
        names = [short(n).replace("\n", ".") for n in heat.names[:2]]
        implot.setup_axes(names[0], names[1], _BARE, _BARE)
        implot.setup_axes_limits(0.0, heat.x.cells, 0.0, heat.y.cells, imgui.Cond_.always)
        for side, axis in ((implot.ImAxis_.x1, heat.x), (implot.ImAxis_.y1, heat.y)):
            implot.setup_axis_ticks(side, *_ticks(axis))
        # The first row is drawn on top. A cell without a point is drawn like the worst.
        cells = np.ascontiguousarray(np.nan_to_num(heat.grid[::-1], nan=high))
        corners = implot.Point(0, 0), implot.Point(heat.x.cells, heat.y.cells)
        implot.plot_heatmap("##cells", cells, low, high if high > low else low + 1.0, "", *corners)
        _ring(*heat.best)
        implot.end_plot()
    imgui.same_line()
    implot.colormap_scale("##scale", low, high, ImVec2(px(60), height), "%.3g")
    implot.pop_colormap()


def _ring(column: int, row: int) -> None:
    spec = implot.Spec()
    spec.marker, spec.marker_size, spec.line_weight = implot.Marker_.circle, 8.0, 2.0
    spec.marker_fill_color, spec.marker_line_color = ImVec4(0, 0, 0, 0), RED
    implot.plot_scatter("##best", np.array([column + 0.5]), np.array([row + 0.5]), spec)


def _ticks(axis: PlotAxis) -> tuple[list[float], list[str]]:
    """Some names of cells, in their middle."""
    labels = axis.labels
    places = range(0, len(labels), max(1, -(-len(labels) // NAMES)))
    return [i + 0.5 for i in places], [labels[i] for i in places]


def _draw_parallel(picture: SweepPicture, picked: int, height: float) -> None:
    """One line per point through its values and its objective; the picked one in front."""
    if not implot.begin_plot("##parallel", ImVec2(-1, height), PLAIN):
        return
    count, axes = picture.heights.shape
    places: FloatArray = np.arange(axes, dtype=float)
    implot.setup_axes("", "", 0, int(implot.AxisFlags_.no_decorations))
    implot.setup_axes_limits(-0.1, axes - 0.7, -0.08, 1.08, imgui.Cond_.always)
    implot.setup_axis_ticks(implot.ImAxis_.x1, places.tolist(), list(picture.labels))
    implot.push_colormap(implot.Colormap_.viridis)
    for i in reversed(range(count)):  # the best are drawn last
        colour = implot.sample_colormap(0.95 * i / max(1, count - 1))
        line(f"##{i}", places, picture.heights[i], colour, 1.0)
    implot.pop_colormap()
    if picked < count:
        line("##picked", places, picture.heights[picked], RED, 2.5)
    for x, marks in enumerate(picture.marks):
        for text, y in marks:
            implot.plot_text(text, float(x), y, size(18, 0))
    implot.end_plot()
