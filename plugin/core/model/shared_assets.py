"""Equal meshes and textures of several actors are compiled once."""

from collections.abc import Hashable
from typing import Any

import mujoco

from mjrig.core.model.asset_files import values_of

# Shared meshes ------------------------------------------------------------------------------------
# SharedMeshes: equal meshes of several actors are compiled once.


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
# SharedTextures: equal textures of several actors are compiled once.


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
