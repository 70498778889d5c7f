"""Scene files of the window: open, save, reload, recover, with their dialogs.

A model opens as a new scene around it, a recording opens the scene it was made in. Code in a
folder runs only after the user agreed once.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from imgui_bundle import imgui

from mjrig.core.errors import MjrigError, SceneError, UntrustedError
from mjrig.core.files.paths import MODELS
from mjrig.core.files.sandbox import trust, trusted_folders
from mjrig.core.scene.editing.references import KEYFRAME, kept_names
from mjrig.core.scene.editing.scene import Actor, Scene
from mjrig.core.scene.scene_description import SCENES
from mjrig.core.scene.scene_file import Trust
from mjrig.core.sim.floor_placement import HOME
from mjrig.data.recording.metadata import scene_of
from mjrig.data.recording.readers import read_recording
from mjrig.editor.session.autosave import Autosave, Unsaved
from mjrig.editor.session.state import EditorState
from mjrig.editor.session.user_files import (
    forget_recent,
    free_file,
    note_recent,
    recent_files,
    trust_store,
)
from mjrig.editor.text import tr
from mjrig.editor.ui.dialogs import ChangedDialog, Dialog, RecoverDialog, UnsavedDialog
from mjrig.editor.ui.path_dialog import PathDialog
from mjrig.editor.window.hot_reload import HotReload
from mjrig.lab.replay.source import SUFFIXES

# Opening ------------------------------------------------------------------------------------------
# Open a file in the editor: a scene as it is, a model as a new scene around it.
#
# A recording opens the scene it was made in.


_POLICIES = (".onnx", ".pt")


def is_recording(path: Path) -> bool:
    """Whether a file may hold a recording, by its name."""
    return path.suffix.lower() in SUFFIXES


def open_file(path: Path | None, trust: Trust = False) -> Scene:
    """The scene a file stands for; none: an empty one.

    Args:
        path: the file.
        trust: run code beside the scene, also in folders the user has not trusted yet.

    Raises:
        UntrustedError: it has types in modules of a folder that is not trusted.
        SceneError: it cannot be read, or is of an unsupported kind.
    """
    if path is None:
        return Scene()
    trusted = trust or trusted_folders(trust_store())
    suffix = path.suffix.lower()
    if is_recording(path):
        return scene_of(read_recording(path), trust=trusted)
    if suffix in _POLICIES:
        raise SceneError(
            tr("{path}: is a network; open its robot's scene and drop it on the robot", path=path)
        )
    if path.is_dir() or suffix not in (*SCENES, *MODELS, ""):
        known = ", ".join((*SCENES, *MODELS, *SUFFIXES))
        raise SceneError(
            tr("{path}: cannot be opened; the editor opens {known}", path=path, known=known)
        )
    scene = Scene.load(path, trust=trusted)
    if scene.model_file is not None:
        _start_well(scene.actors[0], path)
    return scene


def _start_well(actor: Actor, model: Path) -> None:
    """A model by itself starts as one that is dropped: in its home keyframe, if it has one."""
    actor.model = model.absolute()  # in full, until the scene is saved: it has no folder yet
    with suppress(MjrigError):  # building its world will tell
        if HOME in kept_names(actor)[KEYFRAME]:
            actor.keyframe = HOME


# Trust dialog -------------------------------------------------------------------------------------


class TrustDialog(Dialog):
    """After a scene was refused because it uses code in a folder that is not trusted."""

    title = "Trust this folder?"

    def __init__(self, state: EditorState) -> None:
        super().__init__(state)
        self._folder = Path()
        self._then: Callable[[], Any] = lambda: None

    def attempt(self, opening: Callable[[], Any], again: Callable[[], Any]) -> bool:
        """Open something; where trust is missing, ask, and call `again` after a yes.

        Returns:
            Whether it was opened.
        """

        def opened() -> None:
            try:
                opening()
            except UntrustedError as error:
                self.ask(error.folder, again)
                raise

        return self.state.attempt(opened)

    def ask(self, folder: Path, then: Callable[[], Any]) -> None:
        """Ask about a folder; `then` is what needs it."""
        self._folder, self._then = folder, then
        self.open()

    def content(self) -> None:
        imgui.text(tr("The scene uses components written in Python, in the folder"))
        imgui.text(f"    {self._folder}")
        imgui.text(tr("They run with your permissions on this computer."))
        imgui.spacing()
        if imgui.button(tr("Trust")):
            self.close()
            self.answer_yes()
        imgui.set_item_tooltip(tr("Run the code in this folder, now and in future"))
        imgui.same_line()
        if imgui.button(tr("Don't trust")):
            self.close()

    def answer_yes(self) -> None:
        """Remember the folder and continue."""
        if self.state.attempt(lambda: trust(self._folder, trust_store())):
            self._then()


# Scene files --------------------------------------------------------------------------------------


class SceneFiles:
    """The file of the open scene.

    Args:
        state: state of the editor.
        choose: asks for a path.
        on_open: called when another scene took the place of this one.
        show_recording: called with a recording whose scene was opened.
    """

    def __init__(
        self,
        state: EditorState,
        choose: PathDialog,
        on_open: Callable[[], None],
        show_recording: Callable[[Path], None],
    ) -> None:
        self.state = state
        self.choose = choose
        self._on_open, self._show_recording = on_open, show_recording
        self.unsaved = UnsavedDialog(state, self.save_first)
        self.changed = ChangedDialog(state, lambda: self.save(overwrite=True), self._reload)
        self.recover = RecoverDialog(state, self._recover)
        self.trust = TrustDialog(state)
        self.hot = HotReload(state)
        self._autosave = Autosave(state.scene.path)
        self._is_discarded = False
        #: Files that were opened or saved last, newest first.
        self.recent = recent_files()

    @property
    def dialogs(self) -> tuple[Dialog, ...]:
        """The questions it asks."""
        return (self.unsaved, self.changed, self.recover, self.trust, self.hot.dialog)

    def save(self, path: Path | None = None, *, overwrite: bool = False) -> bool:
        """Write the scene; one that has no file yet goes where `suggested` says."""
        state = self.state
        if path is None and state.scene.path is None:
            path = self.suggested()
        if not state.attempt(lambda: state.session.save(path, overwrite=overwrite)):
            if path is None and not overwrite and state.scene.changed_on_disk():
                self.changed.open()
            return False
        self._autosave.done()
        self._autosave = Autosave(state.scene.path)
        state.console.say(tr("saved {path}", path=state.scene.path))
        self.note_recent(state.scene.path)
        if state.scene.path is not None:
            state.offer_file(state.scene.path)
        return True

    def note_recent(self, path: Path | None) -> None:
        """Remember a file that was opened or saved."""
        if path is not None and self.state.attempt(lambda: note_recent(path)):
            self.recent = recent_files()

    def forget_recent(self) -> None:
        """Empty the list of recent files."""
        if self.state.attempt(forget_recent):
            self.recent = []

    def _reload(self) -> None:
        path = self.state.scene.path
        if path is not None:
            self.open_path(path)

    def save_first(self, then: Callable[[], Any] = lambda: None) -> None:
        """Save, asking where to if the scene has no file yet; then do something."""
        if self.state.scene.path is None:
            self.ask_save(then)
        elif self.save():
            then()

    def ask_open(self) -> None:
        """Choose a scene or model to open."""
        start = self.state.scene.base.resolve()
        self.choose.ask("Open", start, (*SCENES, *MODELS), self.open_path)

    def ask_save(self, then: Callable[[], Any] = lambda: None) -> None:
        """Choose where to write the scene; then do something."""
        start = self.state.scene.path or self.suggested()

        def write(path: Path) -> bool:
            if not self.save(path):
                return False
            then()
            return True

        self.choose.ask("Save", start.resolve(), SCENES, write)

    def suggested(self) -> Path:
        """Where a scene without a file goes: beside its model, if one can write there."""
        model = self.state.scene.model_file
        if model is not None and os.access(model.parent, os.W_OK):
            return free_file(model.parent, model.stem, ".yaml")
        return free_file(Path.cwd(), "scene", ".yaml")

    def open_path(self, path: Path) -> None:
        """Open a scene, a model or the scene of a recording in place of this one.

        Asks about unsaved changes first.
        """

        def go() -> None:
            opened = self.trust.attempt(lambda: self.open_scene(open_file(path)), go)
            if opened:
                self.note_recent(path)
            if opened and is_recording(path):
                self._show_recording(path)

        self.unsaved.ask(go)

    def new(self) -> None:
        """An empty scene in place of this one; asks about unsaved changes first."""
        self.unsaved.ask(lambda: self.state.attempt(lambda: self.open_scene(Scene())))

    def open_scene(self, scene: Scene) -> None:
        """Put another scene in place of this one.

        Raises:
            MjrigError: its world cannot be built; this one stays.
        """
        self.state.open(scene)
        self._autosave.done()
        self._autosave = Autosave(scene.path)
        self._on_open()

    def offer(self, left: list[Unsaved]) -> None:
        """Ask about unsaved scenes of an editor that was killed."""
        self.recover.ask(left)

    def _recover(self, leftover: Unsaved) -> None:
        """Open the saved scene, then apply the unsaved changes; asks about unsaved ones first."""
        self.unsaved.ask(lambda: self.state.attempt(lambda: self._apply_leftover(leftover)))

    def _apply_leftover(self, leftover: Unsaved) -> None:
        path = Path(leftover.scene) if leftover.scene else None
        trusted = trusted_folders(trust_store())
        recovered = Scene.parse(leftover.text, leftover.base, trust=trusted)
        if path is not None and path.is_file():
            self.open_scene(open_file(path))
        else:  # nothing was saved ever, or it is gone
            self.open_scene(Scene.parse("mjrig: 1\n", leftover.base, trust=trusted))
        self.state.session.recover(recovered)
        self._autosave.write(self.state.scene)  # first: a crash in between must not lose both
        leftover.forget()

    @property
    def autosave_problem(self) -> str:
        """Why unsaved changes would be lost if the editor ended now; empty: they would not."""
        return self._autosave.problem

    def keep_safe(self) -> None:
        """Write unsaved changes where the next start finds them, every few seconds."""
        before = self._autosave.problem
        try:
            self._autosave.tick(self.state.scene, is_dirty=self.state.session.is_dirty)
        except MjrigError as error:
            if str(error) != before:  # it is tried again and again
                self.state.console.fail(
                    tr("unsaved changes cannot be autosaved: {reason}", reason=error)
                )

    def discard(self) -> None:
        """The user decided to close: unsaved changes, if any are left, are not wanted."""
        self._is_discarded = True

    def close(self) -> str:
        """The window ends, for whatever reason; only a decision of the user forgets changes.

        Returns:
            What becomes of unsaved changes, for the terminal; empty: there are none.
        """
        if not self.state.session.is_dirty or self._is_discarded:
            self._autosave.done()
            return ""
        with suppress(MjrigError):  # `problem` has it
            self._autosave.write(self.state.scene)
        problem = self._autosave.problem
        if not problem:
            return tr("changes that are not saved are offered at the next start")
        if self._autosave.is_written:
            return tr(
                "the latest unsaved changes are lost, since they could not be autosaved: {reason}; "
                "the next start offers an earlier state",
                reason=problem,
            )
        return tr(
            "unsaved changes are lost, since they could not be autosaved: {reason}",
            reason=problem,
        )

    def report_unsaved(self) -> None:
        """Close, and print to the terminal what becomes of unsaved changes."""
        if text := self.close():
            with suppress(OSError):  # after SIGHUP there is no terminal any more
                print(text, file=sys.stderr, flush=True)
