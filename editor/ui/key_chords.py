"""Key chords: parsed from text, and the modifier keys that are held.

imgui knows of Ctrl only what its window saw: if it was pressed before the window got the
focus, or the focus left and came back meanwhile, `Ctrl+S` arrives as a bare `S`. The desktop
sends the held modifiers with every key; `Modifiers` counts these too.
"""

import time
from typing import Any

from imgui_bundle import imgui

# Chords -------------------------------------------------------------------------------------------


_MODIFIERS = {"Ctrl": imgui.Key.mod_ctrl, "Shift": imgui.Key.mod_shift, "Alt": imgui.Key.mod_alt}


def chord(*keys: Any) -> int:
    """Keys pressed together; Python 3.11.2 cannot combine the flags themselves."""
    return sum(int(key) for key in keys)


def global_chord(text: str) -> int | None:
    """The chord of `Ctrl+Shift+S` or `F12`, which act anywhere; None for other keys."""
    *modifiers, key = text.split("+") if text else [""]
    is_function_key = key[:1] == "F" and key[1:].isdigit()
    if not is_function_key and "Ctrl" not in modifiers:
        return None
    name = f"_{key}" if key.isdigit() else key.lower()
    return chord(*(_MODIFIERS[m] for m in modifiers), getattr(imgui.Key, name))


def escape_pressed() -> bool:
    """Whether Escape was pressed in this frame; holding it closes one thing only."""
    return imgui.is_key_pressed(imgui.Key.escape, False)


#: Keys by what they are called, where imgui calls them otherwise.
_KEY_NAMES = {
    "Right": "right_arrow",
    "Left": "left_arrow",
    "Esc": "escape",
    "Del": "delete",
    "[": "left_bracket",
    "]": "right_bracket",
    "-": "minus",
    "=": "equal",
    "`": "grave_accent",
    "'": "apostrophe",
    ",": "comma",
    "/": "slash",
    ";": "semicolon",
    "\\": "backslash",
}


def single_key(text: str) -> tuple[Any, bool]:
    """The key of `W`, `Del` or `Shift+0`, and whether Shift is held; None for no such key."""
    shift, name = text.startswith("Shift+"), text.removeprefix("Shift+")
    name = f"_{name}" if name.isdigit() else _KEY_NAMES.get(name, name.lower())
    return getattr(imgui.Key, name, None) if name.strip() else None, shift


# Modifiers ----------------------------------------------------------------------------------------
# Modifiers: whether a key that was just pressed is part of a chord, by all that is known.
#
# imgui knows of Ctrl only what its window saw: if it was pressed before the window got the
# focus, or the focus left and came back meanwhile, `Ctrl+S` arrives as a bare `S`. The desktop
# says with every key which modifiers are held; where it does, that counts too.


#: How long after a modifier a key still belongs to it: fingers leave Ctrl before S [s, frames].
#: Keys may arrive frames after their modifier, when clicks came between.
_SECONDS, _FRAMES = 0.15, 3
#: Bits of the modifiers that make a chord, as GLFW and browsers number them in `heard`.
CTRL, ALT, SUPER = 2, 4, 8
#: The bits of a chord that are its key.
_KEY_BITS = ~int(imgui.Key.mod_mask_)
_MODIFIER_KEYS = {CTRL: imgui.Key.mod_ctrl, ALT: imgui.Key.mod_alt, SUPER: imgui.Key.mod_super}


class Modifiers:
    """Follows the modifiers of one window, frame by frame."""

    def __init__(self) -> None:
        self._frames, self._until = 0, 0.0
        self._heard = 0

    def heard(self, bits: int) -> None:
        """The desktop reported a key press with these modifiers."""
        self._heard = bits
        if bits & (CTRL | ALT | SUPER):
            self._keep()

    def tick(self) -> None:
        """Once per frame, before keys are looked at."""
        io = imgui.get_io()
        self._frames = max(self._frames - 1, 0)
        if io.key_ctrl or io.key_alt or io.key_super:
            self._keep()
        elif not self.is_chord:
            self._heard = 0

    def _keep(self) -> None:
        self._frames, self._until = _FRAMES, time.monotonic() + _SECONDS

    @property
    def is_chord(self) -> bool:
        """Whether a key that is pressed now belongs to a modifier: it is no single key."""
        return self._frames > 0 or time.monotonic() < self._until

    def missed(self, chord: int) -> bool:
        """Whether a chord was pressed whose modifiers imgui did not see.

        Args:
            chord: a key with modifiers, as imgui writes it.
        """
        io = imgui.get_io()
        mods = sum(int(key) for bit, key in _MODIFIER_KEYS.items() if self._heard & bit)
        mods += int(imgui.Key.mod_shift) * (self._heard & 1)
        unseen = bool(self._heard & CTRL) and not io.key_ctrl and not io.want_text_input
        if not unseen or chord & ~_KEY_BITS != mods:
            return False
        return imgui.is_key_pressed(imgui.Key(chord & _KEY_BITS), False)
