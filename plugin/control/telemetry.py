"""What the bindings of an articulation did in the last step: efforts, positions, velocities."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.controller import ArticulationController
from mjrig.model.binding import BindingTable


class Telemetry:
    """Reads one value per binding, joint units (N·m or N, rad or m)."""

    def __init__(
        self, table: BindingTable, controllers: Sequence[ArticulationController], data: Any
    ) -> None:
        self._table, self._controllers, self._data = table, controllers, data
        self._factor = np.array([b.factor for b in table])
        self._gear = np.array([b.gear for b in table])
        self._ctrl = np.array([b.ctrl_address for b in table], dtype=np.intp)
        self._output = np.array([b.output_address for b in table], dtype=np.intp)
        self._place = {b.actuator_id: i for i, b in enumerate(table)}

    def effort(self) -> FloatArray:
        """Effort after our clamps."""
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
        """Put what enabled controllers report in the places of the actuators they own."""
        for controller in self._controllers:
            values = read(controller) if controller.enabled else None
            if values is not None:
                efforts[[self._place[b.actuator_id] for b in controller.bindings]] = values

    def applied_effort(self) -> FloatArray:
        """Effort that MuJoCo used, after all of its own limits.

        A joint's actuatorfrcrange limits the sum of its actuators; each takes its share of the cut.
        """
        applied: FloatArray = self._gear * self._data.actuator_force[self._output]
        table = self._table
        for joint in {b.joint_id for b in table if b.joint_force_range is not None}:
            own = [i for i, b in enumerate(table) if b.joint_id == joint]
            low, high = table[own[0]].joint_force_range or (-np.inf, np.inf)
            total = float(applied[own].sum())
            if not low <= total <= high:
                applied[own] *= min(max(total, low), high) / total
        return applied

    def position(self) -> FloatArray:
        """qpos of the joint, or actuator length."""
        return self._measure("qpos_address", self._data.qpos, self._data.actuator_length)

    def velocity(self) -> FloatArray:
        """qvel of the joint, or actuator velocity."""
        return self._measure("dof_address", self._data.qvel, self._data.actuator_velocity)

    def _measure(self, address: str, joint: FloatArray, actuator: FloatArray) -> FloatArray:
        return np.array(
            [
                joint[getattr(b, address)] if b.on_joint else actuator[b.output_address]
                for b in self._table
            ]
        )
