"""Traffic: what came in over a bridge, at what rate, and what was rejected."""

import time
from collections import deque
from dataclasses import dataclass

import numpy as np

from mjrig.arrays import FloatArray

#: Messages that rate and jitter are computed from.
WINDOW = 500
#: Rejected messages that are kept with their reason.
KEPT = 200


@dataclass(frozen=True)
class Rejected:
    """A message that was not used: when [s, wall clock], and why."""

    when: float
    reason: str


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

    def reject(self, reason: str) -> None:
        """A message is not used."""
        self.rejected += 1
        self.log.append(Rejected(time.time(), reason))

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
