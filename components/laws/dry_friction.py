"""Dry friction that depends on speed and load: the laws M1 to M6 as one equation.

Plain scalar code: the compiled kernel is this very function, so that both have the same bits.
"""

import math
from typing import Any

from mjrig.core.scene.motor_file import FRICTION

#: Coefficients in the order of a row.
NAMES = tuple(FRICTION)


def dry_friction(c: Any, w: float, motor: float, external: float) -> float:
    """Largest torque that resists motion besides viscous friction.

        s  = exp(−|w/ws|^a)
        τf = Kc + Kl|τm − τe| + |Km τm − Ke τe| + s (Kcs + Kls|τm − τe| + |Kms τm − Kes τe| + Q)
        Q  = Keq τe² if |τe| < |τm|,  Kmq τm² if |τe| > |τm|,  where their signs differ

    A law has no more than its own coefficients; the others are 0.

    Args:
        c: coefficients, in the order of NAMES.
        w: velocity of the joint.
        motor: torque of its motor.
        external: torque of everything else on it, friction left out.
    """
    transmitted = abs(motor - external)
    s = math.exp(-math.pow(abs(w / c[2]), c[3]))
    quadratic = 0.0
    if motor * external < 0.0:
        if abs(external) < abs(motor):
            quadratic = c[11] * (external * external)
        elif abs(external) > abs(motor):
            quadratic = c[10] * (motor * motor)
    at_rest = c[1] + c[5] * transmitted + abs(c[8] * motor - c[9] * external) + quadratic
    moving = c[0] + c[4] * transmitted + abs(c[6] * motor - c[7] * external)
    return float(moving + s * at_rest)
