"""MotorFile: a motor's friction, drive and torque-speed limits, declared for its file."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from mjrig.core.errors import MjrigError, MotorError, PropertyError
from mjrig.core.files.paths import read_limited
from mjrig.core.names import listed
from mjrig.core.properties.collection_kinds import Table, a_name
from mjrig.core.properties.component import Component
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.properties.scalar_kinds import Choice, Float, OptionalFloat, Text
from mjrig.core.yaml_text.yaml_document import Document

# Friction numbers ---------------------------------------------------------------------------------
# The coefficients of joint friction, declared once: for motor files and for JointFriction.


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


# Motor parts --------------------------------------------------------------------------------------
# Parts of a motor's file: its friction fits, drive and torque-speed limits.


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

    def validate(self) -> None:
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

    def validate(self) -> None:
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

    def validate(self) -> None:
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


# Motor file ---------------------------------------------------------------------------------------
# MotorFile: the declaration of a motor's file, in config/motors or beside a scene.


MARK = "mjrig_motor"
FORMAT = 1
_LARGEST_FILE = 1_000_000


class MotorOutput(StrEnum):
    """How a motor's output moves."""

    ROTARY = "rotary"
    LINEAR = "linear"


class MotorFile(Component):
    """A servo or drive: torque-speed limits, friction, reflected inertia, gear, electronics.

    A file begins with `mjrig_motor: 1`. Every number is at the output: of a linear one N·m are N,
    rad are m, kg·m² are kg.
    """

    title = Text("", doc="Maker and model.")
    output = Choice(
        MotorOutput.ROTARY,
        doc="How its output moves: a hinge needs a rotary, a slide a linear one.",
    )
    gear = OptionalFloat(
        None, min=0.0, above=True, doc="Reduction, for information: all numbers are behind it."
    )
    fits = NestedList(
        MotorFit,
        polymorphic=False,
        doc="Identified constants, one entry per friction law; the first is the usual one.",
    )
    drive = Nested(MotorDrive, doc="Electronics with a position loop of their own.")
    curve = Nested(MotorCurve, doc="Torque-speed limits of driving and braking.")
    line = Nested(MotorLine, doc="Torque-speed line of a DC motor.")
    sources = Table(a_name, doc="Where which numbers are from, with the licence.")

    def prepare(self) -> None:
        self._path: Path | None = None

    @property
    def label(self) -> str:
        return "motor" if self._path is None else self._path.stem

    @property
    def path(self) -> Path | None:
        """The file it was read from."""
        return self._path

    def to_data(self) -> dict[str, object]:
        return {MARK: FORMAT, **HasProperties.to_data(self)}  # a file needs no type

    def validate(self) -> None:
        laws = [fit.law for fit in self.fits]
        for i, law in enumerate(laws):
            if law in laws[:i]:
                raise PropertyError(f"{self.label}.fits[{i}]: law {law} is given twice", ("fits",))
        forms = [n for n in ("curve", "line") if getattr(self, n) is not None]
        if len(forms) > 1:
            raise PropertyError(f"{self.label}: has {listed(forms)}; give one", ("line",))

    # Files --------------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a motor's file.

        Raises:
            MotorError: it cannot be read, or a value is invalid: `file:line:column: path: …`.
        """
        path = Path(path)
        try:
            text = read_limited(path, _LARGEST_FILE).decode("utf-8")
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise MotorError(f"{path}: cannot be read: {why}") from error
        return cls.parse(text, path)

    @classmethod
    def parse(cls, text: str, path: str | Path) -> Self:
        """Parse the text of a motor's file; `path` is its name in messages.

        Raises:
            MotorError: a value is invalid.
        """
        try:
            document = Document(text, str(path))
        except MjrigError as error:
            raise MotorError(str(error)) from error
        data = document.data
        if not isinstance(data, Mapping) or MARK not in data:
            problem = f"is not a motor's file; its first line must be `{MARK}: {FORMAT}`"
            raise MotorError(str(document.error((), problem)))
        if data[MARK] != FORMAT:
            problem = f"is format {data[MARK]!r}; this version reads {FORMAT}"
            raise MotorError(str(document.error((MARK,), problem)))
        made = cls.blank()
        made._path = Path(path)
        try:
            made.assign({key: value for key, value in data.items() if key != MARK})
        except PropertyError as error:
            said = document.error(error.keys, str(error), at=error.at, about_key=error.about_key)
            raise MotorError(str(said)) from error
        return made
