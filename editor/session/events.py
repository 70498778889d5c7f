"""Events of the running world, logged to the console without flooding it."""

import time
from collections.abc import Iterable
from dataclasses import dataclass

from mjrig.editor.session.console import Console
from mjrig.editor.texts.texts import tr
from mjrig.readings.events import Event

#: An event that repeats is counted, and reported again after this time [s].
QUIET = 5.0


@dataclass
class _Told:
    """The latest of the events with one message."""

    event: Event
    at: float
    more: int = 0


class EventTeller:
    """Writes events into a console; what repeats with every step is summed up."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._told: dict[str, _Told] = {}

    def tell(self, events: Iterable[Event], now: float | None = None) -> None:
        """Report new events, and how often suppressed ones repeated."""
        now = time.monotonic() if now is None else now
        for event in events:
            known = self._told.get(event.message)
            if known is None:
                self._told[event.message] = _Told(event, now)
                self._write(event, str(event))
            else:
                known.event, known.more = event, known.more + 1
        for message, told in list(self._told.items()):
            if now - told.at >= QUIET:
                self._sum_up(message, told, now)

    def _sum_up(self, message: str, told: _Told, now: float) -> None:
        if not told.more:
            del self._told[message]
            return
        times = "once" if told.more == 1 else tr("{count} times", count=told.more)
        self._write(told.event, tr("{event} (again, {times})", event=told.event, times=times))
        told.at, told.more = now, 0

    def _write(self, event: Event, text: str) -> None:
        if event.kind == "diverged":
            self._console.fail(text)
        else:
            self._console.warn(text)
