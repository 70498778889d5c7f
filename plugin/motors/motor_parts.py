"""Parts of a motor's file: its friction fits, drive and torque-speed limits."""

import math
from enum import StrEnum
from typing import Any

from mjrig.errors import PropertyError
from mjrig.motors.friction_numbers import FRICTION
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.scalar_kinds import Choice, Float, OptionalFloat


class FrictionLaw(StrEnum):
    """Friction budgets of growing detail; docs/motors.md has the equations."""

    M1 = "m1"
    M2 = "m2"
    M3 = "m3"
    M4 = "m4"
    M5 = "m5"
    M6 = "m6"


#: The coefficients that each law adds to Coulomb and viscous friction.
_STRIBECK = ("stribeck", "stribeck_velocity", "stribeck_exponent")
_SPLIT = ("motor_load", "external_load", "motor_load_stribeck", "external_load_stribeck")
_QUADRATIC = ("motor_quadratic", "external_quadratic")
COEFFICIENTS: dict[FrictionLaw, tuple[str, ...]] = {
    FrictionLaw.M1: (),
    FrictionLaw.M2: _STRIBECK,
    FrictionLaw.M3: ("load",),
    FrictionLaw.M4: (*_STRIBECK, "load", "load_stribeck"),
    FrictionLaw.M5: (*_STRIBECK, *_SPLIT),
    FrictionLaw.M6: (*_STRIBECK, *_SPLIT, *_QUADRATIC),
}


def _friction(name: str) -> Float:
    """A coefficient of a fit; 0, or no effect, where it is not given."""
    number = FRICTION[name]
    return Float(
        number.default,
        min=0.0,
        above=number.positive,
        unit=number.unit,
        category="Friction",
        doc=f"{number.doc}.",
    )


class MotorFit(HasProperties):
    """Constants that were identified together: other friction laws give other kt and armature.

    All of them are at the output shaft, behind the gear.
    """

    law = Choice(FrictionLaw.M1, doc="Friction law of this fit.")
    kt = OptionalFloat(None, min=0.0, above=True, unit="N·m/A", doc="Torque constant.")
    resistance = OptionalFloat(None, min=0.0, above=True, unit="Ω", doc="Winding resistance.")
    armature = OptionalFloat(
        None, min=0.0, unit="kg·m²", doc="Reflected inertia of rotor and gear; none: the model's."
    )
    coulomb = OptionalFloat(
        None,
        min=0.0,
        unit=FRICTION["coulomb"].unit,
        category="Friction",
        doc=f"{FRICTION['coulomb'].doc}; none: the model's.",
    )
    viscous = OptionalFloat(
        None,
        min=0.0,
        unit="N·m·s/rad",
        category="Friction",
        doc="Kv, viscous friction; none: the model's.",
    )
    stribeck = _friction("stribeck")
    stribeck_velocity = _friction("stribeck_velocity")
    stribeck_exponent = _friction("stribeck_exponent")
    load = _friction("load")
    load_stribeck = _friction("load_stribeck")
    motor_load = _friction("motor_load")
    external_load = _friction("external_load")
    motor_load_stribeck = _friction("motor_load_stribeck")
    external_load_stribeck = _friction("external_load_stribeck")
    motor_quadratic = _friction("motor_quadratic")
    external_quadratic = _friction("external_quadratic")

    def _own_validate(self) -> None:
        needless = [
            name
            for name in {n for names in COEFFICIENTS.values() for n in names}
            if self.is_authored(name) and name not in COEFFICIENTS[self.law]
        ]
        if needless:
            name = sorted(needless)[0]
            raise PropertyError(f"{self.label}.{name}: law {self.law} has none", (name,))


class DriveKind(StrEnum):
    """What the electronics of a drive control."""

    VOLTAGE = "voltage"
    CURRENT = "current"


class MotorDrive(HasProperties):
    """Position loop of a servo's or drive's own electronics.

    voltage: duty = gain·error_gain·(q* − q), limited to ±duty_limit, times the supply voltage;
    current: I = gain·error_gain·(q* − q) − damping·√gain·w, limited to ±current_limit.
    """

    kind = Choice(DriveKind.VOLTAGE, doc="What the position loop sets.")
    voltage = OptionalFloat(None, min=0.0, above=True, unit="V", doc="Supply voltage.")
    gain = OptionalFloat(None, min=0.0, doc="Position gain, in the firmware's units.")
    error_gain = Float(
        1.0, min=0.0, above=True, doc="Duty or current [A] per radian and unit of the gain."
    )
    duty_limit = Float(1.0, min=0.0, above=True, max=1.0, doc="Largest duty cycle.")
    current_limit = Float(math.inf, min=0.0, above=True, unit="A", doc="Largest current.")
    damping = Float(0.0, min=0.0, doc="Damping factor of a current drive.")
    slew_rate = Float(
        math.inf, min=0.0, above=True, unit="rad/s", doc="Fastest change of the target."
    )


class MotorCurve(HasProperties):
    """Torque-speed limits that differ between driving and braking, as `TorqueSpeedCurve`."""

    x1 = OptionalFloat(None, min=0.0, unit="rad/s", doc="Highest speed at full effort.")
    x2 = OptionalFloat(None, min=0.0, above=True, unit="rad/s", doc="Speed without effort.")
    y1 = OptionalFloat(None, min=0.0, above=True, unit="N·m", doc="Largest driving effort.")
    y2 = OptionalFloat(None, min=0.0, above=True, unit="N·m", doc="Largest braking effort.")

    def _own_validate(self) -> None:
        missing = [n for n in ("x1", "x2", "y1", "y2") if self.__dict__[n] is None]
        if missing:
            raise PropertyError(f"{self.label}: needs {missing[0]}; a curve has x1, x2, y1 and y2")
        if self.x1 >= self.x2:  # type: ignore[operator]
            text = f"{self.label}.x2: must be above x1 ({self.x1:g}), got {self.x2:g}"
            raise PropertyError(text, ("x2",))


class MotorLine(HasProperties):
    """Torque-speed line of a DC motor with an effort limit, as `DCMotor`."""

    saturation_effort = OptionalFloat(
        None, min=0.0, above=True, unit="N·m", doc="Effort at standstill, without the limit."
    )
    velocity_limit = OptionalFloat(None, min=0.0, above=True, unit="rad/s", doc="No-load speed.")
    max_effort = Float(math.inf, min=0.0, above=True, unit="N·m", doc="Largest effort.")

    def _own_validate(self) -> None:
        missing = [n for n in ("saturation_effort", "velocity_limit") if self.__dict__[n] is None]
        if missing:
            raise PropertyError(
                f"{self.label}: needs {missing[0]}; a line has saturation_effort and velocity_limit"
            )


def known(part: Any, name: str) -> float:
    """A value that is given.

    Raises:
        PropertyError: it is not.
    """
    value = getattr(part, name)
    if value is None:
        raise PropertyError(f"{part.label}.{name}: is needed", (name,))
    return float(value)
