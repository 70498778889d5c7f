"""Plots of a sweep: a curve, a heat map, parallel coordinates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui, implot

from mjrig.arrays import FloatArray
from mjrig.editor.texts.texts import tr
from mjrig.editor.tune.tune_plots import FIT, PLAIN, line
from mjrig.editor.ui.colours import GREY, RED
from mjrig.editor.ui.scale import px, size
from mjrig.errors import MjrigError
from mjrig.properties.bounds import number
from mjrig.tuning.sweeps.results import Ranked
from mjrig.tuning.sweeps.results_plot import Heat, PlotAxis, short, worked

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
        curve: values and objectives of the only parameter; None: there are more, or no numbers.
        heat: the heat map; None: see `why_no_heat`.
    """

    labels: tuple[str, ...]
    heights: FloatArray
    marks: tuple[Marks, ...]
    curve: tuple[FloatArray, FloatArray] | None
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
        return cls(labels, heights, marks, _curve(all_points, names), heat, why)


def _curve(points: Sequence[Ranked], names: Sequence[str]) -> tuple[FloatArray, FloatArray] | None:
    x = [number(r.values[names[0]]) for r in points]
    if len(names) != 1 or any(v is None or not np.isfinite(v) for v in x):
        return None
    order = np.argsort(np.array(x, float))
    return np.array(x, float)[order], np.array([r.score for r in points])[order]


def draw_sweep(picture: SweepPicture, picked: int, height: float) -> None:
    """Draw it: a curve of one parameter, or of several a choice of two pictures."""
    if picture.curve is not None:
        _draw_curve(picture, picture.curve, height)
        return
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


def _draw_curve(picture: SweepPicture, curve: tuple[FloatArray, FloatArray], height: float) -> None:
    if implot.begin_plot("##curve", ImVec2(-1, height), PLAIN):
        implot.setup_axes(picture.labels[0], picture.labels[1], FIT, FIT)
        line("##line", *curve, implot.get_colormap_color(0), 1.5)
        spec = implot.Spec()
        spec.marker = implot.Marker_.circle
        spec.marker_fill_color = spec.marker_line_color = GREY
        implot.plot_scatter("##points", *curve, spec)
        implot.end_plot()


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
