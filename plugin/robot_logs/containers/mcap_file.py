"""MCAP files, finished or cut off."""

import struct
from collections.abc import Collection, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from mjrig.errors import MissingExtraError, RecordingError
from mjrig.robot_logs.containers.container import LogFile, LogSamples, Wanted
from mjrig.robot_logs.containers.decoding import Channel, Raw, decoded
from mjrig.robot_logs.containers.mcap_cut import Cut, UpToCut, cut_of


def package(name: str, what: str) -> Any:
    """A package of the extra `logs`, imported when it is needed.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(what, "logs", error) from error


class McapFile(LogFile):
    """An MCAP file; of one that was cut off, everything before the cut is read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "MCAP")
        self._reader = package("mcap.reader", "an MCAP file")
        self._errors = package("mcap.exceptions", "an MCAP file").McapError
        self._cut: Cut | None = None
        self._channels = self._known()
        self.topics = tuple(channel.topic() for channel in self._channels.values())

    def read(self, topics: Collection[str], wanted: Wanted) -> Iterator[LogSamples]:
        """The numbers that are wanted of some topics."""
        channels = {name: self._channels[name] for name in topics}
        raw = (entry for entry in self._raw(set(topics)) if entry[0] in channels)
        return decoded(raw, channels, wanted)

    def _known(self) -> dict[str, Channel]:
        with self.path.open("rb") as stream:
            try:
                summary = self._reader.make_reader(stream).get_summary()
            except (self._errors, EOFError, ValueError, OSError, struct.error):
                summary = None
        if summary is None or summary.statistics is None:
            self._cut = cut_of(self.path)
            return self._scanned(self._cut)
        counts = summary.statistics.channel_message_counts
        found: dict[str, Channel] = {}
        for number, channel in summary.channels.items():
            schema = summary.schemas.get(channel.schema_id)
            self._add(found, channel, schema, counts.get(number, 0))
        return found

    def _scanned(self, cut: Cut) -> dict[str, Channel]:
        found: dict[str, Channel] = {}
        for schema, channel, _ in self._scan(cut):
            self._add(found, channel, schema, 1)
        if not found:
            raise RecordingError(f"{self.path}: {cut.said()}")
        if not cut.finished:
            self.notes.append(
                "the file was cut off, as by a recorder that was killed: it is read up to the cut"
            )
        return found

    def _scan(self, cut: Cut) -> Iterator[Any]:
        """All messages in the order of the file, up to the first that cannot be read."""
        with self.path.open("rb") as stream:
            left = UpToCut(stream, cut)
            messages = self._reader.NonSeekingReader(left).iter_messages(log_time_order=False)
            while True:
                try:
                    yield next(messages)
                except StopIteration:
                    return
                except Exception:  # whatever the reader meets behind the cut
                    return

    @staticmethod
    def _add(found: dict[str, Channel], channel: Any, schema: Any, count: int) -> None:
        known = found.get(channel.topic)
        if known is None:
            found[channel.topic] = known = Channel(
                channel.topic,
                schema.name if schema is not None else channel.message_encoding,
                channel.message_encoding,
                schema.data.decode("utf-8", "replace") if schema is not None else "",
                schema.encoding if schema is not None else "",
            )
        known.count += count

    def _raw(self, topics: set[str]) -> Iterator[Raw]:
        if self._cut is not None:
            for _, channel, message in self._scan(self._cut):
                if channel.topic in topics:
                    yield channel.topic, message.log_time, message.publish_time, message.data
            return
        with self.path.open("rb") as stream:
            messages = self._reader.make_reader(stream).iter_messages(topics=sorted(topics))
            try:
                for _, channel, message in messages:
                    yield channel.topic, message.log_time, message.publish_time, message.data
            except (self._errors, EOFError, ValueError) as error:
                raise RecordingError(f"{self.path}: is damaged: {error}") from error
