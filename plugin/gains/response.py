"""Test signals and response metrics: rise time, overshoot, settling time, RMSE."""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.errors import PropertyError
from mjrig.names import suggestion

#: Half width of the band a settled response stays in, as a share of the step.
BAND = 0.02
#: Share of a run, at its end, whose mean counts as the final value.
TAIL = 0.1


class Kind(StrEnum):
    """Shapes of test signals."""

    STEP = "step"
    SINE = "sine"
    CHIRP = "chirp"
    SQUARE = "square"


@dataclass(frozen=True)
class Signal:
    """An offset over time, added to the position setpoint the joint had.

    Attributes:
        kind: its shape.
        amplitude: offset [rad or m]; negative reverses it.
        frequency: of sine and square; start frequency of a chirp [Hz].
        end_frequency: end frequency of a chirp [Hz].
        duration: how long it lasts [s].
    """

    kind: Kind = Kind.STEP
    amplitude: float = 0.1
    frequency: float = 1.0
    end_frequency: float = 5.0
    duration: float = 1.0

    def __post_init__(self) -> None:
        kinds = [kind.value for kind in Kind]
        if self.kind not in kinds:
            hint = suggestion(self.kind, kinds)
            raise PropertyError(f"unknown test signal {str(self.kind)!r}; {hint}")
        object.__setattr__(self, "kind", Kind(self.kind))  # a plain string is accepted
        for name in ("frequency", "end_frequency", "duration"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise PropertyError(f"the test signal's {name} must be > 0, got {value:g}")
        if not math.isfinite(self.amplitude) or self.amplitude == 0.0:
            raise PropertyError(
                f"the test signal's amplitude must be a number other than 0, got {self.amplitude:g}"
            )

    def offset(self, time: float) -> float:
        """The offset at a time since the signal began; 0 before and after it."""
        if not 0.0 <= time <= self.duration:
            return 0.0
        if self.kind is Kind.STEP:
            return self.amplitude
        wave = math.sin(2.0 * math.pi * self._cycles(time))
        if self.kind is Kind.SQUARE:
            return self.amplitude if self._cycles(time) % 1.0 < 0.5 else -self.amplitude
        return self.amplitude * wave

    def _cycles(self, time: float) -> float:
        if self.kind is not Kind.CHIRP:
            return self.frequency * time
        slope = (self.end_frequency - self.frequency) / self.duration
        return (self.frequency + 0.5 * slope * time) * time


@dataclass(frozen=True)
class Trace:
    """Sampled signals of one joint: arrays over time, from the moment the signal began.

    `start` is the position at that moment; `raw_effort` is what the law asked for, `effort` what
    the clamps left of it, `applied_effort` what MuJoCo used.
    """

    time: FloatArray
    target: FloatArray
    position: FloatArray
    effort: FloatArray
    raw_effort: FloatArray
    applied_effort: FloatArray
    start: float

    def until(self, time: float) -> "Trace":
        """The part of it up to a time since the signal began [s]."""
        n = int(np.searchsorted(self.time, time + 1e-9, side="right"))
        return Trace(
            self.time[:n],
            self.target[:n],
            self.position[:n],
            self.effort[:n],
            self.raw_effort[:n],
            self.applied_effort[:n],
            self.start,
        )


@dataclass(frozen=True)
class Metrics:
    """Metrics of one response; None: not reached within the run, or undefined for the signal.

    Attributes:
        rise_time: from 10 to 90 % of the step to the final value [s].
        overshoot: beyond the final value, as a share of the step.
        settling_time: time after which it stays within ±2 % of the step around the final value [s].
        steady_state_error: target minus final value [rad or m].
        rmse: root of the mean squared error [rad or m].
        saturation: share of the steps in which a clamp or a limit of the model acted.
    """

    rise_time: float | None
    overshoot: float | None
    settling_time: float | None
    steady_state_error: float | None
    rmse: float
    saturation: float


def measure(trace: Trace, kind: Kind) -> Metrics:
    """Metrics of a response; step metrics only for step signals."""
    rmse = float(np.sqrt(np.mean((trace.target - trace.position) ** 2)))
    saturation = float(np.mean(is_saturated(trace)))
    if kind is not Kind.STEP:
        return Metrics(None, None, None, None, rmse, saturation)
    final = float(np.mean(tail(trace.position)))
    way = final - trace.start
    error = float(trace.target[-1]) - final
    if abs(way) < 1e-9:  # it did not move: a ratio is undefined
        return Metrics(None, None, None, error, rmse, saturation)
    share = (trace.position - trace.start) / way
    return Metrics(
        _rise(trace.time, share),
        max(0.0, float(share.max()) - 1.0),
        _settling(trace.time, share),
        error,
        rmse,
        saturation,
    )


def tail(values: FloatArray) -> FloatArray:
    """The samples at the end of a run."""
    return values[-max(1, round(len(values) * TAIL)) :]


def is_saturated(trace: Trace) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Steps in which a clamp or a limit of the model acted."""
    scale = 1e-6 * np.maximum(1.0, np.abs(trace.raw_effort))
    ours = np.abs(trace.raw_effort - trace.effort) > scale
    models = np.abs(trace.effort - trace.applied_effort) > scale
    saturated: np.ndarray[tuple[int], np.dtype[np.bool_]] = ours | models
    return saturated


def _rise(time: FloatArray, share: FloatArray) -> float | None:
    begin, end = _crossing(time, share, 0.1), _crossing(time, share, 0.9)
    return None if begin is None or end is None else end - begin


def _crossing(time: FloatArray, share: FloatArray, level: float) -> float | None:
    """When a response first reaches a level, between two samples."""
    reached = np.flatnonzero(share >= level)
    if not len(reached):
        return None
    i = int(reached[0])
    if i == 0:
        return float(time[0])
    part = (level - share[i - 1]) / (share[i] - share[i - 1])
    return float(time[i - 1] + part * (time[i] - time[i - 1]))


def _settling(time: FloatArray, share: FloatArray) -> float | None:
    outside = np.flatnonzero(np.abs(share - 1.0) > BAND)
    if not len(outside):
        return 0.0
    last = int(outside[-1])
    return float(time[last + 1] - time[0]) if last < len(share) - len(tail(share)) else None
