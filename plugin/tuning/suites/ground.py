"""The ground under a robot: height above it, what touches it, and how far that slides."""

from typing import Any

import mujoco
import numpy as np

from mjrig.pattern_budget import pattern_budget
from mjrig.patterns import compile_pattern
from mjrig.tuning.objectives.objective_hosts import Host

#: Contacts below this force do not count [N].
LEAST_FORCE = 1.0
#: A ray that leaves a body of the robot goes on from this far below [m].
BELOW = 1e-4
_PLANE = int(mujoco.mjtGeom.mjGEOM_PLANE)


class GroundContacts:
    """What a robot with a free base stands on: all that does not move.

    Args:
        terminate: patterns of bodies that must not touch it.
    """

    def __init__(self, host: Host, terminate: tuple[str, ...]) -> None:
        model = host.robot.model
        self._model, self._data, self._base = model, host.robot.data, host.base_body
        self._is_static = np.asarray(model.body_weldid)[np.asarray(model.geom_bodyid)] == 0
        root = int(model.body_rootid[self._base])
        self._is_own = np.asarray(model.body_rootid)[np.asarray(model.geom_bodyid)] == root
        solid = self._is_static & (np.asarray(model.geom_contype) != 0)
        kinds = np.asarray(model.geom_type)[solid]
        self._is_flat = bool(np.all(kinds == _PLANE))
        self._planes = np.flatnonzero(solid)[kinds == _PLANE]
        prefix = host.robot.model_map.prefix
        names = [model.body(i).name.removeprefix(prefix) for i in range(model.nbody)]
        with pattern_budget():
            patterns = [compile_pattern(p) for p in terminate]
            self._forbidden = np.array([any(p.fullmatch(n) for p in patterns) for n in names])
        self._force, self._speed = np.zeros(6), np.zeros(6)

    def height(self) -> float:
        """Height of the base above the ground under it [m]."""
        at = np.array(self._data.xpos[self._base])
        if self._is_flat:
            levels = self._data.geom_xpos[self._planes, 2]
            return float(at[2] - (levels.max() if levels.size else 0.0))
        down, hit = np.array([0.0, 0.0, -1.0]), np.zeros(1, np.int32)
        start = at.copy()
        while True:
            way = mujoco.mj_ray(
                self._model, self._data, start, down, None, 1, self._base, hit, None
            )
            if hit[0] < 0:
                return float(at[2])  # beside everything: it is about to sink below zero
            start[2] -= way
            if not self._is_own[hit[0]]:
                return float(at[2] - start[2])
            start[2] -= BELOW

    def look(self) -> tuple[float, bool]:
        """Speed at which bodies slide, summed [m/s], and whether a forbidden one touches."""
        data = self._data
        if not data.ncon:
            return 0.0, False
        geoms = data.contact.geom
        found: dict[int, float] = {}
        for i in range(len(geoms)):
            a, b = int(geoms[i, 0]), int(geoms[i, 1])
            if self._is_static[b] and self._is_own[a]:
                own = a
            elif self._is_static[a] and self._is_own[b]:
                own = b
            else:
                continue
            mujoco.mj_contactForce(self._model, data, i, self._force)
            if self._force[0] > LEAST_FORCE:
                body = int(self._model.geom_bodyid[own])
                found[body] = max(found.get(body, 0.0), self._slide(body, data.contact.pos[i]))
        touches = any(self._forbidden[body] for body in found)
        return sum(found.values()), touches

    def _slide(self, body: int, point: Any) -> float:
        """Horizontal speed of a body at a point."""
        kind = int(mujoco.mjtObj.mjOBJ_XBODY)
        mujoco.mj_objectVelocity(self._model, self._data, kind, body, self._speed, 0)
        turn, speed = self._speed[:3], self._speed[3:]
        x, y, z = point - self._data.xpos[body]
        return float(
            np.hypot(speed[0] + turn[1] * z - turn[2] * y, speed[1] + turn[2] * x - turn[0] * z)
        )
