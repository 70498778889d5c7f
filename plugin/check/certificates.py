"""Proofs of stability and instability that are cheaper than all eigenvalues of a large matrix."""

import math

import numpy as np

from mjrig.arrays import FloatArray

#: How far from singular a matrix must be to be called positive, and to be called not positive.
NEAR, CLEAR = 1e-6, 1e-3
#: Squarings of a transition matrix before its eigenvalues are computed after all.
SQUARINGS = 12


def by_definiteness(
    weight: FloatArray, damping: FloatArray, stiffness: FloatArray, step: float
) -> bool | None:
    """Whether v⁺ = v − h W⁻¹(K q + D v), q⁺ = q + h v⁺ is stable; None: this does not decide it.

    With λ = (1 + s)/(1 − s) the modes are those of (4W − 2hD − h²K) s² + 2hD s + h²K. It is stable
    where all three are positive; with D positive as many modes grow as the first has negative
    directions.

    Args:
        weight: W, positive.
        damping: D, not negative.
        stiffness: K, not negative.
        step: h.
    """
    damped = step * damping
    inertia = 4.0 * weight - 2.0 * damped - step * step * stiffness
    if not np.isfinite(inertia).all():
        return None
    if _is_positive(inertia - NEAR * weight):
        return True
    # Relative to what is subtracted, which may be far larger than the inertia itself.
    clear = CLEAR * (weight + damped + step * step * stiffness)
    if not _is_positive(inertia + clear) and _is_positive(damped - NEAR * NEAR * weight):
        return False
    return None


def _is_positive(matrix: FloatArray) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def by_powers(matrix: FloatArray, growth: float) -> bool | None:
    """Whether no eigenvalue is larger than `growth` (≥ 1), by squaring; None: undecided.

    ‖Aᵐ‖ < 1 proves that none is larger than 1; |tr Aᵐ| > n·growthᵐ that one is larger than growth.
    """
    power, times = matrix, 1
    for _ in range(SQUARINGS):
        power, times = power @ power, 2 * times
        if not np.isfinite(power).all():
            return None
        if np.abs(power).sum(axis=0).max() < 1.0:
            return True
        limit = len(matrix) * math.exp(min(times * math.log(growth), 700.0))
        if abs(float(np.trace(power))) > 2.0 * limit:
            return False
    return None
