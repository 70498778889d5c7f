"""Plots of a fit: the motion of a joint, and the error of every joint, before and after."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui, implot

from mjrig.arrays import FloatArray
from mjrig.editor.texts.texts import tr
from mjrig.editor.tune.tune_plots import FIT, joint_colour, line
from mjrig.editor.ui.colours import AMBER, GREY
from mjrig.editor.ui.scale import px
from mjrig.tuning.fitting.fit import Fit
from mjrig.tuning.fitting.fit_report import effort_units, position_units

#: Behind what a fit has not seen.
_HELD_OUT = ImVec4(0.9, 0.7, 0.2, 0.18)
#: A wide band: what lies on it is in its middle.
_RECORDED = ImVec4(AMBER.x, AMBER.y, AMBER.z, 0.45)
_AFTER = ImVec4(0.4, 0.75, 1.0, 1.0)
#: Above the plot, side by side: beside the curves, not on them.
_LEGEND = int(implot.LegendFlags_.outside | implot.LegendFlags_.horizontal)
#: Width of a bar, as a share of the room of a joint.
_BAR = 0.35
#: Lines of text that legend, axis and margins take.
_AROUND = 8
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
        FitErrors(tr("held out"), _all(position_units(fit)), fit.held_before, fit.held_after),
        FitErrors(tr("efforts"), _all(effort_units(fit)), fit.effort_before, fit.effort_after),
    ]
    return [errors for errors in found if errors.after]


def _all(units: Mapping[str, str]) -> str:
    return ", ".join(dict.fromkeys(units.values()))


class Overlay(NamedTuple):
    """One joint over time in a recording: all of its parts, and the spans that were held out."""

    label: str
    unit: str
    time: FloatArray
    recorded: FloatArray
    before: FloatArray
    after: FloatArray
    held_out: tuple[tuple[float, float], ...]


def overlays(fit: Fit) -> list[Overlay]:
    """Every joint in every recording, those first that were furthest off."""
    names = list(dict.fromkeys(c.recording for c in fit.curves))
    found = []
    for name in names:
        parts = sorted((c for c in fit.curves if c.recording == name), key=lambda c: c.time[0])
        held = tuple((float(c.time[0]), float(c.time[-1])) for c in parts if c.is_held_out)
        for k, joint in enumerate(parts[0].joints):
            recorded, before, after = (
                _joined([getattr(c, what)[:, k] for c in parts])
                for what in ("recorded", "before", "after")
            )
            label = joint if len(names) == 1 else f"{joint}, {name}"
            time = _joined([c.time for c in parts])
            unit = parts[0].units[k]
            found.append(Overlay(label, unit, time, recorded, before, after, held))
    return sorted(found, key=lambda o: -float(np.nanmean((o.before - o.recorded) ** 2)))


def _joined(parts: Sequence[FloatArray]) -> FloatArray:
    """One after the other, with a gap between."""
    return np.concatenate([p for part in parts for p in (part, [np.nan])][:-1])


def draw_overlay(overlay: Overlay, height: float) -> None:
    """The recording, grey the model before, coloured the model after; shaded: held out."""
    if not implot.begin_plot("##overlay", ImVec2(-1, height), _FLAGS):
        return
    implot.setup_axes("t [s]", f"{overlay.label} [{overlay.unit}]", FIT, FIT)
    implot.setup_legend(implot.Location_.north, _LEGEND)
    _shade(overlay.held_out)
    line(tr("recorded"), overlay.time, overlay.recorded, _RECORDED, px(5))
    line(tr("before"), overlay.time, overlay.before, GREY, px(1))
    line(tr("after"), overlay.time, overlay.after, _AFTER, px(2))
    implot.end_plot()


def _shade(spans: Sequence[tuple[float, float]]) -> None:
    """The spans of time, and what they are in the legend."""
    if not spans:
        return
    spec = implot.Spec()
    spec.fill_color = spec.line_color = spec.marker_fill_color = _HELD_OUT
    implot.plot_dummy(tr("held out"), spec)
    paint, limits = implot.get_plot_draw_list(), implot.get_plot_limits()
    colour = imgui.color_convert_float4_to_u32(_HELD_OUT)
    implot.push_plot_clip_rect()
    for low, high in spans:
        corners = (
            implot.plot_to_pixels(low, limits.y.max),
            implot.plot_to_pixels(high, limits.y.min),
        )
        paint.add_rect_filled(*corners, colour)
    implot.pop_plot_clip_rect()


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
    if not implot.begin_plot(f"##fit {errors.name}", size, _FLAGS):
        return
    places = np.arange(len(joints), dtype=np.float64)
    label = tr("rms error, {what} [{unit}]", what=errors.name, unit=errors.unit)
    down = int(implot.AxisFlags_.no_highlight | implot.AxisFlags_.invert)
    implot.setup_axes(label, "", FIT, down)
    ends = -0.6, len(joints) - 0.4
    implot.setup_axis_limits(implot.ImAxis_.y1, *ends, int(implot.Cond_.always))
    implot.setup_axis_ticks(implot.ImAxis_.y1, places.tolist(), joints, False)
    implot.setup_legend(implot.Location_.north, _LEGEND)
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
