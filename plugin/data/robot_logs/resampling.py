"""States at physics steps without invented motion, and velocities from positions."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray, blocks, large_empty

Steps = npt.NDArray[np.int64]
#: LogSamples and order of the polynomials that give velocities.
WINDOW, ORDER = 7, 3
#: A recorded velocity that is later than the positions' derivative by more samples is not used.
MOST_LAG = 2
#: Longest lag that is looked for [samples].
LONGEST_LAG = 40
#: Correlation of a velocity that is the positions' derivative, if later.
FOLLOWS = 0.8
#: Between two periods of a motion, correlations are lower by this at least.
VALLEY = 0.1


#: Stamps are as exact as this share of a step: seconds since 1970 have seven digits behind.
SLACK = 1e-3


def stretches(count: int, gaps: Sequence[int]) -> list[slice]:
    """Rows between gaps."""
    edges = [0, *gaps, count]
    return [slice(a, b) for a, b in pairwise(edges) if b > a]


def derived(time: FloatArray, values: FloatArray, gaps: Sequence[int]) -> FloatArray:
    """Derivatives of (n, joints) samples by local cubics, never across a gap."""
    found = np.zeros_like(values, dtype=np.float64)
    for part in stretches(len(time), gaps):
        found[part] = _slopes(time[part], np.asarray(values[part], dtype=np.float64))
    return found


def _slopes(time: FloatArray, values: FloatArray) -> FloatArray:
    count = len(time)
    if count < WINDOW:
        return np.gradient(values, time, axis=0) if count > 1 else np.zeros_like(values)
    half = WINDOW // 2
    first = np.clip(np.arange(count) - half, 0, count - WINDOW)
    found = np.empty_like(values)
    for start in range(0, count, 4096):  # bounded memory
        rows = slice(start, min(start + 4096, count))
        index = first[rows, None] + np.arange(WINDOW)
        at = time[index] - time[rows, None]
        scale = np.abs(at).max(axis=1, keepdims=True)
        powers = (at / scale)[:, :, None] ** np.arange(ORDER + 1)
        weights = np.linalg.pinv(powers)[:, 1, :] / scale
        found[rows] = np.einsum("nw,nwj->nj", weights, values[index])
    return found


def lag_of(velocity: FloatArray, derivative: FloatArray) -> int:
    """How many samples a recorded velocity is later than the positions' derivative.

    0 unless it follows the derivative closely, and clearly more so than without a lag: noise alone
    has its best correlation anywhere, and a gait another one at each of its periods.
    """
    fine = np.isfinite(velocity) & np.isfinite(derivative)
    velocity, derivative = velocity[fine], derivative[fine]
    most = min(LONGEST_LAG, len(velocity) // 4)
    if most < 1 or not np.ptp(derivative) > 0.0:
        return 0
    size = len(velocity) - most
    here = derivative[:size] - derivative[:size].mean()
    here = here / (np.sqrt((here**2).sum()) + 1e-100)
    fits = np.zeros(most + 1)
    for k in range(most + 1):
        part = velocity[k : k + size].astype(np.float64)
        part -= part.mean()
        fits[k] = float((part * here).sum() / (np.sqrt((part**2).sum()) + 1e-100))
    best = int(np.argmax(fits))
    usual = float(fits[: MOST_LAG + 1].max())
    is_late = fits[best] >= FOLLOWS and 1.0 - fits[best] < 0.5 * (1.0 - usual)
    valley = float(fits[MOST_LAG:best].min(initial=usual))
    is_next_period = usual >= FOLLOWS and valley < usual - VALLEY
    return best if is_late and not is_next_period else 0


def sampled_steps(
    time: FloatArray, gaps: Sequence[int], timestep: float
) -> tuple[Steps, tuple[int, ...]]:
    """Steps next to samples, each once and inside its stretch; and the first of each stretch."""
    parts: list[Steps] = []
    begins: list[int] = []
    for part in stretches(len(time), gaps):
        own = time[part]
        # Not `np.round`: halves would become the same even step two by two.
        steps = np.floor(own / timestep + 0.5 + SLACK).astype(np.int64)
        steps = steps[np.diff(steps, prepend=steps[0] - 1) > 0]
        slack = SLACK * timestep
        at = steps * timestep
        inside = (at >= own[0] - slack) & (at <= own[-1] + slack)
        steps = steps[inside]
        if parts and len(steps):
            steps = steps[steps > parts[-1][-1]]
        if len(steps) > 1:
            begins.append(int(steps[0]))
            parts.append(steps)
    if not parts:
        return np.zeros(0, dtype=np.int64), ()
    return np.concatenate(parts), tuple(begins)


def at_steps(
    time: FloatArray, values: FloatArray, at: FloatArray, out: FloatArray | None = None
) -> FloatArray:
    """(n, columns) samples between their neighbours in time, without those that are no numbers."""
    found = large_empty((len(at), values.shape[1])) if out is None else out
    for k in range(values.shape[1]):
        column = values[:, k]
        fine = np.isfinite(column)
        if not fine.any():
            found[:, k] = np.nan
            continue
        own, numbers = (time, column) if fine.all() else (time[fine], column[fine])
        for rows in blocks(len(at)):
            found[rows, k] = np.interp(at[rows], own, numbers)
    return found


def curved_at(
    time: FloatArray, values: FloatArray, slopes: FloatArray, at: FloatArray, out: FloatArray
) -> FloatArray:
    """(n, columns) between their neighbours in time, on cubics with the slopes that are known.

    A straight line between samples of a fast motion is off by more than encoders are.
    """
    for k in range(values.shape[1]):
        fine = np.isfinite(values[:, k]) & np.isfinite(slopes[:, k])
        if fine.sum() < 2:
            at_steps(time, values[:, k : k + 1], at, out[:, k : k + 1])
            continue
        own, q, v = time, values[:, k], slopes[:, k]
        if not fine.all():
            own, q, v = own[fine], q[fine], v[fine]
        for rows in blocks(len(at)):
            out[rows, k] = _on_cubics(own, q, v, at[rows])
    return out


def _on_cubics(time: FloatArray, values: Any, slopes: Any, at: FloatArray) -> FloatArray:
    after = np.clip(np.searchsorted(time, at), 1, len(time) - 1)
    span = time[after] - time[after - 1]
    x = np.clip((at - time[after - 1]) / span, 0.0, 1.0)
    low, high, begin, end = (
        np.asarray(a[rows], dtype=np.float64)
        for a in (values, slopes)
        for rows in (after - 1, after)
    )
    bend = (1.0 - x) * (begin * span - (high - low)) - x * (end * span - (high - low))
    return np.asarray(low + x * (high - low) + x * (1.0 - x) * bend)


def turned_at(time: FloatArray, quaternions: FloatArray, at: FloatArray) -> FloatArray:
    """Quaternions (n, 4) between their neighbours on the great circle."""
    unit = quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)
    flips = np.where((unit[1:] * unit[:-1]).sum(axis=1) < 0.0, -1.0, 1.0)
    unit = unit * np.concatenate([[1.0], np.cumprod(flips)])[:, None]
    after = np.clip(np.searchsorted(time, at), 1, len(time) - 1)
    a, b = unit[after - 1], unit[after]
    span = time[after] - time[after - 1]
    share = np.clip((at - time[after - 1]) / np.where(span > 0.0, span, 1.0), 0.0, 1.0)[:, None]
    cosine = np.clip((a * b).sum(axis=1, keepdims=True), -1.0, 1.0)
    angle = np.arccos(cosine)
    sine = np.sin(angle)
    small = sine < 1e-6
    safe = np.where(small, 1.0, sine)
    left = np.where(small, 1.0 - share, np.sin((1.0 - share) * angle) / safe)
    right = np.where(small, share, np.sin(share * angle) / safe)
    mixed = left * a + right * b
    return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True))
