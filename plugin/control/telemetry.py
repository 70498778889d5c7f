"""Telemetry of an articulation's bindings in the last step: efforts, positions, velocities."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.controller import ArticulationController
from mjrig.model.binding import ActuatorBinding, BindingTable
from mjrig.readings.sampler import BindingReader


class Telemetry:
    """Reads one value per binding, joint units (N·m or N, rad or m)."""

    def __init__(
        self,
        table: BindingTable,
        actuators: Sequence[ActuatorBinding],
        controllers: Sequence[ArticulationController],
        data: Any,
    ) -> None:
        self._controllers, self._data = controllers, data
        self._factor = np.array([b.factor for b in table])
        self._ctrl = np.array([b.ctrl_address for b in table], dtype=np.intp)
        self._reader = BindingReader(table, actuators)
        self._place = {b.actuator_id: i for i, b in enumerate(table)}

    def effort(self) -> FloatArray:
        """Effort after the controller's clamps."""
        effort: FloatArray = self._factor * self._data.ctrl[self._ctrl]
        self._overlay(effort, lambda controller: controller.native_effort)
        return effort

    def raw_effort(self) -> FloatArray:
        """Effort as the law computed it, before any clamp."""
        raw = self.effort()
        self._overlay(raw, lambda controller: controller.raw_effort)
        return raw

    def _overlay(
        self, efforts: FloatArray, read: Callable[[ArticulationController], FloatArray | None]
    ) -> None:
        """Write what enabled controllers report at the indices of their actuators."""
        for controller in self._controllers:
            values = read(controller) if controller.enabled else None
            if values is not None:
                efforts[[self._place[b.actuator_id] for b in controller.bindings]] = values

    def applied_effort(self) -> FloatArray:
        """Effort that MuJoCo used, after all of its own limits.

        A joint's actuatorfrcrange limits the sum of its actuators; each takes its share of the cut.
        """
        return self._reader.applied_effort(self._data.actuator_force)

    def position(self) -> FloatArray:
        """qpos of the joint, or actuator length."""
        return self._reader.position(self._data.qpos, self._data.actuator_length)

    def velocity(self) -> FloatArray:
        """qvel of the joint, or actuator velocity."""
        return self._reader.velocity(self._data.qvel, self._data.actuator_velocity)
