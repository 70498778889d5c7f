"""Limits on what a bridge logs: clients decide how many messages arrive, not how much is written.

A bridge reports at most `FIRST_EVENTS` rejections in `SUMMARY_INTERVAL_S`, and during a flood one
summary; `LogBudget` bounds everything that `mjrig serve` prints, whatever its origin.
"""

import time
from collections.abc import Callable

from mjrig.errors import MjrigError

#: Letters of a reason in a log: a name, a value and a hint fit, a flood of text does not.
LOGGED_LETTERS = 200
#: Letters of a reason in a reply, which only its sender reads.
REPLIED_LETTERS = 1000
#: Events that are written one by one before the others are only counted.
FIRST_EVENTS = 10
#: Time between two summaries [s]; a quiet interval of that length allows single events again.
SUMMARY_INTERVAL_S = 60.0
#: Bytes that may be printed at once, and per second: at most 0.9 MB in any hour.
BUDGET_BURST, BUDGET_RATE = 200_000.0, 190.0


def shortened(text: object, letters: int = LOGGED_LETTERS) -> str:
    """One printable line of at most so many letters, with the length of a longer text."""
    raw = text if isinstance(text, str) else str(text)
    line = "".join(c if c.isprintable() else _escaped(c) for c in raw[:letters])
    if len(raw) <= letters and len(line) <= letters:
        return line
    tail = f"… ({len(raw)} letters)"
    return line[: letters - len(tail)] + tail


def _escaped(letter: str) -> str:
    """A letter that would break a line or an encoder, as Python writes it."""
    return letter.encode("unicode_escape").decode("ascii")


def reason_of(error: Exception) -> str:
    """Why a message is not used; the type is part of it if nobody expected this error."""
    return str(error) if isinstance(error, MjrigError) else f"{type(error).__name__}: {error}"


class EventLimiter:
    """Passes on the first events of a flood, then one summary per interval.

    An event equal to the one before is only counted. Call `flush` at the end: it reports events
    that were counted since the last summary.

    Args:
        report: writes one line.
        noun: what is counted, for summaries: `messages rejected`.
    """

    def __init__(self, report: Callable[[str], None], noun: str) -> None:
        self._report, self._noun = report, noun
        self._began = -SUMMARY_INTERVAL_S
        self._allowance, self._counted = FIRST_EVENTS, 0
        self._last = ""

    def add(self, text: str, prefix: str = "") -> None:
        """Report or count an event; `prefix` is written before the shortened text."""
        now = time.monotonic()
        if now - self._began >= SUMMARY_INTERVAL_S:
            was_flooded = self._counted > 0
            self.flush()
            # Only a quiet interval allows single events again.
            self._allowance = 0 if was_flooded and now - self._began < 2 * SUMMARY_INTERVAL_S else (
                FIRST_EVENTS
            )  # fmt: skip
            self._began = now
        line = shortened(text)
        if line != self._last and self._allowance > 0:
            self._allowance -= 1
            self._report(prefix + line)
        else:
            self._counted += 1
        self._last = line

    def flush(self) -> None:
        """Report the number of events that were only counted."""
        if self._counted:
            self._report(f"{self._counted} more {self._noun}; the last one: {self._last}")
            self._counted = 0


class LogBudget:
    """Bounds the bytes of a log: a full bucket at the start, refilled at a steady rate."""

    def __init__(self) -> None:
        self._bytes, self._when = BUDGET_BURST, time.monotonic()
        self._dropped = 0

    def lines(self, text: str, *, reserve: float = 0.0) -> list[str]:
        """The lines to print for one line: none over budget, or also the number that was dropped.

        Args:
            reserve: fraction of the bucket that must remain; unimportant lines leave some.
        """
        now = time.monotonic()
        self._bytes = min(BUDGET_BURST, self._bytes + BUDGET_RATE * (now - self._when))
        self._when = now
        lines = [f"{self._dropped} lines were not printed (limit of the log)"] * (self._dropped > 0)
        lines.append(text)
        size = sum(len(line.encode(errors="backslashreplace")) + 1 for line in lines)
        if self._bytes - size < reserve * BUDGET_BURST:
            self._dropped += 1
            return []
        self._bytes -= size
        self._dropped = 0
        return lines
