"""A limit on the CPU time of one case of a campaign."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest


class TooSlow(BaseException):
    """Not an Exception: nothing on the way catches it."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise TooSlow when this process has used so much CPU; a C function must return first."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("needs timers of the CPU's time")

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
