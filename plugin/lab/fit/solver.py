"""Levenberg-Marquardt for parameters shared by all windows, and an initial state per window.

The initial states are eliminated window by window, so that the system that is solved has the size
of the parameters. The derivatives are reused as long as they reduce the cost. What nothing couples,
such as the legs of a robot that is held, is damped, moved and judged block by block.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.lab.fit.problem import Linearised, Point, Problem, roughness

Mask = npt.NDArray[np.bool_]
#: Most steps of one solution.
MOST_STEPS = 60
#: Times as many with numbers of bodies, which make up for each other.
BODIES_STEPS = 4
#: Multiples of the present damping that are tried together.
DAMPINGS = (1e-3, 1e-1, 1.0, 1e1, 1e3)
LEAST_DAMPING, MOST_DAMPING = 1e-6, 1e6
#: Shares of the step of an initial state that are tried.
SHARES = (1.0, 0.3, 0.0)
#: No parameter moves by more than this share of its scale in a step.
LONGEST = 0.7
#: A step that gains more than this share of what the one before gained triggers new derivatives.
SLOW = 0.3
#: Done when a step gains less than this much of the mean squared residual: 0.1 standard errors.
GAIN = 1e-2
#: Residuals larger than the noise are taken to be correlated over as many samples, and at most:
SMOOTH = 100.0
#: Nor is a step worth it that gains less than this share of the cost: contacts make progress slow.
CRAWL = 2e-6


@dataclass(frozen=True)
class System:
    """A weighted linear problem with the initial states projected out.

    `weights` are one over the noise, per window and column. Per window: `basis` (rows, 2 dofs)
    spans what initial states can do, `shared` (rows, unknowns) is what is left for the parameters.
    """

    linear: Linearised
    weights: list[FloatArray]
    basis: list[FloatArray]
    factors: list[FloatArray]
    mixed: list[FloatArray]
    shared: list[FloatArray]
    hessian: FloatArray
    precision: FloatArray

    @classmethod
    def of(cls, problem: Problem, linear: Linearised, weights: Sequence[FloatArray]) -> "System":
        """Weigh and project, and add what is assumed beforehand."""
        basis, factors, mixed, shared = [], [], [], []
        count = linear.by_unknown[0].shape[-1]
        hessian = np.zeros((count, count))
        for j, n, w in zip(linear.by_unknown, linear.by_start, weights, strict=True):
            rows = n.shape[0] * n.shape[1]
            states = (n * w[:, None]).reshape(rows, n.shape[-1])
            q, r = np.linalg.qr(states)
            own = (j * w[:, None]).reshape(rows, count)
            mix = q.T @ own
            left = own - q @ mix
            hessian += left.T @ left
            basis.append(q)
            factors.append(r)
            mixed.append(mix)
            shared.append(left)
        precision = problem.precision
        hessian[np.diag_indices(count)] += precision
        return cls(linear, list(weights), basis, factors, mixed, shared, hessian, precision)

    def weighted(self, residuals: Sequence[FloatArray]) -> list[FloatArray]:
        """Flat residuals in units of the noise."""
        return [(r * w).reshape(-1) for r, w in zip(residuals, self.weights, strict=True)]

    def gradient(self, flat: Sequence[FloatArray]) -> FloatArray:
        """Of half the cost, with respect to the unknowns."""
        total = np.zeros(self.hessian.shape[0])
        for s, r in zip(self.shared, flat, strict=True):
            total += s.T @ r
        return total

    def restarted(self, residuals: Sequence[FloatArray]) -> float:
        """The cost that would be left of residuals if the initial states were fitted again."""
        pairs = zip(self.basis, self.weighted(residuals), strict=True)
        return sum(float(r @ r - np.square(q.T @ r).sum()) for q, r in pairs)

    def refitted(self, residuals: Sequence[FloatArray]) -> tuple[float, FloatArray]:
        """The cost that would be left of residuals if all unknowns were fitted again, linearly.

        And how far each unknown would have to move for that.
        """
        free, g = self.restarted(residuals), self.gradient(self.weighted(residuals))
        move = np.asarray(-np.linalg.lstsq(self.hessian, g, rcond=1e-12)[0], np.float64)
        return free + float(g @ move), move


def cost_of(residuals: Sequence[FloatArray], weights: Sequence[FloatArray]) -> float:
    """Sum of squares in units of the noise; infinite for a simulation that diverged."""
    total = sum(float(np.square(r * w).sum()) for r, w in zip(residuals, weights, strict=True))
    return total if np.isfinite(total) else np.inf


@dataclass(frozen=True)
class Solution:
    """Where the solver ended: `system` is linear around a point near `point`.

    `converged` is False if it ran out of steps on the way.
    """

    point: Point
    residuals: list[FloatArray]
    system: System
    converged: bool = True


def solve(
    problem: Problem,
    point: Point,
    weights: Sequence[FloatArray],
    *,
    linear: Linearised | None = None,
    gain: float = GAIN,
    most: int = MOST_STEPS,
    on_step: Callable[[float], object] = lambda cost: None,
) -> Solution:
    """Minimise from a point until the parameters converge.

    Args:
        linear: derivatives from somewhere near, to begin with.
        gain: done when a step gains less than this, in mean squared residuals.
        most: steps.
        on_step: called with the cost after every step.
    """
    residuals = problem.residuals([point])[0] if linear is not None else None
    if linear is None or residuals is None:
        linear = problem.linearise(point)
        residuals = linear.residuals
    problem.refuse_divergence(residuals)
    system = System.of(problem, linear, weights)
    blocks = problem.blocks
    progress = _Progress(blocks.costs(point, residuals, weights), blocks.sizes, gain)
    progress.fresh[:] = linear.point is point
    has_bodies = not all(u.is_of_joint for u in problem.unknowns)
    for _ in range(most * (BODIES_STEPS if has_bodies else 1)):
        damping = progress.damping[blocks.of_unknown]
        trials = _tried(problem, system, point, residuals, damping)
        costs = np.array([blocks.costs(p, r, weights) for p, r in trials])
        point, residuals = blocks.merged(point, residuals, trials, progress.take(costs))
        on_step(float(progress.costs.sum()))
        is_slow = progress.judge(_near(problem, linear, point))
        if progress.done.all():
            break
        if is_slow:
            linear = problem.linearise(point)
            residuals = linear.residuals
            system = System.of(problem, linear, weights)
            progress.renew()
    return Solution(point, residuals, system, bool(progress.done.all()))


class _Progress:
    """How far the search has come, block by block: a leg that fits badly delays no other.

    Attributes:
        costs, damping: (blocks,) at present.
        fresh: (blocks,) whether the derivatives are those of the present point.
        done: (blocks,) whether no step gains anything worth it.
    """

    def __init__(self, costs: FloatArray, sizes: FloatArray, gain: float) -> None:
        count = len(costs)
        self.costs, self.damping = costs, np.full(count, 1e-4)
        self.fresh, self.done = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        self._sizes, self._least = sizes, np.maximum(gain, CRAWL * sizes)
        self._last, self._gained = np.full(count, np.inf), np.zeros(count)
        self._small, self._slow = self.done.copy(), self.done.copy()

    def take(self, costs: FloatArray) -> list[int | None]:
        """The best trial of each block, by its costs (trials, blocks); None: none gains."""
        best = np.argmin(costs, axis=0)
        left = costs[best, np.arange(len(best))]
        self._gained = gained = self.costs - left
        mean = np.maximum(self.costs / self._sizes, 1e-6)
        # Beyond the noise they are smooth: few independent ones, of which standard errors are made.
        self._small = gained <= self._least * mean * np.clip(mean, 1.0, SMOOTH)
        self._slow = self._small | (gained > SLOW * self._last)  # they bring little more
        won = gained > 0.0
        damping = np.maximum(self.damping * np.asarray(DAMPINGS)[best], LEAST_DAMPING)
        self.damping = np.where(won, damping, self.damping)
        self.costs = np.where(won, left, self.costs)
        self._last = np.where(won, gained, self._last)
        return [int(k) if w else None for k, w in zip(best, won, strict=True)]

    def judge(self, near: Mask) -> bool:
        """Whether new derivatives are due; blocks that are done are marked.

        Args:
            near: (blocks,) the derivatives are as good as those of the present point.
        """
        won, settled = self._gained > 0.0, self._small & (self.fresh | near)
        ends = settled & (won | (self.damping * DAMPINGS[-1] > MOST_DAMPING))
        self.done |= ends
        more = settled & ~ends
        self.damping = np.where(more, self.damping * DAMPINGS[-1], self.damping)
        is_due = bool((self._slow & ~settled & ~self.fresh & ~self.done).any())
        self.fresh &= ~won
        return is_due

    def renew(self) -> None:
        """Derivatives are those of the present point."""
        self.fresh[:] = True
        self._last[:] = np.inf


def _tried(
    problem: Problem,
    system: System,
    point: Point,
    residuals: Sequence[FloatArray],
    damping: FloatArray,
) -> list[tuple[Point, list[FloatArray]]]:
    """Steps of several dampings, and their residuals.

    Where a base is free each window goes as far with its initial state as is good for it: contacts
    make some of them refuse a step that is right for the others.
    """
    steps = [stepped(problem, system, point, residuals, damping * d) for d in DAMPINGS]
    if problem.num_windows == 1 or not problem.stage.tangent.turns:
        return list(zip(steps, problem.residuals(steps), strict=True))
    ways = [
        replace(s, moves=point.moves + share * (s.moves - point.moves))
        for s in steps
        for share in SHARES
    ]
    every = list(zip(ways, problem.residuals(ways), strict=True))
    count = len(SHARES)
    return [
        problem.blocks.best_starts(every[k * count : (k + 1) * count], system.weights)
        for k in range(len(steps))
    ]


def _near(problem: Problem, linear: Linearised, point: Point) -> Mask:
    """(blocks,) whether derivatives at one point are as good as at another."""
    unknowns = problem.unknowns
    scale = np.array([u.scale for u in unknowns])
    away = np.abs(point.get(unknowns) - linear.point.get(unknowns)) / scale
    is_far = np.bincount(problem.blocks.of_unknown, away >= 0.02, len(problem.blocks)) > 0.0
    same: Mask = ~is_far & bool((linear.point.lags == point.lags).all())
    return same


def stepped(
    problem: Problem,
    system: System,
    point: Point,
    residuals: Sequence[FloatArray],
    damping: FloatArray | float,
) -> Point:
    """One damped step within the bounds: unknowns that would leave them do not move.

    Args:
        damping: of all unknowns, or of each.
    """
    unknowns = problem.unknowns
    damped = np.broadcast_to(np.asarray(damping, dtype=np.float64), len(unknowns))
    flat = system.weighted(residuals)
    now = point.get(unknowns)
    scale = np.maximum([u.scale for u in unknowns], np.abs(now))
    low, high = (np.array([getattr(u, n) for u in unknowns]) for n in ("low", "high"))
    hessian = system.hessian * scale * scale[:, None] if len(scale) else system.hessian
    gradient = (system.gradient(flat) + system.precision * (now - problem.centre)) * scale
    of_body = np.array([not u.is_of_joint for u in unknowns], dtype=bool)
    free = np.ones(len(unknowns), dtype=bool)
    move = np.zeros(len(unknowns))
    for _ in range(len(unknowns)):
        own = np.ix_(free, free)
        diagonal = np.diag(hessian)[free]
        floor = 1e-12 * max(float(np.diag(hessian).max(initial=0.0)), 1e-300)
        matrix = hessian[own] + np.diag(damped[free] * diagonal + floor)
        move[:] = 0.0
        move[free] = np.linalg.solve(matrix, -gradient[free])
        # Numbers of bodies make up for each other: cut one by one, they would do so no more.
        move[of_body] *= LONGEST / max(float(np.abs(move[of_body]).max(initial=0.0)), LONGEST)
        move = np.clip(move, -LONGEST, LONGEST)
        out = free & (((now <= low) & (move < 0.0)) | ((now >= high) & (move > 0.0)))
        if not out.any():
            break
        free &= ~out
    moved = point.put(unknowns, now + move * scale)
    actual = moved.get(unknowns) - now
    starts = point.moves.copy()
    for w, (q, r, mix) in enumerate(zip(system.basis, system.factors, system.mixed, strict=True)):
        starts[w] -= np.linalg.lstsq(r, q.T @ flat[w] + mix @ actual, rcond=1e-10)[0]
    return replace(moved, moves=starts)


# Statistics ---------------------------------------------------------------------------------------

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
