"""Key chords."""

from typing import Any

from imgui_bundle import imgui

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
_NAMES = {
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
    name = f"_{name}" if name.isdigit() else _NAMES.get(name, name.lower())
    return getattr(imgui.Key, name, None) if name.strip() else None, shift
