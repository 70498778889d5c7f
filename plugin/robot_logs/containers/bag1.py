"""ROS 1 bags."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from mjrig.errors import RecordingError
from mjrig.robot_logs.containers.container import LogFile, LogSamples, Wanted
from mjrig.robot_logs.containers.decoding import Channel, Raw, decoded
from mjrig.robot_logs.containers.mcap_file import package

MAGIC = b"#ROSBAG V2.0\n"


class Bag1(LogFile):
    """A ROS 1 bag; one without its index, as after a crash, is refused."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "ROS 1 bag")
        self._rosbag1 = package("rosbags.rosbag1", "a ROS 1 bag")
        self._channels: dict[str, Channel] = {}
        with self._opened() as bag:
            for connection in bag.connections:
                known = self._channels.get(connection.topic)
                if known is None:
                    known = Channel(
                        connection.topic,
                        connection.msgtype,
                        "ros1",
                        str(connection.msgdef.data),
                        "ros1msg",
                    )
                    self._channels[connection.topic] = known
                known.count += connection.msgcount
        self.topics = tuple(channel.topic() for channel in self._channels.values())

    def _opened(self) -> Any:
        bag = self._rosbag1.Reader(self.path)
        try:
            bag.open()
        except Exception as error:
            raise RecordingError(
                f"{self.path}: is cut off or damaged: {error}; `rosbag reindex` can repair the "
                "index of a bag whose recorder was killed"
            ) from error
        return _closing(bag)

    def read(self, topics: Collection[str], wanted: Wanted) -> Iterator[LogSamples]:
        """The numbers that are wanted of some topics."""
        channels = {name: self._channels[name] for name in topics}
        return decoded(self._raw(topics), channels, wanted)

    def _raw(self, topics: Collection[str]) -> Iterator[Raw]:
        with self._opened() as bag:
            chosen = [c for c in bag.connections if c.topic in topics]
            try:
                for connection, time, data in bag.messages(chosen):
                    yield connection.topic, time, time, bytes(data)
            except self._rosbag1.ReaderError as error:
                raise RecordingError(f"{self.path}: is cut off or damaged: {error}") from error


class _closing:
    """Closes a bag that was opened."""

    def __init__(self, bag: Any) -> None:
        self._bag = bag

    def __enter__(self) -> Any:
        return self._bag

    def __exit__(self, *_: object) -> None:
        self._bag.close()
