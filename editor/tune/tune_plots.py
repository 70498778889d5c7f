"""Response plots: over time, and over frequency as a Bode plot."""

from collections.abc import Sequence

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui, implot

from mjrig.arrays import FloatArray
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.colours import GREY
from mjrig.tuning.responses.frequency import FrequencyResponse
from mjrig.tuning.responses.respond import JointResponse

#: At most this many joints are drawn.
JOINTS = 8
PLAIN = int(implot.Flags_.no_title | implot.Flags_.no_menus | implot.Flags_.no_legend)
FIT = int(implot.AxisFlags_.auto_fit)


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
