"""Which recording would show what this one does not, in words."""

import math

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
