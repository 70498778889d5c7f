"""Fonts: the default one, completed by another for the signs it lacks, arrows above all."""

from imgui_bundle import hello_imgui

from mjrig.editor.ui.scale import FONT

#: Part of imgui-bundle; has arrows, check marks and box characters.
_REST = "fonts/Inconsolata-Medium.ttf"


def load_fonts() -> None:
    """Load them; call where hello_imgui asks for additional fonts."""
    hello_imgui.get_runner_params().callbacks.default_icon_font = (
        hello_imgui.DefaultIconFont.font_awesome6
    )
    hello_imgui.imgui_default_settings.load_default_font_with_font_awesome_icons()
    hello_imgui.load_font(_REST, FONT, hello_imgui.FontLoadingParams(merge_to_last_font=True))
