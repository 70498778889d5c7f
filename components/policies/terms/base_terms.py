"""Base terms: velocities of the base, and the direction of gravity."""

from abc import ABC
from collections.abc import Iterable
from enum import StrEnum
from typing import ClassVar

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.policies.terms.term import ObservationTerm, missing
from mjrig.components.policies.terms.view import View
from mjrig.errors import BindingError
from mjrig.properties.scalar_kinds import Choice, Text


def sensor_of(term: ObservationTerm, view: View, name: str, size: int | None = None) -> FloatArray:
    """A view of a sensor's values.

    Raises:
        BindingError: there is none of that name, or it has the wrong number of values.
    """
    sensors = view.robot.sensors
    if name not in sensors:
        raise missing(term, "sensor", name, sensors)
    if size is not None and sensors[name].size != size:
        raise BindingError(
            f"{term.label}: the sensor {name!r} has {sensors[name].size} values, needs {size}"
        )
    return view.sensor(name)


def each(*arrays: FloatArray) -> Iterable[tuple[FloatArray, ...]]:
    """The arrays of every world, for functions of MuJoCo that take one vector."""
    return (arrays,) if arrays[0].ndim == 1 else zip(*arrays, strict=True)


class _BaseVelocityTerm(ObservationTerm, ABC):
    """Base class of base velocities, from a sensor or the free joint.

    A sensor has the value of MuJoCo's last evaluation; a site that of the present state.
    """

    over_worlds: ClassVar[bool] = True

    sensor = Text("", doc="Sensor to read instead of the free joint.")
    site = Text("", doc="Site of the base whose velocity to take, in its frame: an IMU.")

    def connect(self, view: View) -> int:
        self._view = view
        if self.sensor and self.site:
            raise BindingError(f"{self.label}: give a sensor or a site, not both")
        self._sensor = sensor_of(self, view, self.sensor, 3) if self.sensor else None
        self._offset, self._turn = np.zeros(3), None
        if self._sensor is None:
            qpos, dof = view.free_joint(self.label)
            self._quaternion = view.data.qpos[..., qpos + 3 : qpos + 7]
            self._linear = view.data.qvel[..., dof : dof + 3]
            self._angular = view.data.qvel[..., dof + 3 : dof + 6]
        if self.site:
            self._connect_site(view)
        return 3

    def _connect_site(self, view: View) -> None:
        """Place and orientation of the site in the base."""
        site, model = view.site_id(self.site, self), view.model
        if int(model.site_bodyid[site]) != view.base_body(self.label):
            raise BindingError(f"{self.label}.site: {self.site!r} is not on the base")
        self._offset[:] = model.site_pos[site]
        if np.any(model.site_quat[site] != (1.0, 0.0, 0.0, 0.0)):
            self._turn = np.zeros(4)
            mujoco.mju_negQuat(self._turn, model.site_quat[site])

    _turn: FloatArray | None

    def _in_frame(self, vector: FloatArray) -> FloatArray:
        """A vector of the base in the frame of the site."""
        if self._turn is None:
            return vector
        found = np.zeros_like(vector)
        for out, own in each(found, vector):
            mujoco.mju_rotVecQuat(out, own, self._turn)
        return found


class BaseAngularVelocity(_BaseVelocityTerm):
    """Angular velocity of the base, in its own frame [rad/s]: of the free joint, or a gyro."""

    def measure(self, out: FloatArray) -> None:
        found = self._sensor
        if found is None:
            found = self._angular if self._turn is None else self._in_frame(self._angular)
        out[...] = self._view.seen(found)


class VelocityPoint(StrEnum):
    """Point of the base whose velocity is taken."""

    ORIGIN = "origin"
    COM = "com"


class BaseLinearVelocity(_BaseVelocityTerm):
    """Velocity of the base, in its own frame [m/s]: of the free joint, or a velocimeter."""

    point = Choice(
        VelocityPoint.ORIGIN, doc="Point of the base: its origin, or its centre of mass (com)."
    )

    def connect(self, view: View) -> int:
        size = super().connect(view)
        self._aside = bool(self.site)
        if self.point is VelocityPoint.COM:
            if self.site or self.sensor:
                raise BindingError(
                    f"{self.label}.point: com is of the base, not of a site or sensor"
                )
            self._offset[:] = view.model.body_ipos[view.base_body(self.label)]
            self._aside = True
        return size

    def measure(self, out: FloatArray) -> None:
        if self._sensor is not None:
            out[...] = self._view.seen(self._sensor)
            return
        inverse = np.zeros(4)
        for own, velocity, quaternion in each(out, self._linear, self._quaternion):
            mujoco.mju_negQuat(inverse, quaternion)
            mujoco.mju_rotVecQuat(own, velocity, inverse)
        if self._aside:
            out += np.cross(self._angular, self._offset)
            out[...] = self._in_frame(out)
        out[...] = self._view.seen(out)


class QuaternionOrder(StrEnum):
    """Order of the numbers of a quaternion."""

    WXYZ = "wxyz"
    XYZW = "xyzw"


class BaseOrientation(ObservationTerm):
    """Orientation of the base in the world, or of a framequat sensor: a quaternion."""

    over_worlds: ClassVar[bool] = True

    sensor = Text("", doc="Sensor with the quaternion, instead of the free joint.")
    convention = Choice(QuaternionOrder.WXYZ, doc="Order of the numbers.")

    def connect(self, view: View) -> int:
        self._view = view
        if self.sensor:
            self._quaternion = sensor_of(self, view, self.sensor, 4)
        else:
            qpos, _ = view.free_joint(self.label)
            self._quaternion = view.data.qpos[..., qpos + 3 : qpos + 7]
        return 4

    def measure(self, out: FloatArray) -> None:
        seen = self._view.seen(self._quaternion)
        out[...] = seen if self.convention is QuaternionOrder.WXYZ else np.roll(seen, -1, axis=-1)


class ProjectedGravity(ObservationTerm):
    """Direction of gravity: unit vector in the frame of the base, a framequat sensor or a site."""

    over_worlds: ClassVar[bool] = True

    sensor = Text("", doc="Quaternion sensor to use instead of the free joint.")
    site = Text("", doc="Site whose frame to use instead.")

    def connect(self, view: View) -> int:
        self._view = view
        if self.sensor and self.site:
            raise BindingError(f"{self.label}: give a sensor or a site, not both")
        self._frame: FloatArray | None = None
        if self.site:
            frames = view.data.site_xmat[..., view.site_id(self.site, self), :]
            self._frame = frames[..., 6:9]  # the third row: world z in the frame
        elif self.sensor:
            self._quaternion = sensor_of(self, view, self.sensor, 4)
        else:
            qpos, _ = view.free_joint(self.label)
            self._quaternion = view.data.qpos[..., qpos + 3 : qpos + 7]
        return 3

    def measure(self, out: FloatArray) -> None:
        if self._frame is not None:
            out[...] = self._view.seen(-self._frame)
            return
        seen = self._view.seen(self._quaternion)
        w, x, y, z = seen.T if self._view.worlds else seen.tolist()
        down = out.T
        down[0] = 2.0 * (w * y - x * z)
        down[1] = -2.0 * (y * z + w * x)
        down[2] = 1.0 - 2.0 * (w * w + z * z)
