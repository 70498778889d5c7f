"""Memory and CPU time of reading large logs of robots, each command in a process of its own.

The logs are made here and removed afterwards: twelve pendulums that follow sines, their joint
states at 500 Hz, commands at 100 Hz and nothing else, so that a command has to keep as much as
possible of what it reads (`--pictures 0.9`: nine tenths of the bytes are pictures that nobody
wants). They are written as MCAP, as rosbag2 with SQLite, as ROS 1 bag and as tables (CSV, Parquet,
npz), until each has the size asked for.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

EPOCH = 1_760_000_000_000_000_000
#: What each command may need at most [MB].
BAR = 500.0
#: Bytes of a picture.
PICTURE = 1 << 17
NAMES = [f"joint_{k:02}" for k in range(12)]
JOINT_STATE, IMAGE = "sensor_msgs/msg/JointState", "sensor_msgs/msg/CompressedImage"
TOPICS = {"/joint_states": JOINT_STATE, "/joint_commands": JOINT_STATE, "/camera": IMAGE}
KP, KV, INERTIA = 30.0, 1.0, 0.05
SCENE = """mjrig: 1
actors:
- name: robot
  model: robot.xml
  components:
  - {type: PDController, kp: 20, kv: 0.8}
"""
#: What is run on every log, {log} and {folder} filled in.
COMMANDS = {
    "info": "info {log}",
    "convert to mcap": "convert {log} {folder}/out.mcap --overwrite",
    "convert to h5": "convert {log} {folder}/out.h5 --overwrite",
    "convert to npz": "convert {log} {folder}/out.npz --overwrite",
    "replay of 10 s": "replay {log} --scene {folder}/scene.yaml --hint span=[20,30]",
    "tune fit to 10 s": "tune fit {folder}/scene.yaml {log} --hint span=[20,30] --each",
}
#: Runs a command; its last line is the peak of the process and of its largest worker [kB].
CHILD = (
    "import sys; from mjrig.cli.main import main; code = main(sys.argv[1:]); "
    "from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage; "
    "peaks = [getrusage(who).ru_maxrss for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]; "
    "print(*peaks, file=sys.stderr); sys.exit(code)"
)


def robot_files(folder: Path) -> None:
    """A scene of the robot whose motion the logs hold."""
    bodies = "".join(
        f'<body pos="{k} 0 1"><joint name="{name}" axis="0 1 0" armature="{INERTIA}"/>'
        '<inertial pos="0 0 0" mass="1e-3" diaginertia="1e-6 1e-6 1e-6"/></body>'
        for k, name in enumerate(NAMES)
    )
    motors = "".join(f'<motor name="{name}" joint="{name}"/>' for name in NAMES)
    (folder / "robot.xml").write_text(
        '<mujoco><option timestep="0.002"/>'
        f"<worldbody>{bodies}</worldbody><actuator>{motors}</actuator></mujoco>"
    )
    (folder / "scene.yaml").write_text(SCENE)


class Template:
    """A serialised message whose arrays and stamp are replaced in place, which is fast."""

    def __init__(self, store: Any, kind: str, serialise: Callable[..., Any], arrays: int) -> None:
        mark = np.arange(1.0, 1.0 + 3 * len(NAMES)).reshape(3, -1) * np.pi
        stamp = store.types["builtin_interfaces/msg/Time"](0x12345678, 0x1ABCDEF0)
        header = store.types["std_msgs/msg/Header"]
        seq = {"seq": 0} if "seq" in header.__dataclass_fields__ else {}
        about = header(**seq, stamp=stamp, frame_id="base")
        if kind == IMAGE:
            content = store.types[kind](about, "jpeg", np.zeros(PICTURE, np.uint8))
        else:
            own = [row if k < arrays else np.zeros(0) for k, row in enumerate(mark)]
            content = store.types[kind](about, list(NAMES), *own)
        self._data = bytearray(serialise(content, kind))
        self._stamp = self._data.index((0x12345678).to_bytes(4, "little"))
        self._places = [self._data.index(row.tobytes()) for row in mark[:arrays] if kind != IMAGE]

    def filled(self, stamp: int, *arrays: Any) -> bytes:
        """The message with other contents."""
        sec, rest = divmod(stamp, 10**9)
        self._data[self._stamp : self._stamp + 8] = np.array([sec, rest], "<u4").tobytes()
        for place, values in zip(self._places, arrays, strict=True):
            self._data[place : place + 8 * len(NAMES)] = values.tobytes()
        return bytes(self._data)


def messages(store: Any, serialise: Any, share: float) -> Iterator[tuple[str, int, bytes]]:
    """Without end, by time: topic, time and content; `share` of the bytes are pictures."""
    states, commands = (Template(store, JOINT_STATE, serialise, n) for n in (3, 1))
    picture = Template(store, IMAGE, serialise, 0)
    speed = 2.0 * np.pi * np.linspace(0.3, 1.5, len(NAMES))
    kp_ratio, owed = KP / INERTIA, 0.0
    for k in count():
        seconds, stamp = 0.002 * k, EPOCH + 2_000_000 * k
        angle = speed * seconds
        q, v, a = 0.3 * np.sin(angle), 0.3 * speed * np.cos(angle), -0.3 * speed**2 * np.sin(angle)
        if k % 5 == 0:
            goal = q + (a + KV / INERTIA * v) / kp_ratio
            content = commands.filled(stamp, goal)
            owed += len(content)
            yield "/joint_commands", stamp, content
        content = states.filled(stamp, q, v, INERTIA * a)
        owed += len(content)
        yield "/joint_states", stamp + 200_000, content
        if share and owed * share / (1.0 - share) > PICTURE:
            owed -= PICTURE * (1.0 - share) / share
            yield "/camera", stamp + 300_000, picture.filled(stamp)


def tables(rows: int) -> Iterator[dict[str, Any]]:
    """The same motion as columns, `rows` at a time, without end; commands are repeated."""
    speed = 2.0 * np.pi * np.linspace(0.3, 1.5, len(NAMES))
    for first in count(0, rows):
        time = 0.002 * np.arange(first, first + rows)
        angle, held = speed * time[:, None], speed * (0.01 * np.floor(time / 0.01 + 1e-9))[:, None]
        found = {"time": time}
        acceleration = -0.3 * speed**2 * np.sin(held) / (KP / INERTIA)
        for name, values in (
            ("position", 0.3 * np.sin(angle)),
            ("velocity", 0.3 * speed * np.cos(angle)),
            ("effort", -0.3 * INERTIA * speed**2 * np.sin(angle)),
            ("command", 0.3 * np.sin(held) + acceleration + 0.3 * KV / KP * speed * np.cos(held)),
        ):
            found |= {f"{name}_{joint}": values[:, k] for k, joint in enumerate(NAMES)}
        yield found


def write_table(path: Path, size: int, share: float) -> None:
    """A CSV or Parquet file, a column for each quantity of each joint."""
    import pyarrow
    from pyarrow import csv, parquet

    make: Any = csv.CSVWriter if path.suffix == ".csv" else parquet.ParquetWriter
    blocks = map(pyarrow.table, tables(10_000))
    first = next(blocks)
    with make(path, first.schema) as writer:
        writer.write_table(first)
        for block in blocks:
            writer.write_table(block)
            if path.stat().st_size > size:
                return


def write_npz(path: Path, size: int, share: float) -> None:
    """An npz file with the same columns."""
    np.savez(path, **next(tables(size // (8 * (1 + 4 * len(NAMES))))))


def write_mcap(path: Path, size: int, share: float) -> None:
    """An MCAP file as recorders write it: chunks, an index, definitions inside."""
    from mcap.writer import CompressionType, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    with path.open("wb") as stream:
        writer: Any = Writer(stream, compression=CompressionType.NONE)
        writer.start(profile="ros2")
        channels = {}
        for topic, kind in TOPICS.items():
            text, _ = store.generate_msgdef(kind, ros_version=2)
            schema = writer.register_schema(kind, "ros2msg", text.encode())
            channels[topic] = writer.register_channel(topic, "cdr", schema)
        for topic, stamp, data in messages(store, store.serialize_cdr, share):
            writer.add_message(channels[topic], stamp, data, stamp)
            if stream.tell() > size:
                break
        writer.finish()


def write_sqlite(path: Path, size: int, share: float) -> None:
    """A rosbag2 folder with SQLite."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    with Writer(path, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        _fill(writer, store, messages(store, store.serialize_cdr, share), size)


def write_bag1(path: Path, size: int, share: float) -> None:
    """A ROS 1 bag."""
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC)
    with Writer(path) as writer:
        _fill(writer, store, messages(store, store.serialize_ros1, share), size)


def _fill(writer: Any, store: Any, sent: Iterator[tuple[str, int, bytes]], size: int) -> None:
    known = {t: writer.add_connection(t, kind, typestore=store) for t, kind in TOPICS.items()}
    written = 0
    for topic, stamp, data in sent:
        writer.write(known[topic], stamp, data)
        written += len(data)
        if written > size:
            return


WRITERS = {
    "mcap": write_mcap,
    "sqlite": write_sqlite,
    "ros1.bag": write_bag1,
    "csv": write_table,
    "parquet": write_table,
    "npz": write_npz,
}


def size_of(path: Path) -> float:
    """[MB]."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(f.stat().st_size for f in files) / 1e6


def measured(arguments: list[str]) -> tuple[int, list[float], float, float, str]:
    """Exit code, peaks of memory [MB], CPU and wall time [s] and the last line of a command."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *arguments], capture_output=True, text=True, check=False
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    *said, peaks = done.stderr.strip().splitlines()
    last = (said or done.stdout.strip().splitlines() or [""])[-1]
    return done.returncode, [float(peak) / 1024.0 for peak in peaks.split()], cpu, wall, last


def main() -> int:
    """Print one line per log and command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=1000.0, help="size of each log (1000)")
    parser.add_argument("--pictures", type=float, default=0.0, help="share of the bytes (0)")
    parser.add_argument("--only", default="", help="logs and commands whose names contain this")
    parser.add_argument("--folder", type=Path, help="where the logs go (a temporary folder)")
    options = parser.parse_args()
    print(f"{'log':<10}{'command':<18}{'peak MB':>9}{'worker':>8}{'CPU s':>8}{'wall s':>8}")
    worst = 0.0
    for name, write in WRITERS.items():
        chosen = {t: c for t, c in COMMANDS.items() if options.only in f"{name} {t}"}
        if not chosen:
            continue
        with TemporaryDirectory(dir=options.folder, prefix="mjrig-logs-") as made:
            folder = Path(made)
            robot_files(folder)
            log = folder / f"log.{name}"
            # In a process of its own: the commands would inherit the peak of this one.
            making = get_context("spawn").Process(
                target=write, args=(log, round(options.megabytes * 1e6), options.pictures)
            )
            making.start()
            making.join()
            if making.exitcode:
                return 1
            print(f"{name:<10}{size_of(log):.0f} MB")
            for title, command in chosen.items():
                arguments = command.format(log=log, folder=folder).split()
                code, (peak, worker), cpu, wall, said = measured(arguments)
                worst = max(worst, peak, worker)
                wrong = "" if code == 0 else f"  failed: {said}"
                costs = f"{peak:>9.0f}{worker:>8.0f}{cpu:>8.1f}{wall:>8.1f}"
                print(f"{'':<10}{title:<18}{costs}{wrong}", flush=True)
    print(f"most: {worst:.0f} MB (bar: {BAR:g})")
    return int(worst > BAR)


if __name__ == "__main__":
    raise SystemExit(main())
