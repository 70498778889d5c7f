"""Console: log lines for the console panel and the status bar, and events of the world in it."""

import logging
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from mjrig.core.control.finite_guard import Event
from mjrig.core.findings import Finding, Level
from mjrig.editor.text import tr

# Console ------------------------------------------------------------------------------------------


KEPT = 2000
LEVELS = ("info", "warning", "error")


@dataclass(frozen=True)
class Line:
    """One message."""

    level: str
    text: str
    detail: str = ""
    #: What the line reports; its remedies are in the menu of the line.
    finding: Finding | None = None
    at: float = field(default_factory=time.monotonic)


class Console(logging.Handler):
    """The latest messages; also takes what is logged under `mjrig`."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: deque[Line] = deque(maxlen=KEPT)

    def say(self, text: str, detail: str = "") -> None:
        """Log an informational message."""
        self.lines.append(Line("info", text, detail))

    def warn(self, text: str, detail: str = "") -> None:
        """Log a warning."""
        self.lines.append(Line("warning", text, detail))

    def fail(self, text: str, detail: str = "") -> None:
        """Log an error: something was refused or failed."""
        self.lines.append(Line("error", text, detail))

    def report(self, finding: Finding) -> None:
        """Log a finding."""
        level = "info" if finding.severity is Level.NOTE else str(finding.severity)
        self.lines.append(Line(level, finding.text, finding=finding))

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.args, tuple) and any(isinstance(a, Event) for a in record.args):
            return  # events of the world arrive by another way
        level = "error" if record.levelno >= logging.ERROR else "warning"
        detail = ""
        if record.exc_info:
            detail = logging.Formatter().formatException(record.exc_info)
        self.lines.append(Line(level, record.getMessage(), detail))


# Events -------------------------------------------------------------------------------------------
# Events of the running world, logged to the console without flooding it.


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
