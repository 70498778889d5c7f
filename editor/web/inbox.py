"""Inbox: what the pages sent, handed from the server's thread to the window's."""

import threading
from dataclasses import dataclass, field
from enum import Enum

from mjrig.editor.web.browsers import Browser
from mjrig.editor.web.protocol import Event


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
