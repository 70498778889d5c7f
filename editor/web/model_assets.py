"""ModelAssets: meshes, textures and height fields of a model, each fetched once by its hash."""

import gzip
import hashlib
import json
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
_RGB = int(mujoco.mjtTextureRole.mjTEXROLE_RGB)
_SRGB = int(mujoco.mjtColorSpace.mjCOLORSPACE_SRGB)
#: A browser need not ask again: another content has another name.
_KEPT = "private, max-age=31536000, immutable"
#: Below this a vertex of a mesh without texture coordinates gets the normal of its face.
_SMOOTH = 0.8


class ModelAssets:
    """What the page needs of a model besides its scenes.

    `body_of` may be called from another thread at any time.
    """

    def __init__(self) -> None:
        self._bodies: dict[str, bytes] = {}
        self._made: dict[str, str] = {}
        self._kept: set[str] = set()

    def body_of(self, path: str) -> tuple[bytes, str, dict[str, str]] | None:
        """Body, type and headers of `/asset/HASH`; None: there is none."""
        body = self._bodies.get(path.removeprefix("/asset/"))
        if body is None:
            return None
        more = {"Content-Encoding": "gzip", "Cache-Control": _KEPT}
        return body, "application/octet-stream", more

    def describe(self, model: Any, scene: Any) -> dict[str, Any]:
        """The model as the page draws it; large parts by the hash they are fetched with."""
        before, self._kept = self._kept, set()
        described = {
            "visual": _visual(model),
            "materials": _materials(model),
            "textures": [self._texture(model, i) for i in range(model.ntex)],
            "meshes": [self._mesh(model, i) for i in range(model.nmesh)],
            "fields": [self._field(model, i) for i in range(model.nhfield)],
            "skins": [self._skin(model, scene, i) for i in range(model.nskin)],
            "flexes": _flexes(scene),
        }
        # A page may still be fetching for the world before; older ones are forgotten.
        for name in self._bodies.keys() - before - self._kept:
            del self._bodies[name]
        self._made = {k: v for k, v in self._made.items() if v in self._bodies}
        return described

    def _keep(self, content: bytes) -> str:
        name = hashlib.sha256(content).hexdigest()
        if name not in self._bodies:
            self._bodies[name] = gzip.compress(content, 6, mtime=0)
        self._kept.add(name)
        return name

    def _once(self, source: tuple[Any, ...], make: Any) -> str:
        """An asset by what it is made from: models are rebuilt often, meshes change rarely."""
        digest = hashlib.sha256()
        for part in source:
            digest.update(np.ascontiguousarray(part).tobytes() + b"|")
        key = digest.hexdigest()
        if key not in self._made:
            self._made[key] = self._keep(make())
        self._kept.add(self._made[key])
        return self._made[key]

    def _texture(self, model: Any, i: int) -> dict[str, Any]:
        width, height = int(model.tex_width[i]), int(model.tex_height[i])
        channels, start = int(model.tex_nchannel[i]), int(model.tex_adr[i])
        pixels = model.tex_data[start : start + width * height * channels]
        return {
            "type": int(model.tex_type[i]),
            "width": width,
            "height": height,
            "channels": channels,
            "srgb": int(model.tex_colorspace[i]) == _SRGB,
            "hash": self._once((pixels,), pixels.tobytes),
        }

    def _mesh(self, model: Any, i: int) -> dict[str, Any]:
        parts = _MeshParts(model, i)
        return {
            "hash": self._once(parts.source, parts.surface),
            "hull": self._once((b"hull", *parts.source), parts.hull) if parts.has_hull else "",
        }

    def _field(self, model: Any, i: int) -> dict[str, Any]:
        rows, columns = int(model.hfield_nrow[i]), int(model.hfield_ncol[i])
        start = int(model.hfield_adr[i])
        heights = model.hfield_data[start : start + rows * columns]
        return {
            "rows": rows,
            "columns": columns,
            "size": _list(model.hfield_size[i]),
            "hash": self._once((heights,), heights.astype("<f4").tobytes),
        }

    def _skin(self, model: Any, scene: Any, i: int) -> dict[str, Any]:
        face, count = int(model.skin_faceadr[i]), int(model.skin_facenum[i])
        faces = model.skin_face[face : face + count].astype("<u4").tobytes()
        at, vertices = int(model.skin_texcoordadr[i]), int(model.skin_vertnum[i])
        coords = model.skin_texcoord[at : at + vertices].astype("<f4").tobytes() if at >= 0 else b""
        return {
            "start": int(scene.skinvertadr[i]),
            "count": vertices,
            "faces": self._keep(faces),
            "coords": self._keep(coords) if coords else "",
        }


def text(number: int, described: dict[str, Any]) -> str:
    """The description as a message."""
    return json.dumps({"model": {"generation": number, **described}})


class _MeshParts:
    """One mesh of a model, as the buffers that are drawn."""

    def __init__(self, model: Any, i: int) -> None:
        vert, face, norm = (
            slice(int(start[i]), int(start[i]) + int(count[i]))
            for start, count in (
                (model.mesh_vertadr, model.mesh_vertnum),
                (model.mesh_faceadr, model.mesh_facenum),
                (model.mesh_normaladr, model.mesh_normalnum),
            )
        )
        self.vertices, self.normals = model.mesh_vert[vert], model.mesh_normal[norm]
        self.faces = model.mesh_face[face].astype(np.int64)
        self.face_normals = model.mesh_facenormal[face].astype(np.int64)
        at = int(model.mesh_texcoordadr[i])
        self.coords: Array | None = None
        self.face_coords = np.zeros_like(self.faces)
        if at >= 0:
            self.coords = model.mesh_texcoord[at : at + int(model.mesh_texcoordnum[i])]
            self.face_coords = model.mesh_facetexcoord[face].astype(np.int64)
        graph = int(model.mesh_graphadr[i])
        self.has_hull = graph >= 0
        self._graph = model.mesh_graph[graph:] if graph >= 0 else np.zeros(0, np.int32)

    @property
    def source(self) -> tuple[Any, ...]:
        """What it is made from."""
        coords = self.coords if self.coords is not None else np.zeros(0)
        arrays = self.vertices, self.faces, self.normals, self.face_normals
        return (*arrays, coords, self.face_coords)

    def surface(self) -> bytes:
        """The mesh itself: smooth, but for edges."""
        flat = _face_normals(self.vertices, self.faces)
        corner_normals = self.normals[self.face_normals]
        numbers = self.face_normals.copy()
        normals = self.normals
        if self.coords is None:
            is_edge = np.einsum("fci,fi->fc", corner_normals, flat) < _SMOOTH
            own = len(self.normals) + np.arange(len(self.faces))[:, None]
            numbers = np.where(is_edge, own, numbers)
            normals = np.concatenate([self.normals, flat])
        corners = np.stack([self.faces, numbers, self.face_coords], axis=2).reshape(-1, 3)
        spans = [int(column.max(initial=0)) + 1 for column in corners.T]
        keys = (corners[:, 0] * spans[1] + corners[:, 1]) * spans[2] + corners[:, 2]
        _, first, index = np.unique(keys, return_index=True, return_inverse=True)
        used = corners[first]
        coords = None if self.coords is None else self.coords[used[:, 2]]
        return _buffers(self.vertices[used[:, 0]], normals[used[:, 1]], coords, index)

    def hull(self) -> bytes:
        """The convex hull, with flat faces."""
        vertices, faces = int(self._graph[0]), int(self._graph[1])
        start = 2 + 3 * vertices + 3 * faces
        corners = self._graph[start : start + 3 * faces].reshape(-1, 3)
        flat = _face_normals(self.vertices, corners)
        coords = None
        if self.coords is not None:
            coords = self.coords[np.minimum(corners, len(self.coords) - 1).ravel()]
        normals = np.repeat(flat, 3, axis=0)
        return _buffers(self.vertices[corners.ravel()], normals, coords, np.arange(3 * faces))


def _face_normals(vertices: Array, faces: Array) -> Array:
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    cross = np.cross(b - a, c - a)
    length = np.linalg.norm(cross, axis=1, keepdims=True)
    return np.where(length > 1e-10, cross / np.maximum(length, 1e-10), (0.0, 0.0, 1.0))


def _buffers(positions: Array, normals: Array, coords: Array | None, index: Array) -> bytes:
    """Counts, positions, texture coordinates, indices, normals of 16 bits."""
    has_coords = coords is not None
    head = np.array([len(positions), index.size, has_coords, 0], "<u4").tobytes()
    parts = [head, np.asarray(positions, "<f4").tobytes()]
    if coords is not None:
        parts.append(np.asarray(coords, "<f4").tobytes())
    parts.append(np.asarray(index, "<u4").tobytes())
    parts.append(np.round(np.clip(normals, -1.0, 1.0) * 32767.0).astype("<i2").tobytes())
    return b"".join(parts)


def _visual(model: Any) -> dict[str, Any]:
    vis, extent = model.vis, float(model.stat.extent)
    quality = vis.quality
    return {
        "slices": int(quality.numslices),
        "stacks": int(quality.numstacks),
        "quads": int(quality.numquads),
        "samples": int(quality.offsamples),
        "shadow": int(quality.shadowsize),
        "shadowClip": extent * float(vis.map.shadowclip),
        "shadowScale": float(vis.map.shadowscale),
        "fogStart": extent * float(vis.map.fogstart),
        "fogEnd": extent * float(vis.map.fogend),
        "fog": _list(vis.rgba.fog),
        "hazeSize": float(vis.map.haze),
        "haze": _list(vis.rgba.haze),
        "line": float(vis.global_.linewidth),
        "far": extent * float(vis.map.zfar),
    }


def _materials(model: Any) -> list[dict[str, Any]]:
    return [
        {
            "texture": int(model.mat_texid[i, _RGB]),
            "uniform": bool(model.mat_texuniform[i]),
            "repeat": _list(model.mat_texrepeat[i]),
        }
        for i in range(model.nmat)
    ]


def _flexes(scene: Any) -> list[dict[str, Any]]:
    edges = np.asarray(scene.flexedge).reshape(-1, 2) if scene.nflex else np.zeros((0, 2))
    found = []
    for i in range(scene.nflex):
        start, count = int(scene.flexedgeadr[i]), int(scene.flexedgenum[i])
        found.append(
            {
                "vertices": [int(scene.flexvertadr[i]), int(scene.flexvertnum[i])],
                "faces": [int(scene.flexfaceadr[i]), int(scene.flexfacenum[i])],
                "edges": edges[start : start + count].ravel().astype(int).tolist(),
            }
        )
    return found


def _list(values: Any) -> list[float]:
    return [float(v) for v in np.ravel(values)]
