"""ROS 1 bags, format 2.0: records, and messages in order of their times.

Only the offset of a message is kept, 20 bytes; its content is read when it is needed. The reader
of the package `rosbags` keeps an object per message (170 bytes) and stops at the first damaged
chunk, and does not limit what a chunk unpacks to.
"""

import struct
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mjrig.core.errors import RecordingError
from mjrig.core.names import how_many
from mjrig.data.recording.file_limits import most_bytes
from mjrig.data.robot_logs.containers.container import LogFile, LogSamples, Wanted
from mjrig.data.robot_logs.containers.decompression import UnpackingError, unpacked
from mjrig.data.robot_logs.containers.message_decoding import Channel, Raw, decoded

MAGIC = b"#ROSBAG V2.0\n"
#: Kinds of records.
MESSAGE, BAG, INDEX, CHUNK, CHUNK_INFO, CONNECTION = 2, 3, 4, 5, 6, 7
#: An entry of an index: when a message came, and where it is in the unpacked chunk.
ENTRY = np.dtype([("sec", "<u4"), ("nsec", "<u4"), ("offset", "<u4")])
#: An entry of a chunk's description: messages of a connection.
COUNT = np.dtype([("connection", "<u4"), ("count", "<u4")])
PLACE = np.dtype([("time", "<i8"), ("chunk", "<i4"), ("offset", "<u4"), ("connection", "<u4")])
#: Chunks that are kept unpacked: those of merged bags overlap in time.
KEPT = 4
_LENGTH = struct.Struct("<I")


class DamagedBagError(Exception):
    """What is wrong with a bag."""


@dataclass(frozen=True)
class Connection:
    """What a bag says about the messages of one sender."""

    topic: str
    type: str
    definition: str
    count: int


@dataclass(frozen=True)
class _Chunk:
    """Where the packed messages are, how, and what they have unpacked [bytes]."""

    place: int
    packed: int
    compression: str
    size: int
    #: Where its indices begin, and how many there are.
    indices: int
    count: int


class Bag1Records:
    """The records of an open bag.

    Attributes:
        skipped: begin of a chunk → its messages that cannot be read, and why.

    Raises:
        DamagedBagError: it is cut off, damaged, encrypted, or was never finished.
        MissingExtraError: it is compressed, and the package for that is not installed.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._size = stream, stream.seek(0, SEEK_END)
        stream.seek(0)
        if stream.read(len(MAGIC)) != MAGIC:
            raise DamagedBagError("it does not begin as a bag of version 2.0 does")
        header, _ = self._record(BAG)
        if header.get(b"encryptor"):
            raise DamagedBagError("it is encrypted")
        begin, connections, chunks = (
            _number(header, name) for name in (b"index_pos", b"conn_count", b"chunk_count")
        )
        if not begin:
            raise DamagedBagError("it is not indexed")
        self._unpacked: dict[int, bytes | DamagedBagError] = {}
        self.skipped: dict[int, list[Any]] = {}
        self._chunks: list[_Chunk] = []
        self.connections: dict[int, Connection] = {}
        self._go(begin)
        senders = [self._connection() for _ in range(connections)]
        infos = [self._chunk_info() for _ in range(chunks)]
        for number, description in senders:
            count = sum(counts.get(number, 0) for _, counts in infos)
            self.connections[number] = Connection(*description, count)
        for place, counts in infos:
            try:
                self._chunks.append(self._chunk(place, len(counts)))
            except DamagedBagError as error:
                self._skip(place, sum(counts.values()), error)

    def messages(self, wanted: Collection[int]) -> Iterator[tuple[int, int, bytes]]:
        """Connection, time [ns] and content of the messages of some connections, by time.

        Messages of damaged chunks are skipped and counted.
        """
        places = self._places(wanted)
        order = np.lexsort((places["offset"], places["chunk"], places["time"]))
        marks = {number: b"conn=" + _LENGTH.pack(number) for number in wanted}
        for k in order:
            time, chunk, offset, number = places[k].item()
            try:
                content = _content(self._content_of(chunk), offset, marks[number])
            except DamagedBagError as error:
                self._skip(self._chunks[chunk].place, 1, error)
                continue
            yield number, time, content

    # Records ------------------------------------------------------------------------------------

    def _connection(self) -> tuple[int, tuple[str, str, str]]:
        header, data = self._record(CONNECTION)
        about = _fields(data)
        try:
            topic, kind = header[b"topic"].decode(), about[b"type"].decode()
            text = about[b"message_definition"].decode()
        except (KeyError, UnicodeDecodeError) as error:
            raise DamagedBagError(f"a connection lacks {error}") from error
        slash = "/" if topic.startswith("/") else ""
        name = slash + "/".join(part for part in topic.split("/") if part)
        return _number(header, b"conn"), (name, kind, text)

    def _chunk_info(self) -> tuple[int, dict[int, int]]:
        """Where a chunk is, and how many messages of each connection it has."""
        header, data = self._record(CHUNK_INFO)
        pairs = _table(data, COUNT)
        return _number(header, b"chunk_pos"), dict(pairs.tolist())

    def _chunk(self, place: int, count: int) -> _Chunk:
        self._go(place)
        header = self._header(CHUNK)
        packed = self._length()
        begin = self._stream.tell()
        kind = header.get(b"compression", b"").decode(errors="replace")
        size = _number(header, b"size")
        return _Chunk(begin, packed, kind, size, begin + packed, count)

    def _places(self, wanted: Collection[int]) -> Any:
        """Where the messages of some connections are."""
        room = min(sum(self.connections[n].count for n in wanted), self._size // ENTRY.itemsize)
        places, end = np.empty(room, PLACE), 0
        for k, chunk in enumerate(self._chunks):
            try:
                for number, entries in self._index(chunk):
                    if number not in wanted:
                        continue
                    rows = places[end : end + len(entries)]
                    if len(rows) < len(entries):
                        raise DamagedBagError("it has more messages than its index says")
                    rows["time"] = entries["sec"].astype(np.int64) * 10**9 + entries["nsec"]
                    rows["chunk"], rows["offset"], rows["connection"] = k, entries["offset"], number
                    end += len(entries)
            except DamagedBagError as error:
                self._skip(chunk.place, 0, error)
        return places[:end]

    def _index(self, chunk: _Chunk) -> Iterator[tuple[int, Any]]:
        """Connection and places of the messages of a chunk."""
        self._go(chunk.indices)
        for _ in range(chunk.count):
            header, data = self._record(INDEX)
            yield _number(header, b"conn"), _table(data, ENTRY)

    def _skip(self, place: int, messages: int, error: DamagedBagError) -> None:
        self.skipped.setdefault(place, [0, str(error)])[0] += messages

    def _content_of(self, k: int) -> bytes:
        if k not in self._unpacked:
            while len(self._unpacked) >= KEPT:
                del self._unpacked[next(iter(self._unpacked))]
            self._unpacked[k] = self._unpack(self._chunks[k])
        content = self._unpacked[k]
        if isinstance(content, DamagedBagError):
            raise content
        return content

    def _unpack(self, chunk: _Chunk) -> bytes | DamagedBagError:
        self._go(chunk.place)
        packed = self._read(chunk.packed)
        try:
            return unpacked(chunk.compression, packed, min(chunk.size, most_bytes(self._size)))
        except UnpackingError as error:
            return DamagedBagError(f"it cannot be unpacked: {error}")

    def _go(self, place: int) -> None:
        if place > self._size:
            raise DamagedBagError("it is shorter than its index says")
        self._stream.seek(place)

    def _record(self, kind: int) -> tuple[dict[bytes, bytes], bytes]:
        return self._header(kind), self._read(self._length())

    def _header(self, kind: int) -> dict[bytes, bytes]:
        header = _fields(self._read(self._length()))
        if header.get(b"op") != bytes([kind]):
            raise DamagedBagError(f"a record of kind {kind} is not where it should be")
        return header

    def _length(self) -> int:
        return int(_LENGTH.unpack(self._read(_LENGTH.size))[0])

    def _read(self, count: int) -> bytes:
        if count > self._size - self._stream.tell():  # before room is made for it
            raise DamagedBagError("it ends in the middle of a record")
        return self._stream.read(count)


def _fields(data: bytes) -> dict[bytes, bytes]:
    """Names and values of a header."""
    fields, at = {}, 0
    while at + _LENGTH.size <= len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        name, is_field, value = data[at + 4 : at + 4 + length].partition(b"=")
        if not is_field or at + 4 + length > len(data):
            raise DamagedBagError("a header is damaged")
        fields[name] = value
        at += 4 + length
    return fields


def _table(data: bytes, kind: np.dtype[Any]) -> Any:
    if len(data) % kind.itemsize:
        raise DamagedBagError("an index is damaged")
    return np.frombuffer(data, kind)


def _number(header: dict[bytes, bytes], name: bytes) -> int:
    if name not in header:
        raise DamagedBagError(f"a record has no {name.decode()}")
    return int.from_bytes(header[name], "little")


def _content(chunk: bytes, at: int, mark: bytes) -> bytes:
    """The content of the message at a place of a chunk, of the connection of a mark."""
    try:
        while True:
            head = at + 4 + _LENGTH.unpack_from(chunk, at)[0]
            (length,) = _LENGTH.unpack_from(chunk, head)
            end = head + 4 + length
            if b"op=\x02" in chunk[at:head] and mark in chunk[at:head] and end <= len(chunk):
                return chunk[head + 4 : end]
            if _fields(chunk[at + 4 : head]).get(b"op") != bytes([CONNECTION]):
                raise DamagedBagError("a message is not where the index says")
            at = end
    except struct.error as error:
        raise DamagedBagError("a chunk ends in the middle of a message") from error


class Bag1(LogFile):
    """A ROS 1 bag; one without its index, as after a crash, is refused."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "ROS 1 bag")
        self._channels: dict[str, Channel] = {}
        with self._opened() as bag:
            for sender in bag.connections.values():
                kind = sender.type
                kind = kind if "/msg/" in kind else kind.replace("/", "/msg/", 1)
                channel = Channel(sender.topic, kind, "ros1", sender.definition, "ros1msg")
                self._channels.setdefault(sender.topic, channel).count += sender.count
        self.topics = tuple(channel.topic() for channel in self._channels.values())

    @contextmanager
    def _opened(self) -> Iterator[Bag1Records]:
        try:
            with self.path.open("rb") as stream:
                yield Bag1Records(stream)
        except DamagedBagError as error:
            raise RecordingError(
                f"{self.path}: is cut off or damaged: {error}; `rosbag reindex` can repair the "
                "index of a bag whose recorder was killed"
            ) from error

    def read(self, topics: Collection[str], wanted: Wanted) -> Iterator[LogSamples]:
        """The numbers that are wanted of some topics."""
        channels = {name: self._channels[name] for name in topics}
        return decoded(self, self._raw(topics), channels, wanted)

    def _raw(self, topics: Collection[str]) -> Iterator[Raw]:
        with self._opened() as bag:
            names = {n: c.topic for n, c in bag.connections.items() if c.topic in topics}
            count = 0
            for number, time, data in bag.messages(names):
                count += 1
                yield names[number], time, time, data
            if not bag.skipped:
                return
            place, (_, why) = next(iter(bag.skipped.items()))
            first = f"the first begins at byte {place}: {why}"
            chunks = how_many(len(bag.skipped), "damaged chunk")
            if not count:
                raise RecordingError(f"{self.path}: no message can be read: {chunks}; {first}")
            lost = how_many(sum(messages for messages, _ in bag.skipped.values()), "message")
            self.note(f"{chunks} skipped, with {lost}; {first}")
