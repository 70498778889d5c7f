"""The coefficients of joint friction, declared once: for motor files and for JointFriction."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FrictionNumber:
    """One coefficient of the dry friction of a joint.

    Attributes:
        doc: its symbol, and what it is.
        unit: of the coefficient; empty: it is a share.
        default: its value where a law has none.
        positive: whether 0 is refused: one divides by it, or takes a power of it.
    """

    doc: str
    unit: str = ""
    default: float = 0.0
    positive: bool = False


#: By name, in the order of the equation's arguments; docs/motors.md has the laws.
FRICTION = {
    "coulomb": FrictionNumber("Kc, dry friction", "N·m"),
    "stribeck": FrictionNumber("Kcs, dry friction that is added at rest", "N·m"),
    "stribeck_velocity": FrictionNumber("ws, speed where it is down to 1/e", "rad/s", 1.0, True),
    "stribeck_exponent": FrictionNumber("a of exp(−|w/ws|^a)", "", 1.0, True),
    "load": FrictionNumber("Kl, share of the transmitted torque"),
    "load_stribeck": FrictionNumber("Kls, share of the transmitted torque, at rest"),
    "motor_load": FrictionNumber("Km, share of the motor's torque"),
    "external_load": FrictionNumber("Ke, share of the external torque"),
    "motor_load_stribeck": FrictionNumber("Kms, share of the motor's torque, at rest"),
    "external_load_stribeck": FrictionNumber("Kes, share of the external torque, at rest"),
    "motor_quadratic": FrictionNumber("Kmq, quadratic share of the motor's torque", "1/(N·m)"),
    "external_quadratic": FrictionNumber("Keq, quadratic share of the external torque", "1/(N·m)"),
}
