"""The response panel: test signals, jog slider, curves around an edit, metrics, causes."""

import math
from dataclasses import replace

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui, implot

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import MjrigError
from mjrig.editor.gains.gain_model import Tuning
from mjrig.editor.gains.response_tests import Result
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import deferred, error_text, tr
from mjrig.editor.ui.colours import GREY
from mjrig.editor.ui.layout import px, size
from mjrig.editor.ui.number_cell import number_cell
from mjrig.editor.ui.panel import Panel
from mjrig.lab.gains.gain_rows import GainRow
from mjrig.lab.rollouts.joint_bench import Response
from mjrig.lab.rollouts.signals import Kind, Metrics, Signal, Trace

# Jog slider ---------------------------------------------------------------------------------------
# The jog slider: the setpoint of one actuator of the running robot, moved while it is held.


class JogSlider:
    """One slider; it commands as long as it is held, then releases the actuator."""

    def __init__(self, tuning: Tuning) -> None:
        self._tuning = tuning
        self._held = ""

    def draw(self, row: GainRow, *, factor: float = 1.0, unit: str = "") -> None:
        """The slider of one row, in the units of the joint times `factor`."""
        tuning = self._tuning
        frame = tuning.state.simulation.frame.robots.get(row.actor)
        robot = tuning.state.simulation.world.articulations.get(row.actor)
        actuators = robot.actuators if robot is not None else ()
        binding = next((b for b in actuators if b.actuator == row.actuator), None)
        if frame is None or binding is None or row.no_response:
            self.let_go()
            return
        low, high = binding.joint_range or (-math.pi, math.pi)
        value = float(frame.setpoint[0, row.column]) * row.scale * factor
        why_not = tuning.why_no_jog(row)
        imgui.begin_disabled(bool(why_not))
        text = tr("jog %.3f {unit}", unit=unit).rstrip()
        changed, new = imgui.slider_float("###jog", value, low * factor, high * factor, text)
        imgui.end_disabled()
        flags = imgui.HoveredFlags_.for_tooltip | imgui.HoveredFlags_.allow_when_disabled
        if imgui.is_item_hovered(flags):
            moves = tr("Moves the setpoint of the running robot; let go to release it.")
            imgui.set_tooltip(why_not or moves)
        if changed:
            self._held = row.key
            tuning.jog_to(row, new / (factor * row.scale))
        if self._held and (self._held != row.key or not imgui.is_item_active()):
            self.let_go()

    def let_go(self) -> None:
        """Release the actuator, if the slider moved one."""
        if self._held:
            self._held = ""
            self._tuning.jog_end()


# Signal inputs ------------------------------------------------------------------------------------


#: Where a signal that was refused is noted among the problems.
FIELD = "signal"


def signal_inputs(state: EditorState, signal: Signal, *, per_line: int) -> Signal:
    """Draw them, `per_line` in a line; returns the signal with the new values.

    A value that is refused (0 during a drag, for example) is noted in the state and not taken.
    """
    width = imgui.get_content_region_avail().x / per_line - 8
    changes: dict[str, object] = {}
    imgui.set_next_item_width(width)
    if imgui.begin_combo("##kind", signal.kind):
        for kind in Kind:
            if imgui.selectable(kind, kind is signal.kind)[0]:
                changes["kind"] = kind
        imgui.end_combo()
    for i, (name, text, speed) in enumerate(_numbers(signal.kind), 1):
        if i % per_line:
            imgui.same_line()
        imgui.set_next_item_width(width)
        value = float(getattr(signal, name))
        edited, new = number_cell(f"##{name}", value, speed, fmt=text)
        imgui.set_item_tooltip(name.replace("_", " "))
        if edited:
            changes[name] = new
    return changed(state, signal, **changes) if changes else signal


def _numbers(kind: Kind) -> list[tuple[str, str, float]]:
    """(name, format, speed) of what a kind needs."""
    found = [("amplitude", tr("%.3g rad"), 0.005), ("duration", "%.3g s", 0.02)]
    if kind is not Kind.STEP:
        found.append(("frequency", tr("%.3g Hz"), 0.02))
    if kind is Kind.CHIRP:
        found.append(("end_frequency", tr("to %.3g Hz"), 0.02))
    return found


def changed(state: EditorState, signal: Signal, **changes: object) -> Signal:
    """The signal with other numbers; as it was, and why in the state, where they are refused."""
    try:
        new = replace(signal, **changes)  # type: ignore[arg-type]
    except MjrigError as error:
        state.problems[FIELD] = error_text(error)
        return signal
    state.problems.pop(FIELD, None)
    return new


# Response panel -----------------------------------------------------------------------------------


#: At most this many joints are drawn; the panel notes that.
DRAWN = 4
_COLOURS = (
    ImVec4(0.30, 0.65, 1.00, 1.0),
    ImVec4(1.00, 0.60, 0.25, 1.0),
    ImVec4(0.45, 0.85, 0.45, 1.0),
    ImVec4(0.90, 0.45, 0.80, 1.0),
)
_TABLE = (
    imgui.TableFlags_.row_bg
    | imgui.TableFlags_.borders_inner_v
    | imgui.TableFlags_.sizing_fixed_fit
)


class ResponsePanel(Panel):
    """How the chosen joints follow a step, a sine, a chirp or a square."""

    title = "Response"
    place = "right"

    def __init__(self, state: EditorState, tuning: Tuning) -> None:
        super().__init__(state)
        self.tuning = tuning
        self._jog = JogSlider(tuning)

    def draw(self) -> None:
        tuning = self.tuning
        tuning.refresh()
        tuning.test_again_if_changed()
        self._signal()
        self._buttons()
        chosen = tuning.chosen_rows
        if chosen:
            imgui.set_next_item_width(px(-80))
            self._jog.draw(chosen[-1])
            imgui.same_line()
            imgui.text(chosen[-1].actuator)
        if tuning.lab.result is not None:
            self._show(tuning.lab.result, tuning.lab.before)

    # What to run --------------------------------------------------------------------------------

    def _signal(self) -> None:
        tuning = self.tuning
        tuning.signal = signal_inputs(self.state, tuning.signal, per_line=4)

    def _buttons(self) -> None:
        tuning = self.tuning
        self._button(tr("Run on a copy"), tuning.why_no_test(), tuning.test, tr(_COPY))
        imgui.same_line()
        if tuning.live_test is not None:
            if imgui.button(tr("Stop")):
                tuning.stop_live()
            imgui.same_line()
            imgui.progress_bar(tuning.live_test.progress, size(60, 0))
        else:
            self._button(tr("Run live"), tuning.why_no_live_test(), tuning.test_live, tr(_LIVE))
        imgui.same_line()
        _, tuning.auto = imgui.checkbox(tr("auto"), tuning.auto)
        imgui.set_item_tooltip(tr("Run the test on the copy again after every edit."))
        imgui.same_line()
        _, tuning.together = imgui.checkbox(tr("together"), tuning.together)
        imgui.set_item_tooltip(tr("All chosen joints at once; else one after the other."))
        if tuning.lab.is_busy:
            imgui.same_line()
            imgui.text_disabled("…")
        reason = self.state.problems.get("signal") or tuning.why_no_test()
        if reason:
            imgui.push_style_color(imgui.Col_.text, GREY)
            imgui.text_wrapped(reason)
            imgui.pop_style_color()

    def _button(self, label: str, why_not: str, run: object, about: str) -> None:
        imgui.begin_disabled(bool(why_not))
        if imgui.button(label) and callable(run):
            run()
        imgui.end_disabled()
        flags = imgui.HoveredFlags_.for_tooltip | imgui.HoveredFlags_.allow_when_disabled
        if imgui.is_item_hovered(flags):
            imgui.set_tooltip(why_not or about)

    # What it showed -----------------------------------------------------------------------------

    def _show(self, result: Result, before: Result | None) -> None:
        if result.problem:
            imgui.text_wrapped(result.problem)
            return
        self._plot(result, before)
        if len(result.responses) > DRAWN:
            imgui.text_disabled(
                tr(
                    "the first {drawn} of {count} are drawn",
                    drawn=DRAWN,
                    count=len(result.responses),
                )
            )
        self._numbers(result, before)
        for response in result.responses:
            if response.problem:
                imgui.text_wrapped(f"{response.actuator}: {response.problem}")
            for cause in response.causes:
                imgui.bullet()
                imgui.text_wrapped(f"{response.actuator}: {cause.text}")
        imgui.push_style_color(imgui.Col_.text, GREY)
        where = tr(_COPY) if result.where == "copy" else tr("measured on the running robot")
        imgui.text_wrapped(
            tr("{where}; faint: before the last edit", where=where) if before else where
        )
        imgui.pop_style_color()

    def _plot(self, result: Result, before: Result | None) -> None:
        flags = implot.Flags_.no_title | implot.Flags_.no_menus
        if not implot.begin_plot("##response", ImVec2(-1, px(200)), int(flags)):
            return
        fit = implot.AxisFlags_.auto_fit
        implot.setup_axes("t [s]", tr("moved [rad or m]"), fit, fit)
        implot.setup_legend(implot.Location_.south_east)
        for i, response in enumerate(result.responses[:DRAWN]):
            old = before.of(response.actuator) if before is not None else None
            if old is not None:
                _line(f"##before {response.actuator}", old, _COLOURS[i], 0.4)
            if response.trace is not None:
                trace = response.trace
                _curve(f"##target {response.actuator}", trace, trace.target, GREY)
                _final_line(response, trace, _COLOURS[i])
            _line(response.actuator, response, _COLOURS[i], 1.0)
        implot.end_plot()

    def _numbers(self, result: Result, before: Result | None) -> None:
        flags = int(_TABLE | imgui.TableFlags_.scroll_x | imgui.TableFlags_.scroll_y)
        height = imgui.get_text_line_height_with_spacing() * min(len(result.responses) + 3, 9)
        if not imgui.begin_table("numbers", len(_NUMBERS) + 1, flags, ImVec2(0, height)):
            return
        imgui.table_setup_scroll_freeze(1, 2)
        imgui.table_setup_column("")
        for name, _, _ in _NUMBERS:
            imgui.table_setup_column(name)
        imgui.table_headers_row()
        imgui.table_next_row()
        imgui.table_next_column()
        for name, _, _ in _NUMBERS:
            imgui.table_next_column()
            imgui.text_disabled(_UNITS.get(name, ""))
        for response in result.responses:
            if response.metrics is None:
                continue
            old = before.of(response.actuator) if before is not None else None
            imgui.table_next_row()
            imgui.table_next_column()
            imgui.text(response.actuator)
            for name, _, about in _NUMBERS:
                imgui.table_next_column()
                imgui.text(number_text(response.metrics, name))
                was = number_text(old.metrics, name) if old and old.metrics else "nothing"
                more = beyond_target(response) if name == "over" else ""
                imgui.set_item_tooltip(
                    "\n".join(filter(None, (tr(about), more, tr("before: {was}", was=was))))
                )
        imgui.end_table()


_COPY = deferred("on a suspended copy (base fixed, contacts off), from the starting pose")
_LIVE = deferred(
    "On the running robot, all chosen joints at once; it holds their setpoints meanwhile."
)
_NUMBERS = (
    ("rise", "rise_time", deferred("Rise time from 10 to 90 % [s].")),
    (
        "over",
        "overshoot",
        deferred("Overshoot beyond the final value (thin line in the plot), relative to the step."),
    ),
    ("settle", "settling_time", deferred("Settling time to within ±2 % of the final value [s].")),
    (
        "error",
        "steady_state_error",
        deferred("Steady-state error: target minus final value [rad or m]."),
    ),
    ("rmse", "rmse", deferred("RMS tracking error [rad or m].")),
    ("sat", "saturation", deferred("Fraction of steps in saturation.")),
)
_UNITS = {"rise": "s", "settle": "s", "error": "rad, m", "rmse": "rad, m"}
_SHARES = ("overshoot", "saturation")
#: Final value and target closer than this share of the step are one line.
_SAME = 0.002


def number_text(metrics: Metrics, name: str) -> str:
    """One number of a response as the table shows it; a dash where there is none."""
    field = next(f for short, f, _ in _NUMBERS if short == name)
    value = getattr(metrics, field)
    if value is None:
        return "-"
    return f"{value:.1%}" if field in _SHARES else f"{value:.3g}"


def final_value(response: Response) -> float | None:
    """Where a joint came to rest, which rise, overshoot and settling refer to; None: nowhere."""
    metrics, trace = response.metrics, response.trace
    if metrics is None or trace is None or metrics.steady_state_error is None:
        return None
    return float(trace.target[-1]) - metrics.steady_state_error


def beyond_target(response: Response) -> str:
    """How far a joint went beyond its target, which is another value than the final one."""
    final, trace = final_value(response), response.trace
    if final is None or trace is None:
        return ""
    step = float(trace.target[-1]) - trace.start
    if not step:
        return ""
    most = float(((trace.position - trace.start) / step).max()) - 1.0
    if most <= 0.0:
        return tr("It never went beyond the target (grey line).")
    return tr("Beyond the target (grey line): {share} of the step.", share=f"{most:.1%}")


def _final_line(response: Response, trace: Trace, colour: ImVec4) -> None:
    """The value that overshoot refers to, where it is not the target."""
    final = final_value(response)
    if final is not None and abs(final - trace.target[-1]) > _SAME * abs(final - trace.start):
        thin = ImVec4(colour.x, colour.y, colour.z, 0.5)
        level = np.full(len(trace.time), final)
        _curve(f"##final {response.actuator}", trace, level, thin)


def _line(label: str, response: Response, colour: ImVec4, alpha: float) -> None:
    if response.trace is not None:
        shade = ImVec4(colour.x, colour.y, colour.z, alpha)
        _curve(label, response.trace, response.trace.position, shade)


def _curve(label: str, trace: Trace, values: FloatArray, colour: ImVec4) -> None:
    """Relative to where the joint was, so that several joints can be compared."""
    spec = implot.Spec()
    spec.line_color = colour
    implot.plot_line(label, trace.time, values - trace.start, spec)
