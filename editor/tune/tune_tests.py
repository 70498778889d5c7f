"""The test page of the Tune panel: which tests, the actor's thresholds, verdicts and curves."""

from collections.abc import Sequence
from functools import lru_cache

from imgui_bundle import ImVec2, imgui, implot

from mjrig.editor.inspector.fields import EditedObject, fields_of
from mjrig.editor.inspector.rows import PropertyRows
from mjrig.editor.inspector.sheet import Sheet
from mjrig.editor.session.panel_edits import PanelEdits
from mjrig.editor.texts.texts import tr
from mjrig.editor.tune.tune import Tune
from mjrig.editor.tune.tune_forms import Browse
from mjrig.editor.tune.tune_plots import FIT, PLAIN, joint_colour, line
from mjrig.editor.tune.tune_runner import Finished
from mjrig.editor.ui.colours import GREEN, GREY, RED
from mjrig.editor.ui.scale import px
from mjrig.scene.actor_parts import GainTests
from mjrig.scene.scene_path import existing
from mjrig.tuning.responses.gain_report import heading, of_test, reasons, summary, table
from mjrig.tuning.responses.gain_suite import GainReport
from mjrig.tuning.responses.gain_test import ABOUT, GainResult, GainTest, GainVerdict

COLOURS = {GainVerdict.PASS: GREEN, GainVerdict.FAIL: RED, GainVerdict.SKIPPED: GREY}
#: Ticks in a line, and the width of one.
IN_LINE, TICK = 3, 78.0
#: Least and largest height of the curve, and the width from which it is beside the tables.
HEIGHTS, BESIDE = (110.0, 260.0), 620.0
_ROWS = int(imgui.TableFlags_.row_bg | imgui.TableFlags_.borders_inner_v)
_TABLE = (
    imgui.TableFlags_.row_bg
    | imgui.TableFlags_.borders_inner_v
    | imgui.TableFlags_.sizing_fixed_fit
    | imgui.TableFlags_.scroll_x
)


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
        _curve(shown, max(px(HEIGHTS[0]), min(px(HEIGHTS[1]), 0.5 * room.y)))
        _verdicts(tune, report)
        return
    if imgui.begin_child("verdicts", ImVec2(0.55 * room.x if shown else 0.0, 0.0)):
        _verdicts(tune, report)
    imgui.end_child()
    if shown is not None:
        imgui.same_line()
        if imgui.begin_child("curve"):
            _curve(shown, max(px(HEIGHTS[0]), min(px(HEIGHTS[1]), 0.85 * room.y)))
        imgui.end_child()


def _verdicts(tune: Tune, report: GainReport) -> None:
    for test in GainTest:
        results = of_test(report, test)
        if results:
            _results(tune, report, results)
    for skipped in report.skipped:
        _note(tr("not tested {joints}", joints=skipped))


def _shown(tune: Tune, report: GainReport) -> GainResult | None:
    """The result that was clicked; else the first that failed, else the first with a curve."""
    if tune.shown is not None and tune.shown < len(report.results):
        return report.results[tune.shown]
    drawn = [r for r in report.results if r.trace is not None]
    bad = [r for r in drawn if r.verdict is GainVerdict.FAIL]
    return next(iter([*bad, *drawn]), None)


def _curve(result: GainResult, height: float) -> None:
    title = f"{result.label}: {result.test} {result.case}".strip()
    imgui.text(title)
    trace = result.trace
    if trace is None:
        _note(tr("no curve: {why}", why="; ".join(result.reasons)))
        return
    if not implot.begin_plot(f"##{title}", ImVec2(-1, height), PLAIN):
        return
    implot.setup_axes(tr("t [s]"), tr("position [rad or m]"), FIT, FIT)
    line(tr("target"), trace.time, trace.target, GREY, 1.0)
    line(tr("position"), trace.time, trace.position, joint_colour(0), 1.5)
    implot.end_plot()


def _results(tune: Tune, report: GainReport, results: Sequence[GainResult]) -> None:
    _note(heading(results))
    header, rows = table(results)
    # The verdict goes second: seen without scrolling to the right.
    header = (header[0], header[-1], *header[1:-1])
    height = imgui.get_text_line_height_with_spacing() * (len(rows) + 2) + 4
    name = f"{results[0].test} {len(header)}"
    if not imgui.begin_table(name, len(header), int(_TABLE), ImVec2(0, height)):
        return
    for i, text in enumerate(header):
        imgui.table_setup_column(f"{text}##{i}")
    imgui.table_setup_scroll_freeze(1, 1)
    imgui.table_headers_row()
    for result, row in zip(results, rows, strict=True):
        place = report.results.index(result)
        imgui.table_next_row()
        imgui.table_next_column()
        span = int(imgui.SelectableFlags_.span_all_columns)
        is_shown = result is _shown(tune, report)
        if imgui.selectable(f"{row[0]}###{place}", is_shown, span)[0]:
            tune.shown = place
        imgui.table_next_column()
        imgui.text_colored(COLOURS[result.verdict], result.verdict)
        for text in row[1:-1]:
            imgui.table_next_column()
            imgui.text(text)
    imgui.end_table()
    for label, text in reasons(results):
        _note(f"{label}: {text}")


def _note(text: str) -> None:
    imgui.push_style_color(imgui.Col_.text, GREY)
    imgui.text_wrapped(text)
    imgui.pop_style_color()
