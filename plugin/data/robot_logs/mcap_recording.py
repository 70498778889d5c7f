"""Recordings as MCAP with ROS 2 messages, for Foxglove and PlotJuggler, and back without loss.

Every array of the recording is a topic `/mjrig/<robot>/<array>` with a row per message; joints
and setpoints are also written as sensor_msgs/JointState. Non-numeric data are a metadata record.
"""

import json
from collections.abc import Iterator, Mapping
from heapq import merge
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import let_go
from mjrig.core.errors import RecordingError
from mjrig.core.files.atomic_writes import replacing
from mjrig.core.files.decoding import decoding
from mjrig.data.recording.named_arrays import arrays_of, meta_of, recording_of
from mjrig.data.recording.recording import ActorRecording, Recording
from mjrig.data.robot_logs.cdr import CdrWriter, JointStateWriter
from mjrig.data.robot_logs.containers.decompression import package
from mjrig.data.robot_logs.containers.mcap_file import MAGIC, McapRecords
from mjrig.data.robot_logs.containers.message_definitions import definition_text

#: Types of arrays → their message and numpy's letters.
ARRAYS = {
    "f8": ("std_msgs/msg/Float64MultiArray", "float64"),
    "f4": ("std_msgs/msg/Float32MultiArray", "float32"),
    "i8": ("std_msgs/msg/Int64MultiArray", "int64"),
    "u1": ("std_msgs/msg/UInt8MultiArray", "uint8"),
}
_LAYOUT = (
    "\n" + "=" * 80 + "\nMSG: std_msgs/MultiArrayLayout\nMultiArrayDimension[] dim\n"
    "uint32 data_offset\n" + "=" * 80 + "\nMSG: std_msgs/MultiArrayDimension\nstring label\n"
    "uint32 size\nuint32 stride\n"
)


def array_definition(letter: str) -> str:
    """The definition of an array's message."""
    return f"MultiArrayLayout layout\n{ARRAYS[letter][1]}[] data\n{_LAYOUT}"


def array_message(values: npt.NDArray[np.generic]) -> bytes:
    """One row of numbers; its layout has no dimensions and no offset."""
    return CdrWriter().uint32(0).uint32(0).sequence(values).message()


def array_offset(letter: str) -> int:
    """Where the numbers of a message begin."""
    return len(array_message(np.zeros(1, letter))) - int(letter[1])


#: Name of the metadata record, and what topics of arrays begin with.
META, PREFIX = "mjrig_recording", "/mjrig/"
_JOINT_STATE = "sensor_msgs/msg/JointState"
#: Rows that are worked on at once, and messages after which memory is given back.
ROWS, LET_GO = 4096, 1 << 18


def write_mcap(recording: Recording, path: Path) -> None:
    """Write a recording.

    Raises:
        RecordingError: it cannot be written there.
        MissingExtraError: mcap is not installed.
    """
    writing = package("mcap.writer", "an MCAP file")
    arrays = arrays_of(recording)
    about = {n: [_letter(a), list(a.shape)] for n, a in arrays.items()}
    meta = {**meta_of(recording), "arrays": about}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as stream:
            writer = writing.Writer(stream, compression=writing.CompressionType.ZSTD)
            writer.start(profile="ros2", library="mjrig")
            _write(writer, recording, arrays)
            writer.add_metadata(META, {"json": json.dumps(meta, ensure_ascii=False)})
            writer.finish()
    except OSError as error:
        raise RecordingError(f"{path}: cannot be written: {error.strerror or error}") from error


def _letter(values: Any) -> str:
    """The kind of numbers that messages have."""
    kind = values.dtype.kind
    if values.dtype == np.uint8:
        return "u1"
    return "i8" if kind in "iub" else "f4" if values.dtype == np.float32 else "f8"


def _write(writer: Any, recording: Recording, arrays: Mapping[str, Any]) -> None:
    """All messages in the order of their times."""
    schemas: dict[str, int] = {}
    streams: list[Iterator[tuple[int, int, bytes]]] = []
    for name, values in arrays.items():
        letter = _letter(values)
        kind = ARRAYS[letter][0]
        channel = _channel(writer, schemas, f"{PREFIX}{name}", kind, array_definition(letter))
        streams.append(_rows(channel, _steps_of(recording, name, arrays), values, recording))
    for actor in recording.actors.values():
        for topic, messages in _viewed(recording, actor):
            text = definition_text("sensor_msgs/JointState") + _HEADER_TEXT
            channel = _channel(writer, schemas, topic, _JOINT_STATE, text)
            streams.append(_on(channel, messages))
    sequence: dict[int, int] = {}
    for number, (time, channel, data) in enumerate(_merged(streams)):
        if number % LET_GO == 0:
            let_go()
        sequence[channel] = sequence.get(channel, -1) + 1
        writer.add_message(
            channel_id=channel,
            log_time=time,
            publish_time=time,
            sequence=sequence[channel],
            data=data,
        )


_HEADER_TEXT = (
    "=" * 80 + "\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n"
    + "=" * 80 + "\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
)  # fmt: skip


def _channel(writer: Any, schemas: dict[str, int], topic: str, kind: str, text: str) -> int:
    if kind not in schemas:
        schemas[kind] = writer.register_schema(kind, "ros2msg", text.encode())
    return int(writer.register_channel(topic, "cdr", schemas[kind]))


def _on(channel: int, messages: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, int, bytes]]:
    return ((time, channel, data) for time, data in messages)


def _merged(streams: list[Iterator[tuple[int, int, bytes]]]) -> Iterator[tuple[int, int, bytes]]:
    """Messages of all topics by time; rows of one topic keep their order."""
    return merge(*streams, key=lambda entry: entry[0])


def _rows(
    channel: int, steps: Any, values: Any, recording: Recording
) -> Iterator[tuple[int, int, bytes]]:
    """The rows of an array, each at the time of its step; times never fall."""
    latest, letter = np.int64(-(2**63)), _letter(values)
    if letter == "u1":  # bytes have no rows: some thousand are one message
        first = round(float(steps[0]) * recording.timestep * 1e9) if len(steps) else 0
        yield from ((first, channel, array_message(values[part])) for part in _some(len(values)))
        return
    table = values if values.ndim else values.reshape(1, 1)
    for rows in _some(len(table)):
        own = np.ascontiguousarray(table[rows], dtype=f"<{letter}")
        times = np.round(steps[rows] * recording.timestep * 1e9).astype(np.int64)
        times = np.maximum.accumulate(np.maximum(times, latest))
        latest = times[-1]
        for time, row in zip(times.tolist(), own.reshape(len(own), -1), strict=True):
            yield time, channel, array_message(row)


def _some(count: int) -> Iterator[slice]:
    """Rows, some thousand at a time: as numbers of Python they take ten times the memory."""
    return (slice(k, min(k + ROWS, count)) for k in range(0, count, ROWS))


def _steps_of(recording: Recording, name: str, arrays: Mapping[str, Any]) -> Any:
    """The steps that an array's rows belong to."""
    rows = len(arrays[name]) if arrays[name].ndim else 1
    actor, _, part = name.partition("/")
    own = {"setpoint": "setpoint/step", "policy": "policy/step", "effort": "effort/step"}
    group = part.partition("/")[0]
    if part in ("raw_effort", "ctrl"):
        group = "effort"
    step = f"{actor}/{own.get(group, 'step')}" if actor in recording.actors else "states/step"
    steps = arrays.get(step)
    if steps is None or len(steps) != rows:
        steps = np.arange(rows)
    return steps


def _viewed(recording: Recording, actor: ActorRecording) -> Iterator[tuple[str, Any]]:
    """(topic, messages) that viewers show without knowing mjrig."""
    single = [j for j in actor.joints if j.kind in ("hinge", "slide")]
    if single:
        yield f"/{actor.name}/joint_states", _states(recording, actor, single)
    if actor.commands is not None and actor.actuators:
        yield f"/{actor.name}/joint_commands", _setpoints(recording, actor)


def _states(
    recording: Recording, actor: ActorRecording, joints: list[Any]
) -> Iterator[tuple[int, bytes]]:
    writer = JointStateWriter([j.name for j in joints])
    q = np.array([j.qpos.start for j in joints])
    v = np.array([j.dof.start for j in joints])
    columns = {name: k for k, name in enumerate(actor.driven)}
    places = [columns.get(j.name, -1) for j in joints]
    none = np.zeros(0)
    efforts = actor.efforts
    is_full = efforts is not None and min(places, default=-1) >= 0
    known = efforts.step if is_full and efforts is not None else np.zeros(0, np.int64)
    for rows in _some(len(actor.step)):
        steps, qpos = actor.step[rows], actor.qpos[rows][:, q]
        qvel = None if actor.qvel is None else actor.qvel[rows][:, v]
        at = np.searchsorted(known, steps)
        for k, step in enumerate(steps.tolist()):
            time = round(step * recording.timestep * 1e9)
            effort, row = none, int(at[k])
            if efforts is not None and row < len(known) and known[row] == step:
                effort = efforts.effort[row][places]
            speed = none if qvel is None else qvel[k]
            yield time, writer.message(time, (qpos[k], speed, effort))


def _setpoints(recording: Recording, actor: ActorRecording) -> Iterator[tuple[int, bytes]]:
    commands = actor.commands
    assert commands is not None  # the caller has checked
    names = [
        joint or actuator for joint, actuator in zip(actor.driven, actor.actuators, strict=True)
    ]
    writer = JointStateWriter(names)
    tables = commands.position, commands.velocity, commands.feedforward
    for rows in _some(len(commands.step)):
        own = [np.ascontiguousarray(table[rows]) for table in tables]
        for step, *parts in zip(commands.step[rows].tolist(), *own, strict=True):
            time = round(step * recording.timestep * 1e9)
            yield time, writer.message(time, parts)


# Reading ----------------------------------------------------------------------------------------


def read_mcap(path: Path, hints: Mapping[str, object]) -> Recording | None:
    """A recording written by `write_mcap`; None: another format.

    Raises:
        RecordingError: it is damaged.
    """
    del hints  # the file is self-contained
    if not path.is_file():
        return None
    with path.open("rb") as stream:
        if stream.read(len(MAGIC)) != MAGIC:
            return None
    records = McapRecords(path)
    if records.contents.library != "mjrig":
        return None
    rows = _rows_of_topics(records)
    if records.damage or records.cut or META not in records.contents.metadata:
        return None  # damaged: what is left is read as a log
    with decoding(path, META):
        facts = json.loads(records.contents.metadata[META]["json"])
        shapes = {str(name): (str(kind), list(shape)) for name, (kind, shape) in
                  facts.pop("arrays").items()}  # fmt: skip
    arrays: dict[str, Any] = {}
    for name, (kind, shape) in shapes.items():
        with decoding(path, name):
            start = array_offset(kind)
            content = b"".join(row[start:] for row in rows.get(f"{PREFIX}{name}", ()))
            arrays[name] = np.frombuffer(content, dtype=f"<{kind}").reshape(shape)
    return recording_of(path, "mcap", facts, arrays)


def _rows_of_topics(records: McapRecords) -> dict[str, list[bytes]]:
    """The messages of the arrays by topic, in the order they were written."""
    rows: dict[str, list[bytes]] = {}
    channels = records.contents.channels
    for number, _, _, data in records.messages():
        topic = channels[number].topic
        if topic.startswith(PREFIX):
            rows.setdefault(topic, []).append(data)
    return rows
