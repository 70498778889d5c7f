"""Where bridges judge clocks, competing programs and lags: both sides of each threshold."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mjrig.components.bridges import serving as serving_module
from mjrig.components.bridges import traffic, unitree_bridge
from mjrig.components.bridges.dds import link as link_module
from mjrig.components.bridges.dds.link import DdsLink
from mjrig.components.bridges.dds.writers import Writers
from mjrig.components.bridges.serving import Serving
from mjrig.components.bridges.socket_bridge import SocketBridge
from mjrig.components.bridges.traffic import Traffic
from mjrig.components.bridges.unitree_bridge import UnitreeBridge
from tests.components.bridges.socket_programs import served

NOW = 10**18


def _samples(delay: float, times: list[float]) -> Writers:
    """A writer whose samples arrive at some times [s], with one delay [s]."""
    writers = Writers(3600.0)
    for time in times:
        now = NOW + round(time * 1e9)
        writers.check(1, now - round(delay * 1e9), now)
    return writers


@pytest.mark.parametrize(
    ("count", "seconds", "is_judged"),
    [(20, 0.9, False), (20, 1.1, True), (4, 3.0, False), (5, 3.0, True)],
)
def test_the_offset_of_a_clock_needs_a_second_and_five_samples(
    count: int, seconds: float, is_judged: bool
) -> None:
    times = [seconds * k / (count - 1) for k in range(count)]
    assert bool(_samples(0.2, times).notes) is is_judged


@pytest.mark.parametrize(("delay", "is_corrected"), [(0.04, False), (0.0625, True)])
def test_an_offset_of_a_twentieth_of_a_second_is_corrected(
    delay: float, is_corrected: bool
) -> None:
    assert bool(_samples(delay, [0.1 * k for k in range(20)]).notes) is is_corrected


def test_clocks_drift_by_a_fifth_of_a_millisecond_per_second() -> None:
    """Of an age that grows by 1 ms/s, the rest counts: 0.1 s after 125 s."""
    writers = Writers(0.1)
    late = 0.0
    for k in range(2000):
        now, delay = NOW + k * 10**8, 0.2 + 1e-3 * 0.1 * k
        try:
            writers.check(1, now - round(delay * 1e9), now)
        except ValueError:
            late = 0.1 * k
            if late > 5.0:  # before that, the offset is not known
                break
    assert late == pytest.approx(125.0, abs=3.0)


@pytest.mark.parametrize(("again", "is_reported"), [(0.8, True), (1.25, False)])
def test_programs_that_command_within_a_second_compete(again: float, is_reported: bool) -> None:
    writers = Writers(1.0)
    for handle, time in ((1, 0.0), (2, 0.4), (1, again)):
        writers.commanded(handle, "lowcmd", NOW + round(time * 1e9))
    assert bool(writers.notes) is is_reported


# Pace -------------------------------------------------------------------------------------------


class _Clock:
    """A clock that only sleeping, and steps of a given duration, move on."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class _Punctual:
    """Priority that is granted until it is ended."""

    is_granted = True

    def end(self, why: str = "") -> None:
        self.is_granted = False

    def pause(self, paused: bool) -> None:
        pass


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    clock = _Clock()
    monkeypatch.setattr(
        serving_module, "time", SimpleNamespace(perf_counter=clock.perf_counter, sleep=clock.sleep)
    )
    return clock


class _Over(Exception):
    """All steps were taken."""


def _run(
    monkeypatch: pytest.MonkeyPatch, clock: _Clock, costs: list[float]
) -> tuple[Serving, list[float]]:
    """Run steps that take so long; returns when each begins."""
    left, begins = list(costs), list[float]()

    def advance(self: Serving, steps: int) -> int:
        begins.append(clock.now)
        if not left:
            raise _Over
        clock.now += left.pop(0)
        return steps

    monkeypatch.setattr(Serving, "advance", advance)
    with served() as serving, pytest.raises(_Over):
        serving.punctual = _Punctual()  # type: ignore[assignment]
        serving.run()
    return serving, begins


@pytest.mark.parametrize(("lag", "dropped"), [(0.08, 0), (0.125, 1)])
def test_a_lag_of_a_tenth_of_a_second_is_dropped(
    monkeypatch: pytest.MonkeyPatch, clock: _Clock, lag: float, dropped: int
) -> None:
    serving, _ = _run(monkeypatch, clock, [0.0, lag + 0.001, 0.0])
    assert serving.pace.dropped == dropped


def test_a_lag_is_made_up_for_at_four_times_the_speed(
    monkeypatch: pytest.MonkeyPatch, clock: _Clock
) -> None:
    serving, begins = _run(monkeypatch, clock, [0.0, 0.05, *[0.0] * 10])
    steps = [after - before for before, after in pairwise(begins[2:])]
    assert steps == pytest.approx([serving.world.timestep / 4.0] * len(steps))


@pytest.mark.parametrize(
    ("lags", "every", "is_granted"), [(4, 0.2, True), (5, 0.4, False), (5, 0.6, True)]
)
def test_five_dropped_lags_in_two_seconds_end_the_priority(
    monkeypatch: pytest.MonkeyPatch, clock: _Clock, lags: int, every: float, is_granted: bool
) -> None:
    quick = round((every - 0.15) / 0.001)
    costs = [cost for _ in range(lags) for cost in (0.15, *[0.0] * quick)]
    serving, _ = _run(monkeypatch, clock, costs)
    assert serving.pace.dropped == lags
    assert serving.punctual.is_granted is is_granted


def test_a_token_has_sixteen_letters() -> None:
    SocketBridge(token="t" * 16)
    with pytest.raises(ValueError, match="at least 16 letters"):
        SocketBridge(token="t" * 15)


@pytest.mark.parametrize(("steady", "jitters"), [(400, True), (600, False)])
def test_rate_and_jitter_are_those_of_the_last_500_messages(
    steady: int, jitters: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = Traffic()
    gaps = [*[0.0005, 0.0015] * 300, *[0.001] * steady]
    arrivals = 100.0 + np.cumsum(gaps)
    for when in arrivals:
        counter.accept(float(when))
    monkeypatch.setattr(traffic, "time", SimpleNamespace(monotonic=lambda: arrivals[-1]))
    assert (counter.report().jitter > 1e-6) is jitters


@pytest.mark.parametrize(("after", "pressed"), [(0.15, True), (0.25, False)])
def test_a_key_of_the_script_is_pressed_for_a_fifth_of_a_second(
    after: float, pressed: bool
) -> None:
    bridge = UnitreeBridge(remote="A@2")
    bridge._script = unitree_bridge.script("A@2")
    assert bool(bridge._pressed(2.0 + after)) is pressed


@pytest.mark.parametrize(("lasts", "starts"), [(8.0, 5), (12.0, 20)])
def test_a_process_that_ends_six_times_within_ten_seconds_is_not_started_again(
    lasts: float, starts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    link: Any = object.__new__(DdsLink)
    clock, started = SimpleNamespace(now=0.0), []
    monkeypatch.setattr(link_module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    link._failures, link._began, link._drop = 0, 0.0, lambda: None
    link._reaped, link._listen = lambda patience: 1, lambda: None

    def start() -> None:
        started.append(clock.now)
        link._began = clock.now

    link._start = start
    for _ in range(20):
        clock.now += lasts
        if not link._restarted().endswith(b"it was started again"):
            break
    assert len(started) == starts
