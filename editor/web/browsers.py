"""Browser: one connected page, its rights and how far behind it is; the inbox of all pages.

`Inbox` hands messages from the server's thread to the window's.
"""

import asyncio
import itertools
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from enum import Enum

from mjrig.editor.web.protocol import Event, Role
from mjrig.editor.web.websocket import close_frame, text_frame

# Browsers -----------------------------------------------------------------------------------------


#: Frames that may be under way besides those that fit into one round trip.
_SPARE = 2
#: Frames a second that the window makes at most.
_RATE = 60.0
#: For how long a round trip counts as recent [s].
_RECENT = 10.0
#: Messages a second that a person's browser never sends, and how many may come at once.
_FLOOD, _BURST = 1000.0, 4000.0
_numbers = itertools.count(1)


class Browser:
    """A page with a live connection.

    Args:
        writer: the connection.
        rights: `command` or `watch`, by the token it gave.
        name: what others see of it.
    """

    def __init__(self, writer: asyncio.StreamWriter, rights: str, name: str) -> None:
        self.number = next(_numbers)
        self.rights, self.name = rights, name
        self._writer = writer
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        #: Whether it has the last frame that was made, so that a difference is enough.
        self.is_current = False
        self._sent: deque[tuple[int, float]] = deque()
        self._trips: deque[tuple[float, float]] = deque()
        self.last_heard = time.monotonic()
        self._budget, self._refilled = _BURST, time.monotonic()
        self.is_gone = False
        #: Whether it was closed because of a message: those that wait are dropped too.
        self.is_rejected = False
        #: Whether it commands the editor now.
        self.commands = False
        self.bytes_sent = 0

    @property
    def role(self) -> Role:
        """Its column in the table of rights."""
        if self.rights == "command":
            return Role.COMMANDER if self.commands else Role.OWNER
        return Role.LENT if self.commands else Role.VIEWER

    @property
    def is_trusted(self) -> bool:
        """Whether it may send messages as long as files and images are."""
        return self.role is not Role.VIEWER

    # Out ------------------------------------------------------------------------------------------

    def send_bytes(self, wire: bytes) -> None:
        """Send frames that are packed already; from any thread."""
        self.bytes_sent += len(wire)
        self._loop.call_soon_threadsafe(self._write, wire)

    def send_text(self, text: str) -> None:
        """Send a text; from any thread."""
        self.send_bytes(text_frame(text))

    def send_frame(self, wire: bytes, seq: int) -> None:
        """Send a frame of the window, which it will acknowledge; from any thread."""
        self._sent.append((seq, time.monotonic()))
        self.send_bytes(wire)

    def close(self, code: int, reason: str) -> None:
        """End the connection; from any thread."""
        self.is_gone = True

        def end() -> None:
            self._write(close_frame(code, reason))
            self._writer.close()

        if threading.get_ident() == self._thread:
            end()  # now: the server closes the connection when it returns from here
        else:
            self._loop.call_soon_threadsafe(end)

    def _write(self, wire: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(wire)

    # Flow -----------------------------------------------------------------------------------------

    def acknowledge(self, seq: int, held: float) -> None:
        """It has drawn this frame, and with it all before; it had it for some seconds."""
        now = self.last_heard = time.monotonic()
        while self._sent and self._sent[0][0] <= seq:
            number, at = self._sent.popleft()
            if number == seq:
                self._trips.append((now, max(now - at - held, 0.0)))
        while self._trips and self._trips[0][0] < now - _RECENT:
            self._trips.popleft()

    @property
    def is_ready(self) -> bool:
        """Whether it keeps up: frames that would wait on the line are not made at all."""
        shortest = min((trip for _, trip in tuple(self._trips)), default=0.05)
        return len(self._sent) < _SPARE + _RATE * min(shortest, 1.0)

    def is_silent(self, seconds: float) -> bool:
        """Whether frames are under way that it has not acknowledged for that long."""
        return bool(self._sent) and time.monotonic() - self.last_heard > seconds

    def is_flooding(self) -> bool:
        """Count a message; whether there are more of them than any person makes."""
        now = time.monotonic()
        self._budget = min(_BURST, self._budget + _FLOOD * (now - self._refilled)) - 1.0
        self._refilled = now
        return self._budget < 0.0


# Inbox --------------------------------------------------------------------------------------------


class Presence(Enum):
    """What the server itself has to tell of a page."""

    CAME = "came"
    GONE = "gone"


Sent = Event | bytes | Presence


@dataclass
class Inbox:
    """What the pages sent, for the thread of the window."""

    messages: list[tuple[Browser, Sent]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    wake: threading.Event = field(default_factory=threading.Event)

    def put(self, browser: Browser, message: Sent) -> None:
        """Add one and wake the window."""
        with self.lock:
            self.messages.append((browser, message))
        self.wake.set()

    def take(self) -> list[tuple[Browser, Sent]]:
        """All of them, in the order they came."""
        self.wake.clear()  # first: what comes meanwhile wakes again
        with self.lock:
            taken, self.messages = self.messages, []
        return taken
