"""TrustDialog: asks once whether the code in a folder may be run, and remembers a yes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from imgui_bundle import imgui

from mjrig.editor.session.state import EditorState
from mjrig.editor.session.user_files import trust_store
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.dialogs import Dialog
from mjrig.errors import UntrustedError
from mjrig.files.trust import trust


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
