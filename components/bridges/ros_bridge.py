"""RosBridge: ROS 2 nodes see and command the actor, without ROS on this side."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from mjrig.components.bridges.dds.ros_messages import TARGETS, RosWire
from mjrig.components.bridges.dds_bridge import DdsBridge
from mjrig.components.bridges.motors import Motors, motors_hint
from mjrig.components.bridges.traffic import rejection
from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.errors import BindingError
from mjrig.core.properties.scalar_kinds import Float, Text


class RosBridge(DdsBridge):
    """Publishes /joint_states, /imu, /clock and /tf; takes joint commands, with ROS 2's types.

    Commands: JointState at /joint_commands, Float64MultiArray at /<controller>/commands and
    JointTrajectory at /<controller>/joint_trajectory. The gains are the scene's.
    """

    wire = "ros"
    apart = "another domain or namespace"

    timeout = Float(
        math.inf,
        min=0.0,
        soft_max=2.0,
        unit="s",
        category="Safety",
        doc="Simulated time without a command after which the motors damp; inf: never, as "
        "ROS controllers do.",
    )
    rate = Float(
        200.0,
        min=0.0,
        above=True,
        max=10_000.0,
        unit="Hz",
        doc="Rate of the states that are sent.",
    )
    namespace = Text("", doc="Namespace of the topics but /clock and /tf; none: the root.")
    controller = Text("joint_controller", doc="Name of the controller in the command topics.")
    frame = Text("world", doc="Frame of the world in /tf.")
    base_frame = Text("base_link", doc="Frame of the base in /tf.")
    imu_frame = Text("imu", doc="Frame of /imu.")

    def prepare(self) -> None:
        super().prepare()
        self._path: FloatArray | None = None
        self._path_began = 0.0

    def make_motors(self, robot: Articulation) -> Motors:
        on_joints = [b for b in robot.bindings if b.on_joint]
        hint = motors_hint(robot)
        if not on_joints and hint:
            raise BindingError(f"{self.label}: {robot.name!r} has no motors; {hint}")
        return Motors(robot, on_joints, self.label, strict=False)

    def settings(self) -> Mapping[str, Any]:
        return {
            "joints": [b.joint for b in self.motors.bindings],
            "namespace": self.namespace,
            "controller": self.controller,
            "frame": self.frame,
            "base_frame": self.base_frame,
            "imu_frame": self.imu_frame,
            "depth": 10,
        }

    def make_wire(self) -> RosWire:
        return RosWire(self.all_settings())

    def reset(self) -> None:
        super().reset()
        self._path = None

    def before_controls(self, time: float) -> None:
        super().before_controls(time)
        if self._path is not None and self.is_open and self.motors.is_held:
            try:
                self._follow(self._path, time - self._path_began)
            except Exception as error:  # sent by somebody else: it must not stop the world
                self._path = None
                self.reject(rejection(error))

    def use(self, command: "memoryview[float]") -> None:
        values = np.array(command[1:])
        if values[0] == TARGETS:
            self._path = None
            now = self.robot.setpoints.values[:, self.motors.columns]
            rows = values[1:].reshape(3, -1)
            self.motors.command(*np.where(np.isnan(rows), now, rows))
            return
        n = len(self.motors)
        points = values[2:].reshape(int(values[1]), 1 + 2 * n)
        here = np.concatenate([[0.0], self.robot.setpoints.values[0, self.motors.columns]])
        path = np.vstack([here, points[:, : 1 + n]]) if points[0, 0] > 0.0 else points[:, : 1 + n]
        path = np.where(np.isnan(path), np.concatenate([[0.0], here[1:]]), path)
        self._path, self._path_began = path, float(self.robot.data.time)

    def _follow(self, path: FloatArray, time: float) -> None:
        """Straight from point to point; the last one stays."""
        times = path[:, 0]
        k = min(int(np.searchsorted(times, time, side="right")), len(path) - 1)
        if k == 0 or time >= times[-1]:
            self.motors.command(path[k, 1:], np.zeros(len(self.motors)))
            if time >= times[-1]:
                self._path = None
            return
        span = times[k] - times[k - 1]
        slope = (path[k, 1:] - path[k - 1, 1:]) / span
        self.motors.command(path[k - 1, 1:] + slope * (time - times[k - 1]), slope)
