"""Torque-speed limits of the motors that a scene names, as clamps of the controllers on them."""

import math
from collections.abc import Callable, Iterable, Sequence

from mjrig.components.laws.clamp import Clamp, DCMotor
from mjrig.components.laws.torque_speed_curve import TorqueSpeedCurve
from mjrig.model.binding import ActuatorBinding
from mjrig.motors.motor import Motor

#: Clamps that are a motor's limits: one in the scene comes in place of the motor's own.
OF_MOTORS = (DCMotor, TorqueSpeedCurve)
_CURVE = ("x1", "x2", "y1", "y2")
_LINE = ("saturation_effort", "velocity_limit", "max_effort")


def motor_clamps(bindings: Sequence[ActuatorBinding], own: Iterable[Clamp]) -> dict[str, Clamp]:
    """The clamps that the motors of these actuators need, by name.

    Args:
        bindings: the actuators, with their motors.
        own: the clamps of the controller; one that is a motor's limit leaves no need for another.
    """
    if any(isinstance(clamp, OF_MOTORS) for clamp in own):
        return {}
    motors = [binding.motor for binding in bindings]
    found: dict[str, Clamp] = {}
    if any(m is not None and m.curve is not None for m in motors):
        values = _values(motors, lambda motor: motor.curve, _CURVE)
        found["motor curve"] = TorqueSpeedCurve(**values)
    if any(m is not None and m.curve is None and m.line is not None for m in motors):
        values = _values(motors, lambda motor: None if motor.curve else motor.line, _LINE)
        found["motor line"] = DCMotor(**values)
    return found


def _values(
    motors: Sequence[Motor | None], part: Callable[[Motor], object], names: Iterable[str]
) -> dict[str, list[float]]:
    """One value per actuator; infinite where its motor has no such limit."""
    parts = [None if motor is None else part(motor) for motor in motors]
    return {
        name: [math.inf if p is None else float(getattr(p, name)) for p in parts] for name in names
    }
