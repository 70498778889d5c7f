"""Decoding of raw messages into numbers: many as one array by layout, JSON by path.

A message of variable size is parsed once; messages of the same length, the same counts and the
same names have their numbers at the same offsets.
"""

import json
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.core.errors import RecordingError
from mjrig.core.files.decoding import reason
from mjrig.core.names import how_many
from mjrig.data.robot_logs.containers.container import (
    BATCH,
    BATCH_BYTES,
    LogFile,
    LogSamples,
    Topic,
    Wanted,
)
from mjrig.data.robot_logs.containers.message_definitions import (
    PRIMITIVES,
    TEXTS,
    Definition,
    known_definition,
    parse,
    short,
)

# Layouts ------------------------------------------------------------------------------------------
# Layouts: where the numbers of serialised messages are, so that many are read as one array.
#
# A message of variable size is walked once; messages of the same length, the same counts and the
# same names have their numbers in the same places.


FieldFilter = Callable[[str], bool]
Columns = dict[str, npt.NDArray[Any]]
#: Takes the row and the problem of a message that does not have the form of its type.
Skip = Callable[[int, str], None]
#: Longest array whose elements become columns; longer ones are images, maps and the like.
LONGEST = 512
#: Numbers per message at most.
MOST_LEAVES = 20_000
#: Nested messages in one message at most: a definition may contain itself, or nothing but others.
MOST_STRUCTS = 50_000
#: Layouts that are remembered; publishers use a few, damaged messages one each.
MOST_LAYOUTS = 64
_HEADER = 4


@dataclass(frozen=True)
class Leaf:
    """One number in a message."""

    path: str
    offset: int
    dtype: str


@dataclass
class MessageLayout:
    """The places of numbers in messages of one size.

    Attributes:
        size: of the message in bytes.
        leaves: the numbers.
        fixed: (offset, bytes) of counts and names, which must be the same in each message.
    """

    size: int
    leaves: list[Leaf] = field(default_factory=list)
    fixed: list[tuple[int, bytes]] = field(default_factory=list)

    def matches(self, block: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
        """Which of the messages (n, size) have this layout."""
        fits = np.full(len(block), True)
        for offset, content in self.fixed:
            wanted = np.frombuffer(content, np.uint8)
            fits &= (block[:, offset : offset + len(content)] == wanted).all(axis=1)
        return fits

    def columns(self, block: npt.NDArray[np.uint8], wanted: FieldFilter) -> Columns:
        """The numbers of messages (n, size) by path."""
        chosen = [leaf for leaf in self.leaves if wanted(leaf.path)]
        found: Columns = {}
        for leaf in chosen:
            width = int(leaf.dtype[-1])
            part = np.ascontiguousarray(block[:, leaf.offset : leaf.offset + width])
            found[leaf.path] = part.view(np.dtype(leaf.dtype))[:, 0].copy()
        return found


def element_names(path: str, count: int, labels: Sequence[str]) -> Sequence[object]:
    """Names of an array's elements: labels if there is one for each, except of points in time."""
    is_of_joints = len(labels) == count and path.rpartition(".")[2] != "points"
    return labels if is_of_joints else range(count)


class MessageReader:
    """Reads messages of one type; `encoding` is `cdr` or `ros1`."""

    def __init__(self, definition: Definition, encoding: str) -> None:
        self.definition, self.encoding = definition, encoding
        self._layouts: list[MessageLayout] = []

    def read(
        self, messages: Sequence[bytes], wanted: FieldFilter, skip: Skip
    ) -> Iterator[tuple[npt.NDArray[np.intp], Columns]]:
        """(rows, columns) for each group of messages of one layout; others are skipped."""
        by_size: dict[int, list[int]] = {}
        for row, message in enumerate(messages):
            by_size.setdefault(len(message), []).append(row)
        for size, numbers in by_size.items():
            rows = np.array(numbers, dtype=np.intp)
            joined = b"".join(messages[row] for row in numbers)
            block = np.frombuffer(joined, np.uint8).reshape(len(rows), size)
            while len(rows):
                try:
                    layout = self._layout(messages[int(rows[0])], block[:1])
                except RecordingError as error:
                    skip(int(rows[0]), str(error))
                    rows, block = rows[1:], block[1:]
                    continue
                fits = layout.matches(block)
                yield rows[fits], layout.columns(block[fits], wanted)
                rows, block = rows[~fits], block[~fits]

    def _layout(self, message: bytes, block: npt.NDArray[np.uint8]) -> MessageLayout:
        for layout in self._layouts:
            if layout.size == len(message) and layout.matches(block)[0]:
                return layout
        made = _Walk(self.definition, self.encoding, message).layout
        self._layouts = [*self._layouts[1 - MOST_LAYOUTS :], made]
        return made


class _Walk:
    """One message walked from its first byte to its last."""

    def __init__(self, definition: Definition, encoding: str, data: bytes) -> None:
        self._types, self._data = definition, data
        self.layout = MessageLayout(len(data))
        self._aligned = encoding == "cdr"
        self._order, self._widest, self._at = "<", 8, 0
        if self._aligned:
            if len(data) < _HEADER:
                raise self._fail("is shorter than its header")
            self._order = "<" if data[1] & 1 else ">"
            self._widest = 4 if data[1] >= 6 else 8
            self._at = _HEADER
            self.layout.fixed.append((0, data[:2]))
        self._structs = 0
        try:
            self._struct(definition.type, "", ())
        except struct.error:
            raise self._fail("ends before its last field") from None
        except RecursionError:
            raise self._fail("has a type that contains itself") from None

    def _fail(self, why: str) -> RecordingError:
        return RecordingError(f"of {self._types.type} {why}, at byte {self._at}")

    def _align(self, width: int) -> None:
        if self._aligned:
            step = min(width, self._widest)
            self._at += -(self._at - _HEADER) % step

    def _count(self) -> int:
        self._align(4)
        at = self._at
        (count,) = struct.unpack_from(f"{self._order}I", self._data, at)
        self.layout.fixed.append((at, self._data[at : at + 4]))
        self._at = at + 4
        return int(count)

    def _text(self, is_name: bool) -> str:
        count = self._count()
        at = self._at
        if at + count > len(self._data):
            raise self._fail("ends before its last field")
        self._at += count
        if not is_name:
            return ""
        content = self._data[at : at + count]
        self.layout.fixed.append((at, content))
        return content.rstrip(b"\0").decode("utf-8", "replace")

    def _struct(self, kind: str, prefix: str, labels: Sequence[str]) -> None:
        """A struct; `labels` name the elements of arrays of their length inside."""
        self._structs += 1
        if self._structs > MOST_STRUCTS:
            raise self._fail(f"has more than {MOST_STRUCTS} nested messages")
        for item in self._types.fields(kind):
            path = f"{prefix}.{item.name}" if prefix else item.name
            if item.type in TEXTS:
                found = self._texts(item.name, item.count)
                if found and item.name.endswith(("name", "names")):
                    labels = found
                continue
            if item.count is None:
                self._value(item.type, path, labels)
            else:
                count = self._count() if item.count < 0 else item.count
                self._array(item.type, path, count, labels)

    def _texts(self, name: str, count: int | None) -> list[str]:
        is_name = name.endswith(("name", "names"))
        if count is None:
            self._text(is_name=False)
            return []
        size = self._count() if count < 0 else count
        if size > len(self._data):
            raise self._fail("says that it holds more texts than bytes")
        return [self._text(is_name) for _ in range(size)]

    def _value(self, kind: str, path: str, labels: Sequence[str]) -> None:
        letter = PRIMITIVES.get(kind)
        if letter is None:
            self._struct(kind, path, labels)
            return
        width = int(letter[1])
        self._align(width)
        if self._at + width > len(self._data):
            raise self._fail("ends before its last field")
        self._leaf(path, letter)
        self._at += width

    def _array(self, kind: str, path: str, count: int, labels: Sequence[str]) -> None:
        names = element_names(path, count, labels)
        letter = PRIMITIVES.get(kind)
        if letter is None:
            if count > len(self._data):
                raise self._fail("says that it holds more elements than bytes")
            for name in names:
                self._struct(kind, f"{path}[{name}]", labels)
            return
        if not count:
            return
        width = int(letter[1])
        self._align(width)
        if self._at + count * width > len(self._data):
            raise self._fail("ends before its last field")
        if count <= LONGEST:
            start = self._at
            for k, name in enumerate(names):
                self._at = start + k * width
                self._leaf(f"{path}[{name}]", letter)
            self._at = start
        self._at += count * width

    def _leaf(self, path: str, letter: str) -> None:
        if len(self.layout.leaves) >= MOST_LEAVES:
            raise self._fail(f"has more than {MOST_LEAVES} numbers")
        self.layout.leaves.append(Leaf(path, self._at, f"{self._order}{letter}"))


# Json messages ------------------------------------------------------------------------------------
# Messages in JSON: the numbers in them by path, with the same names as in binary ones.


class JsonReader:
    """Reads messages in JSON."""

    def read(
        self, messages: Sequence[bytes], wanted: FieldFilter, skip: Skip
    ) -> Iterator[tuple[npt.NDArray[np.intp], Columns]]:
        """(rows, columns) for each group of messages with the same numbers; others are skipped."""
        groups: dict[tuple[str, ...], list[tuple[int, list[float]]]] = {}
        for row, message in enumerate(messages):
            try:
                values = dict(flat(json.loads(message)))
            except (ValueError, RecursionError, OverflowError) as error:
                skip(row, f"is no JSON: {reason(error)}")
                continue
            chosen = {path: value for path, value in values.items() if wanted(path)}
            groups.setdefault(tuple(chosen), []).append((row, list(chosen.values())))
        for paths, entries in groups.items():
            rows = np.array([row for row, _ in entries], dtype=np.intp)
            table = np.array([v for _, v in entries], dtype=np.float64).reshape(len(rows), -1)
            yield rows, {path: table[:, k] for k, path in enumerate(paths)}


def flat(data: Any, prefix: str = "", labels: Sequence[str] = ()) -> Iterator[tuple[str, float]]:
    """(path, number) of everything in JSON data."""
    if isinstance(data, bool):
        yield prefix, float(data)
    elif isinstance(data, int | float):
        yield prefix, float(data)
    elif isinstance(data, Mapping):
        for key, value in data.items():
            if str(key).endswith(("name", "names")) and _are_texts(value):
                labels = value
        for key, value in data.items():
            yield from flat(value, f"{prefix}.{key}" if prefix else str(key), labels)
    elif isinstance(data, list) and len(data) <= LONGEST:
        names = element_names(prefix, len(data), labels)
        for name, value in zip(names, data, strict=True):
            yield from flat(value, f"{prefix}[{name}]", labels)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)


# Decoding -----------------------------------------------------------------------------------------


Reader = MessageReader | JsonReader
#: A message as containers give it: topic, log time, publish time [ns], content.
Raw = tuple[str, int, int, bytes]


@dataclass
class Channel:
    """What a container says about a topic."""

    name: str
    type: str
    encoding: str
    schema: str = ""
    schema_encoding: str = ""
    count: int = 0

    def topic(self) -> Topic:
        """The topic, and why it cannot be read."""
        try:
            self.reader()
        except RecordingError as error:
            problem = str(error)
        else:
            problem = ""
        return Topic(self.name, short(self.type), self.encoding, self.count, problem)

    def reader(self) -> Reader:
        """Reads its messages.

        Raises:
            RecordingError: their encoding or their definition is unknown.
        """
        if self.encoding == "json":
            return JsonReader()
        if self.encoding not in ("cdr", "ros1"):
            raise RecordingError(f"messages encoded as {self.encoding!r} are not read")
        return MessageReader(self._definition(), self.encoding)

    def _definition(self) -> Definition:
        if self.schema and self.schema_encoding in ("ros2msg", "ros1msg"):
            return parse(self.type, self.schema)
        known = known_definition(self.type)
        if known is None:
            raise RecordingError(f"the file does not define {short(self.type)}")
        return known


@dataclass
class _Batch:
    messages: list[bytes] = field(default_factory=list)
    log: list[int] = field(default_factory=list)
    publish: list[int] = field(default_factory=list)
    size: int = 0


class _Skipped:
    """Messages of one topic that could not be decoded."""

    def __init__(self, topic: str) -> None:
        self._topic, self._first = topic, ""
        self._count = self.messages = 0

    def add(self, row: int, problem: str) -> None:
        """Count a message; `row` is its number in the batch that follows the others."""
        self._first = self._first or f"number {self.messages + row + 1} {problem}"
        self._count += 1

    def note(self) -> str:
        """How many there were; empty: none."""
        if not self._count:
            return ""
        lost = how_many(self._count, "message")
        return f"{self._topic}: {lost} of {self.messages} cannot be decoded: {self._first}"


def decoded(
    log: LogFile, raw: Iterable[Raw], channels: Mapping[str, Channel], wanted: Wanted
) -> Iterator[LogSamples]:
    """Messages in batches of numbers; memory holds one batch per topic.

    Messages that cannot be decoded are skipped, and counted in a note of the log.
    """
    readers = {name: channel.reader() for name, channel in channels.items()}
    skipped = {name: _Skipped(name) for name in channels}
    waiting: dict[str, _Batch] = {}
    for topic, time, publish, content in raw:
        batch = waiting.setdefault(topic, _Batch())
        batch.messages.append(content)
        batch.log.append(time)
        batch.publish.append(publish)
        batch.size += len(content)
        if len(batch.messages) >= BATCH or batch.size > BATCH_BYTES:
            waiting.pop(topic)
            yield from _samples(topic, readers[topic], batch, wanted, skipped[topic])
    for topic, batch in waiting.items():
        yield from _samples(topic, readers[topic], batch, wanted, skipped[topic])
    log.note(*filter(None, (entry.note() for entry in skipped.values())))


def _samples(
    topic: str, reader: Reader, batch: _Batch, wanted: Wanted, skipped: _Skipped
) -> Iterator[LogSamples]:
    log = np.array(batch.log, dtype=np.int64)
    publish = np.array(batch.publish, dtype=np.int64)
    for rows, columns in reader.read(batch.messages, partial(wanted, topic), skipped.add):
        yield LogSamples(topic, log[rows], publish[rows], columns)
    skipped.messages += len(batch.messages)
