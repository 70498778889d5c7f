"""Limits of logs: a flood of rejections stays under 1 MB an hour, and nothing is lost silently."""

import contextlib
import io
from contextlib import closing

import pytest

from mjrig.components.bridges import traffic as event_limits
from mjrig.components.bridges.command import _Traffic
from mjrig.components.bridges.traffic import EventLimiter, LogBudget, shortened
from tests.campaign import Tally
from tests.components.bridges.socket_programs import ZmqProgram, bridge_of, events, served

HOUR_S = 3600.0
MEGABYTE = 1e6


class Clock:
    """Time that passes only when a test says so."""

    def __init__(self) -> None:
        self.now = 1e6

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(event_limits, "time", clock)
    return clock


@pytest.mark.parametrize(
    ("text", "line"),
    [("fine", "fine"), ("two\nlines", "two\\nlines"), ("\ud800", "\\ud800"),
     ("\x1b[2J", "\\x1b[2J"), ("é", "é"), (7, "7"), ("", "")],
)  # fmt: skip
def test_a_reason_is_one_printable_line(text: object, line: str) -> None:
    assert shortened(text) == line


def test_a_long_reason_is_cut_with_its_length() -> None:
    line = shortened("x" * 5000)
    assert len(line) == event_limits.LOGGED_LETTERS and line.endswith("… (5000 letters)")
    assert len(shortened("\ud800" * 200)) <= event_limits.LOGGED_LETTERS


def test_the_first_events_are_reported_and_the_others_counted(clock: Clock) -> None:
    lines: list[str] = []
    limiter = EventLimiter(lines.append, "messages rejected")
    for number in range(1000):
        limiter.add(f"reason {number}", "rejected: ")
    assert lines == [f"rejected: reason {n}" for n in range(event_limits.FIRST_EVENTS)]
    clock.now += event_limits.SUMMARY_INTERVAL_S
    limiter.add("reason 1000", "rejected: ")
    assert lines[10:] == ["990 more messages rejected; the last one: reason 999"]
    clock.now += 2 * event_limits.SUMMARY_INTERVAL_S
    limiter.add("much later", "rejected: ")
    assert lines[11:] == [
        "1 more messages rejected; the last one: reason 1000",
        "rejected: much later",
    ]


def test_nothing_is_lost_at_the_end(clock: Clock) -> None:
    lines: list[str] = []
    limiter = EventLimiter(lines.append, "messages rejected")
    for _ in range(5):
        limiter.add("the same")
    limiter.flush()
    assert lines == ["the same", "4 more messages rejected; the last one: the same"]


@pytest.mark.parametrize(("burst", "pause"), [(1, 0.5), (10, 60.0), (11, 60.0), (200, 120.0)])
def test_an_hour_of_rejections_is_less_than_a_megabyte(
    clock: Clock, burst: int, pause: float
) -> None:
    """Of eight bridges: they reject a burst of long messages after each pause [s]."""
    budget, sizes = LogBudget(), [0]

    def report(text: str) -> None:
        sizes.extend(len(line.encode()) + 1 for line in budget.lines(text))

    limiters = [EventLimiter(report, "messages rejected") for _ in range(8)]
    for number in range(round(HOUR_S / pause)):
        clock.now += pause
        for limiter in limiters:
            for k in range(burst):
                limiter.add(f"{number} {k}: " + "é" * 3000)
    assert 0 < sum(sizes) < MEGABYTE


@pytest.mark.campaign
def test_whatever_is_printed_the_log_has_a_limit(clock: Clock, tally: Tally) -> None:
    for rng in tally.cases("floods of log lines", 20, 2_000):
        budget, began, size, count = LogBudget(), clock.now, 0, 0
        dropped = 0
        while clock.now - began < HOUR_S:
            clock.now += rng.expovariate(1.0) * rng.choice([1e-3, 1.0, 60.0])
            for _ in range(rng.choice([1, 1, 50])):
                text = rng.choice(["x", "é", "\ud800", "\n"]) * rng.choice([1, 100, 20_000])
                lines = budget.lines(text, reserve=rng.choice([0.0, 0.5]))
                size += sum(len(line.encode(errors="backslashreplace")) + 1 for line in lines)
                count += 1
                dropped += not lines
            if count > 1000:
                break
        if size > MEGABYTE:
            tally.found(f"{size} bytes")
        if dropped and budget._dropped > dropped:
            tally.found("lines were dropped and not counted")


def test_bad_requests_do_not_flood_the_log_of_serve() -> None:
    """Real requests, and everything that `mjrig serve` prints about them."""
    pytest.importorskip("zmq", reason="needs the extra 'bridge'")
    with served() as serving, closing(ZmqProgram(serving)) as program:
        printed, traffic = io.StringIO(), _Traffic(serving)
        rejected = bridge_of(serving).traffic.rejected
        with contextlib.redirect_stderr(printed):
            for number in range(300):
                program.send_text('{"op": "' + f"{number}" + "x" * 50_000 + '"}')
                assert len(program.receive()["error"]) <= event_limits.REPLIED_LETTERS
                if number % 50 == 0:
                    traffic()
            traffic()
        assert bridge_of(serving).traffic.rejected == rejected + 300
        assert len(printed.getvalue()) < 20_000
        assert len(events(serving)) < 20_000
        assert max(len(r.reason) for r in bridge_of(serving).traffic.log) <= 200
    assert "messages rejected; the last one" in events(serving)
