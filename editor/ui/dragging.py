"""Drag and drop inside the window: the payload is only a mark, the thing itself is in the state."""

from imgui_bundle import imgui

from mjrig.editor.session.state import EditorState

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
