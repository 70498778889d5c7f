"""Identifiability: whether the data determine each parameter, and if not, why."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mjrig.tuning.estimates.estimate import Estimate
from mjrig.tuning.estimates.unexcited import is_constant
from mjrig.tuning.least_squares.points import Unknown
from mjrig.tuning.least_squares.statistics import QUANTILE
from mjrig.tuning.simulated.fit_data import RecordedTrack
from mjrig.tuning.simulated.inertial import SIZE
from mjrig.tuning.simulated.plant import DELAY, INERTIAL, PAYLOAD, UNITS, Drives

#: An interval wider than this share of a value, on each side, makes it unidentifiable.
VAGUE = 0.5
#: A posterior this close to what was assumed beforehand says nothing new.
UNCHANGED = 0.7
#: Drives run their law as often as this, or more often [s].
LAW_PERIOD = 1e-3


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


def hidden_damping(kp: float) -> float:
    """Damping that no recording shows: a law that acts half a period late brakes less by it."""
    return 0.5 * LAW_PERIOD * kp


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
