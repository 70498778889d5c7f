"""RayGrid: many parallel rays against the geoms of a scene, in a few array operations.

MuJoCo casts many rays from one origin (`mj_multiRay`), not many parallel ones. What a scan meets
most, planes, boxes and upright height fields, is solved here for all rays at once, as MuJoCo
defines it; all other shapes go to MuJoCo, ray by ray, where their bounding sphere is crossed.
"""

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray

_GEOM = mujoco.mjtGeom
_TINY = 1e-15  # MuJoCo's mjMINVAL
_ACROSS = np.eye(3)[:, :2]
Indices = npt.NDArray[np.intp]
#: Distance along a direction from a point, negative: no hit.
Cast = Callable[[FloatArray, FloatArray], float]


class RayGrid:
    """Casts parallel rays against chosen geoms, where they are in `data` at that moment."""

    def __init__(self, model: Any, data: Any, geoms: Indices) -> None:
        self._data = data
        kinds = model.geom_type[geoms]
        self._planes = geoms[kinds == _GEOM.mjGEOM_PLANE]
        self._boxes = geoms[kinds == _GEOM.mjGEOM_BOX]
        self._box_sizes = model.geom_size[self._boxes]
        self._box_bounds = model.geom_rbound[self._boxes]
        self._fields = [_Field(model, data, int(i)) for i in geoms[kinds == _GEOM.mjGEOM_HFIELD]]
        known = (_GEOM.mjGEOM_PLANE, _GEOM.mjGEOM_BOX, _GEOM.mjGEOM_HFIELD)
        self._others = geoms[~np.isin(kinds, known)]
        self._bounds = model.geom_rbound[self._others]
        self._casts = [_cast(model, data, int(i)) for i in self._others]
        self._plane_sizes = model.geom_size[self._planes]

    def distances(self, starts: FloatArray, along: FloatArray) -> FloatArray:
        """How far along a unit vector each ray goes, from its start; inf: no hit."""
        found = np.full(len(starts), np.inf)
        self._meet_planes(starts, along, found)
        if len(self._boxes):
            self._meet_boxes(starts, along, found)
        for field in self._fields:
            field.meet(starts, along, found)
        if len(self._others):
            self._meet_others(starts, along, found)
        return found

    def _meet_planes(self, starts: FloatArray, along: FloatArray, found: FloatArray) -> None:
        for geom, size in zip(self._planes, self._plane_sizes, strict=True):
            turned = self._data.geom_xmat[geom].reshape(3, 3)
            slope = float(along @ turned[:, 2])
            if slope > -_TINY:  # MuJoCo's planes are seen from above only
                continue
            normal = turned[:, 2]
            far = (starts @ normal - self._data.geom_xpos[geom] @ normal) / -slope
            missed = far < 0.0
            for axis in (0, 1):
                if size[axis] > 0.0:
                    places = starts + far[:, None] * along - self._data.geom_xpos[geom]
                    missed |= np.abs(places @ turned[:, axis]) > size[axis]
            far[missed] = np.inf
            np.minimum(found, far, out=found)

    def _meet_boxes(self, starts: FloatArray, along: FloatArray, found: FloatArray) -> None:
        near = self._near(self._boxes, self._box_bounds, starts, along)
        geoms = self._boxes[near]
        where = self._data.geom_xpos[geoms]
        rays, boxes = _pairs(starts, where, self._box_bounds[near], along)
        if not rays.size:
            return
        turned = self._data.geom_xmat[geoms].reshape(-1, 3, 3)
        local = ((starts[rays] - where[boxes])[:, None, :] @ turned[boxes])[:, 0]
        far = _box_hits(local, (along @ turned)[boxes], self._box_sizes[near][boxes])
        np.minimum.at(found, rays, far)

    def _meet_others(self, starts: FloatArray, along: FloatArray, found: FloatArray) -> None:
        near = self._near(self._others, self._bounds, starts, along)
        where = self._data.geom_xpos[self._others[near]]
        rays, geoms = _pairs(starts, where, self._bounds[near], along)
        for ray, geom in zip(rays, near[geoms], strict=True):
            far = self._casts[geom](starts[ray], along)
            if 0.0 <= far < found[ray]:
                found[ray] = far

    def _near(
        self, geoms: Indices, bounds: FloatArray, starts: FloatArray, along: FloatArray
    ) -> Indices:
        """Those whose bounding sphere some ray may cross."""
        middle = 0.5 * (starts.min(axis=0) + starts.max(axis=0))
        spread = starts - middle
        reach = float(np.sqrt(np.einsum("ij,ij->i", spread, spread).max()))
        offsets = self._data.geom_xpos[geoms] - middle
        ahead = offsets @ along
        across = np.einsum("ij,ij->i", offsets, offsets) - ahead * ahead
        wide = bounds + (reach + 1e-9)
        near: Indices = np.flatnonzero((across <= wide * wide) & (ahead >= -wide))
        return near


def _pairs(
    starts: FloatArray, where: FloatArray, bounds: FloatArray, along: FloatArray
) -> tuple[Indices, Indices]:
    """Rays and spheres that they cross."""
    across = _ACROSS if along[0] == along[1] == 0.0 else _plane_of(along)
    rays, spheres = starts @ across, where @ across
    x = rays[:, :1] - spheres[:, 0]
    y = rays[:, 1:] - spheres[:, 1]
    x *= x
    y *= y
    x += y
    wide = bounds + 1e-9
    hit_rays, hit_spheres = np.nonzero(x <= wide * wide)
    return hit_rays, hit_spheres


def _plane_of(along: FloatArray) -> FloatArray:
    """Two unit vectors across a direction, as columns."""
    first = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(along, first)], axis=1)


def _box_hits(local: FloatArray, speed: FloatArray, sizes: FloatArray) -> FloatArray:
    """Distance of rays to boxes, one each, in the frames of the boxes; inf: no hit."""
    moving = np.abs(speed) > _TINY
    safe = np.where(moving, speed, 1.0)
    centre, half = -local / safe, sizes / np.abs(safe)
    enter, leave = centre - half, centre + half
    if not moving.all():  # along an axis on which the ray does not move: inside or not
        still = ~moving
        outside = np.abs(local[still]) > sizes[still]
        enter[still] = np.where(outside, np.inf, -np.inf)
        leave[still] = np.inf
    first = np.maximum(np.maximum(enter[:, 0], enter[:, 1]), enter[:, 2])
    last = np.minimum(np.minimum(leave[:, 0], leave[:, 1]), leave[:, 2])
    far = np.where(first >= 0.0, first, last)
    far[(first > last) | (last < 0.0)] = np.inf
    return far


class _Field:
    """A height field: looked up where rays and field are vertical, else cast by MuJoCo."""

    def __init__(self, model: Any, data: Any, geom: int) -> None:
        field = int(model.geom_dataid[geom])
        self._data, self._geom = data, geom
        self._size = model.hfield_size[field]
        self._shape = int(model.hfield_nrow[field]), int(model.hfield_ncol[field])
        first = int(model.hfield_adr[field])
        self._heights = model.hfield_data[first : first + self._shape[0] * self._shape[1]]
        self._cast = _cast(model, data, geom)

    def meet(self, starts: FloatArray, along: FloatArray, found: FloatArray) -> None:
        turned = self._data.geom_xmat[self._geom].reshape(3, 3)
        upright = turned[0, 2] == turned[1, 2] == 0.0 and turned[2, 2] > 0.0
        if along[2] != -1.0 or not upright:
            for i, start in enumerate(starts):
                far = self._cast(start, along)
                if 0.0 <= far < found[i]:
                    found[i] = far
            return
        local = (starts - self._data.geom_xpos[self._geom]) @ turned
        inside = np.flatnonzero((np.abs(local[:, :2]) <= self._size[:2]).all(axis=1))
        if inside.size:
            found[inside] = np.minimum(found[inside], self._below(local[inside]))

    def _below(self, local: FloatArray) -> FloatArray:
        """How far the field is below points over its extent."""
        z = local[:, 2]
        far = z - self._surface(local[:, 0], local[:, 1])
        # Under the surface MuJoCo sees no triangle, but the box of the base.
        base = np.where(z >= 0.0, z, z + self._size[3])
        return np.where(far >= 0.0, far, np.where(base >= 0.0, base, np.inf))

    def _surface(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Height of the triangles; each cell is split along its diagonal from −x −y to +x +y."""
        rows, columns = self._shape
        u = (x + self._size[0]) * ((columns - 1) / (2.0 * self._size[0]))
        v = (y + self._size[1]) * ((rows - 1) / (2.0 * self._size[1]))
        j = np.minimum(u.astype(np.intp), columns - 2)
        i = np.minimum(v.astype(np.intp), rows - 2)
        u -= j
        v -= i
        corner = i * columns + j
        h = self._heights
        a, d = h[corner].astype(np.float64), h[corner + columns + 1].astype(np.float64)
        right = u >= v
        third = h[np.where(right, corner + 1, corner + columns)].astype(np.float64)
        along, beside = np.where(right, u, v), np.where(right, v, u)
        height: FloatArray = (a + (third - a) * along + (d - third) * beside) * self._size[2]
        return height


def _cast(model: Any, data: Any, geom: int) -> Cast:
    """A ray of MuJoCo against one geom."""
    kind = model.geom_type[geom]
    if kind == _GEOM.mjGEOM_HFIELD:
        return lambda start, along: float(
            mujoco.mj_rayHfield(model, data, geom, start, along, None)
        )
    if kind == _GEOM.mjGEOM_MESH:
        return lambda start, along: float(mujoco.mj_rayMesh(model, data, geom, start, along, None))
    where, turned = data.geom_xpos[geom], data.geom_xmat[geom]
    size = model.geom_size[geom]
    return lambda start, along: float(
        mujoco.mju_rayGeom(where, turned, size, start, along, kind, None)
    )
