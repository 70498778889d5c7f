"""HeightScan: the height of the ground below a grid of points around the robot.

MuJoCo casts many rays from one origin (`mj_multiRay`), not many parallel ones. `RayGrid` solves
planes, boxes and upright height fields for all rays at once, as MuJoCo defines them; all other
shapes go to MuJoCo, ray by ray, where their bounding sphere is crossed.
"""

import math
from collections.abc import Callable
from enum import StrEnum
from typing import Any, ClassVar

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.components.policies.terms.term import ObservationTerm
from mjrig.components.policies.terms.view import Indices, View
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import BindingError, PropertyError
from mjrig.core.properties.collection_kinds import Samples
from mjrig.core.properties.scalar_kinds import Choice, Float, OptionalFloat, Text

# Ray grid -----------------------------------------------------------------------------------------

_GEOM = mujoco.mjtGeom
_TINY = 1e-15  # MuJoCo's mjMINVAL
_ACROSS = np.eye(3)[:, :2]
_GeomIndices = npt.NDArray[np.intp]
#: Distance along a direction from a point, negative: no hit.
Cast = Callable[[FloatArray, FloatArray], float]


class RayGrid:
    """Casts parallel rays against chosen geoms, where they are in `data` at that moment."""

    def __init__(self, model: Any, data: Any, geoms: _GeomIndices) -> None:
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
        self, geoms: _GeomIndices, bounds: FloatArray, starts: FloatArray, along: FloatArray
    ) -> _GeomIndices:
        """Those whose bounding sphere some ray may cross."""
        middle = 0.5 * (starts.min(axis=0) + starts.max(axis=0))
        spread = starts - middle
        reach = float(np.sqrt(np.einsum("ij,ij->i", spread, spread).max()))
        offsets = self._data.geom_xpos[geoms] - middle
        ahead = offsets @ along
        across = np.einsum("ij,ij->i", offsets, offsets) - ahead * ahead
        wide = bounds + (reach + 1e-9)
        near: _GeomIndices = np.flatnonzero((across <= wide * wide) & (ahead >= -wide))
        return near


def _pairs(
    starts: FloatArray, where: FloatArray, bounds: FloatArray, along: FloatArray
) -> tuple[_GeomIndices, _GeomIndices]:
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


# Height scan --------------------------------------------------------------------------------------

_DOWN = np.array([0.0, 0.0, -1.0])


class GridOrder(StrEnum):
    """Order of the points of a grid."""

    XY = "xy"
    YX = "yx"


class Alignment(StrEnum):
    """What a grid turns with."""

    YAW = "yaw"
    BASE = "base"
    WORLD = "world"


class HeightScan(ObservationTerm):
    """Height of a body above the ground at the points of a grid: `z − ground − offset` [m].

    Rays go down from the points to what is fixed to the world, or to the geoms of some `groups`;
    never to the robot itself. Higher ground gives a smaller value.
    """

    body = Text("", doc="Body at the middle of the grid; empty: the base.")
    site = Text("", doc="Site at the middle of the grid, instead of a body.")
    extent = Samples([1.6, 1.0], min=0.0, rows=False, doc="Size of the grid in x and y [m].")
    resolution = Float(0.1, min=0.0, above=True, unit="m", doc="Distance between its points.")
    centre = Samples(
        [0.0, 0.0], rows=False, doc="Middle of the grid in the frame of the body, x and y [m]."
    )
    grid = Choice(GridOrder.XY, doc="xy: x changes fastest, from −y and −x; yx: y does.")
    alignment = Choice(
        Alignment.YAW,
        doc="yaw: the grid turns with the body's yaw; base: grid and rays turn with the body; "
        "world: nothing turns.",
    )
    offset = Float(0.0, unit="m", doc="Subtracted from every value.")
    above = Float(0.0, min=0.0, unit="m", doc="Height over the body in which the rays begin.")
    reach = Float(
        5.0, min=0.0, above=True, unit="m", doc="Lowest ground that is seen, below the body."
    )
    miss = OptionalFloat(
        None, unit="m", doc="Value where nothing is seen; none: the reach. The offset is not taken."
    )
    groups = Samples(
        [],
        min=0,
        max=5,
        rows=False,
        doc="Groups of the geoms that are seen, also of moving ones; none: all geoms that are "
        "fixed to the world and can be touched.",
    )
    cells = Float(
        0.0,
        min=0.0,
        unit="m",
        doc="Cell of a height table as legged_gym has: the lowest of a cell's corner and its next "
        "ones in x and y; 0: the ground itself.",
    )

    needs_position_stage: ClassVar[bool] = True  # the body's frame must be of the current state

    def validate(self) -> None:
        super().validate()
        for name in ("extent", "centre"):
            if getattr(self, name).shape != (2,):
                raise PropertyError(f"{self.label}.{name}: must be two numbers, x and y", (name,))
        if np.any(self.groups % 1.0):
            raise PropertyError(f"{self.label}.groups: must be whole numbers", ("groups",))
        if self.site and self.body:
            raise PropertyError(f"{self.label}: has both site and body; give one", ("site",))
        if self.cells and self.alignment is Alignment.BASE:
            raise PropertyError(
                f"{self.label}.cells: a table is read straight from above; "
                "use alignment: yaw or world",
                ("cells",),
            )

    def image_size(self) -> tuple[int, int]:
        x, y = (len(_axis(float(size), self.resolution)) for size in self.extent)
        return (y, x) if self.grid is GridOrder.XY else (x, y)

    def connect(self, view: View) -> int:
        model, data = view.model, view.data
        body = self._find_frame(view)
        x, y = (_axis(float(size), self.resolution) for size in self.extent)
        if len(x) * len(y) > 100_000:
            raise BindingError(
                f"{self.label}: a grid of {len(x)} × {len(y)} points is too large; "
                "take a coarser resolution"
            )
        first, second = (y, x) if self.grid is GridOrder.XY else (x, y)
        slow, fast = (a.reshape(-1) for a in np.meshgrid(first, second, indexing="ij"))
        flat = (fast, slow) if self.grid is GridOrder.XY else (slow, fast)
        self._points = np.stack([flat[0], flat[1], np.full(slow.size, self.above)], axis=1)
        self._points[:, :2] += self.centre
        self._grid = RayGrid(model, data, self._seen(model, body))
        self._starts, self._far, self._along = np.zeros((0, 3)), np.zeros(0), _DOWN
        return len(self._points)

    def _find_frame(self, view: View) -> int:
        """Keep the frame at the middle; the body it is on."""
        data = view.data
        if self.site:
            site = view.site_id(self.site, self)
            self._position, self._turned = data.site_xpos[site], data.site_xmat[site]
            return int(view.model.site_bodyid[site])
        body = view.body_id(self.body, self) if self.body else view.base_body(self.label)
        self._position, self._turned = data.xpos[body], data.xmat[body]
        return body

    def _seen(self, model: Any, body: int) -> Indices:
        """The geoms that rays can hit."""
        bodies = model.geom_bodyid
        if self.groups.size:
            own = model.body_rootid[bodies] == model.body_rootid[body]
            chosen = np.isin(model.geom_group, self.groups.astype(int)) & ~own
        else:
            touchable = (model.geom_contype | model.geom_conaffinity) != 0
            chosen = (model.body_weldid[bodies] == 0) & touchable
        return np.flatnonzero(chosen)

    def measure(self, out: FloatArray) -> None:
        turned = self._turned.reshape(3, 3)
        down = _DOWN
        if self.alignment is Alignment.BASE:
            starts, down = self._points @ turned.T, -turned[:, 2]
        elif self.alignment is Alignment.YAW:
            starts = self._points.copy()
            starts[:, :2] = self._points[:, :2] @ _yaw(turned)
        else:
            starts = self._points.copy()
        starts += self._position
        far = self._lowest(starts) if self.cells else self._grid.distances(starts, down)
        # Down is −1 in z but for `base`, whose rays may be level: no ground is then below them.
        with np.errstate(invalid="ignore"):
            heights = self._position[2] - (starts[:, 2] + far * down[2])
        heights[np.isinf(far)] = np.inf
        self._starts, self._far, self._along = starts, far, down.copy()
        missed = self.reach if self.miss is None else self.miss
        out[:] = np.where(heights <= self.reach, heights - self.offset, missed)

    def rays(self) -> FloatArray:
        hit = np.isfinite(self._far)
        starts = self._starts[hit]
        return np.stack([starts, starts + self._far[hit, None] * self._along], axis=1)

    def _lowest(self, starts: FloatArray) -> FloatArray:
        """How far down the lowest of three table entries is, below each point."""
        corners = starts.copy()
        corners[:, :2] = np.floor(starts[:, :2] / self.cells) * self.cells
        steps = np.array([[0.0, 0.0, 0.0], [self.cells, 0.0, 0.0], [0.0, self.cells, 0.0]])
        places = (corners[None] + steps[:, None]).reshape(-1, 3)
        lowest: FloatArray = self._grid.distances(places, _DOWN).reshape(3, -1).max(axis=0)
        return lowest


def _axis(size: float, step: float) -> FloatArray:
    return np.arange(-size / 2.0, size / 2.0 + step / 2.0, step)


def _yaw(turned: FloatArray) -> FloatArray:
    """The turn of a frame about the vertical, for rows of x and y."""
    yaw = math.atan2(turned[1, 0], turned[0, 0])
    return np.array([[math.cos(yaw), math.sin(yaw)], [-math.sin(yaw), math.cos(yaw)]])
