"""Outliers: short spans of a robot's log that no values explain, while the rest is explained.

Somebody touched the robot, or its drives received commands that are not in the log. A few samples
with most of the residual would pull the estimates; they are excluded, with a note.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.names import listed
from mjrig.lab.fit.fit_data import split
from mjrig.lab.fit.simulation import Stage

#: Time whose samples are judged together [s].
BIN = 0.1
#: Residuals are odd if they are so many times the usual ones, and those next to them if so many.
ODD, ODD_TOO = 8.0, 4.0
#: They are this share of the motion meanwhile, at least.
SEEN = 0.02
#: Odd spans are left out if they are at most this share of the samples, and hold at least this
#: share of what is left of the motion.
FEW, MOST = 0.1, 0.5
#: They are said of what was held out, which is short, up to this share.
FEW_HELD_OUT = 0.4


@dataclass(frozen=True)
class OddSpan:
    """From one step of a track up to another: residuals are so many `times` those elsewhere."""

    track: int
    first: int
    end: int
    times: float


def odd_spans(stage: Stage, residuals: Sequence[FloatArray], few: float = FEW) -> list[OddSpan]:
    """Spans that some values do not explain; empty: there are none, or they are not short.

    Args:
        residuals: with these values, (samples, 2 dofs) of each window.
        few: the share of all samples that they may be.
    """
    bins = _bins(stage)
    if len(bins) < 1.0 / FEW:
        return []
    left, speed = _shares(stage, residuals, bins)
    # Times are never exact: residuals that grow with the speed are not odd.
    times = np.sqrt(left / np.maximum(speed, 1.0))
    odd = _grown(np.where(_seen(stage, residuals, bins), times, 0.0), bins)
    size = np.array([b.stop - b.start for b in bins], dtype=np.float64)
    is_short = size[odd].sum() <= few * size.sum()
    weighed = size * left
    if not odd.any() or not is_short or weighed[odd].sum() < MOST * weighed.sum():
        return []
    usual = weighed[~odd].sum() / size[~odd].sum()
    found: list[OddSpan] = []
    for k in np.flatnonzero(odd):
        track, first, end = _steps(stage, bins[k])
        times = float(np.sqrt(left[k] / usual))
        if found and found[-1].track == track and found[-1].end == first:
            times, first = max(times, found[-1].times), found.pop().first
        found.append(OddSpan(track, first, end, times))
    return found


def without(stage: Stage, spans: Sequence[OddSpan]) -> Stage:
    """The same without some spans; what is left of a window begins with a state of its own."""
    windows, multiple = list(stage.windows), int(np.lcm.reduce(stage.drives.ticks))
    for span in spans:
        cut = []
        for window in windows:
            track = stage.tracks[window.track]
            if window.track != span.track:
                cut.append(window)
                continue
            before, _, after = split(track, window, (span.first, span.end), multiple)
            cut += [part for part in (before, after) if part is not None]
        windows = cut
    return replace(stage, windows=windows)


def said_of(stage: Stage, spans: Sequence[OddSpan]) -> str:
    """What is left out, for a note."""
    return f"short spans with most of what no values explain are left out: {_words(stage, spans)}"


def said_of_held_out(stage: Stage, spans: Sequence[OddSpan]) -> str:
    """What of the held-out part is not explained, for a note."""
    return f"most of the error of what was held out is in short spans: {_words(stage, spans)}"


def _words(stage: Stage, spans: Sequence[OddSpan]) -> str:
    each = []
    for span in spans:
        track = stage.tracks[span.track]
        first, end = (step * stage.timestep for step in (span.first, span.end))
        each.append(f"{track.name} from {first:.2f} to {end:.2f} s ({span.times:.0f} times)")
    return (
        f"{listed(each)}; in brackets, residuals there, as multiples of the usual ones. Something "
        "acted that is neither in the recording nor in the model"
    )


@dataclass(frozen=True)
class _Bin:
    """Samples of a window, of about `BIN` seconds."""

    window: int
    start: int
    stop: int


def _bins(stage: Stage) -> list[_Bin]:
    found = []
    for w, window in enumerate(stage.windows):
        number = (window.after * stage.timestep / BIN).astype(np.intp)
        edges = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(number)]
        found += [_Bin(w, a, b) for a, b in pairwise(edges)]
    return found


def _steps(stage: Stage, own: _Bin) -> tuple[int, int, int]:
    """Track, first step of a bin, and that of the next one, or the end of its window."""
    window = stage.windows[own.window]
    step = stage.tracks[window.track].step[window.samples]
    end = int(step[own.stop]) if own.stop < len(step) else int(step[-1]) + 1
    return window.track, int(step[own.start]), end


def _shares(
    stage: Stage, residuals: Sequence[FloatArray], bins: Sequence[_Bin]
) -> tuple[FloatArray, FloatArray]:
    """(bins,) mean squares of residuals and speeds, of each joint in units of its usual ones."""
    half, dofs = len(stage.tangent), stage.tangent.dofs
    left, speed = (np.empty((len(bins), half)) for _ in range(2))
    for k, own in enumerate(bins):
        window = stage.windows[own.window]
        rows = window.samples[own.start : own.stop]
        left[k] = (residuals[own.window][own.start : own.stop, :half] ** 2).mean(axis=0)
        speed[k] = (stage.tracks[window.track].qvel[rows][:, dofs] ** 2).mean(axis=0)
    every = [np.mean(a / (np.median(a, axis=0) + 1e-300), axis=1) for a in (left, speed)]
    return every[0], every[1]


def _seen(
    stage: Stage, residuals: Sequence[FloatArray], bins: Sequence[_Bin]
) -> npt.NDArray[np.bool_]:
    """Bins in which residuals are more than what little is never explained of a motion."""
    half, found = len(stage.tangent), []
    for own in bins:
        window = stage.windows[own.window]
        qpos = stage.tracks[window.track].qpos[window.samples[own.start : own.stop]]
        moved = stage.tangent.difference(qpos, np.broadcast_to(qpos[0], qpos.shape))
        left = residuals[own.window][own.start : own.stop, :half]
        found.append(float((left**2).sum()) > SEEN**2 * float((moved**2).sum()))
    return np.array(found)


def _grown(times: FloatArray, bins: Sequence[_Bin]) -> npt.NDArray[np.bool_]:
    """Bins that are odd, with those next to them in the same window that are somewhat odd."""
    odd, near = times > ODD, times > ODD_TOO
    window = np.array([b.window for b in bins])
    for order in (slice(None), slice(None, None, -1)):
        own, too, at = odd[order], near[order], window[order]
        for k in range(1, len(own)):
            own[k] |= own[k - 1] and too[k] and at[k] == at[k - 1]
    return odd
