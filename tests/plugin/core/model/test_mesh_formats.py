"""Meshes in formats that MuJoCo does not read, against the same triangles as STL."""

import base64
import json
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.core.files.sandbox import Sandbox
from mjrig.core.model.asset_files import CONVERTED
from mjrig.core.model.build import build
from mjrig.core.sim.mujoco_export import export
from tests.wording import matches, regex

pytest.importorskip("trimesh", reason="needs the extra 'meshes'")
pytest.importorskip("collada", reason="needs the extra 'meshes'")

POINTS = np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.2, 0], [0, 0, 0.1]], np.float32)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
#: Where the second part is put: turned about z by 90°, and moved.
TURN = np.array([[0, -1, 0, 0.5], [1, 0, 0, 0.1], [0, 0, 1, 0.2], [0, 0, 0, 1.0]])
UP = {
    "Z_UP": np.eye(3),
    "Y_UP": np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
    "X_UP": np.array([[0, -1, 0], [0, 0, -1], [1, 0, 0]]),
}
Triangles = tuple[np.ndarray, np.ndarray]


def two_parts(frame: Any = UP["Z_UP"]) -> Triangles:
    """The tetrahedron twice, the second time where `TURN` puts it."""
    moved = POINTS @ TURN[:3, :3].T + TURN[:3, 3]
    return np.vstack([POINTS, moved]) @ np.asarray(frame).T, np.vstack([FACES, FACES + 4])


def write_stl(path: Path, triangles: Triangles) -> Path:
    points, faces = triangles
    parts = [b"\0" * 80, struct.pack("<I", len(faces))]
    parts += [struct.pack("<12fH", 0, 0, 0, *points[f].reshape(-1), 0) for f in faces]
    path.write_bytes(b"".join(parts))
    return path


def write_dae(path: Path, *, unit: float = 1.0, up: str = "Z_UP") -> Path:
    numbers = " ".join(f"{x:.9g}" for x in POINTS.reshape(-1))
    corners = " ".join(map(str, FACES.reshape(-1)))
    matrix = " ".join(f"{x:g}" for x in TURN.reshape(-1))
    node = '<node><instance_geometry url="#tetra"/></node>'
    path.write_text(f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="some" meter="{unit}"/><up_axis>{up}</up_axis></asset>
  <library_geometries><geometry id="tetra"><mesh>
    <source id="points"><float_array id="numbers" count="12">{numbers}</float_array>
      <technique_common><accessor source="#numbers" count="4" stride="3">
        <param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
      </accessor></technique_common></source>
    <vertices id="corners"><input semantic="POSITION" source="#points"/></vertices>
    <triangles count="4"><input semantic="VERTEX" source="#corners" offset="0"/>
      <p>{corners}</p></triangles>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="scene">
    {node}<node><matrix>{matrix}</matrix>{node}</node>
  </visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#scene"/></scene>
</COLLADA>""")
    return path


def write_gltf(path: Path, uri: str | None = None) -> Path:
    data = POINTS.tobytes() + FACES.astype("<u2").tobytes()
    inside = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
    views = [{"buffer": 0, "byteOffset": 0, "byteLength": 48},
             {"buffer": 0, "byteOffset": 48, "byteLength": 24}]  # fmt: skip
    limits = {"min": POINTS.min(0).tolist(), "max": POINTS.max(0).tolist()}
    matrix = TURN.T.reshape(-1).tolist()
    content = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 1]}],
        "nodes": [{"mesh": 0}, {"children": [2], "matrix": matrix}, {"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3", **limits},
            {"bufferView": 1, "componentType": 5123, "count": 12, "type": "SCALAR"},
        ],
        "bufferViews": views,
        "buffers": [{"uri": uri or inside, "byteLength": len(data)}],
    }  # fmt: skip
    if path.suffix == ".gltf":
        path.write_text(json.dumps(content))
        return path
    content["buffers"] = [{"byteLength": len(data)}]
    text = json.dumps(content).encode()
    text += b" " * (-len(text) % 4)
    size = 12 + 8 + len(text) + 8 + len(data)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
    chunks += struct.pack("<II", len(data), 0x004E4942) + data
    path.write_bytes(struct.pack("<4sII", b"glTF", 2, size) + chunks)
    return path


def write_ply(path: Path) -> Path:
    points, faces = two_parts()
    rows = [f"{x:.9g} {y:.9g} {z:.9g}" for x, y, z in points]
    rows += [f"3 {a} {b} {c}" for a, b, c in faces]
    head = f"""ply
format ascii 1.0
element vertex {len(points)}
property float x
property float y
property float z
element face {len(faces)}
property list uchar int vertex_indices
end_header
"""
    path.write_text(head + "\n".join(rows) + "\n")
    return path


WRITERS: dict[str, Callable[[Path], Path]] = {
    ".dae": write_dae, ".glb": write_gltf, ".gltf": write_gltf, ".ply": write_ply
}  # fmt: skip


def mjcf(mesh: str, scale: str = "1 1 1") -> str:
    return f"""<mujoco><asset><mesh name="part" file="{mesh}" scale="{scale}"/></asset><worldbody>
      <body name="b"><freejoint/><geom name="g" type="mesh" mesh="part"/></body>
    </worldbody></mujoco>"""


def urdf(mesh: str, scale: str = "1 1 1") -> str:
    return f"""<robot name="r"><link name="b"><collision><geometry>
      <mesh filename="{mesh}" scale="{scale}"/></geometry></collision></link>
      <link name="base"/><joint name="j" type="continuous"><parent link="base"/><child link="b"/>
      <axis xyz="0 0 1"/></joint></robot>"""


def model_of(path: Path, text: str) -> Any:
    path.write_text(text)
    scene = mjrig.Scene.from_data({"actors": [{"name": "robot", "model": str(path)}]})
    return build(scene).model


def same(one: Any, other: Any, factor: float = 1.0) -> None:
    """The last body of one is that of the other, scaled."""
    assert one.body_mass[-1] == pytest.approx(other.body_mass[-1] * factor**3, rel=1e-5)
    assert one.body_ipos[-1] == pytest.approx(other.body_ipos[-1] * factor, rel=1e-5, abs=1e-7)
    spin = other.body_inertia[-1] * factor**5
    assert one.body_inertia[-1] == pytest.approx(spin, rel=1e-4)


def test_every_format_has_a_writer_here() -> None:
    assert set(WRITERS) == set(CONVERTED)


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize(("kind", "made"), [("xml", mjcf), ("urdf", urdf)])
def test_a_mesh_weighs_what_it_does_as_stl(
    tmp_path: Path, suffix: str, kind: str, made: Callable[..., str]
) -> None:
    WRITERS[suffix](tmp_path / f"part{suffix}")
    write_stl(tmp_path / "part.stl", two_parts())
    before = {p: p.read_bytes() for p in tmp_path.iterdir()}
    bare = mujoco.MjModel.from_xml_string(
        mjcf("part.stl", "1 2 1"), {"part.stl": (tmp_path / "part.stl").read_bytes()}
    )
    model = model_of(tmp_path / f"robot.{kind}", made(f"part{suffix}", "1 2 1"))
    same(model, bare)
    left = {p: p.read_bytes() for p in tmp_path.iterdir() if p.suffix != f".{kind}"}
    assert left == before


@pytest.mark.parametrize("up", UP)
def test_units_and_up_axis_of_a_dae_are_applied(tmp_path: Path, up: str) -> None:
    write_dae(tmp_path / "part.dae", unit=0.5, up=up)
    stl = write_stl(tmp_path / "part.stl", two_parts(UP[up]))
    bare = mujoco.MjModel.from_xml_string(mjcf("part.stl"), {"part.stl": stl.read_bytes()})
    same(model_of(tmp_path / "robot.xml", mjcf("part.dae")), bare, 0.5)


def test_a_converted_mesh_is_in_the_exported_file(tmp_path: Path) -> None:
    write_dae(tmp_path / "part.dae")
    model = model_of(tmp_path / "robot.xml", mjcf("part.dae"))
    scene = mjrig.Scene.from_data({"actors": [{"name": "r", "model": str(tmp_path / "robot.xml")}]})
    (tmp_path / "out").mkdir()
    export(scene, tmp_path / "out" / "world.xml")
    same(mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "world.xml")), model)


def test_a_gltf_reads_its_buffer_beside_itself_and_nowhere_else(tmp_path: Path) -> None:
    data = POINTS.tobytes() + FACES.astype("<u2").tobytes()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "part.bin").write_bytes(data)
    (tmp_path / "part.bin").write_bytes(data)
    write_gltf(tmp_path / "in" / "part.gltf", "part.bin")
    assert model_of(tmp_path / "in" / "robot.xml", mjcf("part.gltf")).nmesh == 1
    write_gltf(tmp_path / "in" / "part.gltf", "../part.bin")
    with pytest.raises(mjrig.PropertyError, match=regex("refers to '../part.bin' outside of …")):
        model_of(tmp_path / "in" / "robot.xml", mjcf("part.gltf"))


def test_the_sandbox_holds_for_converted_meshes(tmp_path: Path) -> None:
    write_ply(tmp_path / "part.ply")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "robot.xml").write_text(mjcf("../part.ply"))
    with pytest.raises(mjrig.PropertyError, match="outside of the sandbox"):
        Sandbox.at(tmp_path / "in").admit_model(tmp_path / "in" / "robot.xml")


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_damaged_mesh_is_one_error(tmp_path: Path, suffix: str, damage: str) -> None:
    path = WRITERS[suffix](tmp_path / f"part{suffix}")
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        content[len(content) // 3 :: 7] = bytes(b ^ 0x55 for b in content[len(content) // 3 :: 7])
    damaged = {"cut": content[: len(content) // 2], "empty": bytearray()}
    path.write_bytes(damaged.get(damage, content))
    with pytest.raises(mjrig.PropertyError, match=r"robot\.model: "):
        model_of(tmp_path / "robot.xml", mjcf(path.name))


@pytest.mark.parametrize("suffix", WRITERS)
def test_without_the_extra_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    WRITERS[suffix](tmp_path / f"part{suffix}")
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(mjrig.PropertyError) as info:
        model_of(tmp_path / "robot.xml", mjcf(f"part{suffix}"))
    assert matches(
        str(info.value),
        f"robot.model: the mesh 'part{suffix}' needs the … 'meshes': … 'mjrig[meshes]'",
    )
