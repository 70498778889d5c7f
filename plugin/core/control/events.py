"""Events in a world that a user should notice, such as non-finite setpoints."""

from collections import deque
from collections.abc import Iterable
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


def folded(events: Iterable[Event]) -> list[str]:
    """One line for each kind of event of each actuator, with the number of its repetitions."""
    groups: dict[tuple[str, str, str, str], list[Event]] = {}
    for event in events:
        key = (event.actor, event.kind, event.actuator, event.joint)
        groups.setdefault(key, []).append(event)
    return [_line(same) for same in groups.values()]


def _line(same: list[Event]) -> str:
    more = f" (… {len(same) - 1} more until t={same[-1].time:.4f} s)" if len(same) > 1 else ""
    return f"{same[0]}{more}"


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
