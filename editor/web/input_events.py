"""Input of the page that commands, and how Dear ImGui gets it."""

from collections import deque
from typing import Any

from imgui_bundle import imgui

from mjrig.editor.web.protocol import Event

_CTRL, _SHIFT, _ALT, _SUPER = 1, 2, 4, 8
_KEYS: dict[str, Any] = {
    "Tab": imgui.Key.tab,
    "ArrowLeft": imgui.Key.left_arrow,
    "ArrowRight": imgui.Key.right_arrow,
    "ArrowUp": imgui.Key.up_arrow,
    "ArrowDown": imgui.Key.down_arrow,
    "PageUp": imgui.Key.page_up,
    "PageDown": imgui.Key.page_down,
    "Home": imgui.Key.home,
    "End": imgui.Key.end,
    "Insert": imgui.Key.insert,
    "Delete": imgui.Key.delete,
    "Backspace": imgui.Key.backspace,
    "Space": imgui.Key.space,
    "Enter": imgui.Key.enter,
    "NumpadEnter": imgui.Key.keypad_enter,
    "Escape": imgui.Key.escape,
    "Quote": imgui.Key.apostrophe,
    "Comma": imgui.Key.comma,
    "Minus": imgui.Key.minus,
    "Period": imgui.Key.period,
    "Slash": imgui.Key.slash,
    "Semicolon": imgui.Key.semicolon,
    "Equal": imgui.Key.equal,
    "BracketLeft": imgui.Key.left_bracket,
    "Backslash": imgui.Key.backslash,
    "BracketRight": imgui.Key.right_bracket,
    "Backquote": imgui.Key.grave_accent,
    "ControlLeft": imgui.Key.left_ctrl,
    "ControlRight": imgui.Key.right_ctrl,
    "ShiftLeft": imgui.Key.left_shift,
    "ShiftRight": imgui.Key.right_shift,
    "AltLeft": imgui.Key.left_alt,
    "AltRight": imgui.Key.right_alt,
    "NumpadAdd": imgui.Key.keypad_add,
    "NumpadSubtract": imgui.Key.keypad_subtract,
    "NumpadMultiply": imgui.Key.keypad_multiply,
    "NumpadDivide": imgui.Key.keypad_divide,
    "NumpadDecimal": imgui.Key.keypad_decimal,
    **{f"Key{c}": getattr(imgui.Key, c.lower()) for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
    **{f"Digit{i}": getattr(imgui.Key, f"_{i}") for i in range(10)},
    **{f"Numpad{i}": getattr(imgui.Key, f"keypad{i}") for i in range(10)},
    **{f"F{i}": getattr(imgui.Key, f"f{i}") for i in range(1, 13)},
}


class PageInput:
    """Events of the page that commands, frame by frame.

    A press never shares a frame with the move before it: what lies under the mouse is known one
    frame later, and the move would count as a drag.
    """

    def __init__(self) -> None:
        self._waiting: deque[Event] = deque()
        #: The number of the last event that a frame shows.
        self.shown = 0

    def add(self, event: Event) -> None:
        """Add an event; of several moves only the last matters."""
        if event[0] == "m" and self._waiting and self._waiting[-1][0] == "m":
            self._waiting.pop()
        self._waiting.append(event)

    @property
    def is_waiting(self) -> bool:
        """Whether the next frame is due at once."""
        return bool(self._waiting) or imgui.get_current_context().input_events_queue.size() > 0

    def tell(self) -> None:
        """Tell Dear ImGui what fits into the next frame."""
        io = imgui.get_io()
        has_moved = False
        while self._waiting:
            event = self._waiting[0]
            if event[0] == "b" and has_moved:
                return
            self._waiting.popleft()
            has_moved |= event[0] == "m"
            self._tell(io, event)

    def _tell(self, io: Any, event: Event) -> None:
        kind, *values = event
        if kind == "m":
            io.add_mouse_pos_event(*values[:2])
        elif kind == "b":
            button, mods, _ = values
            _modifiers(io, mods)
            number = abs(button) - 1
            if 0 <= number < 5:
                io.add_mouse_button_event(number, button > 0)
        elif kind == "w":
            _modifiers(io, values[2])
            io.add_mouse_wheel_event(values[0], values[1])
        elif kind == "k":
            code, is_down, mods, _ = values
            _modifiers(io, mods)
            if code in _KEYS:
                io.add_key_event(_KEYS[code], is_down)
        elif kind == "t":
            io.add_input_characters_utf8(values[0])
        elif kind == "p":
            imgui.set_clipboard_text(values[0])
        elif kind == "f":
            io.add_focus_event(values[0])
        if kind in "mbwktp":
            self.shown = values[-1]

    def let_go(self) -> None:
        """Drop the input that no frame has applied, also in Dear ImGui's queue; release all keys.

        Called when another page commands or a frame failed. The mouse leaves the window, so that a
        button that was pressed is not clicked by its release.
        """
        io = imgui.get_io()
        self._waiting.clear()
        io.clear_events_queue()
        io.clear_input_keys()
        io.clear_input_mouse()
        io.add_focus_event(False)


def _modifiers(io: Any, bits: int) -> None:
    for bit, key in (
        (_CTRL, imgui.Key.mod_ctrl),
        (_SHIFT, imgui.Key.mod_shift),
        (_ALT, imgui.Key.mod_alt),
        (_SUPER, imgui.Key.mod_super),
    ):
        io.add_key_event(key, bool(bits & bit))
