"""Light and dark are chosen by the user and kept."""

from pathlib import Path

import pytest
from imgui_bundle import ImVec4, imgui

from mjrig.editor.session.user_files import read_settings, write_settings
from mjrig.editor.ui import colours
from tests.editor.ui_driver import plain_imgui


@pytest.fixture(autouse=True)
def _settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def test_it_is_dark_until_somebody_chooses() -> None:
    assert colours.kept_theme() == "dark"
    colours.keep_theme("light")
    assert colours.kept_theme() == "light"


def test_a_damaged_choice_is_dark() -> None:
    colours.settings_file().parent.mkdir(parents=True)
    colours.settings_file().write_text('{"theme": "pink"}')
    assert colours.kept_theme() == "dark"


def test_other_settings_stay() -> None:
    write_settings(colours.settings_file(), {"other": 1})
    colours.keep_theme("light")
    assert read_settings(colours.settings_file()) == {"other": 1, "theme": "light"}


@pytest.mark.parametrize("name", list(colours.THEMES))
def test_every_colour_reads_well_on_the_window(name: str) -> None:
    with plain_imgui(lambda: None):
        colours.apply_theme(name)
        ground = imgui.get_style().color_(imgui.Col_.window_bg)
        texts = [colours.TEXT, colours.GREY, colours.RED, colours.AMBER, colours.VIOLET]
        contrasts = [_contrast(text, ground) for text in texts]
        colours.apply_theme("dark")
    assert min(contrasts) > 4.0


def _contrast(a: ImVec4, b: ImVec4) -> float:
    """As the web's accessibility guidelines define it."""
    light, dark = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: ImVec4) -> float:
    parts = [colour.x, colour.y, colour.z]
    linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return float(sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True)))
