"""Small files that declare or unpack to much: rejected or read within limits of time and memory."""

import io
import json
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components.policies.leapp import read_safetensors
from mjrig.core.errors import MjrigError
from tests.plugin.data.robot_logs import simulated as sim
from tests.resource_limits import cpu_limit, memory_limit

for name in ("h5py", "msgpack", "mcap", "rosbags", "pyarrow", "lz4"):
    pytest.importorskip(name)

#: CPU time [s] and memory [MB] that a small file may take.
SECONDS, MEGABYTES = 10.0, 1000.0
#: Bytes that a bomb unpacks to: more than the limit of memory.
LARGE = 1_200_000_000
HINTS: dict[str, object] = {"joints": "a,b", "fps": 50}


def _npz(path: Path, name: str, shape: tuple[int, ...], content: bytes = b"") -> Path:
    """An array that declares a shape."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}.npy", head.getvalue() + content)
        for other in ("meta", "policy_step", "policy_target"):
            archive.writestr(f"{other}.npy", head.getvalue())
    return path


def declared_npz(folder: Path) -> Path:
    """10^12 numbers that are not there."""
    return _npz(folder / "a.npz", "x", (10**12,))


def inflated_npz(folder: Path) -> Path:
    """Zeros that deflate to a thousandth."""
    return _npz(folder / "a.npz", "x", (LARGE // 8,), bytes(LARGE // 4))


def _mcap(folder: Path, compression: bytes, content: bytes, declared: int) -> Path:
    head = struct.pack("<QQQII", 0, 1, declared, 0, len(compression)) + compression
    chunk = head + struct.pack("<Q", len(content)) + content
    records = [(1, struct.pack("<II", 0, 0)), (6, chunk)]
    body = b"".join(bytes([kind]) + struct.pack("<Q", len(data)) + data for kind, data in records)
    path = folder / "a.mcap"
    path.write_bytes(b"\x89MCAP0\r\n" + body)
    return path


def _zstd(size: int) -> bytes:
    packer = import_module("zstandard").ZstdCompressor(level=1).compressobj()
    piece = bytes(1 << 24)
    return b"".join(packer.compress(piece) for _ in range(size >> 24)) + bytes(packer.flush())


def unpacking_mcap(folder: Path) -> Path:
    """A chunk of zeros."""
    return _mcap(folder, b"zstd", _zstd(LARGE), LARGE)


def declared_mcap(folder: Path) -> Path:
    """A frame of zstd that declares 2^62 bytes."""
    frame = struct.pack("<IB", 0xFD2FB528, 0xC0) + b"\x58" + struct.pack("<Q", 2**62)
    return _mcap(folder, b"zstd", frame + bytes(20), 2**62)


def lz4_mcap(folder: Path) -> Path:
    """The same by lz4."""
    return _mcap(folder, b"lz4", import_module("lz4.frame").compress(bytes(LARGE // 4)), LARGE)


def deep_json_mcap(folder: Path) -> Path:
    """Messages of nested lists."""
    writer_type: Any = import_module("mcap.writer").Writer
    path = folder / "a.mcap"
    with path.open("wb") as stream:
        writer = writer_type(stream)
        writer.start()
        channel = writer.register_channel("/x", "json", 0)
        for k in range(20):
            writer.add_message(channel, k, b"[" * 200_000 + b"]" * 200_000, k)
        writer.finish()
    return path


def _database(folder: Path, *statements: str) -> Path:
    path = folder / "a.db3"
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TABLE topics (id INTEGER, name TEXT, type TEXT, serialization_format TEXT)"
        )
        database.execute(
            "INSERT INTO topics VALUES (1, '/joint_states', 'sensor_msgs/msg/JointState', 'cdr')"
        )
        for statement in statements:
            database.execute(statement)
    database.close()
    return path


def endless_view(folder: Path) -> Path:
    """A bag whose messages are a view that never ends."""
    return _database(
        folder,
        "CREATE VIEW messages AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
        "SELECT x AS id, 1 AS topic_id, x AS timestamp, x'00010000' AS data FROM n",
    )


def computed_blobs(folder: Path) -> Path:
    """A bag whose messages are computed when they are read."""
    return _database(
        folder,
        "CREATE TABLE messages (id INTEGER, topic_id INTEGER, timestamp INTEGER, "
        "data BLOB GENERATED ALWAYS AS (zeroblob(900000000)))",
        *(f"INSERT INTO messages VALUES ({k}, 1, {k})" for k in range(3)),
    )


def long_lists(folder: Path) -> Path:
    """A table with 4 · 10^7 equal numbers in its lists."""
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    rows, size = 40, 1_000_000
    ends = arrow.array(np.arange(rows + 1, dtype=np.int32) * size)
    lists = arrow.ListArray.from_arrays(ends, arrow.array(np.zeros(rows * size, np.float32)))
    path = folder / "a.parquet"
    parquet.write_table(arrow.table({"action": lists}), path)
    return path


def deep_info(folder: Path) -> Path:
    """A data set whose description is nested deeply."""
    path = sim.write_parquet(folder / "set", sim.simulated(0.1))
    (path / "meta" / "info.json").write_text('{"a":' * 300_000 + "1" + "}" * 300_000)
    return path


def large_dataset(folder: Path) -> Path:
    """A compressed dataset of 10^12 numbers."""
    h5py = import_module("h5py")
    path = folder / "a.hdf5"
    with h5py.File(path, "w") as file:
        state = file.create_group("data/demo_0/states/articulation/robot")
        for key in ("root_pose", "root_velocity", "joint_position", "joint_velocity"):
            state.create_dataset(key, (10**12, 1), "f8", chunks=(1 << 16, 1), compression="gzip")
    return path


def long_msgpack(folder: Path) -> Path:
    """A list that declares 2^31 - 1 items, inside of others."""
    path = folder / "log.msgpack"
    path.write_bytes(b"\xdd\x7f\xff\xff\xff" * 50)
    return path


def _yaml(folder: Path, text: str) -> Path:
    (folder / "a.yaml").write_text(f"mjrig: 1\nactors: []\nvars:\n{text}")
    return folder / "a.yaml"


def aliases(folder: Path) -> Path:
    """Aliases of aliases: 9^20 items."""
    levels = [f"  a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 20)]
    return _yaml(folder, "\n".join(["  a0: &a0 [x]", *levels]) + "\n")


def deep_yaml(folder: Path) -> Path:
    """100,000 lists in each other."""
    return _yaml(folder, f"  a: {'[' * 100_000}{']' * 100_000}\n")


def _model(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    (folder / "a.yaml").write_text(f"mjrig: 1\nactors: [{{name: a, model: {name}}}]\n")
    return folder / "a.yaml"


def entities(folder: Path) -> Path:
    """A URDF with entities of entities, whose mesh is missing."""
    names = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))
    head = f'<!DOCTYPE robot [<!ENTITY e0 "x">{names}]>'
    link = '<link name="&e11;"><collision><geometry><mesh filename="m.stl"/></geometry></collision>'
    return _model(folder, "a.urdf", f'{head}<robot name="r">{link}</link></robot>')


def large_image(folder: Path) -> Path:
    """An image of 60,000 x 60,000 pixels, all of them zero."""
    head = struct.pack(">2I5B", 60_000, 60_000, 8, 2, 0, 0, 0)

    def block(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    content = block(b"IHDR", head) + block(b"IDAT", zlib.compress(bytes(1 << 20)))
    (folder / "t.png").write_bytes(b"\x89PNG\r\n\x1a\n" + content + block(b"IEND", b""))
    asset = '<asset><texture name="t" type="2d" file="t.png"/></asset>'
    return _model(folder, "a.xml", f"<mujoco>{asset}<worldbody/></mujoco>")


def large_safetensors(folder: Path) -> Path:
    """An array that declares 2^60 numbers."""
    header = {"a": {"dtype": "F32", "shape": [2**60], "data_offsets": [0, 2**62]}}
    text = json.dumps(header).encode()
    (folder / "a.safetensors").write_bytes(struct.pack("<Q", len(text)) + text)
    return folder / "a.safetensors"


BOMBS: tuple[Callable[[Path], Path], ...] = (
    declared_npz, inflated_npz, unpacking_mcap, declared_mcap, lz4_mcap, deep_json_mcap,
    endless_view, computed_blobs, long_lists, deep_info, large_dataset, long_msgpack, aliases,
    deep_yaml, entities, large_image, large_safetensors,
)  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.__name__)
def test_a_small_file_takes_little(bomb: Callable[[Path], Path], tmp_path: Path) -> None:
    path = bomb(tmp_path)
    with memory_limit(MEGABYTES), cpu_limit(SECONDS):
        try:
            if path.suffix == ".yaml":
                mjrig.World(mjrig.Scene.load(path))
            elif path.suffix == ".safetensors":
                read_safetensors(path)
            else:
                mjrig.read_recording(path, HINTS if path.suffix != ".mcap" else {})
        except MjrigError as error:
            assert path.name in str(error) and "does not expect" not in str(error)
        else:
            assert bomb is deep_info  # its table can be read without the description
