"""Events in a world that a user should notice, such as non-finite setpoints."""

from collections import deque
from dataclasses import dataclass

KEPT = 1000


@dataclass(frozen=True)
class Event:
    """One event; `actuator` and `joint` may be empty."""

    time: float
    actor: str
    kind: str
    actuator: str
    joint: str
    message: str

    def __str__(self) -> str:
        return f"t={self.time:.4f} s: {self.message}"


class EventLog:
    """The latest events, oldest first, and the total count."""

    def __init__(self) -> None:
        self.latest: deque[Event] = deque(maxlen=KEPT)
        self.count = 0

    def add(self, event: Event) -> None:
        """Add an event."""
        self.latest.append(event)
        self.count += 1

    def clear(self) -> None:
        """Forget everything, as if nothing had happened."""
        self.latest.clear()
        self.count = 0
