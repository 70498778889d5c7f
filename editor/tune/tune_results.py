"""Results of the Tune panel as tables and plots: one function per task."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from imgui_bundle import ImVec2, ImVec4, imgui

from mjrig.editor.texts.texts import tr
from mjrig.editor.tune import tune_plots
from mjrig.editor.tune.tune import Tune
from mjrig.editor.tune.tune_fit_plots import Overlay, draw_fit, draw_overlay, overlays
from mjrig.editor.tune.tune_jobs import RespondJob, SweepJob
from mjrig.editor.tune.tune_runner import Finished
from mjrig.editor.tune.tune_sweep_plots import SweepPicture, draw_sweep
from mjrig.editor.ui.colours import AMBER, GREY, RED
from mjrig.editor.ui.scale import px
from mjrig.gains.response import Kind
from mjrig.names import how_many, listed
from mjrig.tuning.assignment import assign_report
from mjrig.tuning.assignment.assign import AssignmentPlan
from mjrig.tuning.fitting.fit import Fit
from mjrig.tuning.fitting.fit_report import error_lines, number
from mjrig.tuning.responses import respond_report
from mjrig.tuning.responses.respond import JointResponse
from mjrig.tuning.sweeps.results import Ranked
from mjrig.tuning.sweeps.sweep import Swept

#: Least and largest height of plots; in between they are as high as there is room.
HEIGHTS = (150.0, 320.0)
#: Least height of a plot with its legend above.
LEGIBLE = 200.0
#: Columns of assigned gains, what matters first.
_PLAN = ("joint", "kp", "kv", "Hz", "ζ", "bounds", "saturates at", "M", "min M", "max M")
#: Their units, in the heads of the table.
_UNITS = {
    "kp": "kp [N·m/rad, N/m]",
    "kv": "kv [N·m·s/rad, N·s/m]",
    "Hz": "f [Hz]",
    "saturates at": "saturates at [rad, m]",
    "M": "M [kg·m², kg]",
    "min M": "min M [kg·m², kg]",
    "max M": "max M [kg·m², kg]",
}
#: Points of a sweep that are listed.
LISTED = 50
#: And how many of them are seen without scrolling.
VISIBLE = 5
_TABLE = (
    imgui.TableFlags_.row_bg
    | imgui.TableFlags_.borders_inner_v
    | imgui.TableFlags_.sizing_fixed_fit
    | imgui.TableFlags_.scroll_x
)


def show_responses(tune: Tune, finished: Finished) -> None:
    """Metrics, causes of tracking errors, and the Bode plot."""
    job, found = finished.job, finished.result
    assert isinstance(job, RespondJob)
    responses: Sequence[JointResponse] = found
    has_frequencies = job.signal.kind in (Kind.CHIRP, Kind.SINE)
    (tune_plots.bode if has_frequencies else tune_plots.over_time)(responses, _height())
    header, rows = _response_table(finished)
    place = {one.label: i for i, one in enumerate(tune_plots.drawn(responses))}
    colours = [tune_plots.joint_colour(place[r[0]]) if r[0] in place else None for r in rows]
    _table("responses", header, rows, colours, first_only=True)
    for one in responses:
        for text in [one.response.problem] if one.response.problem else one.response.causes:
            _note(f"{one.label}: {text}")
    if len(responses) > tune_plots.JOINTS:
        _note(
            tr(
                "the first {drawn} of {count} are drawn",
                drawn=tune_plots.JOINTS,
                count=len(responses),
            )
        )


@lru_cache(maxsize=1)
def _response_table(finished: Finished) -> respond_report.Table:
    job = finished.job
    assert isinstance(job, RespondJob)
    return respond_report.table(finished.result, job.signal)


def show_plan(tune: Tune, finished: Finished) -> None:
    """Gains before and after, and the bounds that acted."""
    plan: AssignmentPlan = finished.result
    rows = [[t.replace("→", "to") for t in assign_report.row(a)] for a in plan.assignments]
    order = [assign_report.HEADER.index(name) for name in _PLAN]
    heads = [_UNITS.get(name, name) for name in _PLAN]
    _table("plan", heads, [[row[i] for i in order] for row in rows])
    for skipped in plan.skipped:
        _note(tr("skipped {joints}", joints=skipped))
    for note in plan.notes:
        _note(note)
    if plan.unstable:
        _note(
            tr(
                "{joints}: unstable in some pose by other gains; see `mjrig check`",
                joints=listed(plan.unstable),
            )
        )


def show_fit(tune: Tune, finished: Finished) -> None:
    """Errors before and after, values with their intervals, and why some are not identifiable."""
    fit: Fit = finished.result
    if fit.rejection:
        _note(fit.rejection, RED)
    _overlay(tune, finished)
    draw_fit(fit, _height())
    header = ("joint", "parameter", "was", "is", "95 % from", "to", "unit")
    rows = [
        (
            e.joint,
            e.parameter,
            number(e.old),
            number(e.value) if e.identifiable else "?",
            number(e.low),
            number(e.high),
            e.unit,
        )
        for e in fit.estimates
    ]
    colours = [None if e.identifiable else AMBER for e in fit.estimates]
    _table("fit", header, rows, colours)
    for line in error_lines(fit):
        _note(line)
    for e in fit.estimates:
        if not e.identifiable:
            _note(
                tr(
                    "{joint}: {parameter} not identifiable: {reason}",
                    joint=e.joint,
                    parameter=e.parameter,
                    reason=e.reason,
                ),
                AMBER,
            )
        elif e.reason and not fit.rejection:
            _note(f"{e.joint}: {e.parameter}: {e.reason}")
    for note in fit.notes:
        if note != fit.rejection:
            _note(note)


def _overlay(tune: Tune, finished: Finished) -> None:
    """The motion of a joint, of which a combo box offers all."""
    found = _overlays(finished)
    if not found:
        return
    names = [one.label for one in found]
    now = names.index(tune.fit_joint) if tune.fit_joint in names else 0
    imgui.set_next_item_width(px(220))
    changed, now = imgui.combo("##overlay joint", now, names)
    imgui.set_item_tooltip(tr("Which joint is drawn; those first that were furthest off."))
    if changed:
        tune.fit_joint = names[now]
    draw_overlay(found[now], max(_height(), px(LEGIBLE)))


@lru_cache(maxsize=1)
def _overlays(finished: Finished) -> list[Overlay]:
    return overlays(finished.result)


def show_sweep(tune: Tune, finished: Finished) -> None:
    """The best points, of which a click picks one, and a picture of all."""
    job, swept = finished.job, finished.result
    assert isinstance(job, SweepJob) and isinstance(swept, Swept)
    bad = sum(row.status != "ok" for row in swept.results)
    if swept.best is None:
        first = next((row.error or row.status for row in swept.results), "nothing")
        _note(tr("every point failed; the first: {first}", first=first))
        return
    text = how_many(len(swept.ranking), "point") + (
        tr(", {count} failed", count=bad) if bad else ""
    )
    _note(text + (f"; {why}" if (why := swept.plan.why_not_batched) else ""))
    _ranking(tune, swept, job.space.names)
    draw_sweep(_picture(finished), tune.picked, _height())


@lru_cache(maxsize=1)
def _picture(finished: Finished) -> SweepPicture:
    swept: Swept = finished.result
    return SweepPicture.of(swept.ranking, swept.results.parameters, swept.objective.text)


def _ranking(tune: Tune, swept: Swept, names: Sequence[str]) -> None:
    metrics = swept.plan.job.scenario.metrics
    shown = swept.ranking[:LISTED]
    header = ("", *names, swept.objective.text, *(m for m in metrics if m != swept.objective.text))
    if not _begin("ranking", header, min(len(shown), VISIBLE), int(imgui.TableFlags_.scroll_y)):
        return
    for i, ranked in enumerate(shown):
        imgui.table_next_row()
        imgui.table_next_column()
        span = int(imgui.SelectableFlags_.span_all_columns)
        if imgui.selectable(f"{i + 1}###{i}", i == tune.picked, span)[0]:
            tune.picked = i
        for text in _cells(ranked, header[1:], names):
            imgui.table_next_column()
            imgui.text(text)
    imgui.end_table()


def _cells(ranked: Ranked, columns: Sequence[str], names: Sequence[str]) -> list[str]:
    values = [ranked.values[name] for name in names]
    numbers: list[Any] = [ranked.score, *(ranked.mean(m) for m in columns[len(names) + 1 :])]
    return [_text(v) for v in [*values, *numbers]]


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else "failed"
    return str(value)


def _height() -> float:
    low, high = map(px, HEIGHTS)
    return max(low, min(high, imgui.get_content_region_avail().y))


# Tables -----------------------------------------------------------------------------------------


def _begin(label: str, header: Sequence[str], count: int, flags: int = 0) -> bool:
    """Begin a table as high as its rows, with its own scroll bar below them."""
    # The id has the columns in it: imgui keeps widths by id.
    height = imgui.get_text_line_height_with_spacing() * (count + 2) + 4
    name = f"{label} {len(header)}"
    if not imgui.begin_table(name, len(header), int(_TABLE) | flags, ImVec2(0, height)):
        return False
    for i, text in enumerate(header):
        imgui.table_setup_column(f"{text}##{i}")
    imgui.table_setup_scroll_freeze(1, 1)
    imgui.table_headers_row()
    return True


def _table(
    label: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    colours: Sequence[ImVec4 | None] = (),
    *,
    first_only: bool = False,
) -> None:
    """Rows of texts, some of them (or their first texts only) in colours."""
    if not rows or not _begin(label, header, len(rows)):
        return
    for i, row in enumerate(rows):
        imgui.table_next_row()
        for k, text in enumerate(row):
            imgui.table_next_column()
            colour = colours[i] if colours and not (first_only and k) else None
            if colour is None:
                imgui.text(text)
            else:
                imgui.text_colored(colour, text)
    imgui.end_table()


def _note(text: str, colour: ImVec4 = GREY) -> None:
    imgui.push_style_color(imgui.Col_.text, colour)
    imgui.text_wrapped(text)
    imgui.pop_style_color()
