"""Test signals, and numbers of responses that are known in closed form."""

import math
from typing import Any

import numpy as np
import pytest

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import PropertyError
from mjrig.lab.rollouts.signals import Kind, Metrics, Signal, Trace, measure
from tests.worlds import refused

TIME: FloatArray = np.arange(1, 4001, dtype=np.float64) * 0.001


Values = FloatArray | float


def trace(position: Values, target: float = 1.0, effort: Values = 0.0, raw: Values = 0.0) -> Trace:
    def row(values: Values) -> FloatArray:
        return np.broadcast_to(np.asarray(values, dtype=np.float64), TIME.shape)

    given = row(target), row(position), row(effort), row(raw), row(effort)
    return Trace(TIME, *given, start=0.0)


def second_order(zeta: float, omega: float = 10.0) -> FloatArray:
    damped = omega * math.sqrt(1 - zeta**2)
    decay = np.exp(-zeta * omega * TIME)
    wave = np.cos(damped * TIME) + zeta * omega / damped * np.sin(damped * TIME)
    response: FloatArray = 1 - decay * wave
    return response


def step_metrics(position: Values, **about: float) -> Metrics:
    return measure(trace(position, **about), Signal(duration=4.0))


# Signals ----------------------------------------------------------------------------------------


def test_a_step_holds_its_amplitude_and_ends() -> None:
    signal = Signal(Kind.STEP, 0.2, duration=1.0)
    assert [signal.offset(t) for t in (-0.1, 0.0, 1.0, 1.1)] == [0.0, 0.2, 0.2, 0.0]


def test_a_sine_begins_at_zero_and_peaks_after_a_quarter_of_its_period() -> None:
    signal = Signal(Kind.SINE, 0.5, frequency=2.0)
    assert signal.offset(0.0) == 0.0
    assert signal.offset(0.125) == pytest.approx(0.5)


def test_a_square_changes_its_sign_twice_per_period() -> None:
    signal = Signal(Kind.SQUARE, 0.5, frequency=2.0)
    assert [signal.offset(t) for t in (0.0, 0.24, 0.26, 0.49, 0.51)] == [0.5, 0.5, -0.5, -0.5, 0.5]


def test_a_chirp_crosses_zero_ever_more_often() -> None:
    signal = Signal(Kind.CHIRP, 1.0, frequency=1.0, end_frequency=9.0, duration=4.0)
    values = np.array([signal.offset(t) for t in np.linspace(0.0, 4.0, 4001)])
    crossings = np.flatnonzero(np.diff(np.sign(values)) != 0)
    early, late = np.sum(crossings < 1000), np.sum(crossings > 3000)
    assert late == pytest.approx(16, abs=1)  # 8 Hz on average in the last second
    assert early == pytest.approx(4, abs=1)


def test_a_signal_that_makes_no_sense_is_refused() -> None:
    with refused(PropertyError, "the test signal's duration … > 0, … 0"):
        Signal(duration=0.0)
    with refused(PropertyError, "the test signal's amplitude … 0, … 0"):
        Signal(amplitude=0.0)
    with refused(PropertyError, "unknown test signal 'stp'; did … 'step'?"):
        Signal("stp")  # type: ignore[arg-type]


# Metrics ----------------------------------------------------------------------------------------


def test_a_first_order_response_rises_and_settles_as_the_formula_says() -> None:
    found = step_metrics(1 - np.exp(-TIME / 0.1))
    assert found.rise_time == pytest.approx(0.1 * math.log(9), rel=1e-3)
    assert found.settling_time == pytest.approx(0.1 * math.log(50), rel=0.01)
    assert found.overshoot == pytest.approx(0.0, abs=1e-9)
    assert found.steady_state_error == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("zeta", [0.2, 0.5, 0.7])
def test_overshoot_is_that_of_the_damping_ratio(zeta: float) -> None:
    expected = math.exp(-math.pi * zeta / math.sqrt(1 - zeta**2))
    assert step_metrics(second_order(zeta)).overshoot == pytest.approx(expected, rel=0.01)


def test_a_step_down_has_the_numbers_of_a_step_up() -> None:
    up, down = second_order(0.4), -second_order(0.4)
    a, b = step_metrics(up), step_metrics(down, target=-1.0)
    assert (a.rise_time, a.overshoot, a.settling_time) == (
        b.rise_time,
        b.overshoot,
        b.settling_time,
    )


def test_what_stops_short_has_a_steady_state_error() -> None:
    found = step_metrics(0.8 * (1 - np.exp(-TIME / 0.1)))
    assert found.steady_state_error == pytest.approx(0.2)
    assert found.rise_time == pytest.approx(0.1 * math.log(9), rel=1e-3)


def test_settling_is_counted_from_the_moment_of_the_step() -> None:
    """At 0.2 ms or at 2 ms the same: 0.1 · ln 50 after the step, not after the first sample."""
    for h in (0.0002, 0.002):
        time = h * np.arange(1.0, 4.0 / h + 1.0)
        values = 1.0 - np.exp(-time / 0.1)
        one, none = np.ones_like(time), np.zeros_like(time)
        response = Trace(time, one, values, none, none, none, start=0.0)
        found = measure(response, Signal(duration=4.0))
        assert found.settling_time == pytest.approx(0.1 * math.log(50), abs=2e-5)


def test_what_moves_on_has_no_numbers_that_need_an_end() -> None:
    found = step_metrics(1 - np.exp(-TIME / 2.0))
    assert (found.rise_time, found.overshoot, found.settling_time) == (None, None, None)
    assert found.steady_state_error is None
    assert found.rmse > 0.0


def test_what_still_swings_at_the_end_is_not_settled() -> None:
    assert step_metrics(1 + 0.5 * np.sin(20 * TIME)).settling_time is None


def test_what_does_not_move_has_no_rise() -> None:
    found = step_metrics(0.0)
    assert (found.rise_time, found.overshoot, found.settling_time) == (None, None, None)
    assert found.steady_state_error == 1.0
    assert found.rmse == 1.0


def test_saturation_is_the_share_of_steps_in_which_a_limit_acted() -> None:
    raw = np.where(TIME <= 1.0, 50.0, 10.0)
    found = measure(
        trace(1.0, effort=np.minimum(raw, 20.0), raw=raw), Signal(Kind.SINE, duration=4.0)
    )
    assert found.saturation == 0.25
    assert found.rise_time is None


# Independent truth: the closed form of sums of exponentials and decaying sines ------------------


def _modal(seed: int) -> tuple[Any, float]:
    """A random sum of modes that starts at 0, as a function of time, and where it ends."""
    rng = np.random.default_rng(seed)
    final = float(rng.uniform(0.05, 1.0))
    slow, fast = 10.0 ** rng.uniform(-2.3, 0.3), float(rng.uniform(0.005, 0.02))
    share, frequency = float(rng.uniform(0.0, 0.5)), float(rng.uniform(0.0, 40.0))

    def position(time: Any) -> Any:
        quick = (1.0 - share) * np.exp(-time / fast) * np.cos(frequency * time)
        return final * (1.0 - share * np.exp(-time / slow) - quick)

    return position, final


@pytest.mark.parametrize(("duration", "least"), [(0.5, 80), (1.0, 110), (5.0, 170)])
def test_a_final_value_is_the_true_one_or_is_not_reported(duration: float, least: int) -> None:
    reported = 0
    for seed in range(200):
        position, final = _modal(seed)
        time: FloatArray = np.arange(1.0, 1.0 + round(duration / 0.002)) * 0.002
        zeros, target = np.zeros(len(time)), np.full(len(time), final)
        trace = Trace(time, target, position(time), zeros, zeros, zeros, 0.0)
        metrics = measure(trace, Signal(Kind.STEP, amplitude=final, duration=duration))
        if metrics.steady_state_error is not None:
            reported += 1
            assert abs(metrics.steady_state_error) <= 5e-4 * final, seed
    assert reported >= least


def test_a_creep_that_does_not_decay_has_no_final_value() -> None:
    time: FloatArray = np.arange(1.0, 1001.0) * 0.002
    zeros = np.zeros(1000)
    for rate, ends in ((1e-4, True), (1e-2, False)):  # per second, of a step of 1
        position = 1.0 - np.exp(-time / 0.01) + rate * time
        trace = Trace(time, np.ones(1000), position, zeros, zeros, zeros, 0.0)
        metrics = measure(trace, Signal(Kind.STEP, amplitude=1.0, duration=2.0))
        assert (metrics.steady_state_error is not None) == ends


def test_a_chatter_does_not_hide_where_a_motion_ends() -> None:
    """It repeats every 4 samples; each mean of the end is of 12."""
    steps: FloatArray = np.arange(1.0, 1201.0)
    zeros, chatter = np.zeros(1200), 0.002 * np.sign(((steps + 1) % 4) - 1.5)
    position = 1.0 - np.exp(-steps / 160.0) + chatter
    trace = Trace(steps * 0.002, np.ones(1200), position, zeros, zeros, zeros, 0.0)
    metrics = measure(trace, Signal(Kind.STEP, amplitude=1.0, duration=2.4))
    assert metrics.steady_state_error == pytest.approx(0.0, abs=1e-4)
