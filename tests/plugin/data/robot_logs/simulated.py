"""A robot simulated with bare MuJoCo, and logs of it as robots and recorders write them."""

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from mcap.writer import Writer as McapWriter
from rosbags import rosbag1, rosbag2
from rosbags.typesys import Stores, get_typestore

EPOCH = 1_760_000_000_000_000_000
KP, KV, DELAY, TIMESTEP = 31.0, 1.5, 0.006, 0.001
MODEL = """<mujoco><option timestep="0.001"/><worldbody>
<body><joint name="shoulder" axis="0 1 0" damping="0.1" armature="0.02"/>
<geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="1"/>
<body pos="0.3 0 0"><joint name="wrist" axis="0 1 0" damping="0.05" armature="0.01"/>
<geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.02" mass="0.4"/></body></body></worldbody>
<actuator><motor name="shoulder" joint="shoulder"/><motor name="wrist" joint="wrist"/></actuator>
</mujoco>"""
NAMES = ("shoulder", "wrist")
SCENE = """mjrig: 1
actors:
- name: arm
  model: arm.xml
  components:
  - {type: PDController, kp: 40, kv: 2}
"""


@dataclass(frozen=True)
class Run:
    """States (n, 2) every 2 ms, commands (m, 2) about every 10 ms, at their times [s]."""

    time: Any
    q: Any
    dq: Any
    tau: Any
    command_time: Any
    command: Any
    command_velocity: Any = None


def simulated(seconds: float = 3.0, arm: str = MODEL) -> Run:
    """A chirp; commands act DELAY after they are sent, gains are KP and KV."""
    model = mujoco.MjModel.from_xml_string(arm)
    data = mujoco.MjData(model)
    sent = np.arange(0.0, seconds, 0.01)
    sent[1:] += np.random.default_rng(1).uniform(-0.002, 0.002, len(sent) - 1)
    phase = 2 * np.pi * (0.4 * sent + 0.6 * sent**2)
    command = np.stack([0.4 * np.sin(phase), 0.5 * np.sin(1.3 * phase)], axis=1)
    rows = []
    for k in range(round(seconds / TIMESTEP)):
        held = np.searchsorted(sent + DELAY, k * TIMESTEP + 1e-9, side="right") - 1
        goal = command[max(int(held), 0)]
        tau = KP * (goal - data.qpos) - KV * data.qvel
        if k % 2 == 0:
            rows.append([k * TIMESTEP, *data.qpos, *data.qvel, *tau])
        data.ctrl[:] = tau
        mujoco.mj_step(model, data)
    table = np.array(rows)
    return Run(table[:, 0], table[:, 1:3], table[:, 3:5], table[:, 5:7], sent, command)


def nanoseconds(seconds: Any) -> Any:
    """Since 1970."""
    return EPOCH + np.round(np.asarray(seconds) * 1e9).astype(np.int64)


@dataclass(frozen=True)
class Sent:
    """One message: topic, type, recorder's and sender's stamp, and its content."""

    topic: str
    kind: str
    log: int
    content: Any


def joint_messages(
    run: Run,
    store: Any,
    *,
    ahead: float = 0.0,
    latency: Callable[[int], Any] | None = None,
    keep: Sequence[int] | None = None,
) -> list[Sent]:
    """/joint_states with the wrist first, /joint_commands; the robot's clock is `ahead` [s]."""
    kind = "sensor_msgs/msg/JointState"
    late = np.zeros(len(run.time)) if latency is None else latency(len(run.time))
    found = []
    rows = range(len(run.time)) if keep is None else keep
    for k in rows:
        header = _header(store, int(nanoseconds(run.time[k] + ahead)))
        values = [np.ascontiguousarray(a[k][::-1]) for a in (run.q, run.dq, run.tau)]
        content = store.types[kind](header, list(NAMES[::-1]), *values)
        found.append(Sent("/joint_states", kind, int(nanoseconds(run.time[k] + late[k])), content))
    none = np.zeros(0)
    for k, (t, goal) in enumerate(zip(run.command_time, run.command, strict=True)):
        stamp = int(nanoseconds(t))
        speed = none if run.command_velocity is None else run.command_velocity[k]
        content = store.types[kind](_header(store, stamp), list(NAMES), goal, speed, none)
        found.append(Sent("/joint_commands", kind, stamp, content))
    return sorted(found, key=lambda sent: sent.log)


def _header(store: Any, stamp: int) -> Any:
    sec, rest = divmod(stamp, 10**9)
    time = store.types["builtin_interfaces/msg/Time"](sec, rest)
    kind = store.types["std_msgs/msg/Header"]
    fields = {"stamp": time, "frame_id": "base"}
    if "seq" in kind.__dataclass_fields__:
        fields = {"seq": 0, **fields}
    return kind(**fields)


def ros2() -> Any:
    """Types of ROS 2."""
    return get_typestore(Stores.ROS2_HUMBLE)


def write_rosbag2(path: Path, messages: Sequence[Sent], store: Any, plugin: str) -> Path:
    """A rosbag2 folder; plugin: SQLITE3 or MCAP."""
    storage = getattr(rosbag2.StoragePlugin, plugin)
    with rosbag2.Writer(path, version=9, storage_plugin=storage) as writer:
        known: dict[str, Any] = {}
        for sent in messages:
            if sent.topic not in known:
                known[sent.topic] = writer.add_connection(sent.topic, sent.kind, typestore=store)
            data = store.serialize_cdr(sent.content, sent.kind)
            writer.write(known[sent.topic], sent.log, data)
    return path


def write_bag1(path: Path, run: Run) -> Path:
    """A ROS 1 bag."""
    store = get_typestore(Stores.ROS1_NOETIC)
    with rosbag1.Writer(path) as writer:
        known: dict[str, Any] = {}
        for sent in joint_messages(run, store):
            if sent.topic not in known:
                known[sent.topic] = writer.add_connection(sent.topic, sent.kind, typestore=store)
            data = store.serialize_ros1(sent.content, sent.kind)
            writer.write(known[sent.topic], sent.log, data)
    return path


def write_json_mcap(path: Path, run: Run) -> Path:
    """An MCAP file with messages in JSON."""
    with path.open("wb") as stream:
        writer = McapWriter(stream)
        writer.start()
        schema = writer.register_schema("JointState", "jsonschema", b"{}")
        for topic, rows in _json_rows(run).items():
            channel = writer.register_channel(topic, "json", schema)
            for time, row in rows:
                stamp = int(nanoseconds(time))
                data = json.dumps(row).encode()
                writer.add_message(channel, stamp, data, stamp)
        writer.finish()  # type: ignore[no-untyped-call]
    return path


def _json_rows(run: Run) -> dict[str, list[tuple[float, dict[str, Any]]]]:
    states = [
        (t, {"name": NAMES, "position": q.tolist(), "velocity": v.tolist(), "effort": e.tolist()})
        for t, q, v, e in zip(run.time, run.q, run.dq, run.tau, strict=True)
    ]
    commands = [
        (t, {"name": NAMES, "position": c.tolist()})
        for t, c in zip(run.command_time, run.command, strict=True)
    ]
    return {"/joint_states": states, "/joint_commands": commands}


def held(run: Run) -> Any:
    """The command at each state."""
    rows = np.searchsorted(run.command_time, run.time + 1e-9, side="right") - 1
    return run.command[rows]


def write_csv(path: Path, run: Run) -> Path:
    """A table in degrees and microseconds, with a comment before its header."""
    columns: dict[str, Any] = {"time_us": np.round(run.time * 1e6).astype(int) + 5_000_000}
    for k, name in enumerate(NAMES):
        columns[f"pos_{name}_deg"] = np.degrees(run.q[:, k])
        columns[f"tau_{name}"] = run.tau[:, k]
        columns[f"cmd_{name}_deg"] = np.degrees(held(run)[:, k])
    with path.open("w", newline="") as stream:
        stream.write("# my logger 1.0\n")
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def write_npz(path: Path, run: Run) -> Path:
    """Arrays with a list of names, in another order."""
    order = [1, 0]
    np.savez(
        path,
        t=run.time,
        dof_pos=run.q[:, order],
        dof_vel=run.dq[:, order],
        dof_torque=run.tau[:, order],
        dof_pos_target=held(run)[:, order],
        dof_names=np.array([NAMES[k] for k in order]),
    )
    return path


def write_parquet(path: Path, run: Run) -> Path:
    """A data set with one episode, in the layout of LeRobot."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (path / "data").mkdir(parents=True)
    (path / "meta").mkdir()
    names = [f"{name}.pos" for name in NAMES]
    features = {key: {"names": names} for key in ("observation.state", "action")}
    (path / "meta" / "info.json").write_text(json.dumps({"fps": 500, "features": features}))
    columns = {
        "observation.state": list(run.q),
        "action": list(held(run)),
        "timestamp": run.time,
        "episode_index": np.zeros(len(run.time), dtype=np.int64),
    }
    pq.write_table(pa.table(columns), path / "data" / "file.parquet")
    return path


def all_logs(folder: Path, run: Run) -> Iterator[Path]:
    """The same run in every container."""
    store = ros2()
    messages = joint_messages(run, store)
    yield write_rosbag2(folder / "sqlite", messages, store, "SQLITE3")
    yield write_rosbag2(folder / "mcap", messages, store, "MCAP")
    yield folder / "mcap" / "mcap.mcap"
    yield folder / "sqlite" / "sqlite.db3"
    yield write_bag1(folder / "run.bag", run)
    yield write_json_mcap(folder / "json.mcap", run)
    yield write_csv(folder / "table.csv", run)
    yield write_npz(folder / "table.npz", run)
    yield write_parquet(folder / "lerobot", run)


def filled(store: Any, kind: str) -> Any:
    """A message with zeros everywhere."""
    values: dict[str, Any] = {}
    sizes = {"uint8": np.uint8, "int8": np.int8, "uint16": np.uint16, "int16": np.int16,
             "uint32": np.uint32, "int32": np.int32, "float32": np.float32}  # fmt: skip
    for name, (node, what) in store.fielddefs[kind][1]:
        if node.name == "BASE":
            values[name] = 0.0 if what[0].startswith("float") else 0
        elif node.name == "NAME":
            values[name] = filled(store, what)
        else:
            (inner, type_), count = what
            if inner.name == "BASE":
                values[name] = np.zeros(count, dtype=sizes[type_[0]])
            else:
                values[name] = [filled(store, type_) for _ in range(count)]
    return store.types[kind](**values)
