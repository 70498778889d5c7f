"""Sheet: what the widgets of the inspector share besides their field."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mjrig.editor.inspector.fields import Field
from mjrig.editor.inspector.revealed import Revealed
from mjrig.editor.session.state import EditorState

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
