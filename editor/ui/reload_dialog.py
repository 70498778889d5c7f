"""ReloadDialog: files were changed on disk; take them up, now or always, or keep what is open."""

from collections.abc import Callable, Sequence
from pathlib import Path

from imgui_bundle import imgui

from mjrig.editor.session.state import EditorState
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.dialogs import Dialog

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
