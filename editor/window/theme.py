"""Theme: light or dark, now and for the next start."""

from mjrig.editor.session.state import EditorState
from mjrig.editor.ui import colours


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
