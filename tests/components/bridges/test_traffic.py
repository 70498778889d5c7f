"""Figures of what came in over a bridge: a rate that is one, and falls when nothing comes."""

import random
from types import SimpleNamespace
from typing import Any

import pytest

from mjrig.components.bridges import command, traffic
from mjrig.components.bridges.traffic import Traffic


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    now = SimpleNamespace(time=100.0)
    stand_in = SimpleNamespace(monotonic=lambda: now.time, time=lambda: now.time)
    monkeypatch.setattr(traffic, "time", stand_in)
    return now


@pytest.mark.parametrize("rate", [2.0, 20.0, 500.0])
@pytest.mark.parametrize("jitter", [0.0, 0.3])
def test_the_rate_is_that_of_the_sender_and_falls_when_it_stops(
    rate: float, jitter: float, clock: SimpleNamespace
) -> None:
    rng, came = random.Random(f"{rate} {jitter}"), Traffic()
    for _ in range(round(3 * rate)):
        clock.time += rng.uniform(1 - jitter, 1 + jitter) / rate
        came.accept()
    assert came.report().rate == pytest.approx(rate, rel=0.35)
    last, before = clock.time, came.report().rate
    for silent in (0.3, 0.6, 1.2, 1.9):
        clock.time = last + silent
        now = came.report()
        assert now.age == pytest.approx(silent)
        if silent > 3.0 / rate:
            assert now.rate < before
            # No more than what really came in the time that is looked at.
            assert now.rate <= 1.01 * rate * max(0.0, 2.0 - silent) / 2.0 * 1.5
        before = now.rate
    clock.time = last + 2.5
    assert came.report().rate == 0.0


def test_silence_is_said_once(clock: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    bridge: Any = type("Bridge", (), {})()
    bridge.traffic, bridge.phase, bridge.label = Traffic(), "commanded", "dog.SocketBridge"
    world = SimpleNamespace(event_count=0, events=[], time=0.0)
    tell = command._Traffic(SimpleNamespace(bridges=[bridge], world=world))  # type: ignore[arg-type]
    tell()
    assert capsys.readouterr().err == ""  # nobody was there yet
    said = []
    for second in range(9):
        for _ in range(100 if second in (0, 1, 6) else 0):
            clock.time += 0.01
            bridge.traffic.accept()
        if second not in (0, 1, 6):
            clock.time += 1.0
            bridge.phase = "lost" if second >= 3 else "commanded"
        world.time = float(second)
        tell()
        said.append(capsys.readouterr().err)
    assert all("100 commands/s" in said[k] for k in (0, 1, 6))
    assert [k for k, text in enumerate(said) if "no command for" in text] == [2, 3, 7]
    assert "no command for 1.0 s" in said[2] and "commands/s" not in said[2]
    assert said[4] == said[5] == said[8] == ""
