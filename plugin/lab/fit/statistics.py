"""Noise estimates, standard errors and correlations of a fit."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.lab.fit.problem import Problem, roughness
from mjrig.lab.fit.solver import Solution

#: Half width of a 95 % interval in standard errors.
QUANTILE = 1.96
#: Smallest noise assumed: exact recordings have none [rad, rad/s].
LEAST_NOISE = 1e-7
#: Directions with less than this share of the information of others are not inverted.
SINGULAR = 1e-13


def first_weights(problem: Problem) -> list[FloatArray]:
    """One over the noise of each column, estimated from the roughness of the recorded signals."""
    stage, found = problem.stage, []
    for window, columns in zip(stage.windows, problem.measured, strict=True):
        track = stage.tracks[window.track]
        signal = track.signal(stage.tangent, slice(None), 0)[:, columns]
        found.append(1.0 / np.maximum(roughness(signal), _floor(signal)))
    return found


def _floor(signal: FloatArray) -> FloatArray:
    floor: FloatArray = np.maximum(LEAST_NOISE, 1e-6 * np.ptp(signal, axis=0))
    return floor


def fitted_weights(problem: Problem, solution: Solution) -> list[FloatArray]:
    """One over the noise of each column, from the residuals of the fit, per recording.

    From their third differences, as before: what a wrong model leaves is smooth. Their size would
    make a badly fitted joint count for little, and so keep it badly fitted.
    """
    stage = problem.stage
    found: list[FloatArray] = [np.zeros(0)] * len(stage.windows)
    for t in range(len(stage.tracks)):
        own = [w for w, window in enumerate(stage.windows) if window.track == t]
        if not own:
            continue  # it is held out
        parts = [np.diff(solution.residuals[w], 3, axis=0) for w in own]
        left = np.concatenate(parts)
        squares = np.mean(left**2, axis=0) / 20.0 if len(left) else 0.0
        for w in own:
            found[w] = 1.0 / np.maximum(np.sqrt(squares), LEAST_NOISE)
    return found


@dataclass(frozen=True)
class Spread:
    """Standard errors and correlations of the unknowns.

    `variance` (blocks,) is the mean squared residual per degree of freedom, `inflation` (blocks,)
    how much larger the variances are than white noise would make them; `covariance` includes that.
    `counted` (unknowns,) is how many times too often the curvature counts what tells an unknown.
    """

    errors: FloatArray
    correlation: FloatArray
    variance: FloatArray
    inflation: FloatArray
    covariance: FloatArray
    counted: FloatArray


def spread(problem: Problem, solution: Solution) -> Spread:
    """Sandwich covariance: the curvature, and the autocorrelated variation of the gradient.

    For white residuals this is the textbook's s² (JᵀJ)⁻¹; the larger of both counts.
    """
    system, own = solution.system, problem.blocks.of_unknown
    freedom = _freedom(problem)
    variance = np.array([b.cost(solution.residuals, system.weights) for b in problem.blocks])
    variance *= freedom / problem.blocks.sizes
    scales = np.array([u.scale for u in problem.unknowns])
    # A whole scale of what has no effect changes less than the least noise, however exact it is.
    known = (np.diag(system.hessian) * scales**2 > 1.0) | (system.precision > 0.0)
    inverse = _inverse(system.hessian, known)
    plain = np.diag(inverse) * variance[own]
    scores = _scores(problem, solution, system.weighted(solution.residuals))
    meat = sum((long_run(s) for s in scores), np.zeros_like(inverse))
    assumed = system.precision * np.array([u.counted for u in problem.unknowns])
    meat = meat * np.sqrt(freedom[own] * freedom[own][:, None]) + np.diag(assumed)
    sandwich = inverse @ meat @ inverse
    variances = np.maximum(np.diag(sandwich), plain)
    errors = np.where(known, np.sqrt(np.maximum(variances, 0.0)), np.inf)
    unit = np.sqrt(np.where(known, np.diag(inverse), 1.0))
    ratio = np.where(known, variances / np.where(known, plain, 1.0), np.nan)
    inflation = np.array([_median(ratio[b.unknowns]) for b in problem.blocks])
    correlation = inverse / unit / unit[:, None]
    sizes = np.where(np.isfinite(errors), errors, 0.0)
    covariance = correlation * sizes * sizes[:, None]
    counted = np.where(known, variances / np.where(known, np.diag(inverse), 1.0), 1.0)
    return Spread(errors, correlation, variance, inflation, covariance, counted)


def _freedom(problem: Problem) -> FloatArray:
    """(blocks,) residuals per degree of freedom: a fit makes them smaller than the noise."""
    starts = [problem.num_windows * len(b.columns) for b in problem.blocks]
    used = np.add(starts, [len(b.unknowns) for b in problem.blocks])
    found: FloatArray = problem.blocks.sizes / np.maximum(problem.blocks.sizes - used, 1)
    return found


def _median(ratios: FloatArray) -> float:
    known = ratios[np.isfinite(ratios)]
    return float(np.median(known)) if len(known) else 1.0


def _scores(problem: Problem, solution: Solution, flat: Sequence[FloatArray]) -> list[FloatArray]:
    """Per recording (samples, unknowns): what each sample adds to the gradient."""
    count = len(problem.unknowns)
    by_track: dict[int, list[FloatArray]] = {}
    for window, r, shared in zip(problem.stage.windows, flat, solution.system.shared, strict=True):
        rows = len(window.samples)
        columns = len(r) // rows
        own = np.einsum(
            "tcp,tc->tp", shared.reshape(rows, columns, count), r.reshape(rows, columns)
        )
        by_track.setdefault(window.track, []).append(own)
    return [np.concatenate(parts) for parts in by_track.values()]


def long_run(scores: FloatArray) -> FloatArray:
    """Σ over all lags of the autocovariance, times the length.

    Andrews and Monahan: the scores are prewhitened by a first-order autoregression and recoloured
    at the end; Bartlett's weights with Andrews' bandwidth cover the rest.
    """
    count = len(scores)
    memory = _memory(scores)
    fresh = scores[1:] - memory * scores[:-1]
    again = _memory(fresh)
    alpha = 4.0 * again**2 / (1.0 - again**2) ** 2
    width = 1.1447 * (float(alpha.max(initial=0.0)) * count) ** (1.0 / 3.0)
    total: FloatArray = fresh.T @ fresh
    for lag in range(1, int(min(width, count // 4)) + 1):
        cross = fresh[:-lag].T @ fresh[lag:]
        total = total + (1.0 - lag / (width + 1.0)) * (cross + cross.T)
    back = 1.0 / (1.0 - memory)
    return total * back * back[:, None]


def _memory(scores: FloatArray) -> FloatArray:
    """First-order autocorrelation per column."""
    power = np.maximum((scores**2).sum(axis=0), 1e-300)
    found: FloatArray = np.clip((scores[:-1] * scores[1:]).sum(axis=0) / power, -0.97, 0.97)
    return found


def _inverse(hessian: FloatArray, known: npt.NDArray[np.bool_]) -> FloatArray:
    """The inverse; huge where information is low, 0 for unknowns without any effect."""
    size = np.sqrt(np.where(known, np.diag(hessian), 1.0))
    values, vectors = np.linalg.eigh(hessian / size / size[:, None])
    values = np.maximum(values, SINGULAR)
    inverse: FloatArray = (vectors / values) @ vectors.T / size / size[:, None]
    inverse[~known], inverse[:, ~known] = 0.0, 0.0
    return inverse
