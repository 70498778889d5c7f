"""When commands of a table were sent, compared with the times at which they were made."""

import random
from dataclasses import dataclass, replace

import numpy as np
import pytest

from mjrig.core.arrays import FloatArray
from mjrig.data.robot_logs.command_times import sent_commands
from tests.campaign import CAMPAIGN


@dataclass(frozen=True)
class Logged:
    """What a logger saw: rows, the command of each, and when all commands were really sent."""

    time: FloatArray
    values: FloatArray
    sent: FloatArray
    sent_values: FloatArray
    period: float


def chirps(time: FloatArray, joints: int, fastest: float, phase: float) -> FloatArray:
    """Smooth setpoints, another motion for each joint."""
    turns = time * (0.3 + 0.5 * (fastest - 0.3) * time / time[-1])
    each = [0.3 * np.sin(2.0 * np.pi * (turns + k * phase)) for k in range(joints)]
    return np.stack(each, axis=1)


def logged(
    rng: np.random.Generator,
    *,
    rate: float,
    period: float,
    jitter: float,
    joints: int = 6,
    seconds: float = 4.0,
    fastest: float = 4.0,
) -> Logged:
    """A logger with its own clock that writes the latest command at its own rate [s].

    If both have one rate, commands come when it writes: it shows some twice and misses others.
    """
    phase = 0.0 if rate == period else rng.uniform(0.0, period)
    sent = np.arange(0.0, seconds + 0.1, period) + phase
    sent = np.sort(sent + jitter * rng.standard_normal(len(sent)))
    values = chirps(sent, joints, fastest, 0.37)
    rows = np.arange(2.0 * period, seconds, rate)
    latest = np.searchsorted(sent, rows, side="right") - 1
    return Logged(rows, values[latest], sent, values, period)


def errors_of(log: Logged, time: FloatArray, values: FloatArray) -> FloatArray:
    """How much later than it was sent each command is, of those that were logged."""
    away = np.abs(log.sent_values[:, None] - values).max(axis=2)
    nearest = np.argmin(away, axis=0)
    exact = away[nearest, np.arange(len(values))] < 1e-12
    return (time - log.sent[nearest])[exact]


@pytest.mark.parametrize("seed", range(2 if CAMPAIGN else 1))
@pytest.mark.parametrize(("rate", "period"), [(0.005, 0.005), (0.008, 0.005), (0.01, 0.004)])
def test_commands_are_put_where_they_were_sent(seed: int, rate: float, period: float) -> None:
    log = logged(np.random.default_rng(seed), rate=rate, period=period, jitter=0.06 * period)
    found = sent_commands(log.time, log.values)
    assert found is not None
    assert found.period == pytest.approx(period, rel=1e-3)
    left = errors_of(log, found.time, found.values)
    # In the table each is up to a period late, or as long as rows are apart.
    in_table = errors_of(log, log.time, log.values)
    assert np.std(left) < 0.4 * np.std(in_table)
    late = np.median(left)
    assert np.quantile(np.abs(left - late), 0.9) < 0.25 * period
    assert -0.15 * period < late < found.earlier + 0.15 * period


@pytest.mark.parametrize("seed", range(2 if CAMPAIGN else 1))
def test_those_that_no_row_shows_are_put_on_the_curve(seed: int) -> None:
    log = logged(np.random.default_rng(seed), rate=0.008, period=0.005, jitter=2e-4)
    found = sent_commands(log.time, log.values)
    assert found is not None
    inside = (log.sent > log.time[0]) & (log.sent < log.time[-1])
    assert len(found.time) == pytest.approx(int(inside.sum()), abs=4)
    held, row_by_row = (
        _held(t, v, log.time + 0.003)
        for t, v in ((found.time, found.values), (log.time, log.values))
    )
    true = _held(log.sent, log.sent_values, log.time + 0.003)
    assert np.std(held - true) < 0.5 * np.std(row_by_row - true)


def _held(time: FloatArray, values: FloatArray, at: FloatArray) -> FloatArray:
    return values[np.clip(np.searchsorted(time, at, side="right") - 1, 0, len(time) - 1)]


def test_rows_show_no_command_before_it_is_sent() -> None:
    log = logged(np.random.default_rng(7), rate=0.008, period=0.005, jitter=2e-4)
    found = sent_commands(log.time, log.values)
    assert found is not None
    late = np.mean(found.time > found.shown + 1e-3)
    assert late < 0.03 and (np.diff(found.time) >= 0.0).all()


def test_commands_that_keep_step_with_the_rows_stay_as_they_are() -> None:
    """A simulator's recording, or a robot whose loop writes its own log."""
    time = np.arange(0.0, 4.0, 0.005)
    assert sent_commands(time, chirps(time, 6, 4.0, 0.37)) is None
    slow = np.repeat(chirps(time[::4], 6, 4.0, 0.37), 4, axis=0)
    assert sent_commands(time, slow) is None


@pytest.mark.parametrize("kind", ["noise", "steps", "still", "short", "walk"])
def test_what_follows_no_curve_stays_as_it_is(kind: str) -> None:
    rng = np.random.default_rng(3)
    time = np.arange(0.0, 4.0, 0.005)
    values = {
        "noise": rng.standard_normal((800, 6)),
        "steps": np.repeat(rng.standard_normal((40, 6)), 20, axis=0),
        "still": np.ones((800, 6)),
        "short": chirps(time, 6, 4.0, 0.37)[:20],
        "walk": np.cumsum(rng.standard_normal((800, 6)), axis=0),
    }[kind]
    assert sent_commands(time[: len(values)], values) is None


def test_a_kink_of_the_curve_moves_no_command_far() -> None:
    log = logged(np.random.default_rng(5), rate=0.005, period=0.005, jitter=3e-4)
    latest = np.searchsorted(log.sent, log.time, side="right") - 1
    bent = np.abs(log.sent - 2.0)[:, None] * 0.4
    found = sent_commands(log.time, log.values + bent[latest])
    assert found is not None
    both = Logged(log.time, log.values, log.sent, log.sent_values + bent, log.period)
    assert np.quantile(np.abs(errors_of(both, found.time, found.values)), 0.95) < 1.5e-3


def test_one_joint_is_enough_if_it_moves() -> None:
    rng = random.Random(1)
    log = logged(
        np.random.default_rng(rng.randrange(99)), rate=0.008, period=0.005, jitter=1e-4, joints=1
    )
    found = sent_commands(log.time, log.values)
    if found is not None:  # where it turns nothing tells
        left = errors_of(log, found.time, found.values)
        assert np.std(left) < np.std(errors_of(log, log.time, log.values))


@pytest.mark.parametrize("seed", range(16 if CAMPAIGN else 1))
def test_no_command_is_counted_wrongly(seed: int) -> None:
    """Twelve fast joints, commands a tenth of their period off, rows that were lost, any part."""
    rng = np.random.default_rng(seed)
    rate = float(rng.choice([0.005, 0.008, 0.00993, 0.0131]))
    whole = logged(rng, rate=rate, period=0.005, jitter=5e-4, joints=12, seconds=8.0, fastest=8.0)
    kept = rng.random(len(whole.time)) > 0.01
    first = rng.uniform(0.0, 3.0)
    kept &= (whole.time > first) & (whole.time < first + rng.uniform(3.0, 5.0))
    log = replace(whole, time=whole.time[kept], values=whole.values[kept])
    found = sent_commands(log.time, log.values)
    assert found is not None
    left = errors_of(log, found.time, found.values)
    assert np.mean(np.abs(left - np.median(left)) > 0.5 * whole.period) < 0.005


@pytest.mark.parametrize("hertz", [40, 60, 75, 90, 120] if CAMPAIGN else [40, 75])
def test_slower_commands_than_rows_are_put_where_they_were_sent(hertz: int) -> None:
    """A logger at 100 Hz that loses rows; commands come more seldom, or a little more often."""
    rng, period = np.random.default_rng(hertz), 1.0 / hertz
    whole = logged(rng, rate=0.01, period=period, jitter=0.0, seconds=6.0, fastest=2.5)
    time = whole.time + rng.uniform(0.0, 2e-4, len(whole.time))
    kept = rng.random(len(time)) > 0.03
    log = replace(whole, time=time[kept], values=whole.values[kept])
    found = sent_commands(log.time, log.values)
    assert found is not None
    assert found.period == pytest.approx(period, rel=1e-3)
    left = errors_of(log, found.time, found.values)
    assert np.std(left) < 0.02 * period
    assert -3e-4 < np.median(left) < found.earlier + 3e-4
