"""WindowParts: what menus and keys work on, with theme, undo, duplicate and delete."""

from collections.abc import Callable
from dataclasses import dataclass

from mjrig.editor.assets import hierarchy
from mjrig.editor.assets.hierarchy import Hierarchy
from mjrig.editor.panels.commands_panel import CommandsPanel
from mjrig.editor.panels.serve_panel import Served
from mjrig.editor.session.recording import RunRecording
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.ui import colours
from mjrig.editor.ui.panel import bring_forward
from mjrig.editor.ui.path_dialog import PathDialog
from mjrig.editor.viewport.scene_renderer import Quality
from mjrig.editor.viewport.viewport import Viewport
from mjrig.editor.window.capture import ViewportCapture
from mjrig.editor.window.scene_files import SceneFiles
from mjrig.editor.window.toolbar import Toolbar

# Theme --------------------------------------------------------------------------------------------


class Theme:
    """The colours of the window."""

    def __init__(self, state: EditorState) -> None:
        self.state = state
        self.name = colours.kept_theme()

    def use(self, name: str) -> None:
        """Change the colours, now and for the next start."""
        self.name = name
        self.state.attempt(lambda: colours.keep_theme(name))

    def paint(self) -> None:
        """Apply it; at the start hello_imgui applies its own theme, a frame late."""
        if not colours.is_applied(self.name):
            colours.apply_theme(self.name)


# Edit actions -------------------------------------------------------------------------------------
# What the menus and keys do to the scene: undo, redo, duplicate, delete.


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


# Window parts -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WindowParts:
    """Parts of one window."""

    state: EditorState
    files: SceneFiles
    edits: EditActions
    captures: ViewportCapture
    recording: RunRecording
    viewport: Viewport
    commands: CommandsPanel
    toolbar: Toolbar
    quality: Quality
    theme: Theme
    choose: PathDialog
    hierarchy: Hierarchy
    served: Served

    def rename(self) -> None:
        """Begin to rename the selected actor, in the hierarchy."""
        actor = self.state.selection.actor
        if actor is not None:
            bring_forward(self.hierarchy.title)
            self.hierarchy.start_renaming(actor)

    def close(self) -> None:
        """Close the window, unless something would be lost and the user wants to keep it."""
        self.files.unsaved.ask(self._close)

    def _close(self) -> None:
        self.files.discard()
        self.state.wants_to_close = True
