"""ROS 1 bags."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from mjrig.errors import RecordingError
from mjrig.names import how_many
from mjrig.robot_logs.containers.bag1_records import Bag1Records, DamagedBagError
from mjrig.robot_logs.containers.container import LogFile, LogSamples, Wanted
from mjrig.robot_logs.containers.decoding import Channel, Raw, decoded


class Bag1(LogFile):
    """A ROS 1 bag; one without its index, as after a crash, is refused."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "ROS 1 bag")
        self._channels: dict[str, Channel] = {}
        with self._opened() as bag:
            for known in bag.connections.values():
                kind = known.type if "/msg/" in known.type else known.type.replace("/", "/msg/", 1)
                new = Channel(known.topic, kind, "ros1", known.definition, "ros1msg")
                self._channels.setdefault(known.topic, new).count += known.count
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
