"""Small valid files of every kind that mjrig decodes, and how each is read."""

import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import yaml

import mjrig
from mjrig.cli.main import main
from mjrig.cli.recording_summary import summary
from mjrig.components.importers.policy_import import RefusedError, import_policy
from mjrig.components.policies.leapp import read_safetensors
from mjrig.data.recording.csv_file import write_csv
from mjrig.data.recording.npz_file import write_npz
from mjrig.data.recording.verification import verify
from mjrig.data.robot_logs.mcap_recording import write_mcap
from tests.components.importers import biped
from tests.components.importers.recordings import test_recordings as foreign
from tests.components.policies import small
from tests.components.policies.terms.test_terms import MOTION, clip
from tests.meshes import write_corner
from tests.plugin.data.robot_logs import simulated as sim
from tests.plugin.lab.replay.recorded import write_ticks
from tests.worlds import ROVER, arm, make_world

HINTS: dict[str, object] = {"joints": "a,b", "fps": 50}
BOX = """<mujoco><option timestep="0.002"/><size nuserdata="2"/>
<asset><mesh name="m" file="{mesh}" scale="1 1 1"/>
<texture name="t" type="2d" file="t.png"/><material name="s" texture="t"/>
<hfield name="h" file="h.bin" size="1 1 0.1 0.1"/></asset>
<default><joint damping="0.1"/></default>
<worldbody><geom type="plane" size="1 1 0.1" material="s"/><geom type="hfield" hfield="h"/>
<body name="b" pos="0 0 1"><freejoint/><geom type="mesh" mesh="m" mass="1"/>
<body name="c" pos="0.2 0 0"><joint name="j" range="-1 1" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="1"/></body></body></worldbody>
<actuator><position name="p" joint="j" kp="5"/></actuator>
<sensor><jointpos joint="j"/></sensor>
<keyframe><key name="home" qpos="0 0 1 1 0 0 0 0.1"/></keyframe></mujoco>"""
URDF = """<robot name="r"><link name="base"><inertial><mass value="1"/><origin xyz="0 0 0"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry>
<mesh filename="package://p/c.stl" scale="1 1 1"/></geometry></collision></link>
<link name="arm"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="5" velocity="3"/></joint></robot>"""
OBJ = "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
SCENE = """mjrig: 1
actors:
- name: arm
  model: arm.xml
  components:
  - {type: PDController, kp: 10, kv: 1}
  - {type: Policy, file: policy.yaml}
"""


@dataclass(frozen=True)
class Specimen:
    """A valid file.

    Attributes:
        kind: name in reports.
        folder: files that belong together; a case works on a copy of it.
        damaged: the file in it that is mutated.
        read: reads the copy, given the damaged file; raises what a user would get.
        syntax: how the content is built, for changes that keep it valid: "mcap", "json", "npz", …
    """

    kind: str
    folder: Path
    damaged: str
    read: Callable[[Path], object]
    syntax: str = ""


def read_log(path: Path) -> object:
    """Read as `mjrig info`, `info --verify` and `replay` do."""
    target = path
    if path.parent.parent.name == "lerobot":
        target = path.parent.parent
    elif path.parent.name.startswith("rosbag2"):
        target = path.parent
    hints = {} if target.name.startswith(("run", "table", "json", "rosbag2")) else HINTS
    recording = mjrig.read_recording(target, hints)
    summary(recording)
    return verify(target, hints) if target.is_file() else None


def read_info(path: Path) -> object:
    """Read as `mjrig info` does: topics, rates and gaps."""
    with redirect_stdout(StringIO()):
        return main(["info", str(path), "--debug"])


def read_model(path: Path) -> object:
    """Compile and run a model."""
    model = path if path.suffix in (".xml", ".urdf", ".mjb") else path.with_name("box.xml")
    data = {"mjrig": 1, "actors": [{"name": "a", "model": model.name}]}
    (path.parent / "model_scene.yaml").write_text(yaml.safe_dump(data))
    world = mjrig.World(mjrig.Scene.load(path.parent / "model_scene.yaml"))
    return world.step(2)


def read_scene(path: Path) -> object:
    """Run the scene next to a policy."""
    return mjrig.World(mjrig.Scene.load(path.with_name("scene.yaml"))).step(2)


def read_import(path: Path) -> object:
    """Import a policy of another framework."""
    folder = path.parent
    # A finding about well-formed values is about the robot, not about a file.
    with suppress(RefusedError):
        return import_policy(
            [folder / "config.yaml"],
            folder / "policy.onnx",
            folder / "biped.xml",
            folder / "imported.yaml",
            overwrite=True,
            probe=False,
        )
    return None


def specimens(folder: Path) -> Iterator[Specimen]:
    """One file of every kind, in folders of their own."""
    for maker in (_logs, _packed_logs, _recordings, _models, _policies):
        yield from maker(folder)


def _fresh(folder: Path, name: str) -> Path:
    path = folder / name
    path.mkdir(parents=True)
    return path


def _logs(folder: Path) -> Iterator[Specimen]:
    run = sim.simulated(0.12)
    store = sim.ros2()
    messages = sim.joint_messages(run, store)
    for plugin, file in (("SQLITE3", "rosbag2.db3"), ("MCAP", "rosbag2.mcap")):
        home = _fresh(folder, plugin)
        sim.write_rosbag2(home / "rosbag2", messages, store, plugin)
        syntax = "sqlite" if plugin == "SQLITE3" else "mcap"
        yield Specimen(f"rosbag2 {plugin}", home, f"rosbag2/{file}", read_log, syntax)
        yield Specimen(
            f"rosbag2 {plugin}: metadata", home, "rosbag2/metadata.yaml", read_log, "yaml"
        )
    home = _fresh(folder, "tables")
    sim.write_bag1(home / "run.bag", run)
    sim.write_json_mcap(home / "json.mcap", run)
    sim.write_csv(home / "table.csv", run)
    sim.write_npz(home / "table.npz", run)
    sim.write_parquet(home / "lerobot", run)
    for name, syntax in (
        ("run.bag", "bag"), ("json.mcap", "mcap"), ("table.csv", "text"), ("table.npz", "npz"),
        ("lerobot/data/file.parquet", "parquet"), ("lerobot/meta/info.json", "json"),
    ):  # fmt: skip
        yield Specimen(f"log {name}", home, name, read_log, syntax)
    for name, syntax in (("run.bag", "bag"), ("json.mcap", "mcap"), ("table.csv", "text")):
        yield Specimen(f"info {name}", home, name, read_info, syntax)


def _packed_logs(folder: Path) -> Iterator[Specimen]:
    """Compressed chunks and messages."""
    run = sim.simulated(0.12)
    store = sim.ros2()
    rosbags = import_module("rosbags.rosbag1")
    types = import_module("rosbags.typesys")
    ros1 = types.get_typestore(types.Stores.ROS1_NOETIC)
    for kind in ("BZ2", "LZ4"):
        home = _fresh(folder, kind)
        writer = rosbags.Writer(home / "run.bag")
        writer.set_compression(getattr(writer.CompressionFormat, kind))
        with writer:
            connections: dict[str, Any] = {}
            for sent in sim.joint_messages(run, ros1):
                if sent.topic not in connections:
                    connections[sent.topic] = writer.add_connection(
                        sent.topic, sent.kind, typestore=ros1
                    )
                data = ros1.serialize_ros1(sent.content, sent.kind)
                writer.write(connections[sent.topic], sent.log, data)
        yield Specimen(f"bag1 {kind}", home, "run.bag", read_log, "bag")
    for mode in ("MESSAGE", "FILE"):
        home = _fresh(folder, mode)
        writing = import_module("rosbags.rosbag2")
        path = home / "rosbag2"
        writer = writing.Writer(path, version=8, storage_plugin=writing.StoragePlugin.SQLITE3)
        packing = getattr(writing.CompressionMode, mode)
        writer.set_compression(packing, writing.CompressionFormat.ZSTD)
        with writer:
            topics: dict[str, Any] = {}
            for sent in sim.joint_messages(run, store):
                if sent.topic not in topics:
                    topics[sent.topic] = writer.add_connection(
                        sent.topic, sent.kind, typestore=store
                    )
                writer.write(
                    topics[sent.topic], sent.log, store.serialize_cdr(sent.content, sent.kind)
                )
        name = next(p.name for p in path.iterdir() if p.name != "metadata.yaml")
        syntax = "sqlite" if mode == "MESSAGE" else ""
        yield Specimen(f"rosbag2 zstd {mode}", home, f"rosbag2/{name}", read_log, syntax)
    mcap = import_module("mcap.writer")
    for kind in ("NONE", "LZ4"):
        home = _fresh(folder, f"mcap {kind}")
        with (home / "run.mcap").open("wb") as stream:
            writer = mcap.Writer(
                stream, chunk_size=3000, compression=getattr(mcap.CompressionType, kind)
            )
            writer.start()
            schema = writer.register_schema(
                "sensor_msgs/msg/JointState",
                "ros2msg",
                store.generate_msgdef("sensor_msgs/msg/JointState", ros_version=2)[0].encode(),
            )
            channels = {
                topic: writer.register_channel(topic, "cdr", schema)
                for topic in ("/joint_states", "/joint_commands")
            }
            for sent in sim.joint_messages(run, store):
                data = bytes(store.serialize_cdr(sent.content, sent.kind))
                writer.add_message(channels[sent.topic], sent.log, data, sent.log)
            writer.finish()
        yield Specimen(f"mcap {kind}", home, "run.mcap", read_log, "mcap")


def _recordings(folder: Path) -> Iterator[Specimen]:
    home = _fresh(folder, "recordings")
    world = make_world(ROVER, [mjrig.components.PDController(kp=5, kv=1)])
    with mjrig.Recorder(world, home / "run.h5"):
        for k in range(20):
            world["robot"].setpoints.position[:] = 0.1 * np.sin(0.3 * k)
            world.step()
    recording = mjrig.read_recording(home / "run.h5")
    write_npz(recording, home / "run.npz")
    write_csv(recording, home / "run.csv")
    write_mcap(recording, home / "run.mcap")
    write_ticks(home / "ticks.npz")
    foreign.motion(home / "motion.npz")
    foreign.isaac(home / "isaac.hdf5")
    foreign.log(home, config=foreign.CONFIG)
    rows = [f"{t},{q},0,0,1,1,0,0,0,9" for t, q in ((0.0, 0.1), (0.002, 0.2), (0.004, 0.2))]
    foreign.urlab_csv(home / "urlab.csv", *rows)
    frames = {"Frames": [foreign.frame(0.0), foreign.frame(0.005)]}
    (home / "urlab.json").write_text(json.dumps(frames))
    names = {p.name: p.suffix.removeprefix(".") for p in home.iterdir() if p.name != "config.json"}
    syntaxes = {"hdf5": "h5", "csv": "text"}
    for name, suffix in sorted(names.items()):
        yield Specimen(f"recording {name}", home, name, read_log, syntaxes.get(suffix, suffix))


def _models(folder: Path) -> Iterator[Specimen]:
    home = _fresh(folder, "models")
    write_corner(home / "c.stl")
    (home / "c.obj").write_text(OBJ)
    (home / "t.png").write_bytes(_png(8, 8))
    heights = np.linspace(0, 1, 16, dtype=np.float32).tobytes()
    (home / "h.bin").write_bytes(np.array([4, 4], np.int32).tobytes() + heights)
    (home / "box.xml").write_text(BOX.format(mesh="c.stl"))
    (home / "obj.xml").write_text(BOX.format(mesh="c.obj"))
    (home / "r.urdf").write_text(URDF)
    model = mujoco.MjModel.from_xml_path(str(home / "box.xml"))
    mujoco.mj_saveModel(model, str(home / "box.mjb"))
    for name, syntax in (
        ("box.xml", "xml"), ("r.urdf", "xml"), ("box.mjb", "mjb"), ("c.stl", ""), ("t.png", ""),
        ("h.bin", ""),
    ):  # fmt: skip
        yield Specimen(f"model {name}", home, name, read_model, syntax)
    home = _fresh(folder, "obj model")
    for name in ("t.png", "h.bin", "c.obj"):
        (home / name).write_bytes((folder / "models" / name).read_bytes())
    (home / "box.xml").write_text(BOX.format(mesh="c.obj"))
    yield Specimen("model c.obj", home, "c.obj", read_model, "text")


def _png(width: int, height: int) -> bytes:
    def block(kind: bytes, data: bytes) -> bytes:
        size = len(data).to_bytes(4, "big")
        return size + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, 2, 0, 0, 0])
    rows = (b"\0" + bytes(range(width * 3))) * height
    body = block(b"IHDR", head) + block(b"IDAT", zlib.compress(rows)) + block(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def _policies(folder: Path) -> Iterator[Specimen]:
    home = _fresh(folder, "policy")
    small.write(home)
    (home / "arm.xml").write_text(arm())
    (home / "scene.yaml").write_text(SCENE)
    yield Specimen("policy.onnx", home, "policy.onnx", read_scene, "onnx")
    yield Specimen("policy.yaml", home, "policy.yaml", read_scene, "yaml")
    yield Specimen("scene.yaml", home, "scene.yaml", read_scene, "yaml")
    home = _fresh(folder, "motion")
    small.idle(home / "policy.onnx", 2)
    clip(home / "clip.npz")
    small.write(home, observation={"terms": [{"type": "MotionJoints"}]}, motion=MOTION)
    (home / "arm.xml").write_text(arm())
    (home / "scene.yaml").write_text(SCENE)
    yield Specimen("policy clip.npz", home, "clip.npz", read_scene, "npz")
    home = _fresh(folder, "weights")
    _write_safetensors(home / "values.safetensors")
    yield Specimen("values.safetensors", home, "values.safetensors", read_safetensors)
    home = _fresh(folder, "import")
    biped.network(home / "policy.onnx", 23)
    biped.model(home)
    biped.write(home / "config.yaml", biped.GYM)
    yield Specimen("imported config.yaml", home, "config.yaml", read_import, "yaml")
    yield Specimen("imported policy.onnx", home, "policy.onnx", read_import, "onnx")


def _write_safetensors(path: Path) -> None:
    values = np.arange(6, dtype=np.float32).tobytes()
    header = {"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, len(values)]}}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + values)
