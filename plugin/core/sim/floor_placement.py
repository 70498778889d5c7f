"""Floor placement: the height at which a model stands on the floor."""

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from mjrig.core.sim.world import World

#: A free robot starts this far above the floor [m], so that nothing sticks in it.
CLEARANCE = 0.01
HOME = "home"
_ENDLESS = (int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_HFIELD))


@dataclass(frozen=True)
class Stance:
    """How an actor stands when it is alone in a world."""

    #: Height of its lowest point with its origin at 0 [m]; None if it has no body to stand on.
    lowest: float | None
    #: Whether it can fall.
    is_free: bool
    #: Whether its model has a floor.
    has_floor: bool

    def height(self, floor: float = 0.0) -> float:
        """Where to put its origin so that it stands on a floor.

        What is fixed keeps the height its model gives it, unless it would reach below.
        """
        if self.lowest is None or self.has_floor:
            return floor  # it stands on its own floor already
        return floor + (CLEARANCE - self.lowest if self.is_free else max(-self.lowest, 0.0))


def stance(world: World) -> Stance:
    """How the only actor of a world stands in its present state."""
    model = world.model
    free = bool((model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)).any())
    return Stance(lowest_point(model, world.data), free, has_floor(model))


def has_floor(model: Any) -> bool:
    """Whether a plane or height field is fixed to the world."""
    fixed = model.body_weldid[model.geom_bodyid] == 0
    return bool((fixed & np.isin(model.geom_type, _ENDLESS)).any())


def lowest_point(model: Any, data: Any) -> float | None:
    """Lowest point of what collides, else of what is seen; floors and scenery do not count."""
    solid = ~np.isin(model.geom_type, _ENDLESS)
    own = solid & (model.geom_bodyid > 0)
    collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    for chosen in (own & collides, own, solid):
        if chosen.any():
            return min(_lowest(model, data, int(i)) for i in np.flatnonzero(chosen))
    return None


def _lowest(model: Any, data: Any, geom: int) -> float:
    """Lowest point of one geom: its centre less how far it reaches down."""
    kinds = mujoco.mjtGeom
    kind, size = model.geom_type[geom], model.geom_size[geom]
    down = data.geom_xmat[geom].reshape(3, 3)[2]  # the world's z in the geom's frame
    height = float(data.geom_xpos[geom, 2])
    if kind == kinds.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        first = model.mesh_vertadr[mesh]
        vertices = model.mesh_vert[first : first + model.mesh_vertnum[mesh]]
        return height + float((vertices @ down).min())
    if kind == kinds.mjGEOM_SPHERE:
        return height - float(size[0])
    if kind == kinds.mjGEOM_CAPSULE:
        return height - float(size[0] + abs(down[2]) * size[1])
    if kind == kinds.mjGEOM_CYLINDER:
        return height - float(size[0] * np.hypot(down[0], down[1]) + abs(down[2]) * size[1])
    if kind == kinds.mjGEOM_ELLIPSOID:
        return height - float(np.linalg.norm(down * size))
    box = model.geom_aabb[geom]  # exact for a box, sufficient for others
    return height + float(down @ box[:3] - np.abs(down) @ box[3:])
