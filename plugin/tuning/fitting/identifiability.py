"""Identifiability: whether the data determine each parameter, and if not, why."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.plant import at_joint
from mjrig.tuning.fitting.remedies import is_constant
from mjrig.tuning.least_squares.fit_problem import Problem
from mjrig.tuning.least_squares.points import Point, Unknown
from mjrig.tuning.least_squares.search import Profile
from mjrig.tuning.least_squares.statistics import QUANTILE, Spread
from mjrig.tuning.simulated.fit_data import RecordedTrack
from mjrig.tuning.simulated.inertial import SIZE
from mjrig.tuning.simulated.plant import (
    DELAY,
    INERTIAL,
    PAYLOAD,
    UNITS,
    Drives,
)

#: Kinds of evidence.
MOTION, EFFORTS = "motion", "efforts"
#: An interval wider than this share of a value, on each side, makes it unidentifiable.
VAGUE = 0.5
#: Correlation above which two parameters have the same effect on the motion, and above which the
#: value of one rests on that of the other.
ALIKE, RESTS = 0.9, 0.5
#: Δχ² of a 95 % interval of one number.
CHI2 = 3.84
#: A posterior this close to what was assumed beforehand says nothing new.
UNCHANGED = 0.7


@dataclass(frozen=True)
class Estimate:
    """The estimate of one parameter of one joint.

    Attributes:
        value: the best one; without information in the data, the scene's.
        old: the scene's value.
        low, high: 95 % interval; infinite where nothing bounds it, NaN where none can be given.
        identifiable: whether the data determine the value well enough to use it.
        reason: why not, or what the value rests on.
        evidence: `motion` or `efforts`.
        slides: whether it is of a joint that moves along its axis.
    """

    joint: str
    actuator: str
    parameter: str
    value: float
    old: float
    low: float
    high: float
    identifiable: bool = True
    reason: str = ""
    evidence: str = MOTION
    slides: bool = False

    @classmethod
    def of(
        cls, drives: Drives, place: int, parameter: str,
        value: float, old: float, low: float, high: float,
    ) -> "Estimate":  # fmt: skip
        """An estimate of a joint."""
        joint, actuator, slides = (
            drives.joints[place],
            drives.actuators[place],
            drives.slides[place],
        )
        return cls(joint, actuator, parameter, value, old, low, high, slides=slides)

    @property
    def unit(self) -> str:
        """Of its numbers."""
        return at_joint(UNITS[self.parameter], slides=self.slides)


@dataclass(frozen=True)
class Curves:
    """Positions of joints in a stretch of a recording: recorded, and simulated before and after.

    Attributes:
        recording: its name.
        is_held_out: whether the fit has not seen it.
        time: (n,) [s].
        joints: names of the columns.
        units: of the columns.
        recorded, before, after: (n, joints) [rad or m].
    """

    recording: str
    is_held_out: bool
    time: FloatArray
    joints: tuple[str, ...]
    units: tuple[str, ...]
    recorded: FloatArray
    before: FloatArray
    after: FloatArray


@dataclass(frozen=True)
class Correlated:
    """Two estimates that the recording hardly tells apart, and which motion would."""

    first: str
    second: str
    correlation: float
    remedy: str

    def __str__(self) -> str:
        return (
            f"{self.first} and {self.second} are hardly told apart (correlation "
            f"{self.correlation:+.3f}): {self.remedy} would"
        )


@dataclass(frozen=True)
class Correlations:
    """All correlations: labels, and a matrix (labels, labels)."""

    labels: tuple[str, ...] = ()
    matrix: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(frozen=True)
class Findings:
    """Estimates from one kind of evidence.

    `before` and `after`: joint → root mean square of the residuals with the scene's and with the
    fitted values, of positions [rad or m] or of efforts [N·m or N]. `rejection` is why the model
    cannot be right; empty: nothing speaks against it. `held_before` and `held_after` are of what
    the fit has not seen.
    """

    estimates: tuple[Estimate, ...] = ()
    before: dict[str, float] = field(default_factory=dict)
    after: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    converged: bool = True
    rejection: str = ""
    held_before: dict[str, float] = field(default_factory=dict)
    held_after: dict[str, float] = field(default_factory=dict)
    curves: tuple[Curves, ...] = ()
    correlations: Correlations = field(default_factory=Correlations)
    correlated: tuple[Correlated, ...] = ()


@dataclass(frozen=True)
class Dropped:
    """An unknown kept at the scene's value, and why; values of `partners` rest on that.

    `exactly`: they make up for it without any change of the motion.
    """

    unknown: Unknown
    reason: str
    low: float = 0.0
    partners: tuple[Unknown, ...] = ()
    exactly: bool = False


def unreached(drives: Drives, unknown: Unknown, most: float) -> Dropped:
    """A limit above the largest effort a law asked for."""
    own, unit = float(drives.own_limits[unknown.place]), drives.unit("torque_limit", unknown.place)
    if most > own:
        text = f"the model's own limit of {own:.4g} {unit} acts first"
    else:
        text = f"never reached: it is above {most:.4g} {unit}; faster or larger motion needs more"
    return Dropped(unknown, text, low=min(most, own))


# Delays -----------------------------------------------------------------------------------------


def delay_estimate(
    problem: Problem, point: Point, profile: Profile, spread: Spread, bounds: tuple[int, int]
) -> Estimate:
    """A delay and nearby ones that explain the data equally well."""
    good = [profile.lags[k] for k in equally_good_lags(problem, profile, spread)]
    stage, now = problem.stage, int(point.lags[profile.place])
    return delay_of(stage.drives, stage.tracks, profile.place, now, good, bounds)


def equally_good_lags(problem: Problem, profile: Profile, spread: Spread) -> list[int]:
    """Indices of the delays that explain the data as well as the best one does."""
    least, own = min(profile.costs), problem.block_of(profile.place)
    near = CHI2 * float(spread.variance[own] * spread.inflation[own])
    return [k for k, cost in enumerate(profile.costs) if cost - least <= near]


def with_other_lags(
    found: Estimate, problem: Problem, index: int, profiles: Sequence[Profile], spread: Spread
) -> Estimate:
    """An estimate whose interval also holds what it would be with delays that fit as well."""
    half, low, high = QUANTILE * float(spread.errors[index]), found.low, found.high
    for profile in profiles:
        for k in equally_good_lags(problem, profile, spread):
            value = float(profile.values[k, index])
            low, high = min(low, value - half), max(high, value + half)
    unknown = problem.unknowns[index]
    return replace(found, low=max(low, unknown.low), high=min(high, unknown.high))


def delay_of(
    drives: Drives,
    tracks: Sequence[RecordedTrack],
    place: int,
    now: int,
    good: Sequence[int],
    bounds: tuple[int, int],
) -> Estimate:
    """A delay, of those that explain the data as well."""
    low, high = min([*good, now]), max([*good, now])
    old = int(drives.lags[place])
    found = Estimate.of(drives, place, DELAY, now, old, low, high)
    if is_constant(drives, tracks, place):
        reason = "the setpoint never changes: any delay fits"
        return replace(
            found, value=old, low=bounds[0], high=bounds[1], identifiable=False, reason=reason
        )
    if low != high:
        reason = f"anything from {low} to {high} steps fits; faster setpoints would narrow it"
        return replace(found, identifiable=False, reason=reason)
    if now == bounds[1] and old != now:
        return replace(found, reason=f"the longest that was tried: bounds end at {bounds[1]}")
    return found


# Numbers ----------------------------------------------------------------------------------------


def estimate(drives: Drives, unknown: Unknown, value: float, error: float) -> Estimate:
    """A number with its interval, inside the bounds."""
    old = float(drives.values[unknown.parameter][unknown.place])
    low, high = interval_of(unknown, value, QUANTILE * error)
    found = _estimate(drives, unknown, value, old, low, high)
    if value >= unknown.high:
        return replace(found, reason=f"at its upper bound {unknown.high:g}")
    if value <= unknown.low and unknown.low != 0.0:
        return replace(found, reason=f"at its lower bound {unknown.low:g}")
    if np.isfinite(unknown.prior) and error > UNCHANGED * unknown.prior:
        text = "the motion hardly shows it: this is what was assumed beforehand"
        return replace(found, identifiable=False, reason=text)
    return found


def interval_of(unknown: Unknown, value: float, half: float) -> tuple[float, float]:
    """As far as a value may be off, inside its bounds."""
    return max(value - half, unknown.low), min(value + half, unknown.high)


def unit_of(drives: Drives, unknown: Unknown) -> str:
    """The unit of an unknown; empty: it has none."""
    if unknown.parameter not in UNITS:
        return ""
    is_of_joint = unknown.is_of_joint
    return drives.unit(unknown.parameter, unknown.place) if is_of_joint else UNITS[PAYLOAD]


def owner(drives: Drives, unknown: Unknown) -> str:
    """The joint or body that an unknown belongs to."""
    if unknown.parameter == INERTIAL:
        return list(drives.links)[unknown.place // SIZE]
    is_payload = unknown.parameter == PAYLOAD
    return list(drives.links)[drives.payload] if is_payload else drives.joints[unknown.place]


def _estimate(
    drives: Drives, unknown: Unknown, value: float, old: float, low: float, high: float
) -> Estimate:
    """Of a joint, or of a body."""
    name = unknown.parameter
    if unknown.is_of_joint:
        return Estimate.of(drives, unknown.place, name, value, old, low, high)
    return Estimate(owner(drives, unknown), "", name, value, old, low, high)


def left_alone(drives: Drives, drop: Dropped, value: float) -> Estimate:
    """An estimate without information."""
    unknown = drop.unknown
    old = float(drives.values[unknown.parameter][unknown.place])
    low = max(drop.low, unknown.low)
    found = _estimate(drives, unknown, value, old, low, np.inf)
    return replace(found, identifiable=False, reason=drop.reason)


def without_interval(found: Estimate, reason: str) -> Estimate:
    """An estimate whose interval would be wrong."""
    reasons = "; ".join(filter(None, (found.reason, reason)))
    return replace(found, low=np.nan, high=np.nan, reason=reasons)


def not_found(found: Estimate, reason: str) -> Estimate:
    """An estimate that is none: the scene's value stays."""
    return replace(
        found, value=found.old, low=np.nan, high=np.nan, identifiable=False, reason=reason
    )
