"""ROS 1 bags: every message of every topic, in order, as another reader gives them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from mjrig.core.errors import RecordingError
from mjrig.data.robot_logs.containers.ros1_bag import Bag1, Bag1Records

rosbag1 = pytest.importorskip("rosbags.rosbag1")
typesys = pytest.importorskip("rosbags.typesys")
KIND = "std_msgs/msg/Float64"
TOPICS = ("/a", "/b//c", "/d")
FORMATS = (None, "LZ4", "BZ2")
Sent = Sequence[tuple[str, int, float]]


def sent(rng: np.random.Generator, count: int) -> Sent:
    """Messages that come in any order of their stamps, some at once."""
    stamps = 10**18 + rng.integers(0, 5 * 10**9, count)
    return [(TOPICS[k % 3], int(stamp), float(k)) for k, stamp in enumerate(stamps)]


def written(path: Path, entries: Sent, packed: str | None, chunk: int) -> Path:
    """A bag by another program, with chunks of about `chunk` bytes."""
    store = typesys.get_typestore(typesys.Stores.ROS1_NOETIC)
    writer = rosbag1.Writer(path)
    if packed is not None:
        writer.set_compression(getattr(rosbag1.Writer.CompressionFormat, packed))
    writer.chunk_threshold = chunk
    with writer:
        own = {t: writer.add_connection(t, KIND, typestore=store) for t in TOPICS}
        own["/a"] = [own["/a"], writer.add_connection("/a", KIND, typestore=store, callerid="/two")]
        for k, (topic, stamp, value) in enumerate(entries):
            connection = own[topic][k % 2] if topic == "/a" else own[topic]
            message = store.types[KIND](value)
            writer.write(connection, stamp, store.serialize_ros1(message, KIND))
    return path


@pytest.mark.parametrize("packed", FORMATS)
@pytest.mark.parametrize("seed", range(3))
def test_every_message_as_another_reader_gives_it(
    tmp_path: Path, packed: str | None, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    entries = sent(rng, int(rng.integers(1, 400)))
    path = written(tmp_path / "run.bag", entries, packed, int(rng.integers(100, 5000)))
    wanted = set(rng.choice(["/a", "/b/c", "/d"], int(rng.integers(1, 4)), replace=False).tolist())
    with rosbag1.Reader(path) as reader:
        chosen = [c for c in reader.connections if c.topic in wanted]
        theirs = [(c.topic, t, bytes(d)) for c, t, d in reader.messages(chosen)] if chosen else []
        counts = {c.topic: 0 for c in reader.connections}
        for c in reader.connections:
            counts[c.topic] += c.msgcount
    bag = Bag1(path)
    assert {t.name: t.count for t in bag.topics} == counts
    assert {t.type for t in bag.topics} == {"std_msgs/Float64"}
    ours = [(name, time, data) for name, time, _, data in bag._raw(wanted)]
    assert ours == theirs


@pytest.mark.parametrize("packed", FORMATS)
def test_a_cut_or_changed_bag_is_refused_or_read_and_nothing_else(
    tmp_path: Path, packed: str | None
) -> None:
    rng = np.random.default_rng(5)
    path = written(tmp_path / "run.bag", sent(rng, 60), packed, 600)
    whole = path.read_bytes()
    refused = 0
    for trial in range(200):
        data = bytearray(whole[: rng.integers(13, len(whole))] if trial % 2 else whole)
        if trial % 2 == 0:
            data[rng.integers(0, len(data))] ^= 1 << int(rng.integers(0, 8))
        path.write_bytes(bytes(data))
        try:
            for _ in Bag1(path)._raw(["/a", "/d"]):
                pass
        except RecordingError as error:
            refused += 1
            assert str(path) in str(error)
    assert refused > 100


def test_a_chunk_unpacks_to_no_more_than_it_says(tmp_path: Path) -> None:
    path = written(tmp_path / "run.bag", sent(np.random.default_rng(0), 50), "BZ2", 10**6)
    with path.open("rb") as stream:
        records = Bag1Records(stream)
        (chunk,) = records._chunks
        assert len(records._content_of(0)) == chunk.size
