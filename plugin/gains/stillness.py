"""Stillness: when a robot has come to rest, judged by the signal that follows or is over."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.gains.response import BAND, Kind, Signal, has_final

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


def signal_steps(signal: Signal, timestep: float) -> tuple[int, int]:
    """Steps of a signal, and the most that a response to it is followed."""
    steps = max(1, round(signal.duration / timestep))
    ends_at_rest = signal.kind in (Kind.STEP, Kind.CHIRP)
    return steps, max(steps, round(LONGEST / timestep)) if ends_at_rest else steps


def may_be_over(step: int, signal: Signal, timestep: float) -> bool:
    """Whether a response is looked at after some steps."""
    asked = signal_steps(signal, timestep)[0]
    return step >= asked and (step - asked) % WINDOW == 0


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
