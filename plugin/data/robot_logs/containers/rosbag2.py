"""rosbag2: a folder with metadata.yaml beside SQLite or MCAP files, or such a file alone."""

import sqlite3
import tempfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import yaml

from mjrig.core.errors import RecordingError
from mjrig.core.files.decoding import decoding
from mjrig.core.files.paths import read_limited
from mjrig.core.names import how_many, listed
from mjrig.data.recording.file_limits import most_bytes
from mjrig.data.robot_logs.containers.container import LogFile, LogSamples, Topic, Wanted
from mjrig.data.robot_logs.containers.decompression import UnpackingError, unpack_file, unpacked
from mjrig.data.robot_logs.containers.mcap_file import McapFile
from mjrig.data.robot_logs.containers.message_decoding import Channel, Raw, decoded

SQLITE = b"SQLite format 3\0"
METADATA = "metadata.yaml"
CUT = "is cut off or damaged"
#: Instructions of SQLite between two looks at their number, at least so many looks, and
#: instructions that a byte of a file is worth: reading a message takes about one.
_TURN, _MIN_TURNS, _TURNS_PER_BYTE = 100_000, 200, 20
#: Bytes of the metadata; a bag of a day of files has less.
_MAX_METADATA = 16_000_000


class SqliteBag(LogFile):
    """One `.db3` file; `is_packed`: each message is compressed."""

    def __init__(self, path: Path, *, is_packed: bool = False) -> None:
        super().__init__(path, "rosbag2 (SQLite)")
        self._is_packed = is_packed
        self._channels: dict[int, Channel] = {}
        with decoding(path, problem=CUT), self._opened() as database:
            self._channels = self._known(database)
        self.topics = tuple(channel.topic() for channel in self._channels.values())

    def _opened(self) -> "closing[sqlite3.Connection]":
        address = f"file:{_quoted(self.path)}?mode=ro&immutable=1"
        database = sqlite3.connect(address, uri=True)
        size = self.path.stat().st_size
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(most_bytes(size), 2**31 - 1))
        # A table may be computed by its file, without end.
        turns = iter(range(_MIN_TURNS + size * _TURNS_PER_BYTE // _TURN))
        database.set_progress_handler(lambda: next(turns, None) is None, _TURN)
        return closing(database)

    def _known(self, database: sqlite3.Connection) -> dict[int, Channel]:
        with decoding(self.path, problem=CUT):
            names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = {row[0] for row in names}
            if not {"topics", "messages"} <= tables:
                raise RecordingError(
                    f"{self.path}: is an SQLite file, and no bag: it has no tables topics, messages"
                )
            texts = {}
            if "message_definitions" in tables:
                query = "SELECT topic_type, encoding, encoded_message_definition"
                rows = database.execute(f"{query} FROM message_definitions")
                texts = {str(row[0]): (str(row[1]), str(row[2])) for row in rows}
            counts = dict(
                database.execute("SELECT topic_id, COUNT(*) FROM messages GROUP BY topic_id")
            )
            topics = database.execute("SELECT id, name, type, serialization_format FROM topics")
            channels = {}
            for number, name, kind, encoding in topics:
                schema_encoding, schema = texts.get(str(kind), ("", ""))
                count = int(counts.get(number, 0))
                channels[number] = Channel(
                    str(name), str(kind), str(encoding), schema, schema_encoding, count
                )
        return channels

    def read(self, topics: Collection[str], wanted: Wanted) -> Iterator[LogSamples]:
        """The numbers that are wanted of some topics."""
        channels = {c.name: c for c in self._channels.values() if c.name in topics}
        return decoded(self, self._raw(topics), channels, wanted)

    def _raw(self, topics: Collection[str]) -> Iterator[Raw]:
        names = {n: c.name for n, c in self._channels.items() if c.name in topics}
        marks = ",".join("?" * len(names))
        query = f"SELECT id, topic_id, timestamp, data FROM messages WHERE topic_id IN ({marks})"
        bad: dict[str, str] = {}
        count = 0
        with decoding(self.path, problem=CUT), self._opened() as database:
            rows = database.execute(f"{query} ORDER BY id", [*names])
            while True:
                try:
                    row = next(rows, None)
                except sqlite3.Error as error:  # rows before the damage are intact
                    if not count:
                        raise
                    self.note(f"the file is damaged behind message {count}: {error}")
                    break
                if row is None:
                    break
                count += 1
                number, topic, time, data = row
                try:
                    yield names[topic], *self._content(time, data)
                except (UnpackingError, ValueError) as error:
                    bad[f"{names[topic]}: message {number}"] = str(error)
        if bad:
            where, why = next(iter(bad.items()))
            self.note(f"{how_many(len(bad), 'message')} skipped; {where} {why}")

    def _content(self, time: object, data: object) -> tuple[int, int, bytes]:
        """Stamp, twice, and content of a message.

        Raises:
            ValueError: a column holds something else.
        """
        if not isinstance(time, int) or not isinstance(data, bytes):
            raise ValueError(f"has {type(time).__name__} as stamp, {type(data).__name__} as data")
        limit = most_bytes(self.path.stat().st_size)
        content = unpacked("zstd", data, limit) if self._is_packed else data
        return time, time, content


def _quoted(path: Path) -> str:
    return str(path.resolve()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


class BagFolder(LogFile):
    """A rosbag2 folder: its files one after the other."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "rosbag2")
        about = _metadata(path)
        self._held = ExitStack()
        self._files: list[LogFile] = []
        for name in about.get("relative_file_paths", []):
            self._files.append(self._opened(path / str(name), about))
        if not self._files:
            raise RecordingError(f"{path}: its {METADATA} names no files")
        self.kind = f"rosbag2 ({self._files[0].kind.removeprefix('rosbag2 (').rstrip(')')})"
        self.topics = _joined(self._files)
        for file in self._files:
            self.note(*file.notes)
            file.notes = self.notes  # those of later reads are ours too

    def _opened(self, path: Path, about: dict[str, Any]) -> LogFile:
        if path.parent.resolve() != self.path.resolve():
            raise RecordingError(f"{self.path / METADATA}: names a file outside the folder: {path}")
        mode = str(about.get("compression_mode", "")).lower()
        if not path.is_file():
            raise RecordingError(f"{path}: is named in {METADATA}, but is not there")
        if mode == "file" or path.suffix == ".zstd":
            path = self._whole(path)
        with path.open("rb") as stream:
            is_sqlite = stream.read(len(SQLITE)) == SQLITE
        return SqliteBag(path, is_packed=mode == "message") if is_sqlite else McapFile(path)

    def _whole(self, path: Path) -> Path:
        """The unpacked file, in a temporary folder as long as this lives."""
        folder = self._held.enter_context(tempfile.TemporaryDirectory(prefix="mjrig-log-"))
        target = Path(folder, path.stem)
        limit = most_bytes(path.stat().st_size)
        with (
            decoding(path, problem=CUT),
            path.open("rb") as source,
            target.open("wb") as sink,
        ):
            unpack_file(source, sink, limit)
        return target

    def read(self, topics: Collection[str], wanted: Wanted) -> Iterator[LogSamples]:
        """The numbers that are wanted of some topics."""
        for file in self._files:
            here = {topic.name for topic in file.topics} & set(topics)
            if here:
                yield from file.read(here, wanted)


def _metadata(path: Path) -> dict[str, Any]:
    with decoding(path / METADATA, problem="is not that of a bag"):
        text = read_limited(path / METADATA, _MAX_METADATA).decode("utf-8")
        about = yaml.safe_load(text)
        found = about["rosbag2_bagfile_information"]
    if not isinstance(found, dict) or not isinstance(found.get("relative_file_paths", []), list):
        raise RecordingError(f"{path / METADATA}: is not that of a bag: it lists no files")
    return found


def _joined(files: list[LogFile]) -> tuple[Topic, ...]:
    found: dict[str, Topic] = {}
    for topic in (topic for file in files for topic in file.topics):
        known = found.get(topic.name)
        if known is not None and known.type != topic.type:
            both = listed([known.type, topic.type])
            raise RecordingError(f"{topic.name}: the bag's files give it different types: {both}")
        count = topic.count + (known.count if known else 0)
        found[topic.name] = Topic(topic.name, topic.type, topic.encoding, count, topic.problem)
    return tuple(found.values())
