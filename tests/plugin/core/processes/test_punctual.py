"""Punctual: real-time priority where it is permitted, and no difference where it is not."""

import os
import subprocess
import sys
import threading
from typing import Any

import pytest

from mjrig.core.processes import realtime_priority
from mjrig.core.processes.realtime_priority import Priority, Punctual, as_usual, is_realtime
from tests.wording import matches, mentions

SYSTEM: Any = os  # Linux alone has the scheduler's calls


@pytest.fixture
def permitted() -> None:
    with Punctual() as asked:
        if not asked.is_granted:
            pytest.skip(f"this user cannot have it: {asked.text}")


def policies(child: str = "import os; print(os.sched_getscheduler(0))") -> tuple[int, int]:
    """Of a thread and of a program that are started here."""
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(SYSTEM.sched_getscheduler(0)))
    thread.start()
    thread.join()
    return found[0], int(subprocess.check_output([sys.executable, "-S", "-c", child]))


def test_it_is_granted_to_the_thread_and_what_it_starts_and_given_back(permitted: None) -> None:
    usual = SYSTEM.SCHED_OTHER
    with Punctual() as asked:
        assert is_realtime() and asked.text == "real-time priority"
        assert policies() == (SYSTEM.SCHED_RR, SYSTEM.SCHED_RR)
        with as_usual():
            assert policies() == (usual, usual)
        assert is_realtime()
        asked.pause(True)
        assert not is_realtime()
        asked.pause(False)
        assert is_realtime()
        asked.end("because")
        assert asked.text == "normal priority (because)" and not is_realtime()
        asked.pause(False)  # over is over
        assert not is_realtime()
    assert policies() == (usual, usual)


def test_where_it_is_not_permitted_everything_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse, raising=False)
    with Punctual() as asked, as_usual():
        asked.pause(True)
        assert not asked.is_granted
        assert matches(asked.text, "normal priority (real-time priority … -r)")
    monkeypatch.delattr(os, "sched_setscheduler")
    assert mentions(Punctual().text, "this system has no …")


def test_normal_asks_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(realtime_priority, "_set", lambda level: pytest.fail("it asked"))
    with Punctual(Priority.NORMAL) as asked:
        assert asked.text == "normal priority" and not asked.is_granted
