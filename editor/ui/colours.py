"""Themes, light and dark: chosen by the user and kept with the settings.

The colours are shared objects: a theme changes them in place, so that every panel follows.
"""

from pathlib import Path

from imgui_bundle import ImVec4, hello_imgui, imgui

from mjrig.editor.session.user_files import config_folder, read_settings, write_settings

Rgb = tuple[float, float, float]


def _colour(rgb: Rgb) -> ImVec4:
    return ImVec4(*rgb, 1.0)


_DARK: dict[str, Rgb] = {
    "text": (0.86, 0.86, 0.86),
    "grey": (0.60, 0.60, 0.60),
    "red": (1.00, 0.43, 0.38),
    "amber": (0.98, 0.77, 0.28),
    "green": (0.35, 0.75, 0.40),
    "violet": (0.80, 0.60, 1.00),
    "alarm": (0.35, 0.10, 0.10),
    "sky above": (0.22, 0.25, 0.30),
    "sky below": (0.13, 0.14, 0.16),
}
_LIGHT: dict[str, Rgb] = {
    "text": (0.10, 0.10, 0.10),
    "grey": (0.40, 0.40, 0.40),
    "red": (0.75, 0.10, 0.08),
    "amber": (0.62, 0.40, 0.00),
    "green": (0.10, 0.55, 0.20),
    "violet": (0.45, 0.20, 0.75),
    "alarm": (1.00, 0.85, 0.83),
    "sky above": (0.72, 0.79, 0.86),
    "sky below": (0.93, 0.94, 0.95),
}
THEMES = {"dark": _DARK, "light": _LIGHT}
STYLES = {
    "dark": hello_imgui.ImGuiTheme_.darcula_darker,
    "light": hello_imgui.ImGuiTheme_.imgui_colors_light,
}

_ALL = tuple(_colour(rgb) for rgb in _DARK.values())
TEXT, GREY, RED, AMBER, GREEN, VIOLET, ALARM, SKY_ABOVE, SKY_BELOW = _ALL
_SHARED = dict(zip(_DARK, _ALL, strict=True))
#: What lies over other things, and must not let them through.
_OPAQUE = (
    imgui.Col_.popup_bg,
    imgui.Col_.menu_bar_bg,
    imgui.Col_.window_bg,
    imgui.Col_.title_bg,
    imgui.Col_.title_bg_active,
    imgui.Col_.title_bg_collapsed,
)


def settings_file() -> Path:
    """Where the choice is kept."""
    return config_folder() / "editor.json"


def kept_theme() -> str:
    """The theme chosen last; dark at first."""
    found = read_settings(settings_file()).get("theme")
    return found if found in THEMES else "dark"


def keep_theme(name: str) -> None:
    """Remember a theme for the next start.

    Raises:
        OSError: the settings cannot be written.
    """
    write_settings(settings_file(), {**read_settings(settings_file()), "theme": name})


def is_applied(name: str) -> bool:
    """Whether the style is that of a theme; without a context of imgui there is none to change."""
    if imgui.get_current_context() is None:
        return True
    style = imgui.get_style()
    now = style.color_(imgui.Col_.text_disabled)
    return all(style.color_(kind).w == 1.0 for kind in _OPAQUE) and all(
        abs(a - b) < 1e-3 for a, b in zip((now.x, now.y, now.z), THEMES[name]["grey"], strict=True)
    )


def apply_theme(name: str) -> None:
    """Change the colours of everything; needs a context of imgui."""
    style = imgui.get_style()
    spacing, padding = style.item_spacing, style.frame_padding
    hello_imgui.apply_theme(STYLES[name])
    style.item_spacing, style.frame_padding = spacing, padding  # a theme is about colours only
    style.frame_border_size, style.frame_rounding = 1.0, 3.0  # an empty box must be seen
    for key, rgb in THEMES[name].items():
        shared = _SHARED[key]
        shared.x, shared.y, shared.z = rgb
    style.set_color_(imgui.Col_.text_disabled, GREY)
    style.set_color_(imgui.Col_.modal_window_dim_bg, ImVec4(0.0, 0.0, 0.0, 0.5))
    for kind in _OPAQUE:
        colour = style.color_(kind)
        style.set_color_(kind, ImVec4(colour.x, colour.y, colour.z, 1.0))
