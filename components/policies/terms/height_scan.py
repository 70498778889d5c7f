"""HeightScan: the height of the ground below a grid of points that turns with the base."""

import math
from collections.abc import Callable
from enum import StrEnum
from typing import Any, ClassVar

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.policies.terms.term import ObservationTerm
from mjrig.components.policies.terms.view import View
from mjrig.errors import BindingError
from mjrig.properties.array_kinds import Samples
from mjrig.properties.scalar_kinds import Choice, Float, OptionalFloat, Text

_GEOM = mujoco.mjtGeom
_DOWN = np.array([0.0, 0.0, -1.0])
#: Distance along a ray from a point, negative: no hit.
Ray = Callable[[FloatArray], float]


class GridOrder(StrEnum):
    """Order of the points of a grid."""

    XY = "xy"
    YX = "yx"


class HeightScan(ObservationTerm):
    """Height of a body above the ground at the points of a grid: `z − ground − offset` [m].

    Rays go straight down, to what is fixed to the world. The grid turns with the body's yaw.
    """

    body = Text("", doc="Body at the middle of the grid; empty: the base.")
    extent = Samples([1.6, 1.0], min=0.0, rows=False, doc="Size of the grid in x and y [m].")
    resolution = Float(0.1, min=0.0, above=True, unit="m", doc="Distance between its points.")
    grid = Choice(GridOrder.XY, doc="xy: x changes fastest, from −y and −x; yx: y does.")
    offset = Float(0.0, unit="m", doc="Subtracted from every value.")
    above = Float(0.0, min=0.0, unit="m", doc="Height over the body in which the rays begin.")
    reach = Float(5.0, min=0.0, above=True, unit="m", doc="How far below the body it sees.")
    miss = OptionalFloat(None, unit="m", doc="Value where it sees nothing; none: reach.")

    needs_position_stage: ClassVar[bool] = True  # the body's frame must be of the current state

    def connect(self, view: View) -> int:
        self._data = view.data
        self._body = view.body_id(self.body, self) if self.body else view.base_body(self.label)
        if self.extent.size != 2:
            raise BindingError(f"{self.label}.extent: must be two numbers, x and y")
        x, y = (_axis(float(size), self.resolution) for size in self.extent)
        if self.grid is GridOrder.XY:
            points = [(a, b) for b in y for a in x]
        else:
            points = [(a, b) for a in x for b in y]
        self._points = np.array(points)
        self._rays = [ray(view.model, view.data, i) for i in _ground(view.model)]
        return len(self._points)

    def measure(self, out: FloatArray) -> None:
        position = self._data.xpos[self._body]
        w, x, y, z = self._data.xquat[self._body]
        yaw = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        turn = np.array([[math.cos(yaw), math.sin(yaw)], [-math.sin(yaw), math.cos(yaw)]])
        start = np.empty(3)
        start[2] = position[2] + self.above
        miss = self.reach if self.miss is None else self.miss
        for i, place in enumerate(self._points @ turn + position[:2]):
            start[:2] = place
            hits = [hit for hit in (cast(start) for cast in self._rays) if hit >= 0.0]
            height = min(hits, default=math.inf) - self.above
            out[i] = height - self.offset if height <= self.reach else miss


def _axis(size: float, step: float) -> FloatArray:
    return np.arange(-size / 2.0, size / 2.0 + step / 2.0, step)


def _ground(model: Any) -> list[int]:
    """Geoms that are fixed to the world and can be touched."""
    fixed = model.body_weldid[model.geom_bodyid] == 0
    return [
        int(i) for i in np.flatnonzero(fixed & ((model.geom_contype | model.geom_conaffinity) != 0))
    ]


def ray(model: Any, data: Any, geom: int) -> Ray:
    """How far a geom is straight below a point."""
    kind = model.geom_type[geom]
    if kind == _GEOM.mjGEOM_HFIELD:
        return lambda start: float(mujoco.mj_rayHfield(model, data, geom, start, _DOWN, None))
    if kind == _GEOM.mjGEOM_MESH:
        return lambda start: float(mujoco.mj_rayMesh(model, data, geom, start, _DOWN, None))
    where, turned = data.geom_xpos[geom], data.geom_xmat[geom]
    size = model.geom_size[geom]
    return lambda start: float(mujoco.mju_rayGeom(where, turned, size, start, _DOWN, kind, None))
