"""Meshes in formats that MuJoCo does not read: converted in memory, with the extra `meshes`."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.errors import MissingExtraError, PropertyError
from mjrig.files.decoding import decoding
from mjrig.files.paths import read_limited

NATIVE = (".stl", ".obj", ".msh")
CONVERTED = (".dae", ".glb", ".gltf", ".ply")
MAX_BYTES = 256_000_000
#: Which rows of (x, y, z) are x, y and z with z up, by what is up in the file.
_UP = {
    "X_UP": np.array([[0.0, -1, 0], [0, 0, -1], [1, 0, 0]]),
    "Y_UP": np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]),
}


def convert(mesh: Any, path: Path) -> None:
    """Put the triangles of a file into a mesh of a spec, which then needs no file.

    All parts of the file become one mesh, each where the file's scene puts it. The units and the
    up axis of a .dae are applied; other formats are taken as they are, in metres.

    Raises:
        PropertyError: the file cannot be read, or has no triangles.
        MissingExtraError: the extra is not installed.
    """
    mesh_file = f"the mesh {str(path)!r}"
    with decoding(mesh_file, problem="cannot be read", error=PropertyError):
        vertices, faces = _triangles(path)
    if not len(faces):
        raise PropertyError(f"the mesh {str(path)!r} has no triangles")
    if not np.isfinite(vertices).all():
        raise PropertyError(f"the mesh {str(path)!r} has vertices that are not finite")
    mesh.name = mesh.name or path.stem
    mesh.file = ""
    mesh.uservert, mesh.userface = vertices.reshape(-1), faces.reshape(-1)


def _triangles(path: Path) -> tuple[FloatArray, Any]:
    kind = path.suffix.lower().removeprefix(".")
    content = read_limited(path, MAX_BYTES)
    frame = _collada_frame(content, path) if kind == "dae" else np.eye(3)
    try:
        import trimesh
    except ImportError as error:
        raise MissingExtraError(f"the mesh {path.name!r}", "meshes") from error
    if kind == "dae" and find_spec("collada") is None:  # trimesh reads it with pycollada
        raise MissingExtraError(f"the mesh {path.name!r}", "meshes")
    scene = trimesh.load_scene(
        BytesIO(content), file_type=kind, resolver=_Beside(path.parent), skip_materials=True
    )
    whole = scene.to_mesh()
    return np.asarray(whole.vertices, float) @ frame.T, np.asarray(whole.faces, np.int32)


class _Beside(Mapping[str, bytes]):
    """The buffers that a .gltf names beside itself, as a mapping, which is what trimesh takes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def __getitem__(self, name: str) -> bytes:
        path = (self._folder / name).resolve()
        if not path.is_relative_to(self._folder):
            raise PropertyError(f"a mesh in {str(self._folder)!r} refers to {name!r} outside of it")
        return read_limited(path, MAX_BYTES)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _collada_frame(content: bytes, path: Path) -> FloatArray:
    """The matrix that turns the coordinates of a .dae into metres with z up."""
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise PropertyError(f"the mesh {str(path)!r} has a DOCTYPE, which is not allowed")
    asset = ElementTree.fromstring(content).find("{*}asset")
    unit = asset.find("{*}unit") if asset is not None else None
    up = asset.findtext("{*}up_axis", "Z_UP").strip() if asset is not None else "Z_UP"
    metres = float(unit.get("meter", "1")) if unit is not None else 1.0
    return metres * _UP.get(up, np.eye(3))
