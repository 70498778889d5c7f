"""Asset files of models: checked, and shared between actors."""

import os
import struct
from collections.abc import Hashable, Iterator, Mapping
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import MissingExtraError, PropertyError
from mjrig.core.files.decoding import decoding
from mjrig.core.files.paths import Gate, nearest_files, read_limited
from mjrig.core.model.model_size import Pixels

# Vectors ------------------------------------------------------------------------------------------
# MuJoCo's own vectors in an MjSpec as lists.


def values_of(vector: Any) -> list[Any]:
    """The items of a vector of numbers or texts.

    By index: each iteration over one, `np.array` too, ends with an exception of MuJoCo's, which
    takes longer than all of the items.
    """
    return [vector[i] for i in range(len(vector))]


# Mesh formats -------------------------------------------------------------------------------------
# Meshes in formats that MuJoCo does not read: converted in memory, with the extra `meshes`.


NATIVE = (".stl", ".obj", ".msh")
CONVERTED = (".dae", ".glb", ".gltf", ".ply")
MAX_MESH_BYTES = 256_000_000
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
    content = read_limited(path, MAX_MESH_BYTES)
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
        return read_limited(path, MAX_MESH_BYTES)

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


# Skin file ----------------------------------------------------------------------------------------
# Skin files (`.skn`): read if a bone is the world, which attaching a model would rename.


MAX_SKIN_BYTES = 64_000_000
_NAME_BYTES = 40
_WORLD = "world"


def read_world_skin(skin: Any, path: Path) -> None:
    """Put the content of a skin's file in place of its name if it refers to the world.

    MuJoCo reads the file when the model is compiled, and gives all bones the prefix of the actor.
    A malformed file is left to MuJoCo, which reports it.
    """
    content = read_limited(path, MAX_SKIN_BYTES)
    if _WORLD.encode() not in content:
        return
    try:
        arrays = _arrays(content)
    except (struct.error, ValueError):
        return
    if _WORLD in arrays["bodyname"]:
        skin.file = ""
        for name, values in arrays.items():
            setattr(skin, name, values)


def _arrays(content: bytes) -> dict[str, list[Any]]:
    """The properties of a skin.

    Raises:
        ValueError: the file is too short.
    """
    at = 0

    def read(kind: Any, count: int) -> list[Any]:
        nonlocal at
        values = np.frombuffer(content, kind, count, at) if count else np.empty(0, kind)
        at += values.nbytes
        return list(values.tolist())

    vertices, points, faces, bones = read("<i4", 4)
    arrays: dict[str, list[Any]] = {
        "vert": read("<f4", 3 * vertices),
        "texcoord": read("<f4", 2 * points),
        "face": read("<i4", 3 * faces),
    }
    columns: dict[str, list[Any]] = {}
    for _ in range(bones):
        name = content[at : at + _NAME_BYTES].partition(b"\0")[0].decode()
        at += _NAME_BYTES
        bone = {"bodyname": [name], "bindpos": read("<f4", 3), "bindquat": read("<f4", 4)}
        count = read("<i4", 1)[0]
        bone |= {"vertid": [read("<i4", count)], "vertweight": [read("<f4", count)]}
        for key, values in bone.items():
            columns.setdefault(key, []).extend(values)
    return arrays | columns


# Asset files --------------------------------------------------------------------------------------
# The files a model needs besides its own: meshes, textures, height fields, skins.


def check_assets(spec: Any, model: Path, gate: Gate | None = None) -> None:
    """Make sure that MuJoCo will find every file a model names, also once it is in a world.

    Meshes in formats it does not read are converted.

    Args:
        spec: of the model.
        model: its file.
        gate: is asked about every file; None: they may all be read.

    Raises:
        PropertyError: one is missing, the message lists where it was searched; the gate refuses
            it; or its images are too large.
        MissingExtraError: one needs a package that is not installed.
    """
    pixels = Pixels(repr(model.name))
    for kind, asset in _assets(spec):
        for file in _files(kind, asset):
            path = asset_path(spec, model, kind, file)
            if gate is not None:
                gate.admit(path, file)
            is_resource = ":" in file.partition("/")[0]  # another provider may know it
            if os.path.isfile(path):
                pixels.add_file(path)
                if kind == "skin":
                    read_world_skin(asset, path)
                continue
            if is_resource and gate is None:
                continue
            what = f"{kind} {asset.name!r}" if asset.name else kind
            there = "there" if str(path) == file else f"at {str(path)!r}"
            raise PropertyError(
                f"the {what} of {str(model)!r} needs the file {file!r}, which is not {there}"
                f"{nearest_files(path)}"
            )
        if kind == "mesh" and Path(asset.file).suffix.lower() in CONVERTED:
            convert(asset, asset_path(spec, model, kind, asset.file))
        elif spec.strippath and asset.file:  # NOTE: attaching loses the strippath flag
            asset.file = str(asset_path(spec, model, kind, asset.file).absolute())


def asset_path(spec: Any, model: Path, kind: str, file: str) -> Path:
    """Where MuJoCo looks for a file that a model names."""
    folder = spec.texturedir if kind == "texture" else spec.meshdir
    name = Path(file).name if spec.strippath else file
    return Path(model.parent, folder, name)


def _assets(spec: Any) -> Iterator[tuple[str, Any]]:
    kinds = {"mesh": spec.meshes, "hfield": spec.hfields, "skin": spec.skins}
    for kind, assets in {**kinds, "texture": spec.textures}.items():
        yield from ((kind, asset) for asset in assets)


def _files(kind: str, asset: Any) -> list[str]:
    """The files of an asset: one, six for the sides of a cube, or none."""
    if kind != "texture":
        return [asset.file] if asset.file else []
    return [file for file in (asset.file, *values_of(asset.cubefiles)) if file]


# Shared meshes ------------------------------------------------------------------------------------


_MESH_FIELDS = ("file", "content_type", "material", "inertia", "maxhullvert", "needsdf",
                "octree_maxdepth", "smoothnormal")  # fmt: skip
_MESH_VECTORS = ("scale", "refpos", "refquat")
_MESH_POINTS = ("uservert", "userface", "usernormal", "usertexcoord", "userfacetexcoord",
                "userfacenormal")  # fmt: skip


class SharedMeshes:
    """Lets actors of one model use the meshes of the first one: each copy would cost megabytes.

    `take_out` before an actor is attached, `put_back` when all of them are.
    """

    def __init__(self) -> None:
        self._first: dict[Hashable, str] = {}
        self._users: list[tuple[Any, str]] = []

    def take_out(self, name: str, source: Hashable, spec: Any) -> None:
        """Remove the meshes that an earlier actor has too.

        Args:
            name: the actor's.
            source: where its model was read from.
            spec: its own, not attached yet.
        """
        instead = {}
        # Attaching drops a sensor whose mesh is missing.
        sensed = {s.objname for s in spec.sensors if s.objtype == mujoco.mjtObj.mjOBJ_MESH}
        for mesh in spec.meshes:
            own = f"{name}/{mesh.name}"
            shared = self._first.setdefault((source, mesh.name, _shape(mesh)), own)
            if shared != own and not mesh.plugin.active and mesh.name not in sensed:
                instead[mesh.name] = shared
        if not instead:
            return
        for geom in spec.geoms:
            if geom.meshname in instead:
                self._users.append((geom, instead[geom.meshname]))
                geom.meshname = ""
        # Deleted in the small spec: in that of the world each one would cost a search of it all.
        for mesh in list(spec.meshes):
            if mesh.name in instead:
                spec.delete(mesh)

    def put_back(self) -> None:
        """Give the attached geoms the meshes of the first actor."""
        for geom, mesh in self._users:
            geom.meshname = mesh


def _shape(mesh: Any) -> Hashable:
    """All that an edit of one actor may have changed about a mesh of its model."""
    return (
        *(getattr(mesh, name) for name in _MESH_FIELDS),
        *(tuple(getattr(mesh, name)) for name in _MESH_VECTORS),
        *(len(getattr(mesh, name)) for name in _MESH_POINTS),
    )


# Shared textures ----------------------------------------------------------------------------------


_FIELDS = ("type", "colorspace", "builtin", "mark", "random", "width", "height", "nchannel", "file",
           "content_type", "hflip", "vflip")  # fmt: skip
_VECTORS = ("rgb1", "rgb2", "markrgb", "gridsize", "gridlayout", "cubefiles")


class SharedTextures:
    """Lets actors of one model use the textures of the first one: each copy would cost megabytes.

    `take_out` before an actor is attached, `put_back` when all of them are.
    """

    def __init__(self) -> None:
        self._first: dict[Hashable, str] = {}
        self._users: list[tuple[Any, int, str]] = []

    def take_out(self, name: str, source: Hashable, spec: Any) -> None:
        """Remove the textures that an earlier actor has too, unless a light shows them.

        Args:
            name: the actor's.
            source: where its model was read from.
            spec: its own, not attached yet.
        """
        lit = {light.texture for light in spec.lights}
        instead = {}
        for texture in spec.textures:
            own = f"{name}/{texture.name}"
            shared = self._first.setdefault((source, texture.name, _picture(texture)), own)
            if shared != own and texture.name and texture.name not in lit:
                instead[texture.name] = shared
        if not instead:
            return
        for material in spec.materials:
            for role, used in enumerate(values_of(material.textures)):
                if used in instead:
                    self._users.append((material, role, instead[used]))
                    material.textures[role] = ""
        # Deleted in the small spec: in that of the world each one would cost a search of it all.
        for texture in list(spec.textures):
            if texture.name in instead:
                spec.delete(texture)

    def put_back(self) -> None:
        """Give the attached materials the textures of the first actor."""
        for material, role, texture in self._users:
            material.textures[role] = texture


def _picture(texture: Any) -> Hashable:
    """All that makes a texture what it is."""
    return (
        *(str(getattr(texture, name)) for name in _FIELDS),
        *(tuple(map(str, values_of(getattr(texture, name)))) for name in _VECTORS),
        bytes(texture.data),
    )
