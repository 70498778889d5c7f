"""Plots of a fit: the error of every joint before and after, and the motion of the worst one."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui, implot

from mjrig.editor.texts.texts import tr
from mjrig.editor.tune.tune_plots import FIT, joint_colour, line
from mjrig.editor.ui.colours import AMBER, GREY
from mjrig.tuning.fitting.fit import Fit
from mjrig.tuning.fitting.fit_report import effort_units, position_units
from mjrig.tuning.fitting.identifiability import Curves

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
        FitErrors(tr("motion"), _all(position_units(fit)), fit.rms_before, fit.rms_after),
        FitErrors(tr("efforts"), _all(effort_units(fit)), fit.effort_before, fit.effort_after),
    ]
    return [errors for errors in found if errors.after]


def _all(units: Mapping[str, str]) -> str:
    return ", ".join(dict.fromkeys(units.values()))


class Overlay(NamedTuple):
    """One joint over time in what was fitted to, or in what was held out."""

    title: str
    joint: str
    curves: Curves


def overlays(fit: Fit) -> list[Overlay]:
    """The joint that was furthest off: in what the fit has seen, then in what it has not."""
    if not fit.curves:
        return []
    errors = {j: e for j, e in fit.rms_before.items() if j in fit.curves[0].joints}
    joint = max(errors, key=errors.__getitem__, default=fit.curves[0].joints[0])
    found = []
    for is_held_out, title in ((False, tr("fitted to")), (True, tr("held out"))):
        chosen = next((c for c in fit.curves if c.is_held_out == is_held_out), None)
        if chosen is not None and joint in chosen.joints:
            found.append(Overlay(title, joint, chosen))
    return found


def draw_overlays(fit: Fit, height: float) -> None:
    """The recording, grey the model before, coloured the model after; one plot each."""
    found = overlays(fit)
    for i, overlay in enumerate(found):
        if i:
            imgui.same_line()
        room = imgui.get_content_region_avail().x / (len(found) - i)
        spacing = imgui.get_style().item_spacing.x if i + 1 < len(found) else 0.0
        _motion(overlay, ImVec2(room - spacing, height))


def _motion(overlay: Overlay, size: ImVec2) -> None:
    curves = overlay.curves
    column = curves.joints.index(overlay.joint)
    if not implot.begin_plot(f"##overlay {overlay.title}", size, _FLAGS):
        return
    unit = curves.units[column]
    label = tr("{joint}, {part} [{unit}]", joint=overlay.joint, part=overlay.title, unit=unit)
    implot.setup_axes("t [s]", label, FIT, FIT)
    line(tr("before"), curves.time, curves.before[:, column], GREY, 1.0)
    line(tr("after"), curves.time, curves.after[:, column], joint_colour(0), 2.0)
    line(tr("recorded"), curves.time, curves.recorded[:, column], AMBER, 1.0)
    implot.end_plot()


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
