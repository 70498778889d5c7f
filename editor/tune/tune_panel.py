"""The Tune panel: respond, test, assign, fit and sweep on the chosen joints."""

from collections.abc import Callable
from typing import NamedTuple

from imgui_bundle import ImVec2, imgui

from mjrig.editor.gains.gain_model import Tuning
from mjrig.editor.session.state import EditorState
from mjrig.editor.texts.texts import deferred, tr
from mjrig.editor.tune.tune import Tune, TuneFindings, TuneTask, key_of, why_no_rows
from mjrig.editor.tune.tune_forms import Browse, assign_form, fit_form, respond_form, sweep_form
from mjrig.editor.tune.tune_results import show_fit, show_plan, show_responses, show_sweep
from mjrig.editor.tune.tune_runner import Finished
from mjrig.editor.tune.tune_tests import show_tests, tests_form
from mjrig.editor.ui.colours import AMBER, GREY, RED
from mjrig.editor.ui.panel import Panel
from mjrig.editor.ui.scale import px

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
