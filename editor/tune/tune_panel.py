"""The Tune panel: respond, test, assign, fit and sweep on the chosen joints, with results."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from imgui_bundle import ImVec2, imgui

from mjrig.core.names import listed
from mjrig.editor.gains.gain_model import Tuning
from mjrig.editor.session.job_runner import Finished
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import deferred, tr
from mjrig.editor.tune import tune_plots
from mjrig.editor.tune.tune_forms import (
    Browse,
    assign_form,
    fit_form,
    respond_form,
    show_tests,
    sweep_form,
    tests_form,
)
from mjrig.editor.tune.tune_model import Tune, TuneFindings, TuneTask, key_of, why_no_rows
from mjrig.editor.tune.tune_plots import (
    SweepPicture,
    draw_fit,
    draw_sweep,
    overlays,
)
from mjrig.editor.tune.tune_settings import RespondJob, SweepJob
from mjrig.editor.ui.colours import AMBER, GREY, RED
from mjrig.editor.ui.layout import px
from mjrig.editor.ui.panel import Panel
from mjrig.editor.ui.report_view import draw_curves, draw_note, draw_report, draw_table
from mjrig.lab.fit.identification import Fit
from mjrig.lab.fit.report import error_facts, estimates_table
from mjrig.lab.gains import assignment
from mjrig.lab.gains.assignment import AssignmentPlan
from mjrig.lab.report.content import Plots, Report, ReportCurves, ReportTable
from mjrig.lab.responses import response_report
from mjrig.lab.responses.joint_response import JointResponse
from mjrig.lab.rollouts.signals import Kind
from mjrig.lab.sweep.runner import Swept
from mjrig.lab.sweep.sweep_report import described

# Tune results -------------------------------------------------------------------------------------
# Results of the Tune panel as tables and plots: one function per task.


#: Least and largest height of plots; in between they are as high as there is room.
HEIGHTS = (150.0, 320.0)
#: Least height of a plot with its legend above.
LEGIBLE = 200.0
#: Points of a sweep that are listed, and how many are seen without scrolling.
LISTED = 50
VISIBLE = 5


def show_responses(tune: Tune, finished: Finished) -> None:
    """Metrics, causes of tracking errors, and the Bode plot."""
    job, found = finished.job, finished.result
    assert isinstance(job, RespondJob)
    responses: Sequence[JointResponse] = found
    has_frequencies = job.signal.kind in (Kind.CHIRP, Kind.SINE)
    (tune_plots.bode if has_frequencies else tune_plots.over_time)(responses, _height())
    table = _response_table(finished)
    place = {one.label: i for i, one in enumerate(tune_plots.drawn(responses))}
    labels = [str(row[0]) for row in table.rows]
    colours = [tune_plots.joint_colour(place[n]) if n in place else None for n in labels]
    draw_table("responses", table, colours=colours)
    for one in responses:
        if one.response.problem:
            draw_note(f"{one.label}: {one.response.problem}")
    if len(responses) > tune_plots.JOINTS:
        draw_note(
            tr(
                "the first {drawn} of {count} are drawn",
                drawn=tune_plots.JOINTS,
                count=len(responses),
            )
        )


@lru_cache(maxsize=1)
def _response_table(finished: Finished) -> ReportTable:
    job = finished.job
    assert isinstance(job, RespondJob)
    return response_report.table(finished.result, job.signal)


def show_plan(tune: Tune, finished: Finished) -> None:
    """Gains before and after, and the bounds that acted."""
    plan: AssignmentPlan = finished.result
    draw_table("plan", _plan_table(finished))
    for skipped in plan.skipped:
        draw_note(tr("skipped {joints}", joints=skipped))
    for note in plan.notes:
        draw_note(note)
    if plan.unstable:
        draw_note(
            tr(
                "{joints}: unstable in some pose by other gains; see `mjrig check`",
                joints=listed(plan.unstable),
            )
        )


@lru_cache(maxsize=1)
def _plan_table(finished: Finished) -> ReportTable:
    table = assignment.table(finished.result)
    rows = [[c.replace("→", "to") for c in cells] for cells in table.cells]  # not in the font
    return replace(table, rows=rows)


def show_fit(tune: Tune, finished: Finished) -> None:
    """Errors before and after, values with their intervals, and why some are not identifiable."""
    fit: Fit = finished.result
    if fit.rejection:
        draw_note(fit.rejection, RED)
    _overlay(tune, finished)
    draw_fit(fit, _height())
    draw_table("fit", estimates_table(fit))
    for name, value in error_facts(fit):
        draw_note(f"{name}: {value}")
    for note in fit.notes:
        if note != fit.rejection:
            draw_note(note)


def _overlay(tune: Tune, finished: Finished) -> None:
    """The motion of a joint, of which a combo box offers all."""
    found = _overlays(finished)
    if not found:
        return
    names = [one.title for one in found]
    now = names.index(tune.fit_joint) if tune.fit_joint in names else 0
    imgui.set_next_item_width(px(220))
    changed, now = imgui.combo("##overlay joint", now, names)
    imgui.set_item_tooltip(tr("Which joint is drawn; those first that were furthest off."))
    if changed:
        tune.fit_joint = names[now]
    draw_curves(found[now], max(_height(), px(LEGIBLE)))


@lru_cache(maxsize=1)
def _overlays(finished: Finished) -> list[ReportCurves]:
    return overlays(finished.result)


def show_sweep(tune: Tune, finished: Finished) -> None:
    """The best points, of which a click picks one, and a picture of all."""
    job, swept = finished.job, finished.result
    assert isinstance(job, SweepJob) and isinstance(swept, Swept)
    if swept.best is None:
        first = next((row.error or row.status for row in swept.results), "nothing")
        draw_note(tr("every point failed; the first: {first}", first=first))
        return
    report = _sweep_report(finished)
    (table, plots) = report.sections[:2]
    assert isinstance(table, ReportTable) and isinstance(plots, Plots)
    table = replace(table, rows=table.rows[:LISTED])
    draw_report(replace(report, sections=()))

    def choose(row: int) -> None:
        tune.picked = row

    draw_table(
        "ranking", table, most_rows=VISIBLE, chosen=lambda row: row == tune.picked, choose=choose
    )
    curves = [figure for figure in plots.figures if isinstance(figure, ReportCurves)]
    if len(swept.results.parameters) == 1 and curves:
        draw_curves(curves[0], _height(), curves[0].title)
    else:
        draw_sweep(_picture(finished), tune.picked, _height())


@lru_cache(maxsize=1)
def _sweep_report(finished: Finished) -> Report:
    """The report of a sweep."""
    swept: Swept = finished.result
    metrics, why = swept.plan.experiment.scenario.metrics, swept.plan.why_not_batched
    facts = [(tr("points"), str(len(swept.ranking)))]
    facts += [(tr("one world at a time"), why)] if why else []
    names = swept.results.parameters
    return described("", swept.ranking, names, metrics, swept.objective.text, facts)


@lru_cache(maxsize=1)
def _picture(finished: Finished) -> SweepPicture:
    swept: Swept = finished.result
    return SweepPicture.of(swept.ranking, swept.results.parameters, swept.objective.text)


def _height() -> float:
    low, high = map(px, HEIGHTS)
    return max(low, min(high, imgui.get_content_region_avail().y))


# Tune panel ---------------------------------------------------------------------------------------
# The Tune panel: respond, test, assign, fit and sweep on the chosen joints.


#: Width of the forms; where the panel is narrower than twice this, results are below.
FORM = 260.0


#: Tasks that find values for the scene.
GAINS = (TuneTask.ASSIGN, TuneTask.FIT, TuneTask.SWEEP)


class _Look(NamedTuple):
    """How a task is shown."""

    about: str
    form: Callable[[Tune, Browse], None]
    show: Callable[[Tune, Finished], None]


_LOOKS = {
    TuneTask.RESPOND: _Look(
        deferred("How do the joints follow a signal?"), respond_form, show_responses
    ),
    TuneTask.TEST: _Look(deferred("Do the gains pass their tests?"), tests_form, show_tests),
    TuneTask.ASSIGN: _Look(
        deferred("Gains from a frequency and a damping ratio."), assign_form, show_plan
    ),
    TuneTask.FIT: _Look(deferred("Parameters identified from recordings."), fit_form, show_fit),
    TuneTask.SWEEP: _Look(deferred("Many values, tested and ranked."), sweep_form, show_sweep),
}


class TunePanel(Panel):
    """Finds gains on a copy of the scene, in a separate process, and offers them as one edit."""

    title = "Tune"
    place = "bottom"

    def __init__(self, state: EditorState, tuning: Tuning) -> None:
        super().__init__(state)
        self.tune = Tune(state, tuning)
        #: Opens a file chooser; the window sets it.
        self.browse: Browse = lambda suffixes, then: None
        self._preset = "tuned"

    def draw(self) -> None:
        self.tune.refresh()
        if not imgui.begin_tab_bar("tasks"):
            return
        for task, look in _LOOKS.items():
            opened = imgui.begin_tab_item(task)[0]
            imgui.set_item_tooltip(tr(look.about))
            if opened:
                self._task(task, look)
                imgui.end_tab_item()
        imgui.end_tab_bar()

    def _task(self, task: TuneTask, look: _Look) -> None:
        beside = imgui.get_content_region_avail().x >= 2.0 * px(FORM)
        flags = imgui.ChildFlags_.none if beside else imgui.ChildFlags_.auto_resize_y
        if imgui.begin_child("form", ImVec2(px(FORM) if beside else 0.0, 0.0), int(flags)):
            self._form(task, look)
        imgui.end_child()
        if beside:
            imgui.same_line()
        if imgui.begin_child("result", ImVec2(0, 0)):
            found = self.tune.found.get(task)
            problem = self.state.problems.get(key_of(task)) or (found.problem if found else "")
            if problem:
                imgui.push_style_color(imgui.Col_.text, RED)
                imgui.text_wrapped(problem)
                imgui.pop_style_color()
            if found is not None and not found.problem:
                self._found(task, look, found)
        imgui.end_child()

    # What to do ---------------------------------------------------------------------------------

    def _form(self, task: TuneTask, look: _Look) -> None:
        imgui.push_style_color(imgui.Col_.text, GREY)
        imgui.text_wrapped(self.tune.who)
        imgui.pop_style_color()
        imgui.set_item_tooltip("\n".join(row.key for row in self.tune.rows))
        self._run(task)
        look.form(self.tune, self.browse)

    def _run(self, task: TuneTask) -> None:
        tune = self.tune
        if tune.running is None:
            why_not = why_no_rows(tune.rows)
            if _button("Run", why_not, tr("On a copy of the scene; the simulation keeps running.")):
                tune.run(task)
            return
        if imgui.button(tr("Cancel")):
            tune.cancel()
            return
        imgui.same_line()
        progress = tune.runner.progress
        # A negative share is a bar that moves to and fro.
        share = progress.share if progress.share is not None else -imgui.get_time()
        text = str(progress) if tune.running is task else f"{tune.running}: {progress}"
        imgui.progress_bar(share, ImVec2(-1, 0), text)
        job = tune.runner.job
        imgui.set_item_tooltip(f"{tune.running} {job.title}" if job else tune.running)

    # Results ------------------------------------------------------------------------------------

    def _found(self, task: TuneTask, look: _Look, found: TuneFindings) -> None:
        if task in GAINS:
            self._keep(task)
        if task is not TuneTask.RESPOND and self.tune.is_old(found):
            if task in GAINS:
                imgui.same_line()
            imgui.text_colored(AMBER, tr("the scene was edited since then"))
        look.show(self.tune, found.finished)

    def _keep(self, task: TuneTask) -> None:
        tune, why_not = self.tune, self.tune.why_not_applied(task)
        if _button("Apply", why_not, tr("Write into the scene, as one edit that can be undone.")):
            tune.apply(task)
        imgui.same_line()
        path = tune.preset_path(self._preset)
        # A preset of gains that are authored in another file is of use there.
        why_not = "" if task is TuneTask.ASSIGN else why_not
        if _button(tr("Save preset"), why_not, tr("Write the gains to {path}", path=path)):
            tune.save(task, self._preset)
        imgui.same_line()
        imgui.set_next_item_width(px(100))
        _, self._preset = imgui.input_text("##preset", self._preset)


def _button(label: str, why_not: str, about: str) -> bool:
    imgui.begin_disabled(bool(why_not))
    pressed = imgui.button(label)
    imgui.end_disabled()
    flags = imgui.HoveredFlags_.for_tooltip | imgui.HoveredFlags_.allow_when_disabled
    if imgui.is_item_hovered(flags):
        imgui.set_tooltip(why_not or about)
    return pressed
