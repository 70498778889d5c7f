"""Rows of a long table: only those that are seen are built."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from imgui_bundle import imgui

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
