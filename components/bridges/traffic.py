"""Traffic of a bridge: rates and rejections of messages, and limits on what is logged of them.

Clients decide how many messages arrive, not how much is written. A bridge reports at most
`FIRST_EVENTS` rejections in `SUMMARY_INTERVAL_S`, and during a flood one summary; `LogBudget`
bounds everything that `mjrig serve` prints, whatever its origin.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import MjrigError
from mjrig.core.findings import Finding, warning
from mjrig.lab.findings.rendering import wording

# Event limits -------------------------------------------------------------------------------------
# Limits on what a bridge logs: clients decide how many messages arrive, not how much is written.


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


class RejectionError(MjrigError, ValueError):
    """A message that cannot be used: the finding by its kind and values."""

    def __init__(self, kind: str, **values: Any) -> None:
        super().__init__(kind)
        self.finding = warning(kind, "", **values)

    def __str__(self) -> str:
        return wording(self.finding, "text")


def rejection(error: Exception) -> Finding:
    """Why a message is not used; the type is part of it if nobody expected this error."""
    if isinstance(error, RejectionError):
        return error.finding
    known = isinstance(error, MjrigError)
    reason = str(error) if known else f"{type(error).__name__}: {error}"
    return warning("rejected", "", reason=shortened(reason, REPLIED_LETTERS))


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


# Traffic ------------------------------------------------------------------------------------------
# Traffic: what came in over a bridge, at what rate, and what was rejected.


#: Messages that rate and jitter are computed from.
WINDOW = 500
#: Rejected messages that are kept with their reason.
KEPT = 200


@dataclass(frozen=True)
class Rejected:
    """A message that was not used: when [s, wall clock], and why."""

    when: float
    finding: Finding

    @property
    def reason(self) -> str:
        """The sentence, shortened."""
        return shortened(self.finding.text)


@dataclass(frozen=True)
class TrafficReport:
    """Figures of the commands that came in; times in seconds of the wall clock."""

    accepted: int
    rejected: int
    #: Messages per second over the last two seconds; it falls as soon as none come any more.
    rate: float
    #: Time since the last one; infinite without any.
    age: float
    #: Standard deviation of the time between two.
    jitter: float
    sent: int


class Traffic:
    """Counts messages; cheap enough for every one of them."""

    def __init__(self) -> None:
        self._arrivals: deque[float] = deque(maxlen=WINDOW)
        self.log: deque[Rejected] = deque(maxlen=KEPT)
        self.accepted = 0
        self.rejected = 0
        self.sent = 0

    def accept(self, when: float | None = None) -> None:
        """A command came in and is used; `when` by `time.monotonic`."""
        self.accepted += 1
        self._arrivals.append(time.monotonic() if when is None else when)

    def reject(self, finding: Finding) -> None:
        """A message is not used."""
        self.rejected += 1
        self.log.append(Rejected(time.time(), finding))

    def report(self) -> TrafficReport:
        """The figures now."""
        now = time.monotonic()
        recent = [t for t in tuple(self._arrivals) if now - t < 2.0]
        gaps = np.diff(recent)
        age = now - self._arrivals[-1] if self._arrivals else float("inf")
        rate = _rate(gaps, age)
        jitter = float(gaps.std()) if gaps.size else 0.0
        return TrafficReport(self.accepted, self.rejected, rate, age, jitter, self.sent)


def _rate(gaps: FloatArray, age: float) -> float:
    """Messages per second; the time since the last one counts when it is longer than usual."""
    if not gaps.size or gaps.mean() <= 0.0:
        return 0.0
    waited = age if age > gaps.max() + gaps.mean() else 0.0
    return float(gaps.size / (gaps.sum() + waited))
