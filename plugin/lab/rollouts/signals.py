"""Test signals, response metrics (rise time, overshoot, settling, RMSE), detection of rest."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import PropertyError
from mjrig.core.names import suggestion

# Response -----------------------------------------------------------------------------------------
# Test signals and response metrics: rise time, overshoot, settling time, RMSE.


#: Half width of the band a settled response stays in, as a share of the step.
BAND = 0.02
#: Share of a run, at its end, whose mean counts as the final value.
TAIL = 0.1
#: There is no final value if this end swings by more than BAND, or if more than this share of the
#: way is still to come, by extrapolation.
REMAINING = 1e-3
#: The direction of a motion is judged by so many means of its end, which a chatter does not change.
TREND = 30


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

    def held(self, time: float) -> float:
        """The same, but a step remains: it is followed until the joint has come to rest."""
        return self.offset(min(time, self.duration) if self.kind is Kind.STEP else time)

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

    Those of a step are None too where the joint still moves at the end of the record: without a
    final value they would be wrong.

    Attributes:
        rise_time: from 10 to 90 % of the step to the final value [s].
        overshoot: beyond the final value, as a share of the step.
        settling_time: time after which it stays within ±2 % of the step around the final value [s].
        steady_state_error: target minus final value [rad or m].
        rmse: root of the mean squared error over the signal [rad or m].
        saturation: share of the steps of the signal in which a clamp or a limit of the model acted.
    """

    rise_time: float | None
    overshoot: float | None
    settling_time: float | None
    steady_state_error: float | None
    rmse: float
    saturation: float


def measure(trace: Trace, signal: Signal) -> Metrics:
    """Metrics of a response, which may go on after the signal; step metrics only for steps."""
    asked = trace.until(signal.duration)
    rmse = float(np.sqrt(np.mean((asked.target - asked.position) ** 2)))
    saturation = float(np.mean(is_saturated(asked)))
    final = final_position(trace) if signal.kind is Kind.STEP else None
    if final is None:
        return Metrics(None, None, None, None, rmse, saturation)
    way = final - trace.start
    error = float(trace.target[-1]) - final
    if abs(way) < 1e-9:  # it did not move: a ratio is undefined
        return Metrics(None, None, None, error, rmse, saturation)
    share = np.concatenate([[0.0], (trace.position - trace.start) / way])
    time = np.concatenate([[0.0], trace.time])
    return Metrics(
        _rise(time, share),
        max(0.0, float(share.max()) - 1.0),
        _settling(time, share),
        error,
        rmse,
        saturation,
    )


def has_final(positions: FloatArray) -> bool:
    """Whether a step response, given from its start, has a final value."""
    final, remaining = limit(positions[1:] if len(positions) > 1 else positions)
    way = abs(final - float(positions[0]))
    swing = float(np.ptp(tail(positions)))
    return way < 1e-9 or (remaining <= REMAINING * way and swing <= 2.0 * BAND * way)


def final_position(trace: Trace) -> float | None:
    """Where a step response ends; None: it still moves at the end of the record."""
    if not has_final(np.concatenate([[trace.start], trace.position])):
        return None
    return limit(trace.position)[0]


def limit(positions: FloatArray) -> tuple[float, float]:
    """The value that a response approaches, and how uncertain that is.

    The mean of a swing's end is taken. The end of a motion in one direction is extrapolated: the
    mean is as far off as the motion still has to go. A slow mode that a faster one hides shows
    at the very end, therefore this is done for short spans, too.
    """
    span = max(1, round(len(positions) * TAIL))
    last = float(np.mean(positions[-span:]))
    if len(positions) < 3 * span:
        return last, 0.0
    end = positions[-3 * span :]
    first, second = np.mean(end[: 2 * span].reshape(2, span), axis=1).tolist()
    before, latest = second - first, last - second
    trend = [float(np.mean(part)) for part in np.array_split(end, min(TREND, len(end)))]
    if not np.all(np.diff(trend) * latest >= 0.0):
        swing = 0.5 * float(np.ptp(end[-span:]))  # the mean of a swing that lasts is closer
        return last, max(abs(latest), min(abs(before), swing))
    long, short = _extrapolated(end), _extrapolated(end[-3 * max(1, span // 3) :])
    return short[0], max(long[1], short[1])


def _extrapolated(end: FloatArray) -> tuple[float, float]:
    """Where a motion in one direction ends, and how far that is from the mean of its last third.

    The means of three equal spans of an exponential are a geometric sequence: its limit is exact.
    """
    first, second, third = np.mean(end.reshape(3, -1), axis=1).tolist()
    before, latest = second - first, third - second
    if abs(latest) >= abs(before):  # a creep: it goes as far again in as much time again
        return third, abs(latest) / TAIL
    remaining = latest * latest / (before - latest)
    return third + remaining, abs(remaining)


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
    i = int(reached[0])  # not the first: that is the start
    part = (level - share[i - 1]) / (share[i] - share[i - 1])
    return float(time[i - 1] + part * (time[i] - time[i - 1]))


def _settling(time: FloatArray, share: FloatArray) -> float | None:
    """When a response enters the band to stay, between two samples."""
    away = np.abs(share - 1.0)
    outside = np.flatnonzero(away > BAND)
    if not len(outside):
        return 0.0
    last = int(outside[-1])
    if last >= len(share) - len(tail(share)):
        return None
    part = (away[last] - BAND) / (away[last] - away[last + 1])
    return float(time[last] + min(part, 1.0) * (time[last + 1] - time[last]))


# Stillness ----------------------------------------------------------------------------------------
# Stillness: when a robot has come to rest, judged by the signal that follows or is over.


#: A joint is still before a signal if it would move less than this share of the amplitude while
#: the signal lasts.
STILL = 5e-3
#: The record of a chirp ends at rest: in as much time again it would move less than this share.
ENDED = 1e-3
#: Speeds are judged over so many steps at a time; a multiple of all usual decimations.
WINDOW = 240
#: Steps between two readings.
EVERY = 8
#: Longest time to wait for it [s].
LONGEST = 30.0
#: Share of a step response, at its end, in which it no longer leaves the band around the end.
QUIET = 0.35
#: A motion is given up only after three times this, enough for the period of a slow joint [s].
LOOK = 1.5

BoolArray = npt.NDArray[np.bool_]


def most_speed(positions: FloatArray, interval: float) -> FloatArray:
    """The largest speed between readings (samples, …) that are an interval apart [s]."""
    found: FloatArray = np.abs(np.diff(positions, axis=0)).max(axis=0, initial=0.0) / interval
    return found


def is_still(speed: FloatArray, signal: Signal, share: float = STILL) -> BoolArray:
    """Which joints are still enough for a signal, by their largest speeds of late."""
    found: BoolArray = speed * signal.duration <= share * abs(signal.amplitude)
    return found


def strictest(signals: Sequence[Signal]) -> Signal:
    """The signal that a robot must be stillest for, of some of one duration."""
    return min(signals, key=lambda signal: abs(signal.amplitude))


def settling(
    step: Callable[[int], object],
    read: Callable[[], FloatArray],
    timestep: float,
    signal: Signal,
) -> Iterator[tuple[BoolArray, FloatArray]]:
    """Step until the caller stops, at most LONGEST; which joints are still, and their speeds.

    Args:
        step: advances by a number of steps.
        read: the positions, of any shape.
        timestep: [s].
        signal: what the robot is to be still for.
    """
    last = read()
    for _ in range(max(1, round(LONGEST / timestep / WINDOW))):
        positions = [last]
        for _ in range(WINDOW // EVERY):
            step(EVERY)
            positions.append(read())
        last = positions[-1]
        speed = most_speed(np.array(positions), EVERY * timestep)
        yield is_still(speed, signal), speed


# After a signal ---------------------------------------------------------------------------------


def follow(
    signals: Sequence[Signal],
    timestep: float,
    read: Callable[[], FloatArray],
    advance: Callable[[int, FloatArray], BoolArray],
    *,
    longest: int | None = None,
    ended: Callable[[BoolArray], object] = lambda worlds: None,
) -> npt.NDArray[np.intp]:
    """Drive joints by signals; the steps of each world's response, 0 where it diverged.

    The response to a step or a chirp is followed until the joints have come to rest, or LONGEST.

    Args:
        signals: one per world; they differ in amplitude only.
        timestep: [s].
        read: positions of the driven joints, (worlds, joints).
        advance: takes a step with its number and an offset of the setpoints per world; returns
            which worlds have not diverged.
        longest: most steps; None: as many as it takes.
        ended: called with the worlds whose responses are complete now.
    """
    signal, count = signals[0], len(signals)
    most = signal_steps(signal, timestep)[1] if longest is None else longest
    asked = signal_steps(signal, timestep)[0]
    length = np.zeros(count, dtype=np.intp)
    left = np.ones(count, np.bool_)
    positions = [read()]

    def end(step: int, worlds: BoolArray) -> None:
        length[worlds] = step
        left[worlds] = False
        if worlds.any():
            ended(worlds)

    for k in range(most):
        if k >= asked and (k - asked) % WINDOW == 0:
            worlds = zip(np.array(positions).transpose(1, 2, 0), signals, strict=True)
            over = [all(is_over(joint, one, timestep) for joint in w) for w, one in worlds]
            end(k, left & np.array(over))
            if not left.any():
                break
        left &= advance(k, np.array([one.held(k * timestep) for one in signals]))
        if not left.any():
            break
        positions.append(read())
    end(most, left.copy())
    return length


def signal_steps(signal: Signal, timestep: float) -> tuple[int, int]:
    """Steps of a signal, and the most that a response to it is followed."""
    steps = max(1, round(signal.duration / timestep))
    ends_at_rest = signal.kind in (Kind.STEP, Kind.CHIRP)
    return steps, max(steps, round(LONGEST / timestep)) if ends_at_rest else steps


def is_over(positions: Sequence[float] | FloatArray, signal: Signal, timestep: float) -> bool:
    """Whether the response of a joint is complete, or never will be in time.

    Args:
        positions: where it was at every step so far, the start included.
        signal: it is over; a step remains.
        timestep: [s].
    """
    values = np.asarray(positions, float)
    elapsed = (len(values) - 1) * timestep
    if not np.isfinite(values).all():
        return True
    if signal.kind is Kind.STEP:
        return (has_final(values) and _is_quiet(values)) or _takes_for_ever(values, timestep)
    speed = float(most_speed(values[-WINDOW:], timestep))
    still = speed * max(elapsed, signal.duration) <= ENDED * abs(signal.amplitude)
    return still or _takes_for_ever(values[round(signal.duration / timestep) :], timestep)


def _is_quiet(values: FloatArray) -> bool:
    """Whether a step response has been near its end for a while.

    At a turning point of a slow oscillation the last samples alone look like a final value.
    """
    late = values[-max(1, round(len(values) * QUIET)) :]
    return float(np.ptp(late)) <= 2.0 * BAND * abs(float(late[-1]) - float(values[0])) + 1e-9


def _takes_for_ever(values: FloatArray, timestep: float) -> bool:
    """Whether a motion does not decay, or so slowly that it lasts beyond LONGEST."""
    third = len(values) // 3
    if third * timestep < LOOK:
        return False
    parts = values[-2 * third : -third], values[-third:]
    before, now = (float(most_speed(part, timestep)) for part in parts)
    if now >= before:
        return now > 0.0
    # Of an exponential, a thousandth of the speed is left after so many thirds.
    thirds = math.log(1e3) / math.log(before / now) if now else 0.0
    return thirds * third * timestep > LONGEST
