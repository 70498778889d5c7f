"""Identifiability: whether the data determine a parameter; if not, why, and what to record."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mjrig.core.control.setpoints import VELOCITY
from mjrig.lab.fit.estimates import Estimate
from mjrig.lab.fit.fit_data import RecordedTrack
from mjrig.lab.fit.inertial_parameters import SIZE
from mjrig.lab.fit.plant import DELAY, INERTIAL, PAYLOAD, UNITS, Drives
from mjrig.lab.fit.problem import Problem, Unknown, roughness
from mjrig.lab.fit.solver import QUANTILE

# Remedies -----------------------------------------------------------------------------------------
# Which recording would show what this one does not, in words.


#: A relative interval beyond which a parameter has no effect at all.
NO_EFFECT = 1e3
#: What would tell two parameters apart.
APART = {
    frozenset(("kv", "damping")): "velocity setpoints other than 0",
    frozenset(("kp", "armature")): "slow and fast motion in one recording",
    frozenset(("kp", "delay")): "faster setpoints",
    frozenset(("kv", "delay")): "velocity setpoints other than 0, and faster ones",
    frozenset(("armature", "delay")): "setpoints that jump, beside smooth ones",
    frozenset(("damping", "frictionloss")): "slow and fast reversals, of different amplitude",
    frozenset(("armature", "feedback_delay")): "recorded efforts, or an armature that is known",
    frozenset(("damping", "feedback_delay")): "recorded efforts, or a damping that is known",
    frozenset(("kv", "feedback_delay")): "velocity setpoints other than 0",
    frozenset(("mass", "armature")): "poses in which gravity pulls on the joint, held still",
    frozenset(("mass", "centre")): "poses turned by a right angle, held still",
    frozenset(("mass", "payload")): "the same motion without the payload",
    frozenset(("kp", "encoder_offset")): "the joint held still in several poses",
    frozenset(("kp", "torque_limit")): "small motion beside motion that reaches the limit",
}
OTHERWISE = "other frequencies, amplitudes and poses"


def apart(first: str, second: str) -> str:
    """What would tell two parameters apart."""
    return APART.get(frozenset((first, second)), OTHERWISE)


def too_little(share: float, low: float, high: float, unit: str) -> str:
    """Why an estimate is not identifiable whose interval is this share of it, on each side."""
    if share > NO_EFFECT:
        return "it has no effect on what was recorded"
    ends = f"from {low:.3g} on" if math.isinf(high) else f"from {low:.3g} to {high:.3g}"
    return f"too little excitation: {ends} {unit}".rstrip() + "; move the joint more, or longer"


# Unexcited ----------------------------------------------------------------------------------------
# Joints that a recording does not excite: it evidently tells nothing about them, and why.


#: A joint whose position spreads by less than this many times its noise does not move.
STILL = 1.5
#: Under a constant setpoint, a joint that moves by less than this tells nothing [rad or m].
HARDLY = 0.02
HELD = "its setpoint never changes, and the joint hardly moves"


def is_held(problem: Problem, unknown: Unknown) -> bool:
    """Whether a joint stays about where it is told to be, all the time."""
    stage = problem.stage
    if not unknown.is_of_joint or not is_constant(stage.drives, stage.tracks, unknown.place):
        return False
    own = int(np.searchsorted(stage.tangent.dofs, stage.drives.dofs[unknown.place]))
    moves = [np.ptp(t.signal(stage.tangent, slice(None), 0)[:, own]) for t in stage.tracks]
    return bool(max(moves) < HARDLY)


def why_still(problem: Problem, unknown: Unknown) -> str:
    """Why a joint's recorded motion carries no information, if that is evident from it."""
    if not unknown.is_of_joint:
        return ""
    stage, name = problem.stage, unknown.parameter
    dof = int(stage.drives.dofs[unknown.place])
    own = int(np.searchsorted(stage.tangent.dofs, dof))
    moves, turns = False, 0
    for track in stage.tracks:
        signal = track.signal(stage.tangent, slice(None), 0)
        position, speed = signal[:, own], signal[:, own + len(stage.tangent)]
        noise = float(roughness(position[:, None])[0])
        moves |= bool(np.std(position) > max(STILL * noise, 1e-6))
        fast = np.abs(speed) > 0.2 * np.abs(speed).max(initial=1e-12)
        turns += int((np.diff(np.sign(speed[fast])) != 0).sum())
    if not moves:
        return "the joint never moves"
    if name == "frictionloss" and not turns:
        return "the joint never reverses: friction cannot be separated from other loads"
    return ""


def is_constant(drives: Drives, tracks: Sequence[RecordedTrack], place: int) -> bool:
    """Whether what was commanded to a joint never changes."""
    tables = [t.commands[drives.actor][:, :, drives.columns[place]] for t in tracks]
    return all(float(np.ptp(table, axis=0).max()) == 0.0 for table in tables)


def is_braked_alike(drives: Drives, tracks: Sequence[RecordedTrack], place: int) -> bool:
    """Whether kv and damping do the same to a joint of a robot: no setpoint has a velocity.

    In simulations they differ a little, as damping is implicit and kv is not: no robot has that
    from its physics.
    """
    speeds = (t.commands[drives.actor][:, VELOCITY, drives.columns[place]] for t in tracks)
    return any(t.is_real for t in tracks) and not any(speed.any() for speed in speeds)


# Identifiability ----------------------------------------------------------------------------------
# Identifiability: whether the data determine each parameter, and if not, why.


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
