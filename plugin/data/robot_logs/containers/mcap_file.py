"""MCAP files, finished, truncated or damaged: records, and messages in the order of the file.

Records follow each other, each with its kind and its length. After a damaged record, reading
continues at the next chunk that the summary at the end of the file names.
"""

import struct
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from mjrig.core.errors import RecordingError
from mjrig.core.files.decoding import decoding
from mjrig.core.names import how_many, listed
from mjrig.data.recording.file_limits import most_bytes
from mjrig.data.robot_logs.containers.container import LogFile, LogSamples, Wanted
from mjrig.data.robot_logs.containers.decompression import UnpackingError, unpacked
from mjrig.data.robot_logs.containers.message_decoding import Channel, Raw, decoded

# Mcap fields --------------------------------------------------------------------------------------
# Fields of a record of an MCAP file, one after the other.


class RecordFields:
    """Reads fields from the first on.

    Raises:
        struct.error, ValueError: the record ends before the field does.
    """

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def skip(self, count: int) -> None:
        """Pass over some bytes."""
        self._bytes(count)

    def u16(self) -> int:
        """A number of two bytes."""
        return self._number("<H")

    def u32(self) -> int:
        """A number of four bytes."""
        return self._number("<I")

    def u64(self) -> int:
        """A number of eight bytes."""
        return self._number("<Q")

    def text(self, *, replace: bool = False) -> str:
        """A text after its length; `replace`: letters that are not UTF-8 do not matter."""
        return self._bytes(self.u32()).decode("utf-8", "replace" if replace else "strict")

    def texts(self) -> dict[str, str]:
        """Texts by name."""
        inner = RecordFields(self._bytes(self.u32()))
        entries: dict[str, str] = {}
        while inner._at < len(inner._content):
            name = inner.text()
            entries[name] = inner.text()
        return entries

    def pairs(self, letters: str) -> list[tuple[Any, ...]]:
        """A list of pairs of numbers after its length in bytes."""
        return list(struct.iter_unpack(f"<{letters}", self._bytes(self.u32())))

    def rest(self) -> bytes:
        """All that follows."""
        return self._content[self._at :]

    def _number(self, letter: str) -> int:
        (value,) = struct.unpack_from(letter, self._content, self._at)
        self._at += struct.calcsize(letter)
        return int(value)

    def _bytes(self, count: int) -> bytes:
        if self._at + count > len(self._content):
            raise ValueError(f"a field of {count} bytes does not fit in its record")
        self._at += count
        return self._content[self._at - count : self._at]


# Mcap records -------------------------------------------------------------------------------------
# Records of MCAP files: messages in the order of the file, whatever in it is damaged or missing.
#
# Records follow each other, each with its kind and its length. Where one is damaged, reading
# goes on at the next chunk that the summary at the end of the file names.


MAGIC = b"\x89MCAP0\r\n"
#: Kinds of records.
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK = 1, 2, 3, 4, 5, 6
CHUNK_INDEX, STATISTICS, METADATA = 8, 11, 12
#: Kinds from here to the private ones are not in use: a record of them is damaged.
_UNUSED, _PRIVATE = 16, 128
#: Begin of every record: its kind, and how many bytes follow.
_RECORD = struct.Struct("<BQ")
#: Content of the footer: where the summary begins, where its offsets do, and its checksum.
_FOOTER = struct.Struct("<QQI")
#: Content of a message before its data: channel, sequence, time of the recorder and the sender.
_MESSAGE = struct.Struct("<HIQQ")
#: Times are kept as int64 [ns].
_LAST_TIME = 1 << 63

Message = tuple[int, int, int, bytes]


@dataclass(frozen=True)
class McapChannel:
    """A topic of one sender, and what its messages are."""

    topic: str
    encoding: str
    schema: int


@dataclass(frozen=True)
class McapSchema:
    """A type of messages; `text` is its definition."""

    name: str
    encoding: str
    text: str


@dataclass(frozen=True)
class McapCut:
    """The record that a file ends in: where it begins, its kind, bytes present and declared."""

    place: int
    kind: int
    present: int
    size: int


@dataclass
class McapContents:
    """Definitions that were read so far.

    Attributes:
        counts: messages by channel; None: the file does not declare them.
        chunks: begin of each chunk → the channels in it, as the summary lists them.
    """

    channels: dict[int, McapChannel] = field(default_factory=dict)
    schemas: dict[int, McapSchema] = field(default_factory=dict)
    metadata: dict[str, dict[str, str]] = field(default_factory=dict)
    counts: dict[int, int] | None = None
    chunks: dict[int, tuple[int, ...]] = field(default_factory=dict)
    library: str = ""

    def add(self, kind: int, content: bytes) -> None:
        """Take up a record that defines something; others are ignored."""
        fields = RecordFields(content)
        if kind == HEADER:
            _, self.library = fields.text(), fields.text()
        elif kind == SCHEMA:
            number, name, encoding = fields.u16(), fields.text(), fields.text()
            self.schemas[number] = McapSchema(name, encoding, fields.text(replace=True))
        elif kind == CHANNEL:
            number, schema = fields.u16(), fields.u16()
            channel = McapChannel(fields.text(), fields.text(), schema)
            if self.channels.setdefault(number, channel) != channel:
                raise ValueError(f"it defines channel {number} again, as {channel.topic!r:.80}")
        elif kind == METADATA:
            title = fields.text()
            self.metadata[title] = fields.texts()
        elif kind == STATISTICS:
            fields.skip(8 + 2 + 4 * 4 + 8 + 8)
            self.counts = dict(fields.pairs("HQ"))
        elif kind == CHUNK_INDEX:
            fields.skip(8 + 8)
            place = fields.u64()
            fields.skip(8)
            self.chunks[place] = tuple(channel for channel, _ in fields.pairs("HQ"))


class McapRecords:
    """The records of a file.

    Attributes:
        contents: definitions; those of the summary from the start, others as they are read.
        damage: places that could not be read, with the reason.
        cut: the record that the file ends in; None: the file does not end too early.
        read: messages that were read.

    Raises:
        RecordingError: it is no MCAP file.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.size = path, path.stat().st_size
        self.contents = McapContents()
        self.damage: dict[int, str] = {}
        self.cut: McapCut | None = None
        self.read = 0
        with decoding(path), path.open("rb") as stream:
            if stream.read(len(MAGIC)) != MAGIC:
                raise RecordingError(f"{path}: is no MCAP file")
            try:
                self._read_header(stream)
                self._read_summary(stream)
            except (struct.error, ValueError):  # read without it
                self.contents = McapContents(library=self.contents.library)

    def messages(self, channels: Collection[int] | None = None) -> Iterator[Message]:
        """Channel, recorder's time, sender's time [ns] and content; None: of all channels.

        Damaged chunks and messages are skipped and entered in `damage`.
        """
        self.damage, self.cut, self.read = {}, None, 0
        with decoding(self.path), self.path.open("rb") as stream:
            place: int | None = len(MAGIC)
            while place is not None:
                stream.seek(place)
                kind, size = self._head(stream)
                if kind == FOOTER:
                    return
                after = place + _RECORD.size + size
                if after > self.size or kind == 0 or _UNUSED <= kind < _PRIVATE:
                    yield from self._broken(stream, kind, place, size, channels)
                    place = self._next_chunk(place)
                    continue
                if kind == CHUNK and self._may_hold(place, channels):
                    yield from self._chunk(place, stream.read(size), channels)
                elif kind in (SCHEMA, CHANNEL, MESSAGE, METADATA):
                    yield from self._record(place, kind, stream.read(size), channels)
                place = after

    def nothing(self) -> str:
        """Why no message could be read of the file."""
        if self.cut is None:
            first = next((f": at byte {place}: {why}" for place, why in self.damage.items()), "")
            return f"is damaged: no message can be read{first}" if first else "has no message"
        if self.damage:
            return "is cut off or damaged: no message can be read"
        if self.cut.kind == CHUNK:
            return (
                f"is cut off inside its first chunk, of which {self.cut.present} of "
                f"{self.cut.size} bytes are there: nothing of it can be read"
            )
        return "is cut off before its first message: nothing of it can be read"

    def notes(self) -> list[str]:
        """What was salvaged of a damaged file, for a user."""
        notes = []
        if self.damage:
            place, why = next(iter(self.damage.items()))
            more = (
                f"; {how_many(len(self.damage) - 1, 'more place')}" if len(self.damage) > 1 else ""
            )
            notes.append(f"the file is damaged at byte {place}: {why}{more}")
        if self.cut is not None:
            notes.append(
                "the file was cut off, as by a recorder that was killed: it is read up to the cut"
            )
        return notes

    # Parts of a file ----------------------------------------------------------------------------

    def _head(self, stream: BinaryIO) -> tuple[int, int]:
        """Kind and length of the next record; a kind of 0 and all there is if it is cut."""
        head = stream.read(_RECORD.size)
        if len(head) < _RECORD.size:
            return 0, self.size
        kind, size = _RECORD.unpack(head)
        return int(kind), int(size)

    def _read_header(self, stream: BinaryIO) -> None:
        kind, size = self._head(stream)
        if kind == HEADER and size <= self.size:
            self.contents.add(kind, stream.read(size))

    def _read_summary(self, stream: BinaryIO) -> None:
        """Channels, counts and places of chunks at the end of a finished file."""
        tail = len(MAGIC) + _RECORD.size + _FOOTER.size
        if self.size < tail:
            return
        stream.seek(self.size - tail)
        footer = stream.read(tail)
        if not footer.endswith(MAGIC) or footer[0] != FOOTER:
            return
        start, _, checksum = _FOOTER.unpack_from(footer, _RECORD.size)
        if not len(MAGIC) < start < self.size - tail:
            return
        stream.seek(start)
        summary = stream.read(self.size - tail - start)
        if checksum and checksum != zlib.crc32(summary + footer[: -len(MAGIC) - 4]):
            return
        for _, kind, content in _records(summary):
            self.contents.add(kind, content)

    def _may_hold(self, place: int, channels: Collection[int] | None) -> bool:
        """Whether a chunk has messages of some channels, by the summary."""
        listing = self.contents.chunks.get(place)
        return channels is None or listing is None or not {*channels}.isdisjoint(listing)

    def _next_chunk(self, place: int) -> int | None:
        later = [start for start in self.contents.chunks if place < start < self.size]
        return min(later, default=None)

    def _broken(
        self, stream: BinaryIO, kind: int, place: int, size: int,
        channels: Collection[int] | None,
    ) -> Iterator[Message]:  # fmt: skip
        """A record whose length or kind is wrong, or which the file ends in."""
        later = self._next_chunk(place)
        if later is not None:
            self.damage[place] = "a record is damaged; reading goes on at the next chunk"
            return
        present = max(0, self.size - place - _RECORD.size)
        self.cut = McapCut(place, kind, present, size)
        if kind == CHUNK and present:
            stream.seek(place + _RECORD.size)
            yield from self._chunk(place, stream.read(present), channels, is_cut=True)

    def _chunk(
        self, place: int, content: bytes, channels: Collection[int] | None, *, is_cut: bool = False
    ) -> Iterator[Message]:
        """The messages of a chunk; all of it is skipped if its checksum is wrong."""
        try:
            fields = RecordFields(content)
            fields.skip(8 + 8)
            declared, checksum, compression = fields.u64(), fields.u32(), fields.text()
            fields.skip(8)
            limit = min(declared, most_bytes(self.size))
            try:
                data = unpacked(compression, fields.rest(), limit)
            except UnpackingError as error:
                if not is_cut:
                    raise
                data = error.start
            if not is_cut and (
                len(data) != declared or (checksum and zlib.crc32(data) != checksum)
            ):
                raise ValueError("its checksum is wrong")
        except (struct.error, ValueError) as error:
            if not is_cut:
                topics = [
                    entry.topic
                    for number in self.contents.chunks.get(place, ())
                    if (entry := self.contents.channels.get(number))
                ]
                of = f" of {listed(sorted(set(topics)))}" if topics else ""
                self.damage[place] = f"the chunk{of} is damaged and skipped: {error}"
            return
        try:
            for inside, kind, record in _records(data, is_cut=is_cut):
                yield from self._record(place, kind, record, channels, inside)
        except (struct.error, ValueError) as error:
            self.damage[place] = f"the rest of a chunk is skipped: {error}"

    def _record(
        self, place: int, kind: int, content: bytes, channels: Collection[int] | None,
        inside: int | None = None,
    ) -> Iterator[Message]:  # fmt: skip
        """A message, or nothing: a definition is taken up."""
        try:
            if kind != MESSAGE:
                self.contents.add(kind, content)
                return
            number, _, log, publish = _MESSAGE.unpack_from(content)
            if number not in self.contents.channels:
                raise ValueError(f"its channel {number} is not defined")
            if max(log, publish) >= _LAST_TIME:
                raise ValueError(f"its time is {max(log, publish)} ns")
        except (struct.error, ValueError) as error:
            at = place if inside is None else place + inside
            self.damage.setdefault(at, f"a record of kind {kind} is skipped: {error}")
            return
        self.read += 1
        if channels is None or number in channels:
            yield number, log, publish, content[_MESSAGE.size :]


def _records(data: bytes, *, is_cut: bool = False) -> Iterator[tuple[int, int, bytes]]:
    """Place, kind and content of records that follow each other.

    Raises:
        ValueError: the last one is not complete, unless the data are known to be cut off.
    """
    at = 0
    while at + _RECORD.size <= len(data):
        kind, size = _RECORD.unpack_from(data, at)
        begin = at + _RECORD.size
        if begin + size > len(data):
            break
        yield at, kind, data[begin : begin + size]
        at = begin + size
    if at != len(data) and not is_cut:
        raise ValueError(f"the record at its byte {at} is not complete")


# Mcap file ----------------------------------------------------------------------------------------


#: The fewest bytes of a message in a file, which bound how many there can be.
_SMALLEST_MESSAGE = 31


class McapFile(LogFile):
    """An MCAP file; of one that is cut off or damaged, everything else is read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "MCAP")
        self._records = McapRecords(path)
        counts = self._records.contents.counts
        if counts is None:
            counts = self._counted()
        self._channels: dict[str, Channel] = {}
        for number, channel in self._records.contents.channels.items():
            self._add(
                channel,
                min(counts.get(number, 0), most_bytes(path.stat().st_size) // _SMALLEST_MESSAGE),
            )
        self.topics = tuple(channel.topic() for channel in self._channels.values())

    def read(self, topics: Collection[str], wanted: Wanted) -> Iterator[LogSamples]:
        """The numbers that are wanted of some topics."""
        channels = {name: self._channels[name] for name in topics}
        return decoded(self, self._raw(set(topics)), channels, wanted)

    def _counted(self) -> dict[int, int]:
        """Messages by channel, of a file that does not declare them."""
        counts: dict[int, int] = {}
        for number, *_ in self._records.messages():
            counts[number] = counts.get(number, 0) + 1
        if not counts:
            raise RecordingError(f"{self.path}: {self._records.nothing()}")
        self.note(*self._records.notes())
        return counts

    def _add(self, channel: McapChannel, count: int) -> None:
        entry = self._channels.get(channel.topic)
        if entry is None:
            schema = self._records.contents.schemas.get(channel.schema)
            self._channels[channel.topic] = entry = Channel(
                channel.topic,
                schema.name if schema is not None else channel.encoding,
                channel.encoding,
                schema.text if schema is not None else "",
                schema.encoding if schema is not None else "",
            )
        entry.count += count

    def _raw(self, topics: set[str]) -> Iterator[Raw]:
        channels = self._records.contents.channels
        chosen = {number for number, channel in channels.items() if channel.topic in topics}
        for number, log, publish, data in self._records.messages(chosen):
            yield channels[number].topic, log, publish, data
        if not self._records.read and self._records.damage:
            raise RecordingError(f"{self.path}: {self._records.nothing()}")
        self.note(*self._records.notes())
