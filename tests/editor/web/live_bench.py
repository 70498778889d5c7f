"""The window that pages show, turned by hand, and clients in place of pages."""

import json
import math
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.frames import Opcode

from mjrig.core.scene.editing.scene import Scene
from mjrig.editor.main import Editor
from mjrig.editor.web.browsers import Browser
from mjrig.editor.web.live_window import LiveWindow
from mjrig.editor.web.server import ServerSettings
from tests.editor.web.chromium import Line, client_frame, wait_for
from tests.editor.web.decoder import Decoded
from tests.editor.windows import SWINGS

#: Only a mistake takes longer, however busy the machine is [s].
PATIENCE = 120.0


class Page:
    """A client that reads messages and acknowledges frames."""

    def __init__(self, screen: LiveWindow, token: str = "", port: int = 0) -> None:
        self.screen = screen
        place = f"127.0.0.1:{port or screen.server.port}"
        self.line = Line(f"ws://{place}/live", Origin=f"http://{place}")
        self.line.send({"token": token or screen.server.tokens.command})
        self.seen = Decoded()
        self.texts: dict[str, Any] = {}
        self.closed = self.pongs = self.number = 0
        self.acknowledges = True

    def listen(self, timeout: float = 0.004) -> None:
        """Take what came."""
        while (message := self.line.receive(timeout)) is not None:
            if message.opcode is Opcode.CLOSE:
                self.closed = int.from_bytes(message.payload[:2], "big")
            elif message.opcode is Opcode.PONG:
                self.pongs += 1
            elif message.opcode is Opcode.TEXT:
                self.texts |= json.loads(message.payload)
            elif message.opcode is Opcode.BINARY:
                self.seen.take(message.payload)
                if message.payload[0] in (1, 6) and self.acknowledges:
                    with suppress(OSError):  # it may be closed by now
                        self.line.send(["a", self.seen.number, 0])


class Bench:
    """The window, and pages on it."""

    def __init__(self, folder: Path) -> None:
        self.screen = LiveWindow(ServerSettings())
        (folder / "scene.yaml").write_text(SWINGS)
        self.editor = Editor(Scene.load(folder / "scene.yaml"), self.screen)
        self.window = self.editor.window
        self.pages: list[Page] = []
        self.screen.begin(self.window)

    def page(self, token: str = "", port: int = 0) -> Page:
        """One more page, up to its first frame."""
        page = Page(self.screen, token, port)
        self.pages.append(page)
        self.until(lambda: page.seen.number > 0 or page.closed > 0)
        page.number = max((b.number for b in self.screen.audience.browsers), default=0)
        return page

    def hear(self, page: Page) -> None:
        """Live until everything that a page has sent was applied, and it has the answers."""
        for _ in range(2):
            page.pongs = 0
            page.line.send_raw(client_frame(Opcode.PING, b""))
            self.until(lambda: page.pongs)
            self.turn()

    def turn(self, count: int = 1) -> None:
        """Let the window live for some turns."""
        for _ in range(count):
            self.screen._last -= 2.0  # whatever is due is due now
            self.screen.turn(self.window)
        for page in self.pages:
            page.listen()

    def until(self, condition: Any) -> None:
        """Live until something is so."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, "it did not happen"
            self.turn()

    def show(self, *pages: Page) -> None:
        """Live until pages have the last frame, and the server knows it."""
        self.until(lambda: all(self._has_last_frame(page) for page in pages))

    def receive(self, page: Page) -> None:
        """Wait until a page has the last frame, without drawing another one."""
        wait_for(lambda: (page.listen(), self._has_last_frame(page))[1], "received", PATIENCE)

    def _has_last_frame(self, page: Page) -> bool:
        return page.seen.number == self.screen._seq and not self.browser(page)._sent

    def pretend_round_trip(self, page: Page, seconds: float) -> None:
        """Let a page have this round trip, and never count as silent, however busy the machine."""
        browser = self.browser(page)
        browser._trips, browser.last_heard = deque([(math.inf, seconds)]), math.inf

    def browser(self, page: Page) -> Browser:
        """The server's side of a page."""
        return next(b for b in self.screen.audience.browsers if b.number == page.number)

    def leave(self, page: Page) -> None:
        """Close a page."""
        page.line.close()
        self.pages.remove(page)
        self.until(lambda: len(self.screen.audience.browsers) == len(self.pages))


@contextmanager
def live_bench(folder: Path) -> Iterator[Bench]:
    """A window in a folder, with separate settings."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "MJRIG_STATE"):
            patch.setenv(name, str(folder / name))
        bench = Bench(folder)
        try:
            yield bench
        finally:
            for page in bench.pages:
                page.line.close()
            bench.screen.end()
            bench.editor.simulation.stop()
