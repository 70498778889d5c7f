"""Console: what happened, for the console panel and for the short notices over the viewport."""

import logging
import time
from collections import deque
from dataclasses import dataclass, field

from mjrig.editor.session.window_words import window_words
from mjrig.readings.events import Event

KEPT = 2000
LEVELS = ("info", "warning", "error")


@dataclass(frozen=True)
class Line:
    """One message."""

    level: str
    text: str
    detail: str = ""
    at: float = field(default_factory=time.monotonic)


class Console(logging.Handler):
    """The latest messages; also takes what is logged under `mjrig`."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: deque[Line] = deque(maxlen=KEPT)

    def say(self, text: str, detail: str = "") -> None:
        """Log an informational message."""
        self.lines.append(Line("info", window_words(text), detail))

    def warn(self, text: str, detail: str = "") -> None:
        """Log a warning."""
        self.lines.append(Line("warning", window_words(text), detail))

    def fail(self, text: str, detail: str = "") -> None:
        """Log an error: something was refused or failed."""
        self.lines.append(Line("error", window_words(text), detail))

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.args, tuple) and any(isinstance(a, Event) for a in record.args):
            return  # events of the world arrive by another way
        level = "error" if record.levelno >= logging.ERROR else "warning"
        detail = ""
        if record.exc_info:
            detail = logging.Formatter().formatException(record.exc_info)
        self.lines.append(Line(level, window_words(record.getMessage()), detail))
