"""Command: one thing the window can do, as the menus, the keys and the palette show it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One thing to do.

    `menu` is where it is listed: `File`, `Edit/History`. `section` is the heading above it, a line
    if it is `-`. `keys` are pressed for it anywhere, `Ctrl+Shift+S`, or `Del` over the viewport.
    `id` names it in the menu where its label changes. What follows is about keys that act over the
    viewport: the line shown there afterwards, whether holding the key repeats it, and whether it is
    off while the keys drive a robot.
    """

    menu: str
    label: str
    run: Callable[[], object]
    keys: str = ""
    is_on: bool = False
    enabled: bool = True
    section: str = ""
    id: str = ""
    #: A second chord.
    other_keys: str = ""
    notice: Callable[[], str] | None = None
    repeats: bool = False
    is_for_driving: bool = False
    #: Whether its function key acts over the viewport only.
    over_viewport: bool = False
    #: The panel that it shows or hides.
    panel: str = ""
