"""What pages send, checked where it arrives, and how Dear ImGui is told."""

import json
import math
from collections import deque
from typing import Any

from imgui_bundle import imgui

#: Most characters of a pasted or typed text.
MOST_TEXT = 1 << 19
_LARGEST = 20000.0
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
#: The arguments of each message: n number, i counting number, s short text, t text, l list, b bool.
_SHAPES = {
    "m": "nni", "b": "iii", "w": "nnii", "k": "sbii", "t": "ti", "p": "ti",
    "r": "nnn", "f": "b", "g": "l", "drop": "nnl", "dropped": "", "nodrop": "",
    "take": "", "give": "i",
}  # fmt: skip
Event = tuple[Any, ...]


class MalformedError(Exception):
    """A page sent what the editor's own page never sends."""


def parse(text: str) -> Event:
    """A message of a page: its name, then its arguments.

    Raises:
        MalformedError: it has not the shape that messages have.
    """
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedError("not JSON") from error
    if not (isinstance(message, list) and message and isinstance(message[0], str)):
        raise MalformedError("not a message")
    name, *values = message
    shape = _SHAPES.get(name)
    if shape is None or len(values) != len(shape):
        raise MalformedError(f"no message {name[:20]!r} with {len(values)} values")
    for kind, value in zip(shape, values, strict=True):
        if not _fits(kind, value):
            raise MalformedError(f"a value of {name!r} is not what it must be")
    return (name, *values)


def _fits(kind: str, value: object) -> bool:
    if kind in "ni":
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if kind == "i":
            return isinstance(value, int) and is_number and abs(value) < 1 << 31
        return is_number and math.isfinite(float(value)) and abs(float(value)) <= _LARGEST  # type: ignore[arg-type]
    if kind in "st":
        return isinstance(value, str) and len(value) <= (32 if kind == "s" else MOST_TEXT)
    return isinstance(value, bool if kind == "b" else list)


class PageInput:
    """Events of the page that commands, frame by frame.

    A press never shares a frame with the move before it: what lies under the mouse is known one
    frame later, and the move would count as a drag.
    """

    def __init__(self) -> None:
        self._waiting: deque[Event] = deque()
        self._held: set[int] = set()
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
                (self._held.add if button > 0 else self._held.discard)(number)
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
        """The page that commanded is gone: nothing is held any more."""
        io = imgui.get_io()
        self._waiting.clear()
        for button in self._held:
            io.add_mouse_button_event(button, False)
        self._held.clear()
        _modifiers(io, 0)
        io.add_focus_event(False)


def _modifiers(io: Any, bits: int) -> None:
    for bit, key in (
        (_CTRL, imgui.Key.mod_ctrl),
        (_SHIFT, imgui.Key.mod_shift),
        (_ALT, imgui.Key.mod_alt),
        (_SUPER, imgui.Key.mod_super),
    ):
        io.add_key_event(key, bool(bits & bit))
