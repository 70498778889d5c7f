"""What models that are merged into one world have in common: their `<size>`, and equal meshes."""

from collections.abc import Hashable, Sequence
from typing import Any

_SIZES = (
    "memory", "nconmax", "njmax", "nstack", "nuserdata", "nuser_actuator", "nuser_body",
    "nuser_cam", "nuser_geom", "nuser_jnt", "nuser_sensor", "nuser_site", "nuser_tendon",
)  # fmt: skip


def share_sizes(world: Any, specs: Sequence[Any]) -> None:
    """Give the world and its models the largest of each size: attaching drops what differs."""
    everything = (world, *specs)
    for name in _SIZES:
        largest = max(getattr(spec, name) for spec in everything)
        for spec in everything:
            setattr(spec, name, largest)
    for spec in specs:
        spec.nkey = 0  # MuJoCo counts them itself


def memory_for_pairs(model: Any) -> int:
    """Bytes that MuJoCo's search for contacts may take, which its own guess leaves out.

    It lists the pairs of bodies twice, and fails in the first step of a world with some thousands.
    """
    return int(8 * model.nbody**2)


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
        for mesh in spec.meshes:
            own = f"{name}/{mesh.name}"
            shared = self._first.setdefault((source, mesh.name, _shape(mesh)), own)
            if shared != own and not mesh.plugin.active:
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
