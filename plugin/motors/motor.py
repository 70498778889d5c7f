"""Motor: one fit of a motor's file, and what follows from it."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from mjrig.motors.motor_file import MotorFile
from mjrig.motors.motor_parts import DriveKind, FrictionLaw, MotorCurve, MotorFit, MotorLine, known


class ServoForm(NamedTuple):
    """A voltage servo as a position actuator: force = K (q* − q) inside ±limit, and damping.

    The limit is that of the voltage alone, so the back-EMF must be the joint's damping, which no
    forcerange limits.
    """

    stiffness: float
    limit: float
    damping: float


@dataclass(frozen=True)
class Motor:
    """A motor as a scene names it."""

    name: str
    file: MotorFile
    fit: MotorFit

    @property
    def law(self) -> FrictionLaw:
        """Its friction law."""
        return self.fit.law

    @property
    def is_voltage_servo(self) -> bool:
        """Whether its electronics set a voltage, and all constants are known."""
        drive, fit = self.file.drive, self.fit
        return (
            drive is not None
            and drive.kind is DriveKind.VOLTAGE
            and None not in (drive.voltage, fit.kt, fit.resistance)
        )

    @property
    def servo(self) -> ServoForm | None:
        """Its native form; None: it is no voltage servo with a position gain."""
        drive, fit = self.file.drive, self.fit
        if drive is None or not self.is_voltage_servo or drive.gain is None:
            return None
        kt, resistance = known(fit, "kt"), known(fit, "resistance")
        per_duty = known(drive, "voltage") * kt / resistance
        limit = per_duty * drive.duty_limit
        return ServoForm(drive.gain * drive.error_gain * per_duty, limit, kt * kt / resistance)

    @property
    def curve(self) -> MotorCurve | None:
        """Torque-speed limits of driving and braking, if they are known as such."""
        return self.file.curve

    @property
    def line(self) -> MotorLine | None:
        """The torque-speed line: as given, or that of a servo at full voltage."""
        if self.file.line is not None or not self.is_voltage_servo:
            return self.file.line
        drive, fit = self.file.drive, self.fit
        voltage = known(drive, "voltage") * drive.duty_limit  # type: ignore[union-attr]
        kt = known(fit, "kt")
        return MotorLine(
            saturation_effort=voltage * kt / known(fit, "resistance"), velocity_limit=voltage / kt
        )

    @property
    def peak(self) -> float:
        """The largest effort it can drive with [N·m]; inf: not known."""
        if self.curve is not None:
            return known(self.curve, "y1")
        if self.line is not None:
            return min(known(self.line, "saturation_effort"), self.line.max_effort)
        drive, fit = self.file.drive, self.fit
        if drive is not None and fit.kt is not None:
            return fit.kt * drive.current_limit
        return math.inf

    @property
    def top_speed(self) -> float:
        """The speed at which it can drive no more [rad/s]; inf: not known."""
        if self.curve is not None:
            return known(self.curve, "x2")
        return known(self.line, "velocity_limit") if self.line is not None else math.inf

    def __str__(self) -> str:
        return self.name
