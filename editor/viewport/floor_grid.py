"""The floor grid: lines on the floor, or where one would be, so that distances can be seen."""

from typing import Any

import mujoco
import numpy as np

from mjrig.arrays import FloatArray

#: Distances between two lines [m]: the largest below a third of the camera's distance.
SPACINGS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0)
#: Lines on either side of the middle.
REACH = 12
_LINE = int(mujoco.mjtGeom.mjGEOM_LINE)
_PLANE, _FIELD = int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_HFIELD)
_GREY, _RED, _GREEN = (0.42, 0.45, 0.50), (0.75, 0.25, 0.25), (0.25, 0.60, 0.30)
_MIDDLE, _EDGE = 0.65, 0.08


def floor_height(model: Any) -> float | None:
    """Height of the floor; 0 where there is none, None where the ground is not flat."""
    heights = []
    for i in np.flatnonzero(model.geom_bodyid == 0):
        if int(model.geom_type[i]) == _FIELD:
            return None
        if int(model.geom_type[i]) == _PLANE:
            normal = np.zeros(3)
            mujoco.mju_rotVecQuat(normal, np.array([0.0, 0.0, 1.0]), model.geom_quat[i])
            if normal[2] > 1.0 - 1e-6:
                heights.append(float(model.geom_pos[i, 2]))
    return heights[0] if heights else 0.0


def spacing(distance: float) -> float:
    """Distance of the lines for a distance of the camera."""
    return max((s for s in SPACINGS if s <= distance / 3.0), default=SPACINGS[0])


class FloorGrid:
    """The lines of one MjvScene; made again only where something about them changed."""

    def __init__(self, model: Any) -> None:
        self._height = floor_height(model)
        self._made: tuple[object, ...] = ()
        self._count = 0

    def add(self, scene: Any, middle: FloatArray, distance: float) -> None:
        """Add the lines around a point to a scene that was just updated."""
        if self._height is None:
            return
        step = spacing(distance)
        first = np.round(np.asarray(middle)[:2] / step)
        lift = self._height + 5e-4 * distance  # else the floor hides parts of them
        wanted = (scene.ngeom, step, *first.tolist(), lift)
        if wanted == self._made:  # an update leaves what lies behind its own geoms
            scene.ngeom += self._count
            return
        before = scene.ngeom
        _add_lines(scene, first, step, lift)
        self._made, self._count = wanted, scene.ngeom - before


def _add_lines(scene: Any, first: FloatArray, step: float, lift: float) -> None:
    """Lines in x and in y; the axes of the world are coloured."""
    low, high = (first - REACH) * step, (first + REACH) * step
    for offset in range(-REACH, REACH + 1):
        share = abs(offset) / REACH
        alpha = _MIDDLE + (_EDGE - _MIDDLE) * share
        x, y = (first + offset) * step
        colour = _GREEN if first[0] + offset == 0 else _GREY
        _add_line(scene, (x, low[1], lift), (x, high[1], lift), (*colour, alpha))
        colour = _RED if first[1] + offset == 0 else _GREY
        _add_line(scene, (low[0], y, lift), (high[0], y, lift), (*colour, alpha))


def _add_line(
    scene: Any,
    begin: tuple[float, ...],
    end: tuple[float, ...],
    colour: tuple[float, ...],
) -> None:
    if scene.ngeom >= scene.maxgeom:
        return
    geom = scene.geoms[scene.ngeom]
    nothing, rgba = np.zeros(3), np.array(colour, np.float32)
    mujoco.mjv_initGeom(geom, _LINE, nothing, nothing, np.zeros(9), rgba)
    mujoco.mjv_connector(geom, _LINE, 1.5, np.array(begin), np.array(end))
    geom.emission, geom.specular, geom.reflectance = 1.0, 0.0, 0.0  # its colour in any light
    scene.ngeom += 1
