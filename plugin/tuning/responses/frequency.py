"""Frequency response of a joint: position over target, gain and phase."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.gains.response import Kind, Signal, Trace
from mjrig.gains.stillness import WINDOW, is_still, most_speed

ComplexArray = npt.NDArray[np.complex128]
#: Share of a sine's run, at its beginning, that is discarded as transient.
SWINGING_IN = 0.5
#: A chirp that ends with more speed than this, in amplitudes per duration, shows no response.
MOVING = 0.05
#: A sine has swung in if its first and last cycle differ by less than this share.
STEADY = 0.01
#: A resonance is at least so much above the lowest frequency: a joint with ζ < 0.69 reaches it.
PROMINENT = 1.002
#: −3 dB.
HALF_POWER = 1.0 / math.sqrt(2.0)


@dataclass(frozen=True)
class FrequencyResponse:
    """H = position / target over frequency.

    Attributes:
        frequency: [Hz], ascending.
        value: H, complex.
    """

    frequency: FloatArray
    value: ComplexArray

    @property
    def gain(self) -> FloatArray:
        """|H|."""
        return np.abs(self.value)

    @property
    def phase(self) -> FloatArray:
        """∠H [deg], without jumps."""
        return np.degrees(np.unwrap(np.angle(self.value)))

    def distance(self, other: "FrequencyResponse") -> float:
        """The largest |H − H'| as a share of the largest |H'|; both at the same frequencies."""
        return float(np.abs(self.value - other.value).max() / np.abs(other.value).max())

    @property
    def bandwidth(self) -> float | None:
        """Where the gain first falls 3 dB below that of the lowest frequency [Hz].

        None: not within the available frequencies.
        """
        if len(self.frequency) < 2:
            return None
        share = self.gain / self.gain[0]
        below = np.flatnonzero(share < HALF_POWER)
        return crossing(self.frequency, share / HALF_POWER, int(below[0])) if len(below) else None

    @property
    def peak(self) -> tuple[float, float] | None:
        """The resonance: its frequency [Hz] and its gain relative to the lowest frequency.

        Between the frequencies by a parabola on logarithmic scales. None: the gain has no maximum
        within the available frequencies that is above that of the lowest.
        """
        highest = int(np.argmax(self.gain))
        if not 0 < highest < len(self.gain) - 1:
            return None
        around = slice(highest - 1, highest + 2)
        x, y = np.log(self.frequency[around]), np.log(self.gain[around] / self.gain[0])
        (left, right), (before, after) = np.diff(y) / np.diff(x), (x[:2] + x[1:]) / 2.0
        at = before + left * (after - before) / (left - right) if left > right else x[1]
        bend = (right - left) / (after - before)
        height = math.exp(y[1] - 0.5 * bend * (at - x[1]) ** 2)
        return (float(math.exp(at)), height) if height > PROMINENT else None


def crossing(frequency: FloatArray, gain: FloatArray, after: int) -> float:
    """Where a gain is 1 between a frequency and the one before it, on logarithmic scales."""
    x, y = np.log(frequency[after - 1 : after + 1]), np.log(gain[after - 1 : after + 1])
    return float(np.exp(x[0] - y[0] * (x[1] - x[0]) / (y[1] - y[0])))


def measured(trace: Trace, signal: Signal, timestep: float) -> FrequencyResponse | None:
    """The frequency response from a trace of a chirp or a sine.

    A chirp: the ratio of the spectra of the whole record, which begins and ends at rest, so that
    nothing leaks and no window is needed; exact for a linear joint. A sine: the least-squares
    sine through the last whole cycles, one frequency. None: other signals, or a run too short.
    """
    target = trace.target - trace.target[-1] if signal.kind is Kind.CHIRP else trace.target
    # NOTE: a trace pairs a target with the position one step later.
    position = np.concatenate([[trace.start], trace.position[:-1]]) - trace.start
    if signal.kind is Kind.CHIRP:
        return _of_chirp(target, position, signal, timestep)
    if signal.kind is Kind.SINE:
        return _of_sine(target - np.mean(target), position, signal, timestep)
    return None


def why_unsettled(trace: Trace, signal: Signal, timestep: float) -> str:
    """Why a trace does not show what it is to show; empty: it does."""
    if signal.kind is Kind.CHIRP:
        speed = most_speed(trace.position[-WINDOW:], timestep)
        if not is_still(speed, signal, MOVING).all():
            return f"still moving {trace.time[-1]:.3g} s after the start: no frequency response"
    if signal.kind is Kind.SINE and not _is_steady(trace, signal, timestep):
        return "the sine has not swung in: no frequency response; test longer"
    return ""


def _is_steady(trace: Trace, signal: Signal, timestep: float) -> bool:
    per_cycle = round(1.0 / (signal.frequency * timestep))
    count = len(trace.position)
    early = max(round(count * SWINGING_IN), per_cycle) if count >= 2 * per_cycle else 0
    turn = 2.0 * np.pi * signal.frequency * timestep * np.arange(count, dtype=float)
    waves = np.column_stack([np.cos(turn), np.sin(turn), np.ones_like(turn)])
    ends = []
    for begin in (min(early, count - per_cycle), count - per_cycle):
        window = slice(max(begin, 0), max(begin, 0) + per_cycle)
        ends.append(_phasor(waves[window], trace.position[window]))
    return abs(ends[0] - ends[1]) <= STEADY * abs(ends[1])


def _of_chirp(
    target: FloatArray, position: FloatArray, signal: Signal, timestep: float
) -> FrequencyResponse | None:
    frequency = np.asarray(np.fft.rfftfreq(len(target), timestep), float)
    low, high = sorted((signal.frequency, signal.end_frequency))
    inside = (frequency >= low) & (frequency <= high)
    if not inside.any():
        return None
    x, y = np.fft.rfft(target), np.fft.rfft(position)
    return FrequencyResponse(frequency[inside], (y / x)[inside])


def _of_sine(
    target: FloatArray, position: FloatArray, signal: Signal, timestep: float
) -> FrequencyResponse | None:
    per_cycle = 1.0 / (signal.frequency * timestep)
    count = round(signal.duration / timestep)
    cycles = math.floor(count * (1.0 - SWINGING_IN) / per_cycle)
    if cycles < 1:
        return None
    window = slice(count - round(cycles * per_cycle), count)
    time = np.arange(count, dtype=float)[window] * timestep
    turn = np.asarray(2.0 * np.pi * signal.frequency * time, float)
    waves = np.column_stack([np.cos(turn), np.sin(turn), np.ones_like(turn)])
    x, y = (_phasor(waves, v[window]) for v in (target, position))
    return FrequencyResponse(np.array([signal.frequency]), np.array([y / x]))


def _phasor(waves: FloatArray, values: FloatArray) -> complex:
    """The sine through values."""
    (cosine, sine, _), *_ = np.linalg.lstsq(waves, values, rcond=None)
    return complex(cosine, -sine)
