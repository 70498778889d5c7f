"""Lack of fit: whether the residuals follow the motion, as those of a wrong model do.

Noise is independent of the motion, however correlated it is in time. The remaining effect of a
wrong mass, friction, gain, encoder offset or feedback delay, after fitting all unknowns, is not:
it is a direction known from a simulation, and the residuals are tested against it (a score test).
Its spread comes from the autocorrelation of the products, so that correlated noise is no evidence.

The timestep matters, too. A law that acts in steps of h acts h/2 late: it appears to have
kv − kp h/2, and the joint an armature smaller by kv h/2. The rate of a robot's drive is unknown, so
the values at ever smaller steps are extrapolated from half the timestep.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import ExecutionError
from mjrig.core.names import listed
from mjrig.core.scene.editing.scene import Scene
from mjrig.lab.fit.identifiability import unit_of
from mjrig.lab.fit.inertial_parameters import SIZE
from mjrig.lab.fit.plant import DYNAMICS, ENCODER, FEEDBACK, INERTIAL, UNITS
from mjrig.lab.fit.problem import Point, Problem, Unknown, roughness
from mjrig.lab.fit.search import Report
from mjrig.lab.fit.simulation import FinerSimulator, Stage
from mjrig.lab.fit.solution_estimates import with_free_centre
from mjrig.lab.fit.solver import LEAST_NOISE, Solution, Spread, long_run, spread

# Lack of fit --------------------------------------------------------------------------------------
# Noise has nothing to do with the motion, however correlated it is in time. What is left of the
# effect of a wrong mass, friction, gain, encoder offset or feedback delay, after all unknowns were
# fitted, does: it is a direction known from a simulation, and the residuals are tested against
# it (a score test). Its spread comes from the autocorrelation of the products, so that
# correlated noise is no evidence.


#: Standard errors beyond which a direction counts: 1 in a million by chance, for many directions.
CRITICAL = 5.0
#: And it moves an estimate by more than this many standard errors, and by this share of it: no
#: clock and no drive is exactly what it is taken for.
MATTERS, LEAST_SHARE = 1.0, 0.01
#: Suspects explain the residuals about as well above this share of the best one's score.
ALIKE = 0.8
#: Finite differences, as a share of a parameter's scale.
STEP = 1e-3
#: A direction of which less than this share is left beside the unknowns tells nothing.
LEFT = 1e-3
#: Recordings with less noise than so many times the least are exact.
EXACT = 10.0
#: A joint is not reproduced if more than this share of its motion is left, and so many times the
#: noise: the score of what is left all the time does not grow with it.
UNEXPLAINED, BEYOND_NOISE = 0.1, 2.0
#: A robot's motion of which less is left is reproduced, whatever the residuals follow.
NEGLIGIBLE = 0.002
#: What measurements can have wrong: what it is called, and the size of what is tried.
MEASURED = {ENCODER: ("the encoder offset", 0.1), FEEDBACK: ("the feedback delay", 1.0)}
MOTION_OF = "the motion of"

#: Samples that are too few to tell noise by.
SHORT = 8

Direction = list[FloatArray]
Tried = tuple[str, Direction, tuple[float, float, str]]


@dataclass(frozen=True)
class Suspect:
    """Something not fitted that the residuals follow.

    Attributes:
        words: what it is.
        score: in standard errors.
        amount: how much of it the residuals show, in units of the direction.
        shift: what it does to an estimate, in its standard errors, the largest.
        now, scale: a parameter's value, and what a direction is one of; 0: it has none.
        unit: of the parameter.
    """

    words: str
    score: float
    amount: float
    shift: float
    now: float = 0.0
    scale: float = 0.0
    unit: str = ""

    @property
    def in_words(self) -> str:
        """What the residuals look like."""
        if not self.is_parameter:
            return f"with {self.words}"
        if any(self.words.startswith(name) for name, _ in MEASURED.values()):
            return f"as if {self.words} were {self.amount * self.scale:+.2g} {self.unit} off"
        if self.unit:
            then = self.now + self.amount * self.scale
            return f"as if {self.words} were {then:.3g} {self.unit} instead of {self.now:.3g}"
        more = "larger" if self.amount > 0.0 else "smaller"
        return f"as if {self.words} were {100.0 * abs(self.amount):.2g} % {more}"

    @property
    def is_possible(self) -> bool:
        """No law sees the future."""
        return self.amount > 0.0 or not self.words.startswith(MEASURED[FEEDBACK][0])

    @property
    def is_parameter(self) -> bool:
        """Whether it is a parameter, whose amount is a share of it; else a motion."""
        return not self.words.startswith(MOTION_OF)


def misfit(
    problem: Problem, solution: Solution, spread: Spread, nuisance: Direction | None = None
) -> Suspect | None:
    """The worst reason to reject the model; None: there is none.

    Args:
        problem: what was solved.
        solution: where.
        spread: of the solution.
        nuisance: residuals may go this way for a reason that is known.
    """
    if not problem.unknowns or _is_exact(solution) or is_negligible(problem, solution):
        return None
    judge = _Judge(problem, solution, spread, nuisance)
    found = [judge.suspect(*one) for one in _directions(problem, solution)]
    guilty = [
        s
        for s in found
        if s is not None and abs(s.score) > CRITICAL and s.shift > MATTERS and s.is_possible
    ]
    most = max((abs(s.score) for s in guilty), default=0.0)
    # Of those that explain it about as well, the one that has to be wrong by the least.
    alike = [s for s in guilty if abs(s.score) > ALIKE * most]
    return min(alike, key=lambda s: abs(s.amount) if s.is_parameter else math.inf, default=None)


def _is_exact(solution: Solution) -> bool:
    return all(float(w.min()) > 1.0 / (EXACT * LEAST_NOISE) for w in solution.system.weights)


class _Judge:
    """Tests residuals against directions."""

    def __init__(
        self,
        problem: Problem,
        solution: Solution,
        spread: Spread,
        nuisance: Direction | None = None,
    ) -> None:
        self._problem, self._system, self._spread = problem, solution.system, spread
        self._flat = self._system.weighted(solution.residuals)
        values, scales = solution.point.get(problem.unknowns), [u.scale for u in problem.unknowns]
        self._sizes = np.maximum(np.abs(values), scales)
        self._nuisance = None if nuisance is None else self._left_of(nuisance)[0]

    def _left_of(self, direction: Direction) -> tuple[Direction, FloatArray]:
        """What the unknowns leave of a direction, and how far they have to move for that."""
        system = self._system
        flat = system.weighted(direction)
        free = [d - q @ (q.T @ d) for d, q in zip(flat, system.basis, strict=True)]
        solved = np.linalg.lstsq(system.hessian, system.gradient(free), rcond=1e-12)[0]
        along = np.asarray(solved, dtype=np.float64)
        return [d - s @ along for d, s in zip(free, system.shared, strict=True)], along

    def suspect(
        self, words: str, direction: Direction, size_of: tuple[float, float, str] = (0.0, 0.0, "")
    ) -> Suspect | None:
        """How far the residuals follow a direction; None: nothing of it is left to follow.

        Args:
            size_of: a parameter's value, scale and unit.
        """
        system = self._system
        size = sum(float(d @ d) for d in system.weighted(direction))
        left, along = self._left_of(direction)
        if self._nuisance is not None:
            known = sum(float(n @ n) for n in self._nuisance)
            share = sum(float(n @ d) for n, d in zip(self._nuisance, left, strict=True))
            share /= known or 1.0
            left = [d - share * n for n, d in zip(self._nuisance, left, strict=True)]
        power = sum(float(d @ d) for d in left)
        if not (math.isfinite(power) and power > LEFT**2 * size and size > 0.0):
            return None
        scores = self._products(left)
        score = _standardised(scores)
        if not math.isfinite(score):
            return None
        errors = np.where(self._spread.errors > 0.0, self._spread.errors, np.inf)
        amount = -sum(float(s.sum()) for s in scores) / power
        moved = np.abs(along * amount)
        matters = moved > LEAST_SHARE * self._sizes
        shift = float(np.max(np.where(matters, moved / errors, 0.0), initial=0.0))
        return Suspect(words, score, amount, shift, *size_of)

    def _products(self, direction: Sequence[FloatArray]) -> list[FloatArray]:
        """Per recording (samples, 1): what each sample adds to the score."""
        found: dict[int, list[FloatArray]] = {}
        windows = self._problem.stage.windows
        for window, d, r in zip(windows, direction, self._flat, strict=True):
            rows = len(window.samples)
            own = (d * r).reshape(rows, -1).sum(axis=1, keepdims=True)
            found.setdefault(window.track, []).append(own)
        return [np.concatenate(parts) for parts in found.values()]


def _standardised(scores: Sequence[FloatArray]) -> float:
    """The sum of autocorrelated scores in standard errors; nan: they do not vary.

    Scores that go on for long are few independent ones, whose spread is known badly: the sum is
    one of Student's t then, and is returned as the normal deviate that is as rare (Wallace 1959).
    """
    # What goes one way all the time is what is tested, not its spread.
    centred = [s - s.mean() for s in scores]
    variance = sum(float(long_run(s)[0, 0]) for s in centred)
    if not variance > 0.0:
        return math.nan
    t = sum(float(s.sum()) for s in scores) / math.sqrt(variance)
    share = min(sum(float((s**2).sum()) for s in centred) / variance, 1.0)
    n = max(share * sum(map(len, scores)), 1.0)
    return math.copysign((8 * n + 1) / (8 * n + 3) * math.sqrt(n * math.log1p(t * t / n)), t)


def _directions(problem: Problem, solution: Solution) -> Iterator[Tried]:
    """What could be wrong, its effect on the residuals, and a parameter's value, scale and unit."""
    yield from _parameters(problem, solution.point, solution.residuals)
    yield from _motions(problem, solution)


def _parameters(problem: Problem, point: Point, residuals: Sequence[FloatArray]) -> Iterator[Tried]:
    """Masses of links, and parameters of joints that are not fitted."""
    drives = problem.stage.drives
    fitted = {(u.parameter, u.place) for u in problem.unknowns}
    tried = []
    for k, link in enumerate(drives.links):
        # The mass of a body, and with it its inertia; the base of a fixed robot has no effect.
        tried.append((f"the mass of {link}", Unknown(INERTIAL, k * SIZE, -np.inf, np.inf, 1.0)))
    for name in (*DYNAMICS, "kp", "kv", *MEASURED):
        for place, joint in enumerate(drives.joints):
            value = float(point.values[name][place])
            if math.isfinite(value):
                scale = abs(value) or _typical(drives.values[name], name)
                scale = MEASURED[name][1] if name in MEASURED else scale
                one = Unknown(name, place, -np.inf, np.inf, scale)
                said = MEASURED[name][0] if name in MEASURED else name
                tried.append((f"{said} of {joint}", one))
    tried = [(words, u) for words, u in tried if (u.parameter, u.place) not in fitted]
    steps = [STEP * u.scale for _, u in tried]
    points = [
        point.put([u], point.get([u]) + step) for (_, u), step in zip(tried, steps, strict=True)
    ]
    moved = problem.residuals(points) if points else []
    for (words, unknown), step, other in zip(tried, steps, moved, strict=True):
        share = step / unknown.scale
        pairs = zip(other, residuals, strict=True)
        direction = [np.nan_to_num(a - b) / share for a, b in pairs]
        now = float(point.get([unknown])[0])
        unit = drives.unit(unknown.parameter, unknown.place) if unknown.is_of_joint else ""
        yield words, direction, (now, unknown.scale, unit)


def _typical(values: FloatArray, name: str) -> float:
    """The size of a parameter that is 0 at some joint."""
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    usual = {"armature": 0.01, "damping": 0.1, "frictionloss": 0.1}
    return largest or usual.get(name, 1.0)


def _motions(problem: Problem, solution: Solution) -> Iterator[Tried]:
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
            yield f"{MOTION_OF} {joint}", curve, (0.0, 0.0, "")


def unexplained(problem: Problem, solution: Solution) -> dict[str, float]:
    """Joint → the share of its motion that the simulation does not reproduce, where it is large."""
    stage, found = problem.stage, {}
    for place, share in _shares(problem, solution).items():
        column = _column(problem, place)
        left = [r[:, column] for r in solution.residuals]
        size = float(np.sqrt(np.mean(np.concatenate(left) ** 2)))
        noise = max(float(roughness(r[:, None])[0]) for r in left if len(r) > SHORT)
        if share > UNEXPLAINED and size > BEYOND_NOISE * noise:
            found[stage.drives.joints[place]] = share
    return found


def _shares(problem: Problem, solution: Solution) -> dict[int, float]:
    """Place of a joint → residuals as a share of its motion, root mean squares.

    Of fitted joints; of all if numbers of bodies are fitted.
    """
    stage, found = problem.stage, {}
    places = {u.place for u in problem.unknowns if u.is_of_joint}
    if not all(u.is_of_joint for u in problem.unknowns):
        places = set(range(len(stage.drives)))
    for place in sorted(places):
        column = _column(problem, place)
        left = np.concatenate([r[:, column] for r in solution.residuals])
        windows = [(stage.tracks[w.track], w.samples) for w in stage.windows]
        moved = [track.signal(stage.tangent, rows, 0)[:, column] for track, rows in windows]
        motion = max(float(np.std(np.concatenate(moved))), LEAST_NOISE)
        found[place] = float(np.sqrt(np.mean(left**2))) / motion
    return found


def _column(problem: Problem, place: int) -> int:
    """The column of a joint's position in residuals."""
    stage = problem.stage
    return int(np.searchsorted(stage.tangent.dofs, stage.drives.dofs[place]))


def is_negligible(problem: Problem, solution: Solution) -> bool:
    """Whether a robot's motion is reproduced as well as any model of one can be expected to."""
    if not any(track.is_real for track in problem.stage.tracks):
        return False
    return max(_shares(problem, solution).values(), default=1.0) < NEGLIGIBLE


def why_unexplained(shares: Mapping[str, float]) -> str:
    """The verdict on joints that are not reproduced, in words."""
    worst = sorted(shares, key=lambda joint: -shares[joint])
    said = listed(f"{joint} ({_left_of(shares[joint])})" for joint in worst)
    return (
        f"the model is rejected: it does not reproduce the motion of {said}; something acted that "
        "is neither in the recording nor fitted, such as velocity setpoints that were not recorded"
    )


def _left_of(share: float) -> str:
    return (
        "the error is larger than the motion"
        if share > 1.0
        else f"{100.0 * share:.0f} % of it left"
    )


def why_rejected(worst: Suspect) -> str:
    """The verdict in words."""
    score = f"{abs(worst.score):.0f} standard errors"
    return (
        f"the model is rejected: the residuals go {worst.in_words} ({score}), which noise does "
        "not do; something that is not fitted differs, or the search ended beside the best "
        "values; they have no intervals: fit fewer at once, or joint by joint"
    )


# Timestep -----------------------------------------------------------------------------------------
# What estimates owe to the timestep of the simulation.
#
# A drive of a robot runs its law at a rate of its own, mostly faster than a scene. A law that
# acts in steps of h acts h/2 late: it seems to have kv − kp h/2, and the joint an armature
# smaller by kv h/2. So the same motion gives other values at another timestep, and the robot's
# own is unknown. What they would be with ever smaller steps is extrapolated from half the
# timestep.


#: Errors of the method are of first order in h: half a step shows half of them.
EXTRAPOLATED = 2.0
#: A shift is said if it is larger than so many standard errors, and than this share.
CLEAR, WORTH_SAYING = 2.0, 0.02


@dataclass(frozen=True)
class Finer:
    """The timestep's part in a fit.

    Attributes:
        shift: (unknowns,) what infinitely small steps would add to each estimate.
        nuisance: per window, what half the timestep adds to the residuals; None: not known.
    """

    shift: FloatArray
    nuisance: list[FloatArray] | None = None

    @classmethod
    def nothing(cls, problem: Problem) -> "Finer":
        """The steps are those of the recording."""
        return cls(np.zeros(len(problem.unknowns)))

    @classmethod
    def of(cls, problem: Problem, solution: Solution, simulator: FinerSimulator) -> "Finer":
        """Simulate at half the timestep, and fit linearly again."""
        finer = problem.residuals([solution.point], simulator)[0]
        if any(np.isnan(r).any() for r in finer):
            return cls.nothing(problem)
        system = with_free_centre(problem, solution.system)
        _, before = system.refitted(solution.residuals)
        _, after = system.refitted(finer)
        change = [b - a for a, b in zip(solution.residuals, finer, strict=True)]
        return cls(EXTRAPOLATED * (after - before), change)

    def notes(self, problem: Problem, errors: Spread) -> tuple[str, ...]:
        """What depends on the timestep more than on the noise."""
        values = np.maximum(np.abs(problem.centre), [u.scale for u in problem.unknowns])
        worst: dict[str, tuple[float, float, str]] = {}
        for u, shift, error, value in zip(
            problem.unknowns, self.shift, errors.errors, values, strict=True
        ):
            share = abs(float(shift)) / float(value)
            if u.parameter in UNITS and abs(shift) > CLEAR * error and share > WORTH_SAYING:
                new = share, abs(float(shift)), unit_of(problem.stage.drives, u)
                worst[u.parameter] = max(new, worst.get(u.parameter, new))
        if not worst:
            return ()
        said = listed(f"{n} (by up to {most:.2g} {unit})" for n, (_, most, unit) in worst.items())
        verb = "depends" if len(worst) == 1 else "depend"
        return (
            f"{said} {verb} on the timestep: a drive that runs its law faster than the scene has "
            "other values for the same motion; the intervals include that, smaller steps narrow "
            "them",
        )


# Verdicts -----------------------------------------------------------------------------------------
# What solutions are worth: whether the model can be right, and what is the timestep's doing.


@dataclass(frozen=True)
class Verdicts:
    """Judges the solutions of a fit to motion, each of them once.

    Attributes:
        scene: the scene that is fitted.
        stage: what is simulated.
        report: called with progress messages.
    """

    scene: Scene
    stage: Stage
    report: Report
    _rejections: list[tuple[Solution, str]] = field(default_factory=list)
    _steps: list[tuple[Solution, Finer]] = field(default_factory=list)

    def rejection(self, problem: Problem, solution: Solution) -> str:
        """Why the model is rejected; empty: it is not."""
        for judged, verdict in self._rejections:
            if judged is solution:
                return verdict
        self.report("lack of fit")
        nuisance = self.finer(problem, solution).nuisance
        worst = misfit(problem, solution, spread(problem, solution), nuisance)
        verdict = "" if worst is None else why_rejected(worst)
        if left := unexplained(problem, solution):
            verdict = why_unexplained(left)
        self._rejections.append((solution, verdict))
        return self._rejections[-1][1]

    def said_of(self, solution: Solution) -> str:
        """Why the model was rejected when a solution was judged; empty: it was not."""
        said = [verdict for judged, verdict in self._rejections if judged is solution]
        return next(filter(None, said), "")

    def finer(self, problem: Problem, solution: Solution) -> Finer:
        """What the estimates owe to the timestep, if a robot was recorded."""
        if not self.stage.is_real or self.stage.tangent.turns:
            return Finer.nothing(problem)
        for judged, known in self._steps:
            if judged is solution:
                return known
        try:
            simulator = FinerSimulator(self.scene, self.stage)
        except ExecutionError:
            return Finer.nothing(problem)
        self.report("half the timestep")
        try:
            self._steps.append((solution, Finer.of(problem, solution, simulator)))
        finally:
            simulator.close()
        return self._steps[-1][1]
