"""The replay panel: open a recording, scrub through it, compare, read the diagnosis."""

import webbrowser
from collections.abc import Callable
from functools import partial
from pathlib import Path

from imgui_bundle import imgui

from mjrig.editor.replay.playback import MODES, RATES, Replaying, parse_hints
from mjrig.editor.replay.recorded_plot import RecordedPlot
from mjrig.editor.replay.replay_job import CompareJob, ReplayAnswer
from mjrig.editor.session.job_runner import Finished, Runner
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.ui import icons
from mjrig.editor.ui.colours import RED
from mjrig.editor.ui.layout import px, size
from mjrig.editor.ui.number_cell import whole_number_cell
from mjrig.editor.ui.panel import Panel
from mjrig.editor.ui.path_dialog import PathDialog
from mjrig.editor.ui.remedies import draw_remedies
from mjrig.editor.ui.report_view import draw_report
from mjrig.lab.replay.source import SUFFIXES
from mjrig.lab.report.html_page import write_report
from mjrig.lab.report.output import prepare_folder
from mjrig.lab.rollouts.scene_bundle import LocalScene

#: Perturbed runs of a policy at most.
MOST_TRIALS = 50


class ReplayPanel(Panel):
    """A recording in the running world, and its comparison with this scene.

    Args:
        state: state of the window.
        choose: asks for files.
        open_scene: called with a recording, to open the scene it was made in.
    """

    title = "Replay"
    place = "bottom"

    def __init__(
        self,
        state: EditorState,
        choose: PathDialog,
        open_scene: Callable[[Path], object] = lambda path: None,
    ) -> None:
        super().__init__(state)
        self.replaying = Replaying(state)
        self.signals = RecordedPlot(state, self.replaying)
        #: The recording that was made last, if there is one.
        self.last_take: Callable[[], Path | None] = lambda: None
        self._choose, self._open_scene = choose, open_scene
        self._hints = ""
        self.trials = 0
        self.runner = Runner()
        self.answer: ReplayAnswer | None = None
        #: Whether the answer just came, and is to be seen.
        self._reveals = False
        #: Opens a page in the browser.
        self.show_page: Callable[[str], object] = webbrowser.open

    # From the window ----------------------------------------------------------------------------

    def open(self, path: Path, robot: str = "") -> None:
        """Read a recording and show it."""
        self._forget()
        self._hints = ""
        self.replaying.open(path, robot)

    def tick(self) -> None:
        """Once per frame, shown or not."""
        self.replaying.tick()
        finished = self.runner.take()
        if finished is not None:
            self._take(finished)

    @property
    def is_awaiting(self) -> bool:
        """Whether a file is being read or a comparison computed."""
        return self.replaying.is_reading or self.runner.is_busy

    def close(self) -> None:
        """The window closes."""
        self.replaying.close()
        self.runner.close()

    def _forget(self) -> None:
        self.runner.cancel()
        self.answer = None

    def _take(self, finished: Finished) -> None:
        if finished.problem:
            self.state.console.fail(finished.problem, finished.detail)
            return
        self.answer, self._reveals = finished.result, True
        self.state.console.say(finished.result.report.headline)

    # Widgets ------------------------------------------------------------------------------------

    def draw(self) -> None:
        self._file()
        replaying = self.replaying
        if replaying.is_reading:
            imgui.text_disabled(tr("reading {path}…", path=replaying.path))
        if replaying.problem:
            imgui.push_style_color(imgui.Col_.text, RED)
            imgui.text_wrapped(replaying.problem)
            imgui.pop_style_color()
        if replaying.recording is not None:
            self._transport()
            self.signals.draw()
            self._compare()
            if self.answer is not None:
                self._show(self.answer)
        elif replaying.problem:
            self._ask_hints()
        elif not replaying.is_reading:
            imgui.text_disabled(tr("Open a recording, or drop one on a robot."))

    def _file(self) -> None:
        replaying = self.replaying
        if imgui.button(tr("Open...")):
            start = (replaying.path or self.state.scene.base).resolve()
            self._choose.ask("Open", start, SUFFIXES, self.open)
        if replaying.path is None:
            self._offer_last()
            return
        imgui.same_line()
        if imgui.button(tr("Close")):
            self.close()
            return
        imgui.same_line()
        imgui.set_next_item_width(px(110))
        if imgui.begin_combo("##mode", replaying.mode):
            for mode, about in MODES.items():
                if imgui.selectable(mode, mode == replaying.mode)[0]:
                    replaying.set_mode(mode)
                imgui.set_item_tooltip(about)
            imgui.end_combo()
        imgui.set_item_tooltip(tr(MODES[replaying.mode]))
        imgui.same_line()
        self._name()

    def _offer_last(self) -> None:
        """The recording that was made last, by one click."""
        last = self.last_take()
        if last is None:
            return
        imgui.same_line()
        text = tr("Last take: {name}", name=last.name)
        if imgui.button(icons.labelled(icons.RECORDING, text, tr("last"))):
            self.open(last)
        imgui.set_item_tooltip(str(last))

    def _name(self) -> None:
        replaying, recording = self.replaying, self.replaying.recording
        assert replaying.path is not None
        imgui.text(replaying.path.name)
        if recording is None:
            return
        about = tr(
            "{path}\n{format}, {steps} steps",
            path=replaying.path,
            format=recording.format,
            steps=recording.steps,
        )
        about += tr(
            " of {timestep:g} s\nrobots: {names}",
            timestep=recording.timestep,
            names=", ".join(recording.actors),
        )
        imgui.set_item_tooltip(about)
        if replaying.robot:
            imgui.same_line()
            imgui.text_disabled(tr("on {robot}", robot=replaying.robot))
        if recording.attributes.get("scene"):
            imgui.same_line()
            if imgui.small_button(tr("Its scene")):
                self._open_scene(replaying.path)
            imgui.set_item_tooltip(
                tr("Open the scene it was recorded in; asks about unsaved changes")
            )

    def _ask_hints(self) -> None:
        """Ask for what the file does not contain."""
        imgui.set_next_item_width(px(320))
        _, self._hints = imgui.input_text_with_hint(
            "##hints", tr("fps=50; joints=[a, b]; quaternion=xyzw"), self._hints
        )
        imgui.same_line()
        if imgui.button(tr("Read again")):
            self.state.attempt(self._read_again)

    def _read_again(self) -> None:
        replaying = self.replaying
        assert replaying.path is not None
        replaying.open(replaying.path, replaying.robot, parse_hints(self._hints))

    def _transport(self) -> None:
        replaying = self.replaying
        label = "Pause###replay" if replaying.playing else "Play###replay"
        if imgui.button(label, size(56, 0)):
            replaying.toggle()
        imgui.same_line()
        if imgui.button(tr("Step")):
            replaying.step()
        imgui.same_line()
        imgui.set_next_item_width(px(64))
        if imgui.begin_combo("##rate", f"{replaying.rate:g}x"):
            for rate in RATES:
                if imgui.selectable(f"{rate:g}x", rate == replaying.rate)[0]:
                    replaying.set_rate(rate)
            imgui.end_combo()
        imgui.set_item_tooltip(tr("Seconds of the recording per second"))
        imgui.same_line()
        changed, loop = imgui.checkbox(tr("loop"), replaying.loop)
        if changed:
            replaying.set_loop(loop)
        imgui.same_line()
        imgui.set_next_item_width(-1)
        text = tr(
            "{time:.3f} of {duration:.3f} s", time=replaying.time, duration=replaying.duration
        )
        end = max(replaying.duration, 1e-6)
        moved, moment = imgui.slider_float("##scrub", replaying.time, 0.0, end, text)
        if moved:
            replaying.seek(moment)
        imgui.set_item_tooltip(
            tr("Any moment at once")
            if replaying.mode == tr("kinematic")
            else tr("Backwards at once; forwards by simulating as fast as possible")
        )

    # The comparison -----------------------------------------------------------------------------

    def _compare(self) -> None:
        if self.runner.is_busy:
            if imgui.button(tr("Cancel###compare")):
                self.runner.cancel()
                return
            imgui.same_line()
            elapsed = self.runner.progress.elapsed
            text = tr("running on a copy: {elapsed:.0f} s", elapsed=elapsed)
            imgui.progress_bar(-0.5 * elapsed, size(220, 0), text)
            return
        if imgui.button(tr("Compare###compare")):
            self.state.attempt(self.compare)
        imgui.set_item_tooltip(
            tr(
                "Replay on a copy of this scene, compare with the recording and diagnose "
                "differences; "
                "the simulation keeps running"
            )
        )
        if self.replaying.mode == "policy":
            imgui.same_line()
            imgui.set_next_item_width(px(90))
            _, self.trials = whole_number_cell(
                tr("perturbed runs"), self.trials, 0.05, 0, MOST_TRIALS, clamps=True
            )
        if self.answer is not None:
            imgui.same_line()
            if imgui.button(tr("Open report")):
                self.state.attempt(self.save_report)

    def compare(self) -> None:
        """Start the comparison."""
        replaying = self.replaying
        assert replaying.path is not None
        settings = {
            "mode": replaying.mode,
            "robot": replaying.robot,
            "trials": self.trials if replaying.mode == "policy" else 0,
            "hints": parse_hints(self._hints),
        }
        scene = self.state.scene
        name = str(scene.path) if scene.path else "scene"
        execution = self.state.simulation.world.requested_execution
        path = replaying.path.resolve()
        self.runner.start(CompareJob(LocalScene.of(scene), name, execution, path, settings))

    def save_report(self) -> None:
        """Write report.html and report.json beside the recording, and show the page."""
        path = self.replaying.path
        assert path is not None and self.answer is not None
        folder = path.resolve().with_name(f"{path.stem}-report")
        page = folder / "report.html"
        prepare_folder(folder)
        write_report(self.answer.report, page, folder / "report.json")
        self.state.console.say(tr("report: {page}", page=page))
        self.state.offer_file(page)
        self.show_page(page.as_uri())

    def _show(self, answer: ReplayAnswer) -> None:
        imgui.separator()
        if self._reveals:
            imgui.set_scroll_here_y(0.0)
            self._reveals = False
        draw_report(answer.report, partial(self._offer_fix, answer))

    def _offer_fix(self, answer: ReplayAnswer, i: int) -> None:
        imgui.push_id(i)
        draw_remedies(self.state, answer.diagnosis[i], robot=self.replaying.robot)
        imgui.pop_id()
