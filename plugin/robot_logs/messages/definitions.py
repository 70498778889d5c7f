"""Definitions of messages as ROS writes them (`ros2msg`, `ros1msg`), parsed into fields."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mjrig.errors import RecordingError

#: Primitive type → numpy's letter without the byte order.
PRIMITIVES = {
    "bool": "u1", "byte": "u1", "char": "u1", "octet": "u1",
    "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2",
    "int32": "i4", "uint32": "u4", "int64": "i8", "uint64": "u8",
    "float32": "f4", "float64": "f8",
}  # fmt: skip
TEXTS = ("string", "wstring")
#: Digits of the length of an array; no message is that long.
_MOST_DIGITS = 12
_SEPARATOR = re.compile(r"^=+\s*$", re.MULTILINE)
_FIELD = re.compile(r"^([\w/]+)(?:<=\d+)?(\[(?:<=)?\d*\])?\s+(\w+)\s*(.*)$")


@dataclass(frozen=True)
class MessageField:
    """One member: `count` None: a single value, -1: as many as the message says."""

    name: str
    type: str
    count: int | None = None


@dataclass(frozen=True)
class Definition:
    """A message: its type, and the fields of every type it is made of."""

    type: str
    types: Mapping[str, tuple[MessageField, ...]]

    def fields(self, name: str) -> tuple[MessageField, ...]:
        """The fields of a type that is no primitive.

        Raises:
            RecordingError: it is not defined.
        """
        if name not in self.types:
            raise RecordingError(f"{self.type}: the type {name} is not defined in the file")
        return self.types[name]


def short(name: str) -> str:
    """`sensor_msgs/msg/JointState` and `sensor_msgs/JointState` → the latter."""
    return name.replace("/msg/", "/").replace("::msg::dds_::", "/").rstrip("_")


def parse(type_name: str, text: str) -> Definition:
    """A definition and those it needs, as containers keep them: one text.

    Raises:
        RecordingError: a line is no field.
    """
    main = short(type_name)
    package = main.partition("/")[0]
    types: dict[str, tuple[MessageField, ...]] = dict(_BASIC)
    for k, part in enumerate(_SEPARATOR.split(text)):
        name, lines = main, part.strip().splitlines()
        if k:
            if not lines or not lines[0].startswith(("MSG:", "IDL:")):
                continue
            name, lines = short(lines[0][4:].strip()), lines[1:]
        types[name] = tuple(_fields(name, name.partition("/")[0] or package, lines))
    return Definition(main, _resolved(types))


def _fields(owner: str, package: str, lines: list[str]) -> list[MessageField]:
    found = []
    for raw in lines:
        line = raw.split("#", 1)[0].strip() if '"' not in raw else raw.strip()
        if not line or line.startswith("#"):
            continue
        hit = _FIELD.match(line)
        if hit is None:
            raise RecordingError(f"{owner}: a line of its definition is no field: {raw!r:.80}")
        kind, array, name, rest = hit.groups()
        if rest.startswith("="):  # a constant
            continue
        count = None
        if array is not None:
            size = array[1:-1]
            if len(size) > _MOST_DIGITS:
                raise RecordingError(f"{owner}: a line of its definition is no field: {raw!r:.80}")
            count = int(size) if size.isdigit() else -1
        found.append(MessageField(name, _type(kind, package), count))
    return found


def _type(kind: str, package: str) -> str:
    if kind in PRIMITIVES or kind in TEXTS or kind in ("time", "duration"):
        return kind
    if kind == "Header":
        return "std_msgs/Header"
    return short(kind) if "/" in kind else f"{package}/{kind}"


def _resolved(types: Mapping[str, tuple[MessageField, ...]]) -> dict[str, tuple[MessageField, ...]]:
    """Types that are written with another package than they are defined in, by their bare name."""
    bare = {name.rpartition("/")[2]: name for name in types}
    found = {}
    for name, fields in types.items():
        found[name] = tuple(
            MessageField(f.name, bare.get(f.type.rpartition("/")[2], f.type), f.count)
            if "/" in f.type and f.type not in types
            else f
            for f in fields
        )
    return found


#: Types that definitions take for granted; a file's own take their place.
_BASIC: dict[str, tuple[MessageField, ...]] = {
    name: (MessageField("sec", sec), MessageField("nanosec", rest))
    for name, sec, rest in (
        ("time", "uint32", "uint32"),
        ("duration", "int32", "int32"),
        ("builtin_interfaces/Time", "int32", "uint32"),
        ("builtin_interfaces/Duration", "int32", "uint32"),
    )
}
_BASIC["std_msgs/Header"] = (
    MessageField("stamp", "builtin_interfaces/Time"),
    MessageField("frame_id", "string"),
)
