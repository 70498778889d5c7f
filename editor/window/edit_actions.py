"""What the menus and keys do to the scene: undo, redo, duplicate, delete."""

from collections.abc import Callable

from mjrig.editor.assets import hierarchy
from mjrig.editor.session.state import EditorState
from mjrig.editor.texts.texts import tr


class EditActions:
    """Edits of the selection, and the way through the history of edits."""

    def __init__(self, state: EditorState) -> None:
        self.state = state

    def undo(self) -> None:
        """Take the last edit back."""
        self._tell("undone", self.state.session.undo)

    def redo(self) -> None:
        """Redo the edit that was undone last."""
        self._tell("redone", self.state.session.redo)

    def _tell(self, done: str, run: Callable[[], str | None]) -> None:
        """Undo or redo, and log what it was; it may be out of sight."""
        names: list[str | None] = []
        if self.state.attempt(lambda: names.append(run())):
            name = names[0]
            self.state.problems.clear()  # what was refused before is no longer what is looked at
            self.state.console.say(
                f"{done}: {name}" if name else tr("nothing left to be {done}", done=done)
            )

    def duplicate(self) -> None:
        """Add a copy of the selected actor."""
        actor = self.state.selection.actor
        if actor is not None:
            self.state.attempt(lambda: hierarchy.duplicate(self.state, actor))

    def delete(self) -> None:
        """Delete the selection from the scene."""
        self.state.attempt(lambda: hierarchy.delete(self.state, *self.state.selection.paths))

    def go_back_to(self, position: int) -> None:
        """Undo or redo until this many edits are done."""
        session = self.state.session
        while session.undo_stack.position > position and self.state.attempt(session.undo):
            pass
        while session.undo_stack.position < position and self.state.attempt(session.redo):
            pass
