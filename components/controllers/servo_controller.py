"""ServoController: the position loops of the servos and drives that a scene names as motors."""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from mjrig.components.controllers.pipeline_controller import PipelineController
from mjrig.components.laws.clamps import Clamp
from mjrig.components.laws.law import Law
from mjrig.components.laws.servo import CurrentServo, VoltageServo
from mjrig.core.errors import PropertyError
from mjrig.core.names import listed
from mjrig.core.properties.per_actuator import PerActuator
from mjrig.core.scene.motor_file import DriveKind, Motor, MotorDrive, known


class ServoController(PipelineController):
    """τ = the drive law of each actuator's motor: `VoltageServo` or `CurrentServo`  [N·m].

    The constants are those of the `motors` of the actor. A current drive needs a gain; that of a
    voltage servo is in its file.
    """

    own_gains: ClassVar[tuple[str, ...]] = ("gain", "voltage")

    gain = PerActuator(
        constant=math.nan,
        min=0.0,
        finite=True,
        category="Gains",
        structural=True,
        doc="Position gain in the firmware's units; not given: the motor's.",
    )
    voltage = PerActuator(
        constant=math.nan,
        min=0.0,
        above=True,
        finite=True,
        unit="V",
        category="Gains",
        structural=True,
        doc="Supply voltage; not given: the motor's.",
    )

    def make_motor_clamps(self) -> dict[str, Clamp]:
        return {}  # the law has the limits of its supply

    def make_law(self) -> Law:
        drives = [self._drive(i) for i in range(self.num_bindings)]
        kinds = dict.fromkeys(drive.kind for _, drive in drives)
        if len(kinds) > 1:
            raise PropertyError(
                f"{self.label}: its actuators have {listed(kinds)} drives; use one ServoController "
                "for each kind, with actuators: patterns"
            )
        return self._current(drives) if DriveKind.CURRENT in kinds else self._voltage(drives)

    def _drive(self, index: int) -> tuple[Motor, MotorDrive]:
        """The motor of an actuator and its electronics."""
        binding = self.bindings[index]
        motor = binding.motor
        if motor is None or motor.file.drive is None:
            has = "no motor" if motor is None else f"the motor {motor.name!r}, which has no drive"
            raise PropertyError(
                f"{self.label}: {binding.actuator!r} has {has}; name one on the actor, as in "
                "motors: sts3215"
            )
        return motor, motor.file.drive

    def _gain(self, index: int, drive: MotorDrive) -> float:
        own = self.gain[index]
        if np.isnan(own) and drive.gain is None:
            name = self.bindings[index].actuator
            raise PropertyError(
                f"{self.label}.gain: the motor of {name!r} has none; give one [A/rad]", ("gain",)
            )
        return float(own if drive.gain is None or not np.isnan(own) else drive.gain)

    def _supply(self, drives: Sequence[tuple[Motor, MotorDrive]]) -> list[float]:
        theirs = [math.inf if d.voltage is None else d.voltage for _, d in drives]
        return [float(v) for v in np.where(np.isnan(self.voltage), theirs, self.voltage)]

    def _voltage(self, drives: Sequence[tuple[Motor, MotorDrive]]) -> Law:
        gains = [self._gain(i, d) * d.error_gain for i, (_, d) in enumerate(drives)]
        return VoltageServo(
            gain=gains,
            kt=[known(m.fit, "kt") for m, _ in drives],
            resistance=[known(m.fit, "resistance") for m, _ in drives],
            voltage=self._supply(drives),
            duty_limit=[d.duty_limit for _, d in drives],
            current_limit=[d.current_limit for _, d in drives],
            slew_rate=[d.slew_rate for _, d in drives],
        )

    def _current(self, drives: Sequence[tuple[Motor, MotorDrive]]) -> Law:
        gains = [self._gain(i, d) for i, (_, d) in enumerate(drives)]
        resistances = [m.fit.resistance for m, _ in drives]
        supply = self._supply(drives)
        return CurrentServo(
            gain=[g * d.error_gain for g, (_, d) in zip(gains, drives, strict=True)],
            damping=[d.damping * math.sqrt(g) for g, (_, d) in zip(gains, drives, strict=True)],
            kt=[known(m.fit, "kt") for m, _ in drives],
            current_limit=[d.current_limit for _, d in drives],
            # Without a resistance the supply limits nothing that could be computed.
            voltage=[
                math.inf if r is None else v for r, v in zip(resistances, supply, strict=True)
            ],
            resistance=[1.0 if r is None else r for r in resistances],
        )
