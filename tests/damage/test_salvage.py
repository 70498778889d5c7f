"""What is read of a damaged file, and what its notes name."""

import sqlite3
import struct
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.core.errors import MjrigError, PropertyError, RecordingError
from mjrig.core.files.decoding import decoding, reading, reason
from mjrig.data.recording.recording import Recording
from tests.plugin.data.robot_logs import simulated as sim
from tests.wording import matches, mentions, regex
from tests.worlds import refused

for name in ("h5py", "mcap", "rosbags", "pyarrow", "lz4", "zstandard"):
    pytest.importorskip(name)


@pytest.fixture(scope="module")
def run() -> sim.Run:
    return sim.simulated(1.0)


def rows(recording: Recording) -> int:
    (actor,) = recording.actors.values()
    return len(actor.step)


def noted(recording: Recording, *parts: str) -> bool:
    """Whether one note has all of these."""
    return any(all(part in note for part in parts) for note in recording.notes)


def packed_mcap(path: Path, run: sim.Run, compression: str) -> list[tuple[int, int]]:
    """A file of many chunks; begin and length of each."""
    module: Any = import_module("mcap.writer")
    store = sim.ros2()
    kind = "sensor_msgs/msg/JointState"
    with path.open("wb") as stream:
        writer = module.Writer(
            stream, chunk_size=4000, compression=getattr(module.CompressionType, compression)
        )
        writer.start()
        text = store.generate_msgdef(kind, ros_version=2)[0].encode()
        schema = writer.register_schema(kind, "ros2msg", text)
        topics = ("/joint_states", "/joint_commands")
        channels = {topic: writer.register_channel(topic, "cdr", schema) for topic in topics}
        for sent in sim.joint_messages(run, store):
            data = bytes(store.serialize_cdr(sent.content, sent.kind))
            writer.add_message(channels[sent.topic], sent.log, data, sent.log)
        writer.finish()
    content, at, chunks = path.read_bytes(), 8, []
    while at + 9 <= len(content) - 8:
        opcode, size = struct.unpack_from("<BQ", content, at)
        if opcode == 6:
            chunks.append((at, size))
        at += 9 + size
    return chunks


@pytest.mark.parametrize("compression", ["NONE", "LZ4", "ZSTD"])
def test_a_damaged_chunk_is_skipped_and_named(
    compression: str, run: sim.Run, tmp_path: Path
) -> None:
    path = tmp_path / "run.mcap"
    chunks = packed_mcap(path, run, compression)
    good = mjrig.read_recording(path)
    place, size = chunks[len(chunks) // 2]
    content = bytearray(path.read_bytes())
    middle = place + 9 + size // 2
    content[middle : middle + 40] = bytes(255 - b for b in content[middle : middle + 40])
    path.write_bytes(bytes(content))
    read = mjrig.read_recording(path)
    assert noted(read, f"the file is damaged at byte {place}", "the chunk of /joint_", "skipped")
    assert good.duration - 0.2 < read.duration <= good.duration


def test_a_message_that_does_not_fit_its_type_is_skipped_and_named(
    run: sim.Run, tmp_path: Path
) -> None:
    store = sim.ros2()
    path = sim.write_rosbag2(tmp_path / "bag", sim.joint_messages(run, store), store, "SQLITE3")
    good = mjrig.read_recording(path)
    with sqlite3.connect(path / "bag.db3") as database:
        database.execute("UPDATE messages SET data = substr(data, 1, 40) WHERE id % 50 = 7")
        (count,) = database.execute("SELECT COUNT(*) FROM messages WHERE id % 50 = 7").fetchone()
    database.close()
    read = mjrig.read_recording(path)
    assert rows(good) - count <= rows(read) < rows(good)
    lost = [note for note in read.notes if "cannot be decoded" in note]
    assert lost and all(note.startswith("/joint_") for note in lost)
    assert sum(int(note.split(": ")[1].split()[0]) for note in lost) == count
    assert all(mentions(note, "ends before its last …") for note in lost)


def test_a_damaged_chunk_of_a_ros1_bag_is_skipped(run: sim.Run, tmp_path: Path) -> None:
    writing, types = import_module("rosbags.rosbag1"), import_module("rosbags.typesys")
    store = types.get_typestore(types.Stores.ROS1_NOETIC)
    path = tmp_path / "run.bag"
    writer = writing.Writer(path)
    writer.set_compression(writer.CompressionFormat.LZ4)
    writer.chunk_threshold = 8000
    with writer:
        topics: dict[str, Any] = {}
        for sent in sim.joint_messages(run, store):
            if sent.topic not in topics:
                topics[sent.topic] = writer.add_connection(sent.topic, sent.kind, typestore=store)
            data = store.serialize_ros1(sent.content, sent.kind)
            writer.write(topics[sent.topic], sent.log, data)
    content = bytearray(path.read_bytes())
    frames = [k for k in range(len(content)) if content[k : k + 4] == b"\x04\x22\x4d\x18"]
    assert len(frames) > 5
    at = frames[len(frames) // 2]
    content[at : at + 30] = bytes(30)
    path.write_bytes(bytes(content))
    read = mjrig.read_recording(path)
    assert noted(read, "1 damaged chunk skipped, with", f"begins at byte {at}")


def test_an_array_of_objects_costs_a_log_that_array_only(run: sim.Run, tmp_path: Path) -> None:
    path = sim.write_npz(tmp_path / "table.npz", run)
    with np.load(path, allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    good = mjrig.read_recording(path)
    np.savez(path, allow_pickle=True, **arrays, extra=np.array([{"a": 1}], dtype=object))
    read = mjrig.read_recording(path)
    assert noted(read, "extra is skipped: it holds Python objects")
    (one,), (two,) = good.actors.values(), read.actors.values()
    np.testing.assert_array_equal(one.qpos, two.qpos)


def test_a_damaged_group_of_rows_is_skipped(run: sim.Run, tmp_path: Path) -> None:
    path = sim.write_parquet(tmp_path / "set", run) / "data" / "file.parquet"
    parquet = import_module("pyarrow.parquet")
    parquet.write_table(parquet.read_table(path), path, row_group_size=50, compression="zstd")
    about = parquet.read_metadata(path)
    content = bytearray(path.read_bytes())
    for k in range(about.num_columns):
        start = about.row_group(4).column(k).data_page_offset
        content[start : start + 30] = bytes(30)
    path.write_bytes(bytes(content))
    read = mjrig.read_recording(tmp_path / "set")
    count = about.num_row_groups
    assert noted(read, "file.parquet: ", f"1 of {count} groups of rows damaged", "group 4")


def test_a_few_damaged_rows_of_a_table_are_skipped(run: sim.Run, tmp_path: Path) -> None:
    path = sim.write_csv(tmp_path / "table.csv", run)
    lines = path.read_text().splitlines()
    lines[50] = lines[50].partition(",")[0]
    path.write_text("\n".join(lines))
    read = mjrig.read_recording(path)
    assert noted(read, "1 of 500 rows skipped: row 49 has 1 columns, the header 7")
    path.write_text(
        "\n".join(x.partition(",")[0] if k % 5 == 4 else x for k, x in enumerate(lines))
    )
    with pytest.raises(RecordingError, match=regex("table.csv: row 3 has 1 columns, the … 7")):
        mjrig.read_recording(path)


def test_a_heap_that_hdf5_reads_forever_is_rejected(tmp_path: Path) -> None:
    h5py = import_module("h5py")
    path = tmp_path / "a.hdf5"
    with h5py.File(path, "w") as file:
        file.create_group("data").attrs["env_args"] = "a text on the heap"
    content = bytearray(path.read_bytes())
    heap = content.find(b"GCOL")
    entry = heap + 16
    while struct.unpack_from("<H", content, entry)[0]:
        entry += 16 + -(-struct.unpack_from("<Q", content, entry + 8)[0] // 8) * 8
    struct.pack_into("<Q", content, entry + 8, 0)
    path.write_bytes(bytes(content))
    with refused(RecordingError, f"{path}: is damaged: the heap … {heap}"):
        mjrig.read_recording(path)


# The boundary -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (KeyError("a"), "'a' is missing"),
        (RecursionError("deep"), "it is nested too …"),
        (MemoryError(), "it declares more than …"),
        (EOFError(), "it ends too early …"),
        (ValueError("two\n  lines"), "two lines"),
        (ValueError("thrift: TProtocolException: Invalid data"), "thrift: Invalid data"),
        (RuntimeError("[ONNXRuntimeError] : 7 : INVALID : no graph"), "INVALID : no graph"),
        (RuntimeError("/src/core/a.h:17 static void f<A::B>::g() Overflow"), "Overflow"),
        (ValueError("x" * 5000), f"{'x' * 150}…{'x' * 150}"),
        (ValueError("a/" * 10**6), f"{'a/' * 75}…{'a/' * 75}"),  # 10^12 steps of a search
    ],
)
def test_reasons_are_without_classes_and_short(cause: Exception, text: str) -> None:
    assert matches(reason(cause), text)


def fail(cause: Exception) -> None:
    raise cause


@pytest.mark.parametrize("cause", [OverflowError("o"), struct.error("o"), AttributeError("o")])
def test_the_boundary_names_file_and_part(cause: Exception) -> None:
    with refused(RecordingError, "a.mcap: is damaged: /topic: o"), decoding("a.mcap", "/topic"):
        fail(cause)
    with (
        refused(PropertyError, "a.onnx: not a network: o"),
        decoding("a.onnx", problem="not a network", error=PropertyError),
    ):
        fail(cause)


@pytest.mark.parametrize(
    ("cause", "message"),
    [
        (AttributeError("o"), "f/a.npz: holds something that its …"),
        (RecordingError("no joints"), "f/a.npz: no joints"),
        (RecordingError("a.npz: no joints"), "a.npz: no joints"),
        (RecordingError("y" * 5000), f"f/a.npz: {'y' * 991}…{'y' * 1000}"),
        (OSError(5, "I/O error"), "f/a.npz: cannot be read: I/O error"),
    ],
)
def test_every_error_of_a_reader_names_the_file(cause: Exception, message: str) -> None:
    with pytest.raises(MjrigError) as info, reading(Path("f/a.npz"), "r"):
        fail(cause)
    assert matches(str(info.value).removesuffix("; --debug shows the traceback"), message)
