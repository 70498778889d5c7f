"""Motors: one fit of a motor file, the motor on a joint, and the library of motors by name."""

import math
import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mjrig.core.errors import PropertyError
from mjrig.core.files.paths import find_file, package_folders
from mjrig.core.names import listed, nearest
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.scene.actuator_kinds import own_file, split_law
from mjrig.core.scene.motor_file import (
    DriveKind,
    FrictionLaw,
    MotorCurve,
    MotorFile,
    MotorFit,
    MotorLine,
    known,
)
from mjrig.core.scene.native_elements import NativeJoint

# Motor --------------------------------------------------------------------------------------------
# Motor: one fit of a motor's file, and what follows from it.


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
# MotorOnJoint: the motor that a scene puts on one joint of a model.


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
# The library of motors: bundled files by name, and files of one's own.


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
