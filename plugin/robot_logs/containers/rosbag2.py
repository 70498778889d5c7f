"""rosbag2: a folder with metadata.yaml beside SQLite or MCAP files, or such a file alone."""

import sqlite3
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import yaml

from mjrig.errors import RecordingError
from mjrig.names import listed
from mjrig.robot_logs.containers.container import LogFile, LogSamples, Topic, Wanted
from mjrig.robot_logs.containers.decoding import Channel, Raw, decoded
from mjrig.robot_logs.containers.mcap_file import McapFile, package

SQLITE = b"SQLite format 3\0"
METADATA = "metadata.yaml"


class SqliteBag(LogFile):
    """One `.db3` file; `unpacked`: turns the content of a compressed message into the message."""

    def __init__(self, path: Path, unpacked: Callable[[bytes], bytes] | None = None) -> None:
        super().__init__(path, "rosbag2 (SQLite)")
        self._unpacked = unpacked
        self._channels: dict[int, Channel] = {}
        with self._opened() as database:
            self._channels = self._known(database)
        self.topics = tuple(channel.topic() for channel in self._channels.values())

    def _opened(self) -> "closing[sqlite3.Connection]":
        return closing(sqlite3.connect(f"file:{_quoted(self.path)}?mode=ro&immutable=1", uri=True))

    def _known(self, database: sqlite3.Connection) -> dict[int, Channel]:
        try:
            tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
            if not {"topics", "messages"} <= tables:
                raise RecordingError(
                    f"{self.path}: is an SQLite file, and no bag: it has no tables topics, messages"
                )
            texts = {}
            if "message_definitions" in tables:
                query = "SELECT topic_type, encoding, encoded_message_definition"
                rows = database.execute(f"{query} FROM message_definitions")
                texts = {row[0]: (row[1], row[2]) for row in rows}
            counts = dict(
                database.execute("SELECT topic_id, COUNT(*) FROM messages GROUP BY topic_id")
            )
            topics = database.execute("SELECT id, name, type, serialization_format FROM topics")
            found = {}
            for number, name, kind, encoding in topics:
                schema_encoding, schema = texts.get(kind, ("", ""))
                count = int(counts.get(number, 0))
                found[number] = Channel(name, kind, encoding, schema, schema_encoding, count)
        except sqlite3.Error as error:
            raise RecordingError(f"{self.path}: is cut off or damaged: {error}") from error
        return found

    def read(self, topics: Collection[str], wanted: Wanted) -> Iterator[LogSamples]:
        """The numbers that are wanted of some topics."""
        channels = {c.name: c for c in self._channels.values() if c.name in topics}
        return decoded(self._raw(topics), channels, wanted)

    def _raw(self, topics: Collection[str]) -> Iterator[Raw]:
        names = {n: c.name for n, c in self._channels.items() if c.name in topics}
        marks = ",".join("?" * len(names))
        query = f"SELECT topic_id, timestamp, data FROM messages WHERE topic_id IN ({marks})"
        try:
            with self._opened() as database:
                for number, time, data in database.execute(f"{query} ORDER BY id", [*names]):
                    content = data if self._unpacked is None else self._unpacked(data)
                    yield names[number], time, time, content
        except sqlite3.Error as error:
            raise RecordingError(f"{self.path}: is cut off or damaged: {error}") from error


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
            self.notes += file.notes

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
        return (
            SqliteBag(path, _message if mode == "message" else None)
            if is_sqlite
            else McapFile(path)
        )

    def _whole(self, path: Path) -> Path:
        """The unpacked file, in a temporary folder as long as this lives."""
        folder = self._held.enter_context(tempfile.TemporaryDirectory(prefix="mjrig-log-"))
        target = Path(folder, path.stem)
        zstandard = package("zstandard", "a compressed bag")
        try:
            with path.open("rb") as source, target.open("wb") as sink:
                zstandard.ZstdDecompressor().copy_stream(source, sink)
        except zstandard.ZstdError as error:
            raise RecordingError(f"{path}: is cut off or damaged: {error}") from error
        return target

    def read(self, topics: Collection[str], wanted: Wanted) -> Iterator[LogSamples]:
        """The numbers that are wanted of some topics."""
        for file in self._files:
            here = {topic.name for topic in file.topics} & set(topics)
            if here:
                yield from file.read(here, wanted)


def _message(data: bytes) -> bytes:
    return bytes(package("zstandard", "a compressed bag").ZstdDecompressor().decompress(data))


def _metadata(path: Path) -> dict[str, Any]:
    try:
        about = yaml.safe_load((path / METADATA).read_text(encoding="utf-8"))
        found = about["rosbag2_bagfile_information"]
    except (OSError, yaml.YAMLError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise RecordingError(f"{path / METADATA}: is not that of a bag: {error}") from error
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
