"""RawState: the numbers of a robot that bridges send, copied as MuJoCo keeps them.

Right after a step the caches are full of physics, and numpy's own code costs ten times what it does
in a loop: the thread that steps only copies memory.
"""

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.bridges.dds.robot_state import BaseLayout, Index, RobotState
from mjrig.components.bridges.motors import Motors
from mjrig.control.articulation import Articulation
from mjrig.control.base import base_address
from mjrig.readings.applied_effort import AppliedEffort


class RawState:
    """Copies time, joints, forces and base of a robot into a frame.

    Args:
        motors: whose joints are read.
        site: local name of the site of the inertial sensor; where there is none, the base itself.
        extra: numbers at the end of a frame for what the bridge has to add.

    `reader` tells the other process what is where.
    """

    def __init__(self, robot: Articulation, motors: Motors, site: str, extra: int = 0) -> None:
        data, base = robot.data, base_address(robot)
        joint = _base_joint(robot, base)
        effort = AppliedEffort(motors.bindings, robot.actuators)
        self._data = data
        self._parts: list[tuple[FloatArray, int, int]] = []
        self._size = 1
        first = 0 if joint is None else int(robot.model.jnt_dofadr[joint])
        dof = [] if joint is None else range(first, first + 6)
        at = [] if base is None else range(base, base + 7)
        q = self._part(data.qpos, [*motors.qpos, *at])
        dq = self._part(data.qvel, [*motors.dof, *dof])
        ddq = self._part(data.qacc, [*motors.dof, *dof])
        forces = self._part(data.actuator_force, effort.outputs)
        n = len(motors)
        layout = None
        if joint is not None:
            found = _accelerometer(robot)
            layout = BaseLayout(
                int(q[n]),
                int(dq[n]),
                int(ddq[n]),
                None if found is None else int(self._part(data.sensordata, found)[0]),
                _turn(robot, joint, site),
                np.array(robot.model.opt.gravity),
            )
        gravity = np.array(robot.model.opt.gravity)
        size = self._size + extra
        self.reader = RobotState(size, q[:n], dq[:n], ddq[:n], forces, effort, layout, gravity)
        self.frame = np.zeros(size)
        self.extra = self.frame[size - extra :]
        self._out: Any = self.frame.data
        self._copies = [(self._out[a:b], source.data) for source, a, b in self._parts]

    def _part(self, array: Any, addresses: Sequence[int] | Index) -> Index:
        """Have a range of an array copied; where its entries are in a frame."""
        index = np.array(addresses, dtype=np.intp)
        if not len(index):
            return index
        low, high, at = int(index.min()), int(index.max()) + 1, self._size
        self._parts.append((array[low:high], at, at + high - low))
        self._size += high - low
        found: Index = index - low + at
        return found

    def read(self) -> "memoryview[float]":
        """The frame, filled."""
        out: memoryview[float] = self._out
        out[0] = self._data.time
        for part, source in self._copies:
            part[:] = source
        return out


def _base_joint(robot: Articulation, base: int | None) -> int | None:
    """The free joint of a robot's base."""
    if base is None:
        return None
    return int(np.flatnonzero(robot.model.jnt_qposadr == base)[0])


def _turn(robot: Articulation, joint: int, site: str) -> FloatArray:
    """Orientation of a site of the base, w x y z; none where there is no such site."""
    model, prefix = robot.model, robot.model_map.prefix
    found = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, prefix + site)
    if found >= 0 and model.site_bodyid[found] == model.jnt_bodyid[joint]:
        return np.array(model.site_quat[found])
    return np.array([1.0, 0.0, 0.0, 0.0])


def _accelerometer(robot: Articulation) -> list[int] | None:
    """Where the readings of the robot's first accelerometer are."""
    model, prefix = robot.model, robot.model_map.prefix
    kind = int(mujoco.mjtSensor.mjSENS_ACCELEROMETER)
    for i in np.flatnonzero(model.sensor_type == kind):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_SENSOR, int(i)) or ""
        if name.startswith(prefix):
            first = int(model.sensor_adr[i])
            return [first, first + 1, first + 2]
    return None
