"""Panel: one dockable part of the window; drag and drop between panels.

Plugins add panels by the entry point `mjrig.panels`.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import ClassVar

from imgui_bundle import hello_imgui, imgui

from mjrig.core.names import suggestion
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr

# Panel --------------------------------------------------------------------------------------------


GROUP = "mjrig.panels"
#: Where a panel can be docked at first.
PLACES = ("left", "right", "bottom", "bottom right", "centre")


class Panel:
    """Draws itself once per frame, and edits only through the state it is given."""

    title: ClassVar[str] = "Panel"
    #: Where it is docked at first: one of PLACES.
    place: ClassVar[str] = "right"
    window_flags: ClassVar[int] = 0
    _error = ""

    def __init__(self, state: EditorState) -> None:
        self.state = state

    def draw(self) -> None:
        """Build the panel's widgets; its window is open already."""
        raise NotImplementedError

    def guarded(self) -> None:
        """Draw; after an exception show it in the panel's place until Retry."""
        if self._error:
            imgui.text_wrapped(tr("This panel failed; the rest of the editor keeps running."))
            if imgui.button(tr("Retry")):
                self._error = ""
            imgui.text_wrapped(self._error)
            return
        recovery = imgui.internal.ErrorRecoveryState()
        imgui.internal.error_recovery_store_state(recovery)
        try:
            self.draw()
        except Exception as error:
            self._error = traceback.format_exc()
            self.state.console.fail(f"{self.title}: {type(error).__name__}: {error}", self._error)
            with _recovering():
                imgui.internal.error_recovery_try_to_recover_state(recovery)


@contextmanager
def _recovering() -> Iterator[None]:
    """Let Dear ImGui close what an exception left open, without asserting or printing it."""
    io = imgui.get_io()
    io.config_error_recovery_enable_assert = io.config_error_recovery_enable_debug_log = False
    try:
        yield
    finally:
        io.config_error_recovery_enable_assert = io.config_error_recovery_enable_debug_log = True


def finish_frame() -> None:
    """End a frame that an exception cut off: else no later frame could begin."""
    context = imgui.get_current_context()
    if context is not None and context.within_frame_scope:
        with _recovering():
            imgui.render()


def bring_forward(title: str) -> None:
    """Show a panel of the window, in front of those it shares its place with."""
    for window in hello_imgui.get_runner_params().docking_params.dockable_windows:
        if window.label == title:
            window.is_visible = window.focus_window_at_next_frame = True


def plugin_panels(state: EditorState) -> list[Panel]:
    """Panels of other packages; the console shows why one cannot be loaded."""
    found: list[Panel] = []
    for point in sorted(entry_points(group=GROUP), key=lambda p: p.name):
        try:
            found.append(_made(point.load(), state))
        except Exception as error:
            text = tr(
                "the panel {name!r} cannot be loaded: {kind}: {error}",
                name=point.name,
                kind=type(error).__name__,
                error=error,
            )
            state.console.fail(text, traceback.format_exc())
    return found


def _made(kind: object, state: EditorState) -> Panel:
    """A panel of a plugin's class; what would break the window later is refused now."""
    if not (isinstance(kind, type) and issubclass(kind, Panel)):
        raise TypeError(
            tr("it must be a class derived from mjrig.editor.Panel, got {kind!r}", kind=kind)
        )
    if kind.place not in PLACES:
        raise ValueError(
            tr(
                "its place is {place!r}; {hint}",
                place=kind.place,
                hint=suggestion(kind.place, PLACES),
            )
        )
    made = kind(state)
    made.state = state  # a subclass's __init__ may not set it
    return made


# Dragging -----------------------------------------------------------------------------------------
# Drag and drop inside the window: the payload is only a mark, the thing itself is in the state.


PAYLOAD = "MJRIG"


def drag_source(state: EditorState, kind: str, value: str, text: str) -> None:
    """Let the last item be dragged."""
    if imgui.begin_drag_drop_source():
        state.dragged = (kind, value)
        imgui.set_drag_drop_payload_py_id(PAYLOAD, 1)
        imgui.text_unformatted(text)
        imgui.end_drag_drop_source()


def is_dragging() -> bool:
    """Whether something is held by the mouse."""
    return imgui.get_drag_drop_payload_py_id() is not None
