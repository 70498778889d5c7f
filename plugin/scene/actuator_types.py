"""MuJoCo's types of actuator dynamics, gain and bias, by name."""

from enum import StrEnum


class Dyn(StrEnum):
    """How the activation follows the control."""

    NONE = "none"
    INTEGRATOR = "integrator"
    FILTER = "filter"
    FILTEREXACT = "filterexact"
    MUSCLE = "muscle"
    DCMOTOR = "dcmotor"
    PID = "pid"
    USER = "user"


class Gain(StrEnum):
    """What the control or activation is multiplied by."""

    FIXED = "fixed"
    AFFINE = "affine"
    MUSCLE = "muscle"
    DCMOTOR = "dcmotor"
    SO3 = "so3"
    PID = "pid"
    USER = "user"


class Bias(StrEnum):
    """The force without any control."""

    NONE = "none"
    AFFINE = "affine"
    MUSCLE = "muscle"
    DCMOTOR = "dcmotor"
    SO3 = "so3"
    USER = "user"
