"""A law identified from its efforts: τ = clamp(ff + kp (q* − q) + kv (v* − v) [+ ki ∫(q* − q)]).

No simulation: for a given delay the efforts between the limits are linear in the gains. Measurement
noise that the law did not see would bias the gains towards zero. So the normal equations are
formed with instruments: the same columns with the states of neighbouring samples, whose noise is
independent. Noise that the law did see does no harm either.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.tuning.least_squares.statistics import long_run

Mask = npt.NDArray[np.bool_]
#: Residuals below this share of the efforts are rounding.
ROUNDING = 1e-9
#: Passes over gains and limit; each sorts the samples by the ones before.
PASSES = 6
#: A clamp must explain this many times the residual variance to be accepted.
CLEAR = 25.0
#: Efforts at a limit spread by less than this share of it, unless the law does not fit.
PLATEAU = 0.03
#: Within this many standard deviations of a limit a sample may be on either side.
MARGIN = 3.0
#: Largest residual autocorrelation at the distance of the instruments, largest distance.
FORGOTTEN, FARTHEST = 0.1, 32
#: A column below this share of the effort carries no information.
NOTHING = 1e-12


@dataclass(frozen=True)
class LawSamples:
    """Commands and efforts of one law in n samples, for one delay.

    Attributes:
        effort: (n,) minus the known part: feedforward, and gains that are not estimated.
        known: (n,) that part.
        columns: (n, p) what each gain multiplies.
        instruments: (n, p) the same with states of other samples.
    """

    effort: FloatArray
    known: FloatArray
    columns: FloatArray
    instruments: FloatArray


@dataclass(frozen=True)
class FittedLaw:
    """Gains (p,), a limit, and the residuals.

    Attributes:
        limit: effort limit; inf: none visible.
        left: (n,) recorded minus explained effort.
        free: (n,) samples that determine the gains.
        held: (n,) samples that determine the limit.
    """

    gains: FloatArray
    limit: float
    left: FloatArray
    free: Mask
    held: Mask

    @property
    def cost(self) -> float:
        """Sum of squared residuals."""
        return float(self.left @ self.left)


def explain(samples: LawSamples) -> FittedLaw:
    """Gains and limit of the least squares."""
    effort = samples.effort + samples.known
    size = float(np.abs(effort).max(initial=0.0))
    free: Mask = np.abs(effort) <= 0.7 * size
    if free.sum() <= 2 * samples.columns.shape[1]:
        free = np.full(len(effort), True)
    gains, limit = _solve(samples, free), np.inf
    asked = samples.known + samples.columns @ gains
    held = np.zeros(len(effort), dtype=bool)
    for _ in range(PASSES):
        limit, held = _limit(effort, asked)
        near = samples.known + samples.instruments @ gains
        noise = _noise(effort - np.clip(asked, -limit, limit))
        edge = limit - MARGIN * noise if np.isfinite(limit) else np.inf
        inside = (np.abs(near) < edge) & (np.abs(effort) < edge * (1.0 - 1e-9))
        if np.array_equal(inside, free) or inside.sum() <= 2 * len(gains):
            break
        free = inside
        gains = _solve(samples, free)
        asked = samples.known + samples.columns @ gains
    left = effort - np.clip(asked, -limit, limit)
    return FittedLaw(gains, limit, left, free, held)


def _noise(left: FloatArray) -> float:
    return float(np.median(np.abs(left)) / 0.6745)


def _sizes(columns: FloatArray) -> FloatArray:
    sizes: FloatArray = np.sqrt(np.mean(columns**2, axis=0))
    return np.where(sizes > NOTHING, sizes, np.inf)


def _normal(samples: LawSamples, free: Mask) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The pseudo-inverse of ZᵀX in scaled columns, Z, and the scales."""
    sizes = _sizes(samples.columns)
    x, z = samples.columns[free] / sizes, samples.instruments[free] / sizes
    inverse: FloatArray = np.linalg.pinv(z.T @ x, rcond=1e-10).astype(np.float64)
    return inverse, z, sizes


def _solve(samples: LawSamples, free: Mask) -> FloatArray:
    inverse, z, sizes = _normal(samples, free)
    gains: FloatArray = inverse @ (z.T @ samples.effort[free]) / sizes
    return gains


def errors_of(samples: LawSamples, law: FittedLaw) -> tuple[FloatArray, float]:
    """Standard errors (p,) from the score covariance, autocorrelation included.

    Also the factor, 1 or more, by which autocorrelation inflates the variances.
    """
    inverse, z, sizes = _normal(samples, law.free)
    r = law.left[law.free]
    spare = len(r) / max(len(r) - z.shape[1], 1)
    white = inverse @ (z.T @ z) @ inverse.T * float(np.mean(r**2)) * spare
    robust = inverse @ long_run(z * r[:, None]) @ inverse.T * spare
    plain, wide = np.diag(white), np.diag(robust)
    seen = np.isfinite(sizes) & (plain >= 0.0)
    errors = np.where(seen, np.sqrt(np.maximum(plain, wide)) / sizes, np.inf)
    positive = seen & (plain > 0.0)
    ratio = wide[positive] / plain[positive]
    return errors, float(max(np.median(ratio), 1.0)) if len(ratio) else 1.0


# Limits -----------------------------------------------------------------------------------------


def _limit(effort: FloatArray, asked: FloatArray) -> tuple[float, Mask]:
    """The limit that explains the residuals best, and the samples at it; inf: none does."""
    along = effort * np.sign(asked)
    wanted = np.abs(asked)
    noise = max(_noise(effort - asked), ROUNDING * float(np.abs(effort).max(initial=0.0)))
    limit, held = float(along.max(initial=0.0)), np.zeros(len(effort), dtype=bool)
    for _ in range(PASSES):
        held = wanted > limit + MARGIN * noise
        if not held.any():
            break
        limit = float(np.median(along[held]))
    gain = (wanted - along)[held] ** 2 - (along[held] - limit) ** 2
    is_clear = held.sum() >= 3 and float(gain.sum()) >= CLEAR * noise**2 * held.sum() ** 0.5
    if is_clear and _noise(along[held] - limit) < PLATEAU * limit:
        return limit, held
    return np.inf, np.zeros(len(effort), dtype=bool)


def limit_error(samples: LawSamples, law: FittedLaw) -> float:
    """The standard error of a limit; inf: no limit visible."""
    if not law.held.any():
        return np.inf
    spread = np.abs((samples.effort + samples.known)[law.held])
    # A median varies 1.25 times as much as a mean; autocorrelation reduces the effective number.
    centred = (spread - np.median(spread))[:, None]
    variance = max(float(long_run(centred)[0, 0]) / len(spread), float(np.var(spread)))
    return float(1.2533 * np.sqrt(variance / len(spread)))


# Instruments ------------------------------------------------------------------------------------


def distance(left: FloatArray) -> int:
    """Distance in samples at which the noise is uncorrelated."""
    power = float(left @ left)
    if power <= 0.0:
        return 1
    enough = max(FORGOTTEN, 2.0 / np.sqrt(len(left)))
    for gap in range(1, min(FARTHEST, len(left) // 8)):
        if abs(float(left[gap:] @ left[:-gap])) < enough * power:
            return gap
    return FARTHEST


def neighbours(values: FloatArray, gap: int) -> FloatArray:
    """The mean of the samples `gap` before and after, (n,); NaN near the ends."""
    found = np.full(len(values), np.nan)
    if len(values) > 2 * gap:
        found[gap:-gap] = 0.5 * (values[2 * gap :] + values[: -2 * gap])
    return found


def equally_good(costs: Sequence[float], count: int, inflation: float, floor: float) -> list[int]:
    """Indices of the costs within a 95 % interval of the least (χ² of one number)."""
    costs_ = np.maximum(costs, floor)
    worse = count * np.log(costs_ / costs_.min())
    return np.flatnonzero(worse <= 3.84 * inflation).tolist()
