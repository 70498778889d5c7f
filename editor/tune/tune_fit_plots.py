"""Plots of a fit: the error of every joint before and after."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui, implot

from mjrig.editor.texts.texts import tr
from mjrig.editor.tune.tune_plots import FIT, joint_colour
from mjrig.editor.ui.colours import GREY
from mjrig.tuning.fitting.fit import Fit

#: Width of a bar, as a share of the room of a joint.
_BAR = 0.35
_FLAGS = int(implot.Flags_.no_title | implot.Flags_.no_menus)


class FitErrors(NamedTuple):
    """One measure of how far a model is from what was recorded, by joint."""

    name: str
    unit: str
    before: Mapping[str, float]
    after: Mapping[str, float]


def fit_errors(fit: Fit) -> list[FitErrors]:
    """The measures that a fit has; each is a plot of its own."""
    found = [
        FitErrors(tr("motion"), tr("rad, m"), fit.rms_before, fit.rms_after),
        FitErrors(tr("efforts"), "N·m, N", fit.effort_before, fit.effort_after),
    ]
    return [errors for errors in found if errors.after]


def draw_fit(fit: Fit, height: float) -> None:
    """The error of every joint, grey before and coloured after, one plot per measure."""
    found = fit_errors(fit)
    for i, errors in enumerate(found):
        if i:
            imgui.same_line()
        room = imgui.get_content_region_avail().x / (len(found) - i)
        spacing = imgui.get_style().item_spacing.x if i + 1 < len(found) else 0.0
        _bars(errors, ImVec2(room - spacing, height), joint_colour(i))


def _bars(errors: FitErrors, size: ImVec2, colour: ImVec4) -> None:
    joints = list(errors.after)
    if not implot.begin_plot(f"##fit {errors.name}", size, _FLAGS):
        return
    places = np.arange(len(joints), dtype=np.float64)
    label = tr("rms error, {what} [{unit}]", what=errors.name, unit=errors.unit)
    implot.setup_axes("", label, FIT, FIT)
    implot.setup_axis_ticks(implot.ImAxis_.x1, places.tolist(), joints, False)
    for name, values, offset, shade in (
        (tr("before"), errors.before, -0.5 * _BAR, GREY),
        (tr("after"), errors.after, 0.5 * _BAR, colour),
    ):
        spec = implot.Spec()
        spec.fill_color, spec.line_color = shade, shade
        heights = np.array([values.get(joint, np.nan) for joint in joints])
        implot.plot_bars(name, places + offset, heights, _BAR, spec)
    implot.end_plot()
