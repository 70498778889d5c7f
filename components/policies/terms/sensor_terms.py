"""Sensor terms: sensors read by name."""

from typing import ClassVar

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.policies.terms.base_terms import each, sensor_of
from mjrig.components.policies.terms.term import ObservationTerm
from mjrig.components.policies.terms.view import View
from mjrig.errors import BindingError
from mjrig.properties.array_kinds import Samples
from mjrig.properties.scalar_kinds import Text


class SensorTerm(ObservationTerm):
    """Values of a sensor, optionally minus those of another."""

    over_worlds: ClassVar[bool] = True

    sensor = Text("", doc="Sensor, by local name.")
    minus = Text("", doc="Sensor to subtract.")

    def connect(self, view: View) -> int:
        self._view = view
        self._sensor = sensor_of(self, view, self.sensor)
        size = self._sensor.shape[-1]
        self._minus = sensor_of(self, view, self.minus, size) if self.minus else None
        return size

    def measure(self, out: FloatArray) -> None:
        out[...] = self._view.seen(self._sensor)
        if self._minus is not None:
            out -= self._view.seen(self._minus)


class RelativeRotation(ObservationTerm):
    """Rows of the rotation matrix of q · q_other⁻¹, two framequat sensors."""

    over_worlds: ClassVar[bool] = True

    sensor = Text("", doc="Sensor with the quaternion q.")
    other = Text("", doc="Sensor with the quaternion q_other.")
    rows = Samples([0, 1, 2], min=0, max=2, doc="Rows to include, counted from 0.")

    def connect(self, view: View) -> int:
        self._view = view
        self._sensor = sensor_of(self, view, self.sensor, 4)
        self._other = sensor_of(self, view, self.other, 4)
        if self.rows.ndim != 1 or np.any(self.rows % 1.0):
            raise BindingError(f"{self.label}.rows: must be whole numbers from 0 to 2")
        self._rows = self.rows.astype(np.intp)
        self._product, self._matrix = np.zeros(4), np.zeros(9)
        return 3 * self._rows.size

    def measure(self, out: FloatArray) -> None:
        inverse, seen = np.zeros(4), self._view.seen
        for own, mine, other in each(out, seen(self._sensor), seen(self._other)):
            mujoco.mju_negQuat(inverse, other)
            mujoco.mju_mulQuat(self._product, mine, inverse)
            mujoco.mju_quat2Mat(self._matrix, self._product)
            own[:] = self._matrix.reshape(3, 3)[self._rows].reshape(-1)
