"""Screen: what a window needs of the place it is shown at, be it a desktop or a browser."""

from pathlib import Path
from typing import Any, Protocol

from mjrig.editor.assets.thumbnails import Picture
from mjrig.editor.panels.gamepad import Sticks
from mjrig.editor.session.state import EditorState
from mjrig.editor.viewport.scene_renderer import SceneRenderer
from mjrig.editor.window.window import Window


class Screen(Protocol):
    """Where a window is shown. Whatever is listed here works in every one of them."""

    def make_view(self, model: Any) -> SceneRenderer:
        """What draws the worlds of a model."""
        ...

    def upload(self, picture: Picture) -> int:
        """Make a texture of a picture, for thumbnails."""
        ...

    def start(self, window: Window) -> None:
        """The window has a context now: accept files that are dropped, and whatever else is due."""

    def show_title(self, text: str) -> None:
        """Put a text into the title bar."""

    def read_pad(self) -> Sticks | None:
        """The sticks of the user's gamepad; None: there is none."""
        ...

    def offer(self, path: Path) -> None:
        """A file was written that the user may want: bring it within reach."""


def window_on(screen: Screen, state: EditorState) -> Window:
    """A window that is shown on a screen."""

    def start(window: Window) -> None:
        window.show_title = screen.show_title
        window.commands.read_pad = screen.read_pad
        state.offer_file = screen.offer
        screen.start(window)

    return Window(state, screen.make_view, upload=screen.upload, on_start=start)
