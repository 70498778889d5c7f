"""What the menus and the keys of a window work on."""

from dataclasses import dataclass

from mjrig.editor.assets.hierarchy import Hierarchy
from mjrig.editor.replay.commands_panel import CommandsPanel
from mjrig.editor.serve.served import Served
from mjrig.editor.session.recording import RunRecording
from mjrig.editor.session.state import EditorState
from mjrig.editor.ui.panel import bring_forward
from mjrig.editor.ui.path_dialog import PathDialog
from mjrig.editor.viewport.quality import Quality
from mjrig.editor.viewport.viewport import Viewport
from mjrig.editor.window.edit_actions import EditActions
from mjrig.editor.window.scene_files import SceneFiles
from mjrig.editor.window.theme import Theme
from mjrig.editor.window.toolbar import Toolbar
from mjrig.editor.window.viewport_capture import ViewportCapture


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
