"""Phrases whose words differ between the command line and the window: as data, with one table.

An error or a finding that names an option carries it: `RecordingError(f"{path}: has no times; use "
+ hint("fps", 50))`. As a string it has the words for scripts and the command line; the window asks
for its own: `error.worded(Audience.WINDOW)`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Audience(StrEnum):
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

    def worded(self, audience: Audience) -> str:
        """The words for an audience."""
        words: str = getattr(PHRASES[self.kind], audience)
        return words.format(**self.values)


@dataclass(frozen=True)
class Message:
    """A text with phrases in it; `+` joins it with texts."""

    parts: tuple[str | Phrase, ...]

    def worded(self, audience: Audience) -> str:
        """The text for an audience."""
        return "".join(p if isinstance(p, str) else p.worded(audience) for p in self.parts)

    @property
    def phrases(self) -> tuple[Phrase, ...]:
        """The phrases in it."""
        return tuple(part for part in self.parts if isinstance(part, Phrase))

    def __str__(self) -> str:
        return self.worded(Audience.COMMAND)

    def __add__(self, other: "str | Message") -> "Message":
        return Message((*self.parts, *(other.parts if isinstance(other, Message) else (other,))))

    def __radd__(self, before: str) -> "Message":
        return Message((before, *self.parts))


def phrase(kind: str, **values: object) -> Message:
    """A phrase of the table, to be joined with texts."""
    return Message((Phrase(kind, values),))


def option(name: str, value: object = "") -> Message:
    """An option of a command; the window has a field of that name."""
    kind = "option value" if value else "option"
    return phrase(kind, name=name, value=value)


def hint(name: str, value: object) -> Message:
    """A hint for reading a recording, with an example of its value."""
    return phrase("hint", name=name, value=value)
