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
