"""Second-order model of a joint under PD: M q̈ + kv q̇ + kp q = kp q*."""

import math


def frequency(kp: float, inertia: float) -> float:
    """Natural frequency of a joint under kp [Hz]."""
    return math.sqrt(kp / inertia) / (2.0 * math.pi)


def damping_ratio(kp: float, kv: float, inertia: float) -> float:
    """Damping ratio; 1: critically damped, infinite without stiffness."""
    return kv / (2.0 * math.sqrt(kp * inertia)) if kp > 0.0 else math.inf


def stiffness_for(hertz: float, inertia: float) -> float:
    """The kp that gives a natural frequency."""
    return inertia * (2.0 * math.pi * hertz) ** 2


def damping_for(ratio: float, kp: float, inertia: float) -> float:
    """The kv that gives a damping ratio."""
    return 2.0 * ratio * math.sqrt(kp * inertia)
