"""MotorFile: the declaration of a motor's file, in config/motors or beside a scene."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Self

from mjrig.errors import MjrigError, MotorError, PropertyError
from mjrig.files.paths import read_limited
from mjrig.motors.motor_parts import MotorCurve, MotorDrive, MotorFit, MotorLine
from mjrig.names import listed
from mjrig.properties.component import Component
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.mapping_kinds import Table, a_name
from mjrig.properties.nested_kinds import Nested, NestedList
from mjrig.properties.scalar_kinds import Choice, OptionalFloat, Text
from mjrig.yaml_text.yaml_document import Document

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

    def _own_prepare(self) -> None:
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

    def _own_validate(self) -> None:
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
            made._begin({key: value for key, value in data.items() if key != MARK})
        except PropertyError as error:
            said = document.error(error.keys, str(error), at=error.at, about_key=error.about_key)
            raise MotorError(str(said)) from error
        return made
