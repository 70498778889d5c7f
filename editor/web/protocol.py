"""The page's protocol: every message type, its fields, and who may send it.

`MESSAGES` is the only declaration. The server checks fields against it when a message arrives, the
window checks the sender's role against it before it acts, and the table of rights in
docs/editor.md states the same.
"""

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

#: Most characters of a pasted or typed text.
MOST_TEXT = 1 << 19
#: Farthest pointer position; the page sends at most 16,000 [pixels].
FARTHEST = 20000.0
#: Sizes of a page that is a sliver: its other side is scaled up 800-fold before it is sent.
_LARGEST_SIDE = 1e8
#: Inputs are numbered modulo this, which fits into the 32 bits of a frame's header.
INPUT_NUMBERS = 1 << 30
#: Largest integer that JavaScript has exactly.
_EXACT = 1 << 53


class MalformedError(Exception):
    """A page sent a message that the editor's own page never sends."""


class Role(Enum):
    """What a connection is at the moment; the columns of the table of rights."""

    STRANGER = "not authenticated"
    VIEWER = "view link, watching"
    LENT = "view link, lent command"
    OWNER = "owner, watching"
    COMMANDER = "owner, commanding"


EVERY_PAGE = frozenset(Role) - {Role.STRANGER}
OWNERS = frozenset({Role.OWNER, Role.COMMANDER})
COMMANDING = frozenset({Role.COMMANDER, Role.LENT})


# Fields -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NumberField:
    """A finite number within a range; integers of any length are compared exactly."""

    low: float
    high: float

    def fits(self, value: object) -> bool:
        """Whether a value of a message is one."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and self.low <= value <= self.high  # NaN is within no range


@dataclass(frozen=True)
class IntegerField:
    """An integer within a range."""

    low: int
    high: int

    def fits(self, value: object) -> bool:
        """Whether a value of a message is one."""
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        return is_integer and self.low <= value <= self.high


@dataclass(frozen=True)
class TextField:
    """A text that UTF-8 can write, so without halves of surrogate pairs."""

    longest: int

    def fits(self, value: object) -> bool:
        """Whether a value of a message is one."""
        if not isinstance(value, str) or len(value) > self.longest:
            return False
        try:
            value.encode()
        except UnicodeEncodeError:
            return False
        return True


@dataclass(frozen=True)
class FlagField:
    """True or false."""

    def fits(self, value: object) -> bool:
        """Whether a value of a message is one."""
        return isinstance(value, bool)


@dataclass(frozen=True)
class ListField:
    """A list whose elements each have these fields: values, or lists of several values."""

    fields: tuple["NumberField | IntegerField | TextField", ...]
    longest: int

    def fits(self, value: object) -> bool:
        """Whether a value of a message is one."""
        if not isinstance(value, list) or len(value) > self.longest:
            return False
        if len(self.fields) == 1:
            return all(self.fields[0].fits(entry) for entry in value)
        return all(
            isinstance(entry, list)
            and len(entry) == len(self.fields)
            and all(f.fits(v) for f, v in zip(self.fields, entry, strict=True))
            for entry in value
        )


Field = NumberField | IntegerField | TextField | FlagField | ListField


# The table --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MessageType:
    """The fields of a message and the roles that may send it.

    A message of another role has no effect: the page sends input in good faith until it hears that
    it no longer commands.
    """

    roles: frozenset[Role]
    fields: tuple[Field, ...] = ()


_X = _Y = NumberField(-FARTHEST, FARTHEST)
_SIDE = NumberField(0.0, _LARGEST_SIDE)
_MODIFIERS = IntegerField(0, 15)
_INPUT = IntegerField(0, INPUT_NUMBERS - 1)
_MILLISECONDS = IntegerField(0, _EXACT)
_FILE = TextField(MOST_TEXT), IntegerField(0, _EXACT)  # `uploads` rejects long names

#: Text messages, as JSON lists: the name, then the fields.
MESSAGES = {
    "a": MessageType(EVERY_PAGE, (IntegerField(0, (1 << 32) - 1), _MILLISECONDS)),
    "take": MessageType(EVERY_PAGE),
    "give": MessageType(OWNERS, (IntegerField(0, _EXACT),)),
    "deny": MessageType(OWNERS, (IntegerField(0, _EXACT),)),
    "m": MessageType(COMMANDING, (_X, _Y, _INPUT)),
    "b": MessageType(COMMANDING, (IntegerField(-5, 5), _MODIFIERS, _INPUT)),
    "w": MessageType(COMMANDING, (_X, _Y, _MODIFIERS, _INPUT)),
    "k": MessageType(COMMANDING, (TextField(32), FlagField(), _MODIFIERS, _INPUT)),
    "t": MessageType(COMMANDING, (TextField(MOST_TEXT), _INPUT)),
    "p": MessageType(COMMANDING, (TextField(MOST_TEXT), _INPUT)),
    "f": MessageType(COMMANDING, (FlagField(),)),
    "r": MessageType(COMMANDING, (_SIDE, _SIDE, _SIDE)),
    "g": MessageType(COMMANDING, (ListField((NumberField(-FARTHEST, FARTHEST),), 16),)),
    "drop": MessageType(COMMANDING, (_X, _Y, ListField(_FILE, 1 << 20))),
    "dropped": MessageType(COMMANDING),
    "nodrop": MessageType(COMMANDING),
}
#: Binary messages, by their first byte.
FILE_PART, IMAGE = 1, 2
BINARY_MESSAGES = {FILE_PART: MessageType(COMMANDING), IMAGE: MessageType(COMMANDING)}
#: Requests for files, by the start of their path; pages send the token of their link with them.
REQUESTS = {
    "/": frozenset(Role),
    "/asset/": EVERY_PAGE,
    "/download/": OWNERS | COMMANDING,
}
#: The first message of a connection, a JSON object: nobody may send it twice.
GREETING = "token"

Event = tuple[Any, ...]


def parse(text: str) -> Event:
    """A text message of a page: its name, then its fields.

    Raises:
        MalformedError: it is not a message of the table.
    """
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:  # also an integer of 5,000 digits
        raise MalformedError("not JSON") from error
    if not (isinstance(message, list) and message and isinstance(message[0], str)):
        raise MalformedError("not a message")
    name, *values = message
    kind = MESSAGES.get(name)
    if kind is None or len(values) != len(kind.fields):
        raise MalformedError(f"no message {name[:20]!a} with {len(values)} values")
    for index, (field, value) in enumerate(zip(kind.fields, values, strict=True)):
        if not field.fits(value):
            raise MalformedError(f"value {index + 1} of {name!r} is out of its range")
    return (name, *values)


def check_bytes(message: bytes) -> bytes:
    """A binary message of a page.

    Raises:
        MalformedError: its first byte names none.
    """
    if not message or message[0] not in BINARY_MESSAGES:
        raise MalformedError("no such binary message")
    return message


def roles_of(message: Event | bytes) -> frozenset[Role]:
    """Who may send a message that was parsed."""
    kind = BINARY_MESSAGES[message[0]] if isinstance(message, bytes) else MESSAGES[message[0]]
    return kind.roles
