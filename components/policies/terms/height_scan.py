"""HeightScan: the height of the ground below a grid of points around the robot."""

import math
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.policies.terms.ray_grid import RayGrid
from mjrig.components.policies.terms.term import ObservationTerm
from mjrig.components.policies.terms.view import Indices, View
from mjrig.errors import BindingError, PropertyError
from mjrig.properties.array_kinds import Samples
from mjrig.properties.scalar_kinds import Choice, Float, OptionalFloat, Text

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

    def _own_validate(self) -> None:
        super()._own_validate()
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
