"""What of recordings a fit does not see, to be judged by it afterwards."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mjrig.tuning.simulated.fit_data import LEAST_SAMPLES, FitWindow, RecordedTrack

#: Recordings shorter than this are used whole, unless a share is asked for [s].
SHORTEST = 2.0
#: Where the part that is held out lies: this share of what is left of the recording is before it.
BEFORE = 2.0 / 3.0


def held_out(
    tracks: Sequence[RecordedTrack], windows: Sequence[FitWindow], share: float, multiple: int
) -> tuple[list[FitWindow], list[FitWindow]]:
    """Windows to fit to, and windows to judge by.

    One stretch of each recording is held out, from its inside: the end of a chirp has frequencies
    that are nowhere else.

    Args:
        tracks: the recordings.
        windows: of all of them.
        share: of each recording that is held out.
        multiple: windows begin at steps that are multiples of it after their segment's first.
    """
    fitted: list[FitWindow] = []
    judged: list[FitWindow] = []
    for i in range(len(tracks)):
        own = [w for w in windows if w.track == i]
        step = np.concatenate([tracks[i].step[w.samples] for w in own])
        first = int(np.quantile(step, (1.0 - share) * BEFORE))
        last = int(np.quantile(step, (1.0 - share) * BEFORE + share))
        for window in own:
            parts = split(tracks[i], window, (first, last), multiple)
            for k, part in enumerate(parts):
                if part is not None:
                    (judged if k == 1 else fitted).append(part)
    return fitted, judged


def split(
    track: RecordedTrack, window: FitWindow, inside: tuple[int, int], multiple: int
) -> list[FitWindow | None]:
    """Before, inside and after; None: too little of the window is there."""
    step = track.step[window.samples]
    masks = (step < inside[0], (step >= inside[0]) & (step < inside[1]), step >= inside[1])
    return [_part(track, window, window.samples[mask], multiple) for mask in masks]


def _part(
    track: RecordedTrack, window: FitWindow, samples: object, multiple: int
) -> FitWindow | None:
    rows = np.asarray(samples, dtype=np.intp)
    starts = np.flatnonzero((track.step[rows] - window.segment) % multiple == 0)
    if not len(starts):
        return None
    rows = rows[starts[0] :]
    if len(rows) < min(LEAST_SAMPLES, len(window.samples)):
        return None
    start = int(track.step[rows[0]])
    after = (track.step[rows] - start).astype(np.intp)
    return replace(window, start=start, length=max(int(after[-1]), 1), samples=rows, after=after)
