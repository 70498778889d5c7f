"""kv and damping of the same joint, told apart by recorded efforts.

Without velocity setpoints both brake a joint alike, and the motion gives their sum only. Efforts
hold kv alone, times what the torque constant is wrong by, and kp times the same: kp is known from
the motion, so that kv = kp · (kv / kp by efforts), and damping is the rest of the sum.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mjrig.tuning.estimates.estimate import Estimate, Findings, as_in_scene
from mjrig.tuning.estimates.identifiability import hidden_damping
from mjrig.tuning.least_squares.statistics import QUANTILE

#: What a value found this way rests on.
HOW = "told apart from {other} by the recorded efforts"

Key = tuple[str, str]


def told_apart(motion: Findings, efforts: Sequence[Estimate]) -> Findings:
    """The findings with kv and damping told apart, where the motion could not and efforts can."""
    if motion.rejection or not motion.converged:
        return motion
    own = {(e.joint, e.parameter): e for e in motion.estimates}
    seen = {(e.joint, e.parameter): e for e in efforts if e.identifiable}
    for joint, parameter in list(own):
        if parameter == "damping" and not own[joint, parameter].identifiable:
            own |= _pair(joint, own, seen)
    return replace(motion, estimates=tuple(own.values()))


def _pair(
    joint: str, own: Mapping[Key, Estimate], seen: Mapping[Key, Estimate]
) -> dict[Key, Estimate]:
    """kv and damping of a joint; empty: there is something that does not tell."""
    kp, kv = own.get((joint, "kp")), own.get((joint, "kv"))
    kp_seen, kv_seen = seen.get((joint, "kp")), seen.get((joint, "kv"))
    if kp is None or kv is None or kp_seen is None or kv_seen is None:
        return {}
    known = (kp, kv, kp_seen, kv_seen)
    if not kv.reason or not all(e.identifiable and _error(e) < np.inf and e.value for e in known):
        return {}
    damping = own[joint, "damping"]
    value = kp.value * kv_seen.value / kp_seen.value
    shares = [_error(e) / e.value for e in (kp, kp_seen, kv_seen)]
    error = abs(value) * float(np.hypot.reduce(shares))
    rest = max(damping.value + kv.value - value, 0.0)
    rests_on = tuple(name for name in kv.rests_on if name != "damping")
    braking = _found(damping, rest, float(np.hypot(error, _error(kv))), "kv", rests_on)
    told = _found(kv, value, error, "damping", rests_on)
    # Efforts of a law that ran before the states beside them were measured have less of kv.
    hidden = hidden_damping(kp.value)
    low, high = max(braking.low - hidden, 0.0), braking.high + hidden
    return {
        (joint, "kv"): replace(told, high=told.high + hidden),
        (joint, "damping"): replace(braking, low=low, high=high),
    }


def _error(found: Estimate) -> float:
    """The standard error of an estimate; infinite: it has no interval."""
    half = 0.5 * (found.high - found.low) / QUANTILE
    return float(half) if np.isfinite(half) else np.inf


def _found(
    one: Estimate, value: float, error: float, other: str, rests_on: tuple[str, ...]
) -> Estimate:
    low, high = max(value - QUANTILE * error, 0.0), value + QUANTILE * error
    reason = HOW.format(other=other)
    if rests_on:
        reason += f", {as_in_scene(rests_on)}"
    known = replace(one, value=value, low=low, high=high, identifiable=True)
    return replace(known, reason=reason, rests_on=rests_on)
