"""Sheet: what all widgets of the inspector share, and the row that is scrolled to and marked."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from imgui_bundle import imgui

from mjrig.editor.inspector.fields import Field
from mjrig.editor.session.state import EditorState

# Revealed -----------------------------------------------------------------------------------------


#: How long a row is marked [s].
_SECONDS = 2.0


class Revealed:
    """At most one property or action, by its path."""

    def __init__(self) -> None:
        self._path, self._until, self._is_scrolled = "", 0.0, True

    def show(self, path: str) -> None:
        """Mark it from now on; an empty path: nothing."""
        self._path, self._is_scrolled = path, not path
        self._until = time.monotonic() + _SECONDS

    def is_it(self, path: str) -> bool:
        """Whether a row is the one: what hides it is to be opened."""
        return bool(self._path) and path == self._path and time.monotonic() < self._until

    def mark_row(self, path: str) -> None:
        """After the first column of a row of a table."""
        if self.is_it(path):
            imgui.table_set_bg_color(imgui.TableBgTarget_.row_bg1, _colour())
            self._scroll()

    def mark_item(self, path: str) -> None:
        """After an item of its own."""
        if self.is_it(path):
            low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
            imgui.get_window_draw_list().add_rect(low, high, _colour(), 3.0, 2.0)
            self._scroll()

    def _scroll(self) -> None:
        if not self._is_scrolled:
            self._is_scrolled = True
            imgui.set_scroll_here_y()


def _colour() -> int:
    return imgui.get_color_u32(imgui.Col_.header_active)


# Sheet --------------------------------------------------------------------------------------------


#: Shown where the selected objects differ.
MIXED = "-"
#: Type of what is dragged inside the window; `EditorState.dragged` has the value.
PAYLOAD = "MJRIG"


@dataclass
class Sheet:
    """What widgets need besides their field."""

    state: EditorState
    #: Texts being typed, by imgui id.
    typed: dict[int, str] = field(default_factory=dict)
    #: Opens a file dialog: (suffixes, what to do with the chosen file); None: there is none.
    browse: Callable[[tuple[str, ...], Callable[[str], None]], None] | None = None
    #: Values of options in the running model, by name.
    options: Callable[[str], Any] = lambda name: None
    #: The row that was asked for from outside.
    revealed: Revealed = field(default_factory=Revealed)


Widget = Callable[[Field, Sheet], None]
