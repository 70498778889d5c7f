"""Tune: gains found on a copy and put into the scene as one edit; independent of widgets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from mjrig.core.errors import BindingError, MjrigError, PropertyError
from mjrig.core.names import how_many
from mjrig.editor.gains.gain_edits import set_gains
from mjrig.editor.gains.gain_model import Tuning
from mjrig.editor.session.job_runner import Finished, Runner
from mjrig.editor.session.job_worker import BackgroundJob
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import error_text, tr
from mjrig.editor.tune.tune_settings import (
    AssignSettings,
    FitSettings,
    GainTestSettings,
    RespondSettings,
    Settings,
    SweepSettings,
    joints_of,
)
from mjrig.lab.fit import write_back
from mjrig.lab.fit.identification import Fit
from mjrig.lab.gains.assignment import AssignmentPlan
from mjrig.lab.gains.gain_rows import Change, GainRow
from mjrig.lab.report.html_page import write_report
from mjrig.lab.responses.gain_report import described
from mjrig.lab.sweep import best_point
from mjrig.lab.sweep.runner import Swept


class TuneTask(StrEnum):
    """The tasks of the panel."""

    RESPOND = "respond"
    TEST = "test"
    ASSIGN = "assign"
    FIT = "fit"
    SWEEP = "sweep"


@dataclass(frozen=True)
class TuneFindings:
    """What a task found, and which edit of the scene it was found for."""

    finished: Finished
    position: int

    @property
    def result(self) -> Any:
        """The result; None where there is a problem."""
        return self.finished.result

    @property
    def problem(self) -> str:
        """Why there is no result."""
        return self.finished.problem


class Tune:
    """The settings of each task, the task that runs, and the results of the others.

    Call `hear` once per frame, also while the panel is hidden, and `refresh` before it is drawn.
    """

    def __init__(self, state: EditorState, tuning: Tuning, runner: Runner | None = None) -> None:
        self.state, self.tuning = state, tuning
        self.respond, self.assign = RespondSettings(), AssignSettings()
        self.test = GainTestSettings()
        self.fit, self.sweep = FitSettings(), SweepSettings()
        self.found: dict[TuneTask, TuneFindings] = {}
        self.running: TuneTask | None = None
        #: The row of the sweep's ranking that would be applied.
        self.picked = 0
        #: The joint whose motion a fit shows; none of that name: the one that was furthest off.
        self.fit_joint = ""
        #: The gain test whose curve is drawn; None: the first that failed.
        self.shown: int | None = None
        self.runner = runner or Runner()
        #: The recording that was made last, if there is one.
        self.last_take: Callable[[], Path | None] = lambda: None
        self._scene: object = None
        self._position = 0

    def refresh(self) -> None:
        """Look at the selection, and at the task that runs."""
        self.tuning.refresh()
        self.hear()

    def hear(self) -> None:
        """Take the task's result, once it is done; forget all results if another scene is open."""
        if self._scene is not self.state.scene:  # another one was opened
            self._scene = self.state.scene
            self.cancel()
            self.found.clear()
        finished = self.runner.take()
        if finished is not None and self.running is not None:
            self._note(self.running, finished)
            self.running = None

    def _note(self, task: TuneTask, finished: Finished) -> None:
        self.found[task] = TuneFindings(finished, self._position)
        console, title = self.state.console, f"{task} {finished.job.title}"
        if finished.problem:
            console.fail(f"{title}: {finished.problem}", finished.detail)
            return
        if task is TuneTask.SWEEP:
            self.picked = 0
        if task is TuneTask.TEST:
            self.shown = None
        console.say(tr("{title}: done in {seconds:.1f} s", title=title, seconds=finished.seconds))

    # Joints -------------------------------------------------------------------------------------

    @property
    def rows(self) -> list[GainRow]:
        """The joints to tune: the selected ones, else all that the gain table shows."""
        return self.tuning.chosen_rows or self.tuning.visible

    @property
    def who(self) -> str:
        """Description of those joints."""
        rows = self.rows
        if not rows:
            return why_no_rows(rows)
        where = "selected" if self.tuning.chosen_rows else tr("all shown")
        return f"{how_many(len(rows), 'joint')}, {where}"

    # Work ---------------------------------------------------------------------------------------

    def job(self, task: TuneTask) -> BackgroundJob:
        """The job a task would run now.

        Raises:
            MjrigError: a setting is missing or wrong.
        """
        settings: dict[TuneTask, Settings] = {
            TuneTask.RESPOND: self.respond,
            TuneTask.TEST: self.test,
            TuneTask.ASSIGN: self.assign,
            TuneTask.FIT: self.fit,
            TuneTask.SWEEP: self.sweep,
        }
        return settings[task].job(self.state.scene, self.rows)

    def run(self, task: TuneTask) -> bool:
        """Start a task; returns whether it could be started."""
        try:
            job = self.job(task)
        except MjrigError as error:
            self.found.pop(task, None)
            self.state.problems[key_of(task)] = error_text(error)
            self.state.console.fail(f"{task}: {error_text(error)}")
            return False
        self.state.problems.pop(key_of(task), None)
        self._position = self.state.session.undo_stack.position
        self.running = task
        self.runner.start(job)
        return True

    def cancel(self) -> None:
        """Cancel the running task; the last result stays."""
        if self.running is not None:
            self.state.console.say(tr("{task}: cancelled", task=self.running))
        self.running = None
        self.runner.cancel()

    def close(self) -> None:
        """End the background process."""
        self.running = None
        self.runner.close()

    # Results ------------------------------------------------------------------------------------

    def is_old(self, found: TuneFindings) -> bool:
        """Whether the scene was edited since."""
        return found.position != self.state.session.undo_stack.position

    def why_not_applied(self, task: TuneTask) -> str:
        """Why a result cannot be put into the scene; empty: it can."""
        result = self.found[task].result
        if isinstance(result, AssignmentPlan):
            rows = [row for row, _ in result.changes if row.locked]
            return f"{rows[0].key}: {rows[0].locked}" if rows else ""
        if isinstance(result, Fit) and not any(e.identifiable for e in result.estimates):
            return tr("the recordings identify none of the parameters")
        if isinstance(result, Fit) and result.rejection:
            return result.rejection
        if isinstance(result, Swept) and self._point(result) is None:
            return tr("this point failed")
        return ""

    def apply(self, task: TuneTask) -> bool:
        """Put a result into the scene: one edit, all or nothing."""
        result = self.found[task].result
        edits: dict[type, Callable[[Any], None]] = {
            AssignmentPlan: self._put_plan,
            Fit: self._put_fit,
            Swept: self._put_point,
        }
        was_old = self.is_old(self.found[task])
        done = self.state.attempt(lambda: edits[type(result)](result), key_of(task))
        if done and not was_old:  # its own edit does not make it old
            position = self.state.session.undo_stack.position
            self.found[task] = replace(self.found[task], position=position)
        return done

    def _put_plan(self, plan: AssignmentPlan) -> None:
        changes = self._present(plan.changes)
        title = tr(
            "Assign {frequency:g} Hz to {count}",
            frequency=plan.wish.frequency,
            count=how_many(len(changes), "joint"),
        )
        set_gains(self.state.session, changes, title=title)

    def _present(self, changes: Sequence[Change]) -> list[Change]:
        """The changes for the rows as they are now."""
        rows = {row.key: row for row in self.tuning.rows}
        found: list[Change] = []
        for old, gains in changes:
            row = rows.get(old.key)
            if row is None or row.locked:
                why = row.locked if row else tr("is no longer in the gain table")
                raise BindingError(f"{old.key}: {why}")
            found.append((row, gains))
        return found

    def _put_fit(self, found: Fit) -> None:
        with self.state.session.edit(tr("Fit {actor}", actor=found.actor)) as scene:
            write_back.put_fit(found, scene)

    def _put_point(self, swept: Swept) -> None:
        values = self._working_point(swept)
        with self.state.session.edit(
            tr("Best of {count} points", count=len(swept.ranking))
        ) as scene:
            best_point.put(scene, swept.plan.experiment, values)

    def _working_point(self, swept: Swept) -> Mapping[str, Any]:
        values = self._point(swept)
        if values is None:
            raise PropertyError(tr("this point failed"))
        return values

    def _point(self, swept: Swept) -> Mapping[str, Any] | None:
        if self.picked >= len(swept.ranking):
            return None
        ranked = swept.ranking[self.picked]
        return ranked.values if ranked.score < float("inf") else None

    def save(self, task: TuneTask, name: str) -> bool:
        """Save the gains of a result as a preset beside those of the gain table."""
        path = self.preset_path(name)

        def write() -> None:
            note = self._write_preset(self.found[task].result, path)
            self.state.console.say(tr("gains saved to {path}{note}", path=path, note=note))

        return self.state.attempt(write, key_of(task))

    def preset_path(self, name: str) -> Path:
        """Where a preset of this name is."""
        return self.tuning.preset_folder() / f"{name or 'tuned'}.yaml"

    def report_path(self) -> Path:
        """Where the report of the gain tests is written: beside the scene."""
        scene = self.state.scene
        stem = scene.path.stem if scene.path is not None else "scene"
        return scene.base / f"{stem}_gain_tests.html"

    def save_report(self) -> bool:
        """Write the report of the gain tests."""
        path = self.report_path()

        def write() -> None:
            report = described(self.found[TuneTask.TEST].result)
            write_report(report, path, path.with_suffix(".json"))
            self.state.console.say(tr("report written to {path}", path=path))
            self.state.offer_file(path)

        return self.state.attempt(write, key_of(TuneTask.TEST))

    def _write_preset(self, result: Any, path: Path) -> str:
        if isinstance(result, AssignmentPlan):
            result.save(path)
            return ""
        if isinstance(result, Fit):
            write_back.save(result, self.state.scene, path)
            return ""
        values = self._working_point(result)
        return best_point.write_preset(path, self.state.scene, result.plan.experiment, values)


def key_of(task: TuneTask) -> str:
    """Key of a task's problem in the state."""
    return tr("tune {task}", task=task)


def why_no_rows(rows: Sequence[GainRow]) -> str:
    """Why nothing can be tuned; empty: something can."""
    try:
        joints_of(rows)
    except PropertyError as error:
        return error_text(error)
    return ""
