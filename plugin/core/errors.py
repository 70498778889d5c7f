"""Every error mjrig raises on purpose.

MjrigError
├── PropertyError      a value a property refuses (also a ValueError)
│   └── AttributeNameError  an attribute that cannot be assigned (also an AttributeError)
├── DeclarationError   a class whose properties or methods do not fit (also a TypeError)
├── BindingError       a name, pattern or actuator that cannot be bound (also a ValueError)
│   └── NeedsNewWorld  a change that the running world cannot take
├── LeaseError         a setpoint that another writer holds
├── SceneError         anything wrong while reading, building or binding a scene from a file
│   └── UntrustedError the scene uses code beside it, in a folder the user has not trusted
├── RecordingError     a recording that cannot be written or read, or does not fit
├── PolicyError        a policy file, or a network it names, that does not fit
├── ExecutionError     an execution mode that is not available here
├── FitError           a recording that parameters cannot be fitted to
└── MissingExtraError  an optional package is not installed (also an ImportError)
"""

from collections.abc import Hashable, Mapping
from copy import copy
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Self

# Wordings -----------------------------------------------------------------------------------------
# Phrases whose words differ between the command line and the window: as data, with one table. An
# error or a finding that names an option carries it: `RecordingError("no times; use " + hint("fps",
# 50))`. As a string it has the words for scripts and the command line; the window asks for its own:
# `error.worded(ReaderKind.WINDOW)`.


class ReaderKind(StrEnum):
    """Who reads a text: scripts and the command line, or people at the window."""

    COMMAND = "command"
    WINDOW = "window"


class Words(NamedTuple):
    """The text of a phrase for each audience."""

    command: str
    window: str


#: The words of every phrase, by kind.
PHRASES: dict[str, Words] = {
    "option": Words("--{name}", "the field {name}"),
    "option value": Words("--{name} {value}", "the field {name}: {value}"),
    "hint": Words("--hint {name}={value}", "the field {name} of the Replay panel"),
    "overwrite": Words("pass --overwrite (overwrite=True)", "choose another name"),
    "changed file": Words(
        "reload() reads it, save(overwrite=True) replaces it",
        "File > Save asks which version to keep",
    ),
    "scene": Words(
        "choose one: --scene SCENE, or drop it on a robot in the editor",
        "open one and drop it on a robot there",
    ),
    "robot": Words("choose one with robot=…", "drop it on one of them"),
    "policy": Words("choose one: policy=…, or --policy", "leave one"),
    "resample": Words(", or allow resampling (--resample)", ""),
    "partial export": Words("; --partial leaves it out", ""),
}


@dataclass(frozen=True)
class Phrase:
    """One phrase: its kind in the table, and the values of the fields there."""

    kind: str
    values: Mapping[str, object] = field(default_factory=dict)

    def worded(self, audience: ReaderKind) -> str:
        """The words for an audience."""
        words: str = getattr(PHRASES[self.kind], audience)
        return words.format(**self.values)


@dataclass(frozen=True)
class Wording:
    """A text with phrases in it; `+` joins it with texts."""

    parts: tuple[str | Phrase, ...]

    def worded(self, audience: ReaderKind) -> str:
        """The text for an audience."""
        return "".join(p if isinstance(p, str) else p.worded(audience) for p in self.parts)

    @property
    def phrases(self) -> tuple[Phrase, ...]:
        """The phrases in it."""
        return tuple(part for part in self.parts if isinstance(part, Phrase))

    def __str__(self) -> str:
        return self.worded(ReaderKind.COMMAND)

    def __add__(self, other: "str | Wording") -> "Wording":
        return Wording((*self.parts, *(other.parts if isinstance(other, Wording) else (other,))))

    def __radd__(self, before: str) -> "Wording":
        return Wording((before, *self.parts))


def phrase(kind: str, **values: object) -> Wording:
    """A phrase of the table, to be joined with texts."""
    return Wording((Phrase(kind, values),))


def option(name: str, value: object = "") -> Wording:
    """An option of a command; the window has a field of that name."""
    kind = "option value" if value else "option"
    return phrase(kind, name=name, value=value)


def hint(name: str, value: object) -> Wording:
    """A hint for reading a recording, with an example of its value."""
    return phrase("hint", name=name, value=value)


# Errors -------------------------------------------------------------------------------------------


class MjrigError(Exception):
    """Root of mjrig's errors; `str` has the words for scripts and the command line."""

    @property
    def message(self) -> Wording:
        """The text, with its ways out as data."""
        text = self.args[0] if self.args else ""
        return text if isinstance(text, Wording) else Wording((str(self),))

    def worded(self, audience: ReaderKind) -> str:
        """The text for an audience."""
        return self.message.worded(audience)


class LocatedError(MjrigError):
    """An error with the path of the value it is about, relative to the object that raised it.

    `keys` leads to the property: names and list indices. `at` leads on into its value, to the item
    or mapping key that is wrong. `about_key`: the key itself is wrong, not what it holds.
    A loader turns them into line and column.
    """

    def __init__(
        self,
        message: str | Wording,
        keys: tuple[Hashable, ...] = (),
        *,
        at: tuple[Hashable, ...] = (),
        about_key: bool = False,
    ) -> None:
        super().__init__(message)
        self.keys, self.at, self.about_key = keys, at, about_key

    def below(self, *keys: Hashable) -> Self:
        """The same error, seen from further up."""
        made = copy(self)
        made.keys = (*keys, *self.keys)
        return made


class PropertyError(LocatedError, ValueError):
    """A property refused a value; nothing was changed."""


class AttributeNameError(PropertyError, AttributeError):
    """An attribute is unknown or cannot be assigned; nothing was changed."""


class DeclarationError(MjrigError, TypeError):
    """A class declares a property or a method that cannot work; the class was not made."""


class UntrustedTypeError(PropertyError):
    """A type is in a module whose folder is not trusted; the loader makes it UntrustedError."""

    def __init__(
        self,
        message: str,
        keys: tuple[Hashable, ...] = (),
        *,
        at: tuple[Hashable, ...] = (),
        about_key: bool = False,
        folder: Path = Path(),
    ) -> None:
        super().__init__(message, keys, at=at, about_key=about_key)
        self.folder = folder


def untrusted_folder(error: BaseException | None) -> Path | None:
    """The folder that has to be trusted to get past an error, or past what caused it."""
    while error is not None:
        if isinstance(error, UntrustedTypeError | UntrustedError):
            return error.folder
        error = error.__cause__
    return None


class BindingError(LocatedError, ValueError):
    """A name, pattern or actuator cannot be bound; nothing was changed."""


class NeedsNewWorld(BindingError):
    """A change that needs a newly built world; nothing was changed."""


class LeaseError(MjrigError):
    """A setpoint was written while another writer holds it."""


class SceneError(MjrigError):
    """A scene cannot be read, built or bound: `file:line:column: path: what is wrong`."""


class UntrustedError(SceneError):
    """A scene uses code beside it, in a folder the user has not trusted; none of it was run."""

    def __init__(self, message: str, folder: Path) -> None:
        super().__init__(message)
        self.folder = folder

    def __reduce__(self) -> tuple[type[Self], tuple[str, Path]]:
        return type(self), (str(self), self.folder)


class RecordingError(MjrigError):
    """A recording cannot be written or read, or does not fit this world."""


class PolicyError(MjrigError):
    """A policy file, or what it names, does not fit: `file:line:column: path: what is wrong`."""


class MotorError(MjrigError):
    """A motor's file does not fit: `file:line:column: path: what is wrong`."""


class ExecutionError(MjrigError, ValueError):
    """The requested execution mode is unknown or not available."""


class FitError(MjrigError):
    """Parameters cannot be fitted: a recording, a choice or a bound is wrong."""


class MissingExtraError(MjrigError, ImportError):
    """An optional package is needed."""

    def __init__(self, what: str, extra: str, cause: object = "") -> None:
        detail = f" ({cause})" if cause else ""
        super().__init__(f"{what} needs the extra '{extra}': pip install 'mjrig[{extra}]'{detail}")
