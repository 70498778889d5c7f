"""Layout: lengths that follow the font size, the fonts, and rows of long tables."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from imgui_bundle import hello_imgui, imgui

# Scale --------------------------------------------------------------------------------------------
# Lengths in the window, all derived from the font: they grow with the scale of the display.


#: Height of the font on a display of scale 1 [pixels].
FONT = 15.0


def px(length: float) -> float:
    """A length in pixels of a display of scale 1, in pixels of this one."""
    return length * imgui.get_font_size() / FONT


def size(width: float, height: float) -> imgui.ImVec2:
    """The same for two lengths; 0 and negative ones keep their meaning: all the room, less that."""
    return imgui.ImVec2(px(width), px(height))


# Fonts --------------------------------------------------------------------------------------------
# Fonts: the default one, completed by another for the signs it lacks, arrows above all.


#: Part of imgui-bundle; has arrows, check marks and box characters.
_REST = "fonts/Inconsolata-Medium.ttf"


def load_fonts() -> None:
    """Load them; call where hello_imgui asks for additional fonts."""
    hello_imgui.get_runner_params().callbacks.default_icon_font = (
        hello_imgui.DefaultIconFont.font_awesome6
    )
    hello_imgui.imgui_default_settings.load_default_font_with_font_awesome_icons()
    hello_imgui.load_font(_REST, FONT, hello_imgui.FontLoadingParams(merge_to_last_font=True))


# Clipped ------------------------------------------------------------------------------------------
# Rows of a long table: only those that are seen are built.


T = TypeVar("T")
#: Fewer rows than this are all built.
_FEW = 60


def seen_rows(rows: Sequence[T], always: int | None = None) -> Iterator[T]:
    """The rows of equal height that the present scroll position shows.

    Args:
        rows: all of them.
        always: index of one that is built in any case, since its widget is held.
    """
    if len(rows) < _FEW:
        yield from rows
        return
    clipper = imgui.ListClipper()
    clipper.begin(len(rows))
    if always is not None:
        clipper.include_item_by_index(always)
    while clipper.step():
        yield from rows[clipper.display_start : clipper.display_end]
