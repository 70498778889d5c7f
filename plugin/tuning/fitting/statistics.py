"""Noise estimates, standard errors, correlations and lack of fit of a fit."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.tuning.fitting.fit_problem import Point, Problem, Unknown, roughness
from mjrig.tuning.fitting.plant import DYNAMICS, MASS
from mjrig.tuning.fitting.solver import Solution

#: Half width of a 95 % interval in standard errors.
QUANTILE = 1.96
#: Smallest noise assumed: exact recordings have none [rad, rad/s].
LEAST_NOISE = 1e-7
#: Directions with less than this share of the information of others are not inverted.
SINGULAR = 1e-13
#: Standard errors beyond which a direction counts: 1 in a million by chance, for many directions.
CRITICAL = 5.0
#: And it moves an estimate by more than this many standard errors.
MATTERS = 1.0
#: Suspects explain the residuals about as well above this share of the best one's score.
ALIKE = 0.8
#: Finite differences, as a share of a parameter's scale.
STEP = 1e-3
#: A direction of which less than this share is left beside the unknowns tells nothing.
LEFT = 1e-3
#: Recordings with less noise than so many times the least are exact.
EXACT = 10.0

Direction = list[FloatArray]


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
        parts = [np.diff(solution.residuals[w], 3, axis=0) for w in own]
        left = np.concatenate(parts)
        squares = np.mean(left**2, axis=0) / 20.0 if len(left) else 0.0
        for w in own:
            found[w] = 1.0 / np.maximum(np.sqrt(squares), LEAST_NOISE)
    return found


def freedom_of(problem: Problem, solution: Solution) -> float:
    """Residuals per degree of freedom: what was fitted makes them smaller than the noise."""
    size = sum(r.size for r in solution.residuals)
    used = len(problem.unknowns) + sum(m.shape[0] for m in solution.system.mixed)
    return float(size / max(size - used, 1))


@dataclass(frozen=True)
class Spread:
    """Standard errors and correlations of the unknowns.

    `inflation` is how much larger the variances are than white noise would make them.
    """

    errors: FloatArray
    correlation: FloatArray
    variance: float
    inflation: float


def spread(problem: Problem, solution: Solution) -> Spread:
    """Sandwich covariance: the curvature, and the autocorrelated variation of the gradient.

    For white residuals this is the textbook's s² (JᵀJ)⁻¹; the larger of both counts.
    """
    system = solution.system
    freedom = freedom_of(problem, solution)
    flat = system.weighted(solution.residuals)
    size = sum(r.size for r in flat)
    variance = sum(float(r @ r) for r in flat) / size * freedom
    known = np.diag(system.hessian) > 0.0
    inverse = _inverse(system.hessian, known)
    plain = np.diag(inverse) * variance
    scores = _scores(problem, solution, flat)
    meat = sum((long_run(s) for s in scores), np.zeros_like(inverse)) * freedom
    sandwich = inverse @ meat @ inverse
    variances = np.maximum(np.diag(sandwich), plain)
    errors = np.where(known, np.sqrt(np.maximum(variances, 0.0)), np.inf)
    unit = np.sqrt(np.where(known, np.diag(inverse), 1.0))
    ratio = variances[known] / plain[known]
    inflation = float(np.median(ratio)) if len(ratio) else 1.0
    return Spread(errors, inverse / unit / unit[:, None], variance, inflation)


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


# Lack of fit ------------------------------------------------------------------------------------
#
# Whether the residuals follow the motion, as those of a wrong model do. Noise has nothing to do
# with the motion, however correlated it is in time. What is left of the effect of a wrong mass,
# friction or gain, after all unknowns were fitted, does: it is a direction known from a simulation,
# and the residuals are tested against it (a score test). Its spread comes from the autocorrelation
# of the products, so that correlated noise is no evidence.


@dataclass(frozen=True)
class Suspect:
    """Something not fitted that the residuals follow.

    Attributes:
        words: what it is.
        score: in standard errors.
        amount: how much of it the residuals show, in units of the direction.
        shift: what it does to an estimate, in its standard errors, the largest.
    """

    words: str
    score: float
    amount: float
    shift: float

    @property
    def is_parameter(self) -> bool:
        """Whether it is a parameter, whose amount is a share of it; else a motion."""
        return not self.words.startswith("the motion")


def misfit(problem: Problem, solution: Solution, spread: Spread) -> Suspect | None:
    """The worst reason to reject the model; None: there is none."""
    if not problem.unknowns or _is_exact(solution):
        return None
    judge = _Judge(problem, solution, spread)
    found = [judge.suspect(words, direction) for words, direction in _directions(problem, solution)]
    guilty = [s for s in found if s is not None and abs(s.score) > CRITICAL and s.shift > MATTERS]
    most = max((abs(s.score) for s in guilty), default=0.0)
    # Of those that explain it about as well, the one that has to be wrong by the least.
    alike = [s for s in guilty if abs(s.score) > ALIKE * most]
    return min(alike, key=lambda s: abs(s.amount) if s.is_parameter else math.inf, default=None)


def _is_exact(solution: Solution) -> bool:
    return all(float(w.min()) > 1.0 / (EXACT * LEAST_NOISE) for w in solution.system.weights)


class _Judge:
    """Tests residuals against directions."""

    def __init__(self, problem: Problem, solution: Solution, spread: Spread) -> None:
        self._problem, self._system, self._spread = problem, solution.system, spread
        self._flat = self._system.weighted(solution.residuals)

    def suspect(self, words: str, direction: Direction) -> Suspect | None:
        """How far the residuals follow a direction; None: nothing of it is left to follow."""
        system = self._system
        flat = system.weighted(direction)
        size = sum(float(d @ d) for d in flat)
        free = [d - q @ (q.T @ d) for d, q in zip(flat, system.basis, strict=True)]
        along = np.linalg.lstsq(system.hessian, system.gradient(free), rcond=1e-12)[0]
        left = [d - s @ along for d, s in zip(free, system.shared, strict=True)]
        power = sum(float(d @ d) for d in left)
        if not (math.isfinite(power) and power > LEFT**2 * size and size > 0.0):
            return None
        scores = self._products(left)
        variance = sum(float(long_run(s)[0, 0]) for s in scores)
        total = sum(float(s.sum()) for s in scores)
        if not variance > 0.0:
            return None
        errors = np.where(self._spread.errors > 0.0, self._spread.errors, np.inf)
        amount = -total / power
        shift = float(np.max(np.abs(along * amount) / errors, initial=0.0))
        return Suspect(words, total / math.sqrt(variance), amount, shift)

    def _products(self, direction: Sequence[FloatArray]) -> list[FloatArray]:
        """Per recording (samples, 1): what each sample adds to the score."""
        found: dict[int, list[FloatArray]] = {}
        windows = self._problem.stage.windows
        for window, d, r in zip(windows, direction, self._flat, strict=True):
            rows = len(window.samples)
            own = (d * r).reshape(rows, -1).sum(axis=1, keepdims=True)
            found.setdefault(window.track, []).append(own)
        return [np.concatenate(parts) for parts in found.values()]


def _directions(problem: Problem, solution: Solution) -> Iterator[tuple[str, Direction]]:
    """What could be wrong, and its effect on the residuals."""
    yield from _parameters(problem, solution.point, solution.residuals)
    yield from _motions(problem, solution)


def _parameters(
    problem: Problem, point: Point, residuals: Sequence[FloatArray]
) -> Iterator[tuple[str, Direction]]:
    """Masses of links, and parameters of joints that are not fitted."""
    drives = problem.stage.drives
    fitted = {(u.parameter, u.place) for u in problem.unknowns}
    tried = []
    for name in (MASS, *DYNAMICS, "kp", "kv"):
        for place, joint in enumerate(drives.joints):
            value = float(point.values[name][place])
            if (name, place) not in fitted and math.isfinite(value):
                scale = abs(value) or _typical(drives.values[name], name)
                tried.append((f"{name} of {joint}", Unknown(name, place, -np.inf, np.inf, scale)))
    steps = [STEP * u.scale for _, u in tried]
    points = [
        point.put([u], point.get([u]) + step) for (_, u), step in zip(tried, steps, strict=True)
    ]
    moved = problem.residuals(points) if points else []
    for (words, unknown), step, other in zip(tried, steps, moved, strict=True):
        share = step / unknown.scale
        pairs = zip(other, residuals, strict=True)
        yield words, [np.nan_to_num(a - b) / share for a, b in pairs]


def _typical(values: FloatArray, name: str) -> float:
    """The size of a parameter that is 0 at some joint."""
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    return largest or {"armature": 0.01, "damping": 0.1, "frictionloss": 0.1}.get(name, 1.0)


def _motions(problem: Problem, solution: Solution) -> Iterator[tuple[str, Direction]]:
    """The simulated position, velocity and acceleration of every joint, in its own position."""
    stage = problem.stage
    places = np.searchsorted(stage.tangent.dofs, stage.drives.dofs)
    for place, joint in zip(places, stage.drives.joints, strict=True):
        curves: list[Direction] = [[], [], []]
        for window, left in zip(stage.windows, solution.residuals, strict=True):
            track = stage.tracks[window.track]
            recorded = track.signal(stage.tangent, window.samples, int(window.samples[0]))
            position = recorded[:, place] + left[:, place]
            speed = np.gradient(position) if len(position) > 1 else np.zeros_like(position)
            change = np.gradient(speed) if len(position) > 1 else np.zeros_like(position)
            for curve, values in zip(curves, (position, speed, change), strict=True):
                shown = np.zeros_like(left)
                shown[:, place] = values
                curve.append(shown)
        for curve in curves:
            yield f"the motion of {joint}", curve


def why_rejected(worst: Suspect) -> str:
    """The verdict in words."""
    like = f"as if {worst.words} were {100.0 * abs(worst.amount):.2g} % "
    like += "larger" if worst.amount > 0.0 else "smaller"
    if not worst.is_parameter:
        like = f"with {worst.words}"
    return (
        f"the model is rejected: the residuals go {like} ({abs(worst.score):.0f} standard errors), "
        "which noise does not do; something that is not fitted differs, or the search ended beside "
        "the best values; they have no intervals: fit fewer at once, or joint by joint"
    )
