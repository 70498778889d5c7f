"""Where decisions about responses change: each case is on one of the two sides of a threshold."""

import math
from pathlib import Path

import numpy as np
import pytest

from mjrig.core.arrays import FloatArray
from mjrig.lab.responses.frequency_response import (
    ComplexArray,
    FrequencyResponse,
    LinearGroup,
    Margins,
    _around,
    measured,
    step_modes,
    unsettled,
)
from mjrig.lab.responses.gain_suite import check_gains
from mjrig.lab.responses.gain_test import GainResult, GainVerdict
from mjrig.lab.rollouts.signals import Kind, Signal, Trace
from tests.plugin.lab.scenes import write_scene
from tests.worlds import hinge

STEP = 0.001
SINE = Signal(Kind.SINE, 0.5, frequency=2.0, duration=10.0)


def _trace(signal: Signal, position: FloatArray) -> Trace:
    time = STEP * np.arange(1.0, len(position) + 1.0)
    target = np.array([signal.offset(t - STEP) for t in time])
    nothing = np.zeros_like(time)
    return Trace(time, target, position, nothing, nothing, nothing, start=0.0)


# Frequency responses ----------------------------------------------------------------------------


@pytest.mark.parametrize(("until", "is_clean"), [(0.2, True), (0.48, True), (0.54, False)])
def test_the_first_half_of_a_sine_is_a_transient(until: float, is_clean: bool) -> None:
    count = round(SINE.duration / STEP)
    time = STEP * np.arange(1.0, count + 1.0)
    position = 0.8 * SINE.amplitude * np.sin(2.0 * np.pi * SINE.frequency * time)
    position[: round(until * count)] *= 3.0
    response = measured(_trace(SINE, position), SINE, STEP)
    assert response is not None
    assert bool(abs(response.gain[0] - 0.8) < 1e-6) is is_clean


@pytest.mark.parametrize(("growth", "is_steady"), [(0.008, True), (0.0125, False)])
def test_a_sine_has_swung_in_if_its_cycles_differ_by_less_than_a_percent(
    growth: float, is_steady: bool
) -> None:
    """The amplitude grows by this share from the middle of the run to its last cycle."""
    count = round(SINE.duration / STEP)
    time = STEP * np.arange(1.0, count + 1.0)
    size = np.interp(time, [5.25, 9.75], [1.0 - growth, 1.0])
    position = size * np.sin(2.0 * np.pi * SINE.frequency * time)
    assert (unsettled(_trace(SINE, position), SINE, STEP) is None) is is_steady


@pytest.mark.parametrize(("way", "is_still"), [(0.04, True), (0.0625, False)])
def test_a_chirp_ends_still_if_a_twentieth_of_the_amplitude_is_left_to_move(
    way: float, is_still: bool
) -> None:
    chirp = Signal(Kind.CHIRP, 0.5, duration=2.0)
    speed = way * chirp.amplitude / chirp.duration
    trace = _trace(chirp, speed * STEP * np.arange(3000.0))
    assert (unsettled(trace, chirp, STEP) is None) is is_still


@pytest.mark.parametrize(("peak", "is_resonance"), [(1.0013, False), (1.003, True), (1.5, True)])
def test_a_resonance_is_at_least_two_thousandths_high(peak: float, is_resonance: bool) -> None:
    damping = math.sqrt((1.0 - math.sqrt(1.0 - 1.0 / peak**2)) / 2.0)
    frequency = np.geomspace(1e-3, 10.0, 2000)
    response = FrequencyResponse(frequency, 1.0 / (1.0 - frequency**2 + 2j * damping * frequency))
    assert (response.peak is not None) is is_resonance


# Modes ------------------------------------------------------------------------------------------


def _joints(*rates: complex) -> tuple[FloatArray, FloatArray]:
    """x⁺ = a x + b r of joints that follow r without each other, s² + … = 0 at `rates`."""
    n = len(rates)
    a, b = np.zeros((2 * n, 2 * n)), np.zeros(2 * n)
    for k, rate in enumerate(rates):
        own = np.ix_((k, n + k), (k, n + k))
        stiffness, damping = abs(rate) ** 2, -2.0 * rate.real
        values, vectors = np.linalg.eig(np.array([[0.0, 1.0], [-stiffness, -damping]]))
        a[own] = (vectors * np.exp(values * STEP) @ np.linalg.inv(vectors)).real
        b[[k, n + k]] = ([1.0, 0.0] - a[own][:, 0]).tolist()
    return a, b


@pytest.mark.parametrize(("difference", "count"), [(0.016, 1), (0.025, 2)])
def test_limbs_whose_modes_differ_by_two_percent_are_alike(difference: float, count: int) -> None:
    rate = complex(-2.0, 30.0)
    a, b = _joints(rate, rate * (1.0 + difference))
    modes = step_modes(a, b, np.array([0.5, 0.5]), STEP)
    assert len(modes) == count
    assert sum(mode.size for mode in modes) == pytest.approx(1.0, rel=0.01)


def _settling(first: float, second: float) -> tuple[FloatArray, FloatArray]:
    """Two positions that settle at rates without inertia; the velocities decay as a pair."""
    one, other = math.exp(-first * STEP), math.exp(-second * STEP)
    a = np.diag([one, other, 0.0, 0.0])
    a[2:, 2:] = 0.5 * np.array([[0.0, -1.0], [1.0, 0.0]])
    return a, np.array([1.0 - one, 1.0 - other, 0.0, 0.0])


@pytest.mark.parametrize(("part", "rate"), [(0.04, 2.0), (0.0625, math.sqrt(2.0 * 50.0))])
def test_a_second_real_mode_of_a_twentieth_belongs_to_an_overdamped_joint(
    part: float, rate: float
) -> None:
    a, b = _settling(2.0, 50.0)
    mode = step_modes(a, b, np.array([1.0, part]), STEP)[0]
    assert 2.0 * math.pi * mode.frequency == pytest.approx(rate)


@pytest.mark.parametrize(("distance", "settles"), [(0.7e-10, False), (1.4e-10, True)])
def test_a_mode_that_stays_is_no_part_of_a_response(distance: float, settles: bool) -> None:
    a, b = _settling(2.0, 50.0)
    a[1, 1], b[1] = 1.0 - distance, distance
    modes = step_modes(a, b, np.array([1e-3, 1.0]), STEP)
    assert (max(mode.size for mode in modes) > 0.5) is settles


@pytest.mark.parametrize("phase", np.linspace(0.0, math.pi, 40))
def test_the_size_of_a_mode_is_exact_to_a_thousandth(phase: float) -> None:
    """A position that swings without damping, seen with any phase."""
    turn = 40.0 * STEP
    a = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
    b = (np.eye(2) - a) @ np.array([math.cos(phase), math.sin(phase)])
    (mode,) = step_modes(a, b, np.array([1.0]), STEP)
    assert mode.size == pytest.approx(1.0, rel=7e-4)


def test_the_size_of_a_growing_mode_is_that_within_one_period() -> None:
    rate = complex(5.0, 30.0)
    a, b = _joints(rate)
    (mode,) = step_modes(a, b, np.array([1.0]), STEP)
    period = 2.0 * math.pi / abs(rate)
    time = np.linspace(0.0, period, 100_001)
    residue = complex(-0.5, rate.real / (2.0 * rate.imag) * -1.0)
    largest = np.abs(2.0 * (residue * np.exp(rate * time)).real).max()
    assert mode.size == pytest.approx(largest, rel=1e-3)


# Margins ----------------------------------------------------------------------------------------


class _Modes(LinearGroup):
    """A loop that is given by its eigenvalues, closed and with the drive cut."""

    def __init__(self, closed: ComplexArray, cut: ComplexArray) -> None:
        self.tick = STEP
        self._modes, self._cut = closed, cut

    def _modes_without(self, drive: int) -> ComplexArray:
        return self._cut

    def _is_explicit(self, drive: int) -> bool:
        return True


def _margins(growth: float, moved: float) -> Margins:
    """A settling mode that the drive makes, and one that grows, which it moves by a share."""
    slow = np.exp(growth * STEP)
    closed = np.array([0.9, slow], complex)
    cut = np.array([0.95, slow + moved * (slow - 1.0)], complex)
    return _Modes(closed, cut).margins(0)


@pytest.mark.parametrize(("growth", "stable"), [(0.08, True), (0.125, False)])
def test_a_mode_of_others_creeps_up_to_a_tenth_a_second(growth: float, stable: bool) -> None:
    assert _margins(growth, 0.0).stable is stable


@pytest.mark.parametrize(("moved", "stable"), [(0.8e-3, True), (1.25e-3, False)])
def test_a_drive_has_no_part_in_a_mode_that_it_moves_by_a_thousandth(
    moved: float, stable: bool
) -> None:
    assert _margins(0.01, moved).stable is stable


def test_margins_are_sought_from_a_hundredth_of_the_slowest_mode_in_a_thousand_steps() -> None:
    modes = np.exp(np.array([-20.0 + 200.0j, -300.0 + 0.0j]) * STEP)
    frequency = _around(modes, STEP)
    slowest = abs(-20.0 + 200.0j) / (2.0 * math.pi)
    assert frequency[0] == pytest.approx(0.01 * slowest)
    assert frequency[-1] == pytest.approx(0.5 / STEP)
    quiet = frequency[frequency < 0.1 * slowest]
    steps = 999.0 * math.log(10.0) / math.log(frequency[-1] / frequency[0])
    assert len(quiet) == pytest.approx(steps, abs=8)


def test_a_narrow_mode_is_looked_at_from_a_twentieth_to_fifty_of_its_widths() -> None:
    hertz, width = 40.0, 0.002
    mode = np.exp(2.0 * np.pi * (-width + 1j * hertz) * STEP)
    frequency = _around(np.array([mode]), STEP)
    above = (frequency - hertz) / width
    beside = above[(above > 1e-3) & (above < 60.0)]
    assert (beside[0], beside[-1]) == (pytest.approx(0.05, rel=0.01), pytest.approx(50.0, rel=0.01))
    assert len(beside) == 25


# Gain suite -------------------------------------------------------------------------------------


def _result(
    folder: Path, test: str, *, joint: str = "", gains: str = "kp: 50, kv: 5", limits: str = ""
) -> list[GainResult]:
    """Of a hinge of 0.5 kg·m²."""
    law = f"{{type: PDController, {gains}}}"
    path = write_scene(folder, hinge(joint=joint), law, sim="{timestep: 0.004}")
    if limits:
        text = path.read_text()
        path.write_text(text.replace("robot.xml", f"robot.xml\n    gain_tests: {limits}", 1))
    return list(check_gains(path, tests=[test]).results)


def test_the_saturation_of_a_step_is_a_fraction_of_one_second(tmp_path: Path) -> None:
    (result,) = _result(tmp_path, "step", gains="kp: 100, kv: 20, torque_limit: 2")
    trace = result.trace
    assert trace is not None
    seconds = 0.004 * np.count_nonzero(np.abs(trace.raw_effort - trace.effort) > 1e-6)
    assert 0.05 < seconds < 0.4
    (saturated,) = (m.value for m in result.measures if m.name == "saturated")
    assert saturated == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("hertz", "kv", "seconds"),
    [(1.0, 5.0, 6.0), (4.0, 5.0, 3.0), (4.0, 0.1, 15.0)],
    ids=["six cycles", "three seconds", "sixty cycles of one that rings"],
)
def test_a_sine_lasts_six_cycles_or_three_seconds(
    tmp_path: Path, hertz: float, kv: float, seconds: float
) -> None:
    gains, limits = f"kp: 50, kv: {kv}", f"{{frequency: {hertz}}}"
    (result,) = _result(tmp_path, "sine", gains=gains, limits=limits)
    assert result.trace is not None
    assert result.trace.time[-1] == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("share", "verdict"), [(0.8e-3, GainVerdict.SKIPPED), (1.25e-3, GainVerdict.PASS)]
)
def test_a_joint_is_at_an_end_up_to_a_thousandth_of_the_amplitude(
    tmp_path: Path, share: float, verdict: GainVerdict
) -> None:
    joint = f'range="{-0.2 * share} 0.5"'
    low, _ = _result(
        tmp_path, "limits", joint=joint, gains="kp: 50, kv: 10", limits="{amplitude: 0.2}"
    )
    assert low.verdict is verdict


def test_gains_are_tested_at_half_and_at_twice_the_timestep(tmp_path: Path) -> None:
    steps = {}
    for result in _result(tmp_path, "timestep", gains="kp: 50, kv: 10"):
        assert result.trace is not None
        steps[result.case] = result.trace.time[1] - result.trace.time[0]
    assert steps == {"h/2": pytest.approx(0.002), "2h": pytest.approx(0.008)}
