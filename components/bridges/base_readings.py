"""BaseReadings: pose, velocities and acceleration of a robot's base, as its sensor has them."""

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.articulation import Articulation
from mjrig.control.base import base_address


class BaseReadings:
    """Reads the base of a robot; a robot with a fixed one is at rest, upright.

    Args:
        site: local name of the site of the inertial sensor; where there is none, the base itself.
    """

    def __init__(self, robot: Articulation, site: str) -> None:
        self._data, model = robot.data, robot.model
        self._qpos = base_address(robot)
        self._dof = 0
        self._turn, self._is_turned = np.array([1.0, 0.0, 0.0, 0.0]), False
        self._accelerometer = _sensor(robot, mujoco.mjtSensor.mjSENS_ACCELEROMETER)
        self._gravity = np.array(model.opt.gravity)
        self._out = np.zeros(16)
        self._out[0], self._out[7:10] = 1.0, -self._gravity
        if self._qpos is None:
            return
        joint = int(np.flatnonzero(model.jnt_qposadr == self._qpos)[0])
        self._dof = int(model.jnt_dofadr[joint])
        found = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, robot.model_map.prefix + site)
        if found >= 0 and model.site_bodyid[found] == model.jnt_bodyid[joint]:
            self._turn = np.array(model.site_quat[found])
            self._is_turned = not np.array_equal(self._turn, [1.0, 0.0, 0.0, 0.0])

    def read(self) -> FloatArray:
        """Quaternion w x y z, angular velocity and acceleration in its frame, position, velocity.

        Position and velocity are of the base in the world; the acceleration is that of the last
        step, with gravity as an accelerometer shows it.
        """
        out, data, at, dof = self._out, self._data, self._qpos, self._dof
        if at is None:
            return out
        qpos, qvel = data.qpos, data.qvel
        if self._is_turned:
            mujoco.mju_mulQuat(out[0:4], qpos[at + 3 : at + 7], self._turn)
            back = np.empty(4)
            mujoco.mju_negQuat(back, self._turn)
            mujoco.mju_rotVecQuat(out[4:7], qvel[dof + 3 : dof + 6], back)
        else:
            out[0:4], out[4:7] = qpos[at + 3 : at + 7], qvel[dof + 3 : dof + 6]
        if self._accelerometer is not None:
            out[7:10] = self._accelerometer
        else:
            back = np.empty(4)
            mujoco.mju_negQuat(back, out[0:4])
            mujoco.mju_rotVecQuat(out[7:10], data.qacc[dof : dof + 3] - self._gravity, back)
        out[10:13] = qpos[at : at + 3]
        out[13:16] = qvel[dof : dof + 3]
        return out

    def orientation(self) -> FloatArray:
        """Quaternion w x y z of the base itself, not of the sensor."""
        if self._qpos is None:
            return np.array([1.0, 0.0, 0.0, 0.0])
        found: FloatArray = self._data.qpos[self._qpos + 3 : self._qpos + 7]
        return found


def _sensor(robot: Articulation, kind: object) -> FloatArray | None:
    """The readings of the robot's first sensor of a kind."""
    model, prefix = robot.model, robot.model_map.prefix
    for i in np.flatnonzero(model.sensor_type == int(kind)):  # type: ignore[call-overload]
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_SENSOR, int(i)) or ""
        if name.startswith(prefix):
            return robot.sensors[name.removeprefix(prefix)]
    return None
