"""Limits on the CPU time and the memory of one case of a campaign."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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


class TooLarge(BaseException):
    """Not an Exception, like TooSlow."""


@contextmanager
def memory_limit(megabytes: float) -> Iterator[None]:
    """Raise TooLarge at the end if this process grew by more, at any time in between."""
    try:
        Path("/proc/self/clear_refs").write_text("5")  # forget the highest so far
    except OSError:
        yield
        return
    before = _status("VmRSS")
    yield
    grown = _status("VmHWM") - before
    if grown > megabytes:
        raise TooLarge(f"{grown:.0f} MB")


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))
