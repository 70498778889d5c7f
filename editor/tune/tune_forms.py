"""The forms of the Tune panel: the settings of each task, and the page of the gain tests."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from imgui_bundle import ImVec2, imgui

from mjrig.core.control.plant import at_joint
from mjrig.core.scene.scene_description import existing
from mjrig.core.scene.scene_sections import GainTests
from mjrig.editor.gains.response_panel import signal_inputs
from mjrig.editor.inspector.fields import EditedObject, fields_of
from mjrig.editor.inspector.property_rows import PropertyRows
from mjrig.editor.inspector.widget_context import Sheet
from mjrig.editor.session.job_runner import Finished
from mjrig.editor.session.panel_edits import PanelEdits
from mjrig.editor.text import deferred, tr
from mjrig.editor.tune.tune_model import Tune
from mjrig.editor.tune.tune_settings import RECORDINGS, TESTS, WAYS, GainAxis
from mjrig.editor.ui.colours import GREEN, RED
from mjrig.editor.ui.layout import px
from mjrig.editor.ui.number_cell import number_cell, whole_number_cell
from mjrig.editor.ui.option_fields import option_fields
from mjrig.editor.ui.remedies import draw_remedies
from mjrig.editor.ui.report_view import draw_curves, draw_note, draw_table
from mjrig.lab.fit.plant import OF_JOINTS, UNITS
from mjrig.lab.gains.gain_rows import GainRow, columns
from mjrig.lab.responses.gain_report import curve, results_table, summary
from mjrig.lab.responses.gain_suite import GainReport
from mjrig.lab.responses.gain_test import ABOUT, GainResult, GainTest, GainVerdict

# Tune forms ---------------------------------------------------------------------------------------
# The forms of the Tune panel: one function per task, which draws the settings and changes them.


#: Opens a file chooser: (suffixes, what to do with the chosen file).
Browse = Callable[[tuple[str, ...], Callable[[str], None]], None]
_WAYS = {
    "grid": deferred("every combination"),
    "lhs": deferred("Latin hypercube"),
    "random": deferred("random"),
}
_TESTS = {
    "signal": deferred("a signal, suspended"),
    "run": deferred("a free run"),
    "replay": deferred("a recording"),
}
_METRICS = {
    "signal": deferred(
        "rmse, effort, saturation; for a step also rise_time, settling_time, overshoot, "
        "steady_state_error"
    ),
    "run": deferred("rmse, worst_rmse, effort, saturation, travel, fell"),
    "replay": deferred("rmse, worst_rmse, velocity_rmse, effort_rmse, max_error, fell"),
}


def respond_form(tune: Tune, browse: Browse) -> None:
    """The signal."""
    tune.respond.signal = signal_inputs(tune.state, tune.respond.signal, per_line=2)
    _hint(tr("Each joint alone, on a suspended copy (base fixed, contacts off)."))


def assign_form(tune: Tune, browse: Browse) -> None:
    """Frequency, damping and what bounds them."""
    option_fields(tune.assign, "frequency", "damping", "step", "inertia", "poses")


def fit_form(tune: Tune, browse: Browse) -> None:
    """Recordings and parameters."""
    settings = tune.fit

    def add_recording(path: Path) -> None:
        settings.recordings = (*settings.recordings, path)

    imgui.text(tr("Recordings"))
    imgui.same_line()
    if imgui.small_button(tr("Add…")):
        browse(RECORDINGS, lambda text: add_recording(Path(text)))
    last = tune.last_take()
    if last is not None and last not in settings.recordings:
        imgui.same_line()
        if imgui.small_button(f"{tr('Add the last take')}###last"):
            add_recording(last)
        imgui.set_item_tooltip(str(last))
    for path in settings.recordings:
        imgui.push_id(str(path))
        if imgui.small_button("x"):
            settings.recordings = tuple(p for p in settings.recordings if p != path)
        imgui.same_line()
        imgui.text(path.name)
        imgui.set_item_tooltip(str(path))
        imgui.pop_id()
    if not settings.recordings:
        _hint(
            tr(
                "None yet: press Record in the toolbar, let the joints move, press it again. "
                "Recordings of other programs can be added too."
            )
        )
    imgui.text(tr("Parameters"))
    for i, name in enumerate(OF_JOINTS):
        if i % 2:
            imgui.same_line(px(140))
        changed, on = imgui.checkbox(name, name in settings.parameters)
        turning, sliding = (at_joint(UNITS[name], slides=slides) for slides in (False, True))
        unit = turning if turning == sliding else f"{turning}, {sliding}"
        imgui.set_item_tooltip(f"[{unit}]" if unit else tr("a factor"))
        if changed:
            others = tuple(n for n in settings.parameters if n != name)
            settings.parameters = (*others, name) if on else others
    option_fields(settings, "each")


def sweep_form(tune: Tune, browse: Browse) -> None:
    """Values, test and objective."""
    settings = tune.sweep
    settings.way = _choice("##way", settings.way, WAYS, _WAYS)
    if settings.way != "grid":
        imgui.same_line()
        option_fields(settings.options, "sample")
    rows = tune.rows
    for gain in columns(rows):
        _axis(tune, gain, [row for row in rows if gain in row.values])
    imgui.text_disabled(tr("other properties, one per line"))
    size = ImVec2(-1, 2.4 * imgui.get_text_line_height())
    _, settings.more = imgui.input_text_multiline("##more", settings.more, size)
    form = tr("low:high:count, or a,b,c") if settings.way == "grid" else "low:high[:log][:int]"
    imgui.set_item_tooltip(
        tr("Other properties, one per line: PATH={form}\ndog.PDController.kv=1:4", form=form)
    )
    settings.test = _choice("##test", settings.test, TESTS, _TESTS)
    _test(tune, browse)
    imgui.set_next_item_width(px(150))
    _, settings.options.metric = imgui.input_text(tr("minimise"), settings.options.metric)
    metrics = tr(_METRICS[settings.test])
    imgui.set_item_tooltip(
        tr("Objective: a sum of metrics, rmse + 0.01*effort\n{metrics}", metrics=metrics)
    )
    option_fields(settings.options, "randomise", "seeds", width=150)


def _axis(tune: Tune, gain: str, rows: Sequence[GainRow]) -> None:
    """One gain: whether it is swept, and between what."""
    axes, grid = tune.sweep.axes, tune.sweep.way == "grid"
    imgui.push_id(gain)
    changed, on = imgui.checkbox(gain, gain in axes)
    imgui.set_item_tooltip(tr("Same value for all chosen joints."))
    if changed and on:
        axes[gain] = GainAxis.around([row.values[gain] for row in rows])
    elif changed:
        axes.pop(gain, None)
    axis = axes.get(gain)
    if axis is not None:
        axis.low = _number("##low", axis.low, "%.4g", 0.0, 0.0, 58)
        imgui.same_line()
        axis.high = _number("##high", axis.high, "to %.4g", 0.0, 0.0, 58)
        if grid:
            imgui.same_line()
            axis.count = _count("##count", axis.count, 2, 1000, tr("%d values"), 60)
        imgui.same_line()
        _, axis.log = imgui.checkbox(tr("log"), axis.log)
    imgui.pop_id()


def _test(tune: Tune, browse: Browse) -> None:
    settings = tune.sweep
    if settings.test == "signal":
        settings.signal = signal_inputs(tune.state, settings.signal, per_line=2)
        option_fields(settings.options, "together")
    elif settings.test == "run":
        settings.seconds = _number("##seconds", settings.seconds, "%.3g s", 0.02, 0.01)
    else:

        def choose(text: str) -> None:
            settings.recording = Path(text)

        name = settings.recording.name if settings.recording else "choose…"
        if imgui.button(f"{name}###recording"):
            browse(RECORDINGS, choose)
        imgui.set_item_tooltip(str(settings.recording or tr("Source of the setpoints")))


# Widgets ----------------------------------------------------------------------------------------


def _number(
    label: str, value: float, text: str, speed: float, least: float, width: float = 110
) -> float:
    imgui.set_next_item_width(px(width))
    speed = speed or max(0.005 * abs(value), 0.005)
    _, new = number_cell(label, value, speed, least, 1e9, fmt=text, clamps=True)
    return new


def _count(
    label: str, value: int, least: int, most: int, text: str = "%d", width: float = 110
) -> int:
    imgui.set_next_item_width(px(width))
    _, new = whole_number_cell(label, value, 0.1, least, most, fmt=text, clamps=True)
    return new


def _choice(label: str, value: str, values: Sequence[str], texts: dict[str, str]) -> str:
    imgui.set_next_item_width(px(150))
    if imgui.begin_combo(label, tr(texts[value])):
        for other in values:
            if imgui.selectable(tr(texts[other]), other == value)[0]:
                value = other
        imgui.end_combo()
    return value


def _hint(text: str) -> None:
    imgui.push_text_wrap_pos(0.0)
    imgui.text_disabled(text)
    imgui.pop_text_wrap_pos()


# Tune tests ---------------------------------------------------------------------------------------
# The test page of the Tune panel: which tests, the actor's thresholds, verdicts and curves.


#: Ticks in a line, and the width of one.
IN_LINE, TICK = 3, 78.0
#: Least and largest height of the curve, and the width from which it is beside the tables.
HEIGHTS, BESIDE = (110.0, 260.0), 620.0
_ROWS = int(imgui.TableFlags_.row_bg | imgui.TableFlags_.borders_inner_v)
# The form ---------------------------------------------------------------------------------------


def tests_form(tune: Tune, browse: Browse) -> None:
    """Which tests, and the thresholds of the actor."""
    settings = tune.test
    for i, test in enumerate(GainTest):
        if i % IN_LINE:
            imgui.same_line(px(TICK) * (i % IN_LINE))
        changed, on = imgui.checkbox(test, test in settings.tests)
        imgui.set_item_tooltip(ABOUT[test])
        if changed and on:
            settings.tests.append(test)
        elif changed:
            settings.tests.remove(test)
    rows = tune.rows
    if rows:
        _thresholds(tune, rows[0].actor)


def _thresholds(tune: Tune, actor: str) -> None:
    """The `gain_tests` of an actor, as the inspector shows them."""
    imgui.separator_text(tr("Thresholds of {actor}", actor=actor))
    described = existing(tune.state.scene, f"{actor}.gain_tests")
    obj = described if isinstance(described, GainTests) else _defaults()
    shown = _rows(tune)
    target = EditedObject(f"{actor}.gain_tests", obj)
    if imgui.begin_table("thresholds", 3, _ROWS):
        imgui.table_setup_column(tr("name"), imgui.TableColumnFlags_.width_stretch, 1.0)
        imgui.table_setup_column(tr("value"), imgui.TableColumnFlags_.width_stretch, 1.0)
        reset = imgui.TableColumnFlags_.width_fixed
        imgui.table_setup_column(tr("reset"), reset, imgui.get_frame_height())
        shown.object([target], fields_of([target], shown.edits))
        imgui.end_table()
    shown.edits.finish_frame()


@lru_cache(maxsize=1)
def _rows(tune: Tune) -> PropertyRows:
    return PropertyRows(Sheet(tune.state), PanelEdits(tune.state))


@lru_cache(maxsize=1)
def _defaults() -> GainTests:
    """What is shown of an actor without `gain_tests`; an edit of it is one of the scene."""
    return GainTests()


# Results ----------------------------------------------------------------------------------------


def show_tests(tune: Tune, finished: Finished) -> None:
    """Verdicts by test; a click on a row shows its curve."""
    report: GainReport = finished.result
    imgui.text_colored(GREEN if report.is_passed else RED, summary(report))
    imgui.same_line()
    if imgui.small_button(tr("Save report")):
        tune.save_report()
    imgui.set_item_tooltip(tr("Write {path}, and the data as JSON", path=tune.report_path()))
    shown = _shown(tune, report)
    room = imgui.get_content_region_avail()
    if shown is not None and room.x < px(BESIDE):
        _curve(tune, shown, max(px(HEIGHTS[0]), min(px(HEIGHTS[1]), 0.5 * room.y)))
        _verdicts(tune, report)
        return
    if imgui.begin_child("verdicts", ImVec2(0.55 * room.x if shown else 0.0, 0.0)):
        _verdicts(tune, report)
    imgui.end_child()
    if shown is not None:
        imgui.same_line()
        if imgui.begin_child("curve"):
            _curve(tune, shown, max(px(HEIGHTS[0]), min(px(HEIGHTS[1]), 0.85 * room.y)))
        imgui.end_child()


def _verdicts(tune: Tune, report: GainReport) -> None:
    for test in GainTest:
        results = [result for result in report.results if result.test is test]
        if results:
            _results(tune, report, results)
    for skipped in report.skipped:
        draw_note(tr("not tested {joints}", joints=skipped))


def _shown(tune: Tune, report: GainReport) -> GainResult | None:
    """The result that was clicked; else the first that failed, else the first with a curve."""
    if tune.shown is not None and tune.shown < len(report.results):
        return report.results[tune.shown]
    drawn = [r for r in report.results if r.trace is not None]
    bad = [r for r in drawn if r.verdict is GainVerdict.FAIL]
    return next(iter([*bad, *drawn]), None)


def _curve(tune: Tune, result: GainResult, height: float) -> None:
    imgui.text(f"{result.label}: {result.test} {result.case}".strip())
    figure = curve(result)
    if figure is None:
        draw_note(tr("no curve: {why}", why="; ".join(f.text for f in result.findings)))
    else:
        draw_curves(figure, height, tr("position [rad or m]"))
    for i, finding in enumerate(result.findings):
        imgui.push_id(i)
        draw_remedies(tune.state, finding)
        imgui.pop_id()


def _results(tune: Tune, report: GainReport, results: Sequence[GainResult]) -> None:
    table = results_table(results)
    draw_note(table.title)
    places = [report.results.index(result) for result in results]

    def choose(row: int) -> None:
        tune.shown = places[row]

    # The verdict follows the names: seen without scrolling to the right.
    first = sum(column.is_words for column in table.columns)
    order = [*range(first), len(table.columns) - 1, *range(first, len(table.columns) - 1)]
    table = replace(
        table,
        columns=[table.columns[i] for i in order],
        rows=[[row[i] for i in order] for row in table.rows],
    )
    shown = _shown(tune, report)
    draw_table(results[0].test, table, chosen=lambda row: results[row] is shown, choose=choose)
