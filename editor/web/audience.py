"""Audience: the pages that are connected: one commands, the others watch."""

import json
from collections.abc import Callable
from typing import Any

from mjrig.editor.web.browsers import Browser
from mjrig.editor.web.server import Server

#: A commander that does not draw for that long, as a hidden tab does not, is not waited for [s].
_SILENT = 1.0


class Audience:
    """Who commands, who watches, and who gets which frame.

    Args:
        server: the server.
        let_go: called when nobody or somebody else commands.
    """

    def __init__(self, server: Server, let_go: Callable[[], None]) -> None:
        self._server, self._let_go = server, let_go
        self.commander: Browser | None = None

    @property
    def browsers(self) -> tuple[Browser, ...]:
        """All of them."""
        return tuple(self._server.browsers)

    def came(self, browser: Browser) -> None:
        """A page connected: it commands if nobody does and it may."""
        if self.commander is None and browser.rights == "command":
            self.commander = browser
        self.tell_roles()

    def gone(self, browser: Browser) -> None:
        """A page is gone; the oldest that may command takes its place."""
        if self.commander is browser:
            self._let_go()
            able = [b for b in self.browsers if b.rights == "command" and not b.is_gone]
            self.commander = able[0] if able else None
        self.tell_roles()

    def take(self, browser: Browser) -> None:
        """A page wants to command: with the right token it does, else the commander is asked."""
        if browser.rights == "command" or self.commander is None:
            self._hand(browser)
        else:
            self.commander.send_text(
                json.dumps({"asks": {"number": browser.number, "name": browser.name}})
            )

    def give(self, browser: Browser, number: int) -> None:
        """The page that commands hands the command to another one."""
        wanted = [b for b in self.browsers if b.number == number]
        if browser is self.commander and wanted:
            self._hand(wanted[0])

    def _hand(self, browser: Browser) -> None:
        if browser is not self.commander:
            self._let_go()
            self.commander = browser
            self.tell_roles()

    def tell_roles(self) -> None:
        """Tell every page what it may do."""
        for browser in self.browsers:
            browser.commands = browser is self.commander
            role = {
                "role": "command" if browser.commands else "watch",
                "may": browser.rights,
                "pages": len(self.browsers),
            }
            browser.send_text(json.dumps(role))

    def tell(self, what: dict[str, Any], *, all_of_them: bool = False) -> None:
        """Tell the page that commands, or every one, something."""
        text = json.dumps(what)
        for browser in self.browsers if all_of_them else (self.commander,):
            if browser is not None:
                browser.send_text(text)

    # Frames ---------------------------------------------------------------------------------------

    @property
    def wants_frame(self) -> bool:
        """Whether a frame is worth making: the commander keeps up, or others do without it."""
        first = self.commander
        if first is not None and not first.is_silent(_SILENT):
            return first.is_ready
        return any(b.is_ready and not b.is_silent(_SILENT) for b in self.browsers)

    @property
    def is_anyone_new(self) -> bool:
        """Whether a page that keeps up lacks the last frame."""
        return any(not b.is_current and b.is_ready for b in self.browsers)

    def send(self, seq: int, difference: bytes, whole: Callable[[], bytes]) -> None:
        """Send a frame: its difference, or all of it to those that lack the one before.

        Args:
            seq: number of the frame.
            difference: packed; empty: nothing changed.
            whole: packs all of the frame.
        """
        packed_whole = b""
        for browser in self.browsers:
            if browser.is_current and not difference:
                continue
            if not browser.is_ready:
                browser.is_current = False
            elif browser.is_current:
                browser.send_frame(difference, seq)
            else:
                packed_whole = packed_whole or whole()
                browser.is_current = True
                browser.send_frame(packed_whole, seq)
