"""Motor files: their declaration, the property that names motors, and the library of motors."""

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from mjrig.core.errors import MjrigError, MotorError, PropertyError
from mjrig.core.files.paths import find_file, package_folders, read_limited
from mjrig.core.names import listed, nearest
from mjrig.core.properties.collection_kinds import Table, a_name
from mjrig.core.properties.component import Component
from mjrig.core.properties.declaration import Property
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.properties.per_actuator import DEFAULT
from mjrig.core.properties.scalar_kinds import Choice, Float, OptionalFloat, Text
from mjrig.core.scene.native_elements import NativeJoint
from mjrig.core.yaml_text.yaml_document import Document

# Friction numbers ---------------------------------------------------------------------------------


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


# Motor map ----------------------------------------------------------------------------------------


#: `mx-106:m6`: a motor, and which of its fits.
_WITH_LAW = re.compile(r"(.*):\s*([mM][0-9]+)\s*", re.DOTALL)
_SUFFIXES = (".yaml", ".yml")


def split_law(text: str) -> tuple[str, str]:
    """The motor that a text names, and which of its fits; empty: the first."""
    found = _WITH_LAW.fullmatch(text)
    return (found[1], found[2].lower()) if found else (text, "")


def own_file(text: str) -> str:
    """The file that a text names; empty: it names a motor of the library."""
    name, _ = split_law(text)
    return name if name.lower().endswith(_SUFFIXES) else ""


@cache
def _path(name: str) -> Path:
    return Path(name)  # the same one for the same name, as other files keep theirs


class MotorMap(Property[Mapping[str, str]]):
    """Motors by joint or actuator name pattern, `default` for the other driven joints.

    A name alone is for all of them. Motors are looked up when the model is known.
    """

    kind = "motors"
    refers = ("actuator", "joint")

    def __init__(self, **about: Any) -> None:
        super().__init__(MappingProxyType({}), **about)

    def __set__(self, obj: HasProperties, value: str | Mapping[str, str]) -> None:
        self.assign(obj, value)

    def accept(self, obj: HasProperties, value: object) -> tuple[object, Mapping[str, str]]:
        if isinstance(value, str) and value:
            return value, MappingProxyType({DEFAULT: value})
        if not isinstance(value, Mapping):
            problem = f"must be a motor, or a mapping of name patterns to motors, got {value!r}"
            raise self.error(obj, problem)
        for pattern, motor in value.items():
            if not isinstance(pattern, str):
                problem = f"{pattern!r} is not a name pattern; quote it"
                raise self.error(obj, problem, (pattern,), about_key=True)
            if not isinstance(motor, str) or not motor:
                problem = f"must be the name of a motor, got {motor!r} for {pattern!r}"
                raise self.error(obj, problem, (pattern,))
        return dict(value), MappingProxyType(dict(value))

    def files(self, obj: HasProperties) -> tuple[Path, ...]:
        motors: Mapping[str, str] = obj.__dict__[self.name]
        return tuple(_path(own) for motor in motors.values() if (own := own_file(motor)))

    def rename_file(self, obj: HasProperties, file: Path, name: str) -> None:
        def renamed(motor: str) -> str:
            own = own_file(motor)
            return name + motor.removeprefix(own) if own and _path(own) == file else motor

        said = obj.authored(self.name)
        motors: Mapping[str, str] = obj.__dict__[self.name]
        by_pattern = {pattern: renamed(motor) for pattern, motor in motors.items()}
        self.assign(obj, renamed(said) if isinstance(said, str) else by_pattern)

    def json_schema(self) -> dict[str, object]:
        name = {"type": "string", "minLength": 1}
        return {"anyOf": [name, {"type": "object", "additionalProperties": name}]}

    def default_text(self) -> str:
        return "none"


# Motor --------------------------------------------------------------------------------------------


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


# Joint motor --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MotorOnJoint:
    """The motor of one joint, and what the model had there."""

    motor: Motor
    #: The joint as the model's file has it.
    before: NativeJoint
    #: Whether a position actuator on it has the servo's native form.
    is_servo: bool
    #: Which of armature, frictionloss and damping the scene's `dynamics` give themselves.
    overridden: frozenset[str]


# Library ------------------------------------------------------------------------------------------


#: The package and the folder in it that bundled motors are in.
PACKAGE, FOLDER = "mjrig.config", "motors"
_OWN = "motors/own.yaml"


@cache
def bundled() -> dict[str, Path]:
    """The bundled files by name, in order."""
    folders = [folder / FOLDER for folder in package_folders(PACKAGE)]
    files = [path for folder in folders if folder.is_dir() for path in folder.glob("*.yaml")]
    return {path.stem: path for path in sorted(files)}


def choices() -> tuple[str, ...]:
    """The bundled motors with all of their fits: `mx-106`, `mx-106:m4`, …"""
    found: list[str] = []
    for name, path in bundled().items():
        found.append(name)
        found += [f"{name}:{fit.law}" for fit in _bundled(path).fits[1:]]
    return tuple(found)


def find_motor(text: str, holder: HasProperties) -> Motor:
    """A motor by name, spelled somehow, or by file: `MX106`, `mx-106:m6`, `motors/own.yaml`.

    Args:
        text: as the scene writes it.
        holder: what names it: files are looked for in its folder, through its gate.

    Raises:
        PropertyError: there is none of that name, or it has no such fit.
        MotorError: the file is wrong.
    """
    name, law = split_law(text)
    file = _file(name, holder)
    return Motor(name=text, file=file, fit=_fit(file, law, name))


def _file(name: str, holder: HasProperties) -> MotorFile:
    if own_file(name):
        # Not as an actor finds its files, which are models.
        own = find_file(Path(name), holder.folder(), holder.gate(), holder.trusted_folders())
        return MotorFile.load(own)
    known = bundled()
    spelled = {_letters(known_name): known_name for known_name in known}
    found = spelled.get(_letters(name))
    if found is None:
        close = nearest(_letters(name), spelled)
        hint = f"did you mean {spelled[close]!r}?" if close else f"available: {listed(known)}"
        raise PropertyError(f"there is no motor {name!r}; {hint} (a file of your own: {_OWN})")
    return _bundled(known[found])


@cache
def _bundled(path: Path) -> MotorFile:
    return MotorFile.load(path)


def _letters(name: str) -> str:
    """Letters and digits alone: `eRob80:50`, `erob80-50` and `EROB 80 50` are one."""
    return re.sub(r"[^a-z0-9]", "", os.path.basename(name).lower())


def _fit(file: MotorFile, law: str, name: str) -> MotorFit:
    """The fit of a law; empty: the first."""
    fits = {str(fit.law): fit for fit in file.fits}
    if not law:
        return next(iter(fits.values()), MotorFit())
    if law not in fits:
        has = f"it has {listed(fits)}" if fits else "it has none"
        raise PropertyError(f"the motor {name!r} has no fit {law!r}; {has}")
    return fits[law]
