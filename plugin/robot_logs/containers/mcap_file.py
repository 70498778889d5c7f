"""MCAP files, finished, cut off or damaged."""

from collections.abc import Collection, Iterator
from pathlib import Path

from mjrig.errors import RecordingError
from mjrig.recording.integrity.limits import most_bytes
from mjrig.robot_logs.containers.container import LogFile, LogSamples, Wanted
from mjrig.robot_logs.containers.decoding import Channel, Raw, decoded
from mjrig.robot_logs.containers.mcap_records import McapChannel, McapRecords

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
