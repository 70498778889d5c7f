"""Real-time priority: asks the operating system to wake a thread on time."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Any

#: Real-time priority that is asked for: above all ordinary programs, below the kernel's threads.
LEVEL = 10
#: How far the kernel may put off an alarm to bundle it with others [ns]; 50,000 by default.
SLACK = 1
#: Longest time that a thread should keep the others from running (`sys.setswitchinterval`) [s].
TURN = 0.0002


class Priority(StrEnum):
    """What a thread that keeps the clock asks for."""

    REALTIME = "realtime"
    NORMAL = "normal"


class Punctual:
    """Real-time priority for the calling thread, where that is permitted; also a context manager.

    Threads that it starts meanwhile have it too, so that none of them holds the interpreter's lock
    while an ordinary program runs in its place. Where it is not permitted, everything goes on as it
    would without. On Linux; elsewhere it is never permitted.

    Args:
        wanted: `normal` asks for nothing.
    """

    def __init__(self, wanted: Priority = Priority.REALTIME) -> None:
        self._is_wanted = wanted is Priority.REALTIME
        self._why = ""
        if self._is_wanted:
            shorten_slack()
            self._why = _refused()

    @property
    def is_granted(self) -> bool:
        """Whether the thread has real-time priority."""
        return self._is_wanted and not self._why

    def pause(self, paused: bool) -> None:
        """Run as ordinary programs do for a while, or as before again."""
        if self.is_granted:
            _set(0 if paused else LEVEL)

    def end(self, why: str = "") -> None:
        """Run as ordinary programs do from now on; ending twice is fine."""
        self.pause(True)
        self._is_wanted, self._why = bool(why), why

    @property
    def text(self) -> str:
        """What was granted, for people."""
        if self.is_granted:
            return "real-time priority"
        return f"normal priority ({self._why})" if self._why else "normal priority"

    def __enter__(self) -> "Punctual":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def is_realtime() -> bool:
    """Whether the calling thread has real-time priority."""
    system: Any = os
    found = system.sched_getscheduler(0) if hasattr(os, "sched_getscheduler") else -1
    return found in (getattr(os, "SCHED_RR", None), getattr(os, "SCHED_FIFO", None))


@contextmanager
def as_usual() -> Iterator[None]:
    """What is started meanwhile gets ordinary priority: loading a program is not urgent."""
    was_realtime = is_realtime()
    if was_realtime:
        _set(0)
    try:
        yield
    finally:
        if was_realtime:
            _set(LEVEL)


def shorten_slack() -> None:
    """Let alarms of the calling thread go off when they are due; nothing where that is unknown."""
    with suppress(OSError):
        Path(f"/proc/{threading.get_native_id()}/timerslack_ns").write_text(str(SLACK))


def _refused() -> str:
    """Ask for real-time priority; why it is not granted, or nothing."""
    if not hasattr(os, "sched_setscheduler"):
        return "this system has no real-time priority for programs"
    try:
        _set(LEVEL)
    except OSError:
        return "real-time priority is not permitted; see ulimit -r"
    return ""


def _set(level: int) -> None:
    system: Any = os  # Linux alone has these
    policy = system.SCHED_RR if level else system.SCHED_OTHER
    system.sched_setscheduler(0, policy, system.sched_param(level))
