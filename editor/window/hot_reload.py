"""HotReload: changes of the scene's files on disk are loaded while the world runs, after asking."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from imgui_bundle import imgui

from mjrig.core.errors import MjrigError
from mjrig.core.files.sandbox import trusted_folders
from mjrig.core.findings import warning
from mjrig.core.names import listed
from mjrig.core.scene.editing.file_watch import FileWatch, watched_files
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.session.background import Background
from mjrig.editor.session.state import EditorState
from mjrig.editor.session.user_files import (
    config_folder,
    read_settings,
    trust_store,
    write_settings,
)
from mjrig.editor.text import error_text, tr
from mjrig.editor.ui.dialogs import Dialog

# Reload dialog ------------------------------------------------------------------------------------


#: At most this many files are listed.
_LISTED = 8


class ReloadDialog(Dialog):
    """Asks whether changed files are taken up. The state of the simulation is kept."""

    title = "Changed by another program"

    def __init__(self, state: EditorState) -> None:
        super().__init__(state)
        self._files: Sequence[Path] = ()
        self._loses = False
        self._take: Callable[[], object] = lambda: None
        self._decline: Callable[[], object] = lambda: None
        self.always = False

    def ask(
        self,
        files: Sequence[Path],
        *,
        loses: bool,
        take: Callable[[], object],
        decline: Callable[[], object],
    ) -> None:
        """Show it.

        Args:
            files: what was changed.
            loses: whether taking them up replaces edits that are not saved.
            take: called to take them up.
            decline: called to leave everything as it is.
        """
        self._files, self._loses, self.always = files, loses, False
        self._take, self._decline = take, decline
        self.open()

    def content(self) -> None:
        imgui.text(tr("These files were changed on disk:"))
        for file in self._files[:_LISTED]:
            imgui.bullet_text(str(file))
        if len(self._files) > _LISTED:
            imgui.text(tr("and {count} more", count=len(self._files) - _LISTED))
        imgui.spacing()
        if self._loses:
            imgui.text(tr("The scene also has changes here that are not saved."))
            self._answers(tr("Take the file"), tr("Keep mine"))
            return
        imgui.text(tr("The simulation keeps its state."))
        _, self.always = imgui.checkbox(tr("from now on without asking"), self.always)
        self._answers(tr("Take up"), tr("Not now"))

    def _answers(self, yes: str, no: str) -> None:
        if imgui.button(f"{yes}###take"):
            self.close()
            self._take()
        about = tr("Undo brings your changes back") if self._loses else tr("Builds a new world")
        imgui.set_item_tooltip(about)
        imgui.same_line()
        if imgui.button(f"{no}###keep"):
            self.escape()
        if self._loses:
            imgui.set_item_tooltip(tr("The file stays as it is; Save asks what to do with it"))

    def escape(self) -> None:
        self.close()
        self._decline()


# Hot reload ---------------------------------------------------------------------------------------


#: The entry of the settings.
_SETTING = "reload_without_asking"


class HotReload:
    """Watches the scene file, the files it includes, models with their parts, policies, modules.

    What was changed is tried in the background first: a file that cannot be read, perhaps because
    only half of it is written, is told of and waited for; the running world stays.
    """

    def __init__(self, state: EditorState, clock: Callable[[], float] = time.monotonic) -> None:
        self.state = state
        self.dialog = ReloadDialog(state)
        self._clock = clock
        self._watch = FileWatch()
        self._scene: tuple[Scene, Path | None] | None = None
        self._edit: object = None
        self._changed: dict[Path, None] = {}
        self._trial: Background[None] | None = None
        self._is_tried = False
        self.always = bool(read_settings(_settings()).get(_SETTING, False))

    @property
    def is_awaiting(self) -> bool:
        """Whether what was changed is being tried."""
        return self._trial is not None

    def toggle(self) -> None:
        """Ask, or take changed files up without asking; remembered for the next start."""
        self.always = not self.always
        settings = {**read_settings(_settings()), _SETTING: self.always}
        self.state.attempt(lambda: write_settings(_settings(), settings))

    def tick(self, *, may_ask: bool, may_take: bool) -> None:
        """Once per frame: look at the files, try what was changed, then ask or take it up.

        Args:
            may_ask: whether a question may be asked now; else later.
            may_take: whether a new world may come without a question.
        """
        now = self._clock()
        if self.state.simulation.can_replace and self._watch.is_due(now):
            self._look(now)
        if self._trial is not None and self._trial.is_done:
            self._judge(self._trial)
        if self._is_tried and not self.dialog.is_open:
            if self.always and may_take and not self._loses:
                self._take()
            elif may_ask:
                files = sorted(self._changed)
                take, decline = self._take_as_asked, self._forget
                self.dialog.ask(files, loses=self._loses, take=take, decline=decline)

    # Looking ------------------------------------------------------------------------------------

    def _look(self, now: float) -> None:
        scene, stack = self.state.scene, self.state.session.undo_stack
        if self._scene is None or self._scene[0] is not scene or self._scene[1] != scene.path:
            self._scene, self._edit = (scene, scene.path), None
            self._forget()
        edit = stack.position, id(stack.undoable)
        if edit != self._edit:
            self._edit = edit
            with suppress(MjrigError):  # an included file is broken now: watch what was watched
                self._watch.follow(watched_files(scene))
        found = [path for path in self._watch.look(now) if not self._is_ours(path)]
        if found:
            self._changed |= dict.fromkeys(found)
            self._try()

    def _is_ours(self, path: Path) -> bool:
        """Whether it is what this window saved itself."""
        return path == self.state.scene.path and not self.state.scene.changed_on_disk()

    def _try(self) -> None:
        self._is_tried = False
        scene, trusted = self.state.scene, trusted_folders(trust_store())
        text, base, path = scene.to_text(), scene.base, scene.path
        folders = (*scene.reading.trusted, *trusted)
        from_file = path is not None and path in self._changed

        def trial() -> None:
            if from_file and path is not None:
                World(Scene.load(path, trust=folders))
            else:
                World(Scene.parse(text, base, trust=folders))

        self._trial = Background(trial, "mjrig-reload")

    def _judge(self, trial: Background[None]) -> None:
        self._trial = None
        if trial.error is None:
            self._is_tried = True
            return
        files = [path.name for path in self._changed]
        reason = error_text(trial.error)
        self.state.console.report(warning("changed-file", "", here=files, reason=reason))

    # Taking -------------------------------------------------------------------------------------

    @property
    def _loses(self) -> bool:
        """Whether taking the file would replace edits that are not saved."""
        return self.state.scene.path in self._changed and self.state.session.is_dirty

    def _take_as_asked(self) -> None:
        if self.dialog.always and not self.always:
            self.toggle()
        self._take()

    def _take(self) -> None:
        session, files = self.state.session, listed(path.name for path in self._changed)
        own = self.state.scene.path in self._changed
        self._forget()
        if self.state.attempt(session.reload if own else session.renew):
            self.state.console.say(tr("took up {files}, changed on disk", files=files))

    def _forget(self) -> None:
        self._changed, self._is_tried, self._trial = {}, False, None


def _settings() -> Path:
    return config_folder() / "editor.json"
