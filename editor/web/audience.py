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
        #: Pages that ask for the command, by number, and the owners who were asked for each.
        self._requests: dict[int, set[int]] = {}

    @property
    def browsers(self) -> tuple[Browser, ...]:
        """All of them."""
        return tuple(self._server.browsers)

    @property
    def _owners(self) -> list[Browser]:
        """The pages with the command link, oldest first."""
        return [b for b in self.browsers if b.rights == "command" and not b.is_gone]

    def came(self, browser: Browser) -> None:
        """A page connected: an owner commands if nobody does."""
        if self.commander is None and browser.rights == "command":
            self.commander = browser
        self.tell_roles()
        self._ask_owners()

    def gone(self, browser: Browser) -> None:
        """A page is gone; the oldest owner takes its place.

        A view link that was lent the command loses it with the last owner: nobody would be there to
        take it back.
        """
        owners, commander = self._owners, self.commander
        is_lent = commander is not None and commander.rights != "command"
        if commander is browser or (is_lent and not owners):
            self._let_go()
            self.commander = owners[0] if owners else None
        self.tell_roles()
        self._ask_owners()

    def take(self, browser: Browser) -> None:
        """A page asks for the command: an owner gets it, for a view link an owner is asked.

        Without an owner nobody is asked, and the view link goes on watching. Asking again changes
        nothing until an owner has answered.
        """
        if browser.rights == "command":
            self._hand(browser)
        elif browser is not self.commander:
            self._requests.setdefault(browser.number, set())
            self._ask_owners()

    def _ask_owners(self) -> None:
        """Ask the owner who commands, else every owner, once about each page that asks."""
        owners, commander = self._owners, self.commander
        pages = {b.number: b for b in self.browsers if not b.is_gone and b is not commander}
        asked = [commander] if commander is not None and commander in owners else owners
        if not owners:
            self._requests.clear()
        for number, informed in tuple(self._requests.items()):
            if number not in pages:  # it is gone, or has the command
                del self._requests[number]
                continue
            text = json.dumps({"asks": {"number": number, "name": pages[number].name}})
            for owner in asked:
                if owner.number not in informed:
                    informed.add(owner.number)
                    owner.send_text(text)

    def deny(self, number: int) -> None:
        """An owner does not hand the command to a page, which may ask again."""
        self._requests.pop(number, None)

    def give(self, number: int) -> None:
        """An owner hands the command to a page, by its number."""
        for target in self.browsers:
            if target.number == number and not target.is_gone:
                self._hand(target)

    def _hand(self, browser: Browser) -> None:
        if browser is not self.commander:
            self._let_go()
            self.commander = browser
            self.tell_roles()
            self._ask_owners()

    def tell_roles(self) -> None:
        """Tell every page what it may do, and how many owners it could ask."""
        for browser in self.browsers:
            browser.commands = browser is self.commander
            role = {
                "role": "command" if browser.commands else "watch",
                "may": browser.rights,
                "pages": len(self.browsers),
                "owners": len(self._owners),
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
