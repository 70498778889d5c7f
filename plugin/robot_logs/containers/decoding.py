"""Raw messages of a container turned into numbers."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from mjrig.errors import RecordingError
from mjrig.names import how_many
from mjrig.robot_logs.containers.container import (
    BATCH,
    BATCH_BYTES,
    LogFile,
    LogSamples,
    Topic,
    Wanted,
)
from mjrig.robot_logs.messages.definitions import Definition, parse, short
from mjrig.robot_logs.messages.json_messages import JsonReader
from mjrig.robot_logs.messages.known import known_definition
from mjrig.robot_logs.messages.layouts import MessageReader

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
