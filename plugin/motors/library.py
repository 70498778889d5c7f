"""The library of motors: bundled files by name, and files of one's own."""

import os
import re
from functools import cache
from pathlib import Path

from mjrig.errors import PropertyError
from mjrig.files.packages import package_folders
from mjrig.files.paths import find_file
from mjrig.motors.motor import Motor
from mjrig.motors.motor_file import MotorFile
from mjrig.motors.motor_map import own_file, split_law
from mjrig.motors.motor_parts import MotorFit
from mjrig.names import listed, nearest
from mjrig.properties.has_properties import HasProperties

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
