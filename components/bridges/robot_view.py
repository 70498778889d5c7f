"""RobotView: a robot as clients of SocketBridge see and command it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.bridges.event_limits import shortened
from mjrig.components.bridges.motors import Motors
from mjrig.components.bridges.protocol import GAINS, ROWS, RequestError, numbers
from mjrig.control.articulation import Articulation
from mjrig.control.base import base_address
from mjrig.pattern_budget import pattern_budget
from mjrig.properties.per_actuator import DEFAULT
from mjrig.readings.sampler import BindingReader

#: Longest name pattern of a request: all actuators of a large robot, joined by |, fit.
MAX_PATTERN_LETTERS = 4000
#: Values by name, each with the columns of the actuators that they are for.
Targets = dict[str, tuple[list[int], FloatArray]]


class RobotView:
    """Reads and commands a robot; arrays are in the order of its actuators."""

    def __init__(self, robot: Articulation, motors: Motors) -> None:
        self._robot, self._motors = robot, motors
        self._reader = BindingReader(motors.bindings, robot.actuators)
        self._base = base_address(robot)
        if self._base is not None:
            joint = int(np.flatnonzero(robot.model.jnt_qposadr == self._base)[0])
            self._base_dof = int(robot.model.jnt_dofadr[joint])

    def description(self) -> dict[str, Any]:
        """Names, units, gains and sensors."""
        robot, motors = self._robot, self._motors
        kp, kv = motors.gains()
        with_gains = set(motors.with_gains.tolist())
        return {
            "actor": robot.name,
            "actuators": list(robot.actuator_names),
            "joints": [b.joint for b in motors.bindings],
            "units": [b.effort_unit for b in motors.bindings],
            "kp": [float(v) if i in with_gains else None for i, v in enumerate(kp)],
            "kv": [float(v) if i in with_gains else None for i, v in enumerate(kv)],
            "keyframes": list(robot.keyframes),
            "sensors": {n: len(v) for n, v in robot.sensors.items()},
        }

    def state(self, step: int) -> dict[str, Any]:
        """The state after so many steps."""
        data, read = self._robot.data, self._reader
        state: dict[str, Any] = {
            "time": float(data.time),
            "step": step,
            "position": read.position(data.qpos, data.actuator_length).tolist(),
            "velocity": read.velocity(data.qvel, data.actuator_velocity).tolist(),
            "effort": read.applied_effort(data.actuator_force).tolist(),
        }
        if self._base is not None:
            base, dof = self._base, self._base_dof
            state["base"] = {
                "position": data.qpos[base : base + 3].tolist(),
                "orientation": data.qpos[base + 3 : base + 7].tolist(),
                "velocity": data.qvel[dof : dof + 3].tolist(),
                "angular_velocity": data.qvel[dof + 3 : dof + 6].tolist(),
            }
        return state

    def sensors(self) -> dict[str, list[float]]:
        """Readings of all sensors by name."""
        return {n: v.tolist() for n, v in self._robot.sensors.items()}

    # Commands -----------------------------------------------------------------------------------

    def targets(self, request: Mapping[str, Any]) -> Targets:
        """The valid targets and gains of a request; all waits for it, so its patterns have a limit.

        Raises:
            RequestError: one is not valid.
        """
        with pattern_budget():
            return {n: self._target(n, request[n]) for n in (*ROWS, *GAINS) if n in request}

    def command(self, targets: Targets) -> None:
        """Write targets and gains."""
        values, motors = self._robot.setpoints.values, self._motors
        for row, name in enumerate(ROWS):
            if name in targets:
                columns, new = targets[name]
                values[row, columns] = new
        if any(name in targets for name in GAINS):
            gains = dict(zip(GAINS, motors.gains(), strict=True))
            for name in GAINS:
                if name in targets:
                    columns, new = targets[name]
                    gains[name][columns] = new
            motors.use_gains(gains["kp"], gains["kv"])

    def _target(self, name: str, value: object) -> tuple[list[int], FloatArray]:
        default: object = None
        if isinstance(value, Mapping):
            value = {str(pattern): number for pattern, number in value.items()}
            default = value.pop(DEFAULT, None) if name in GAINS else None
            limit = 2 * len(self._robot.actuator_names) + 16  # matching takes time, and all wait
            if any(len(pattern) > MAX_PATTERN_LETTERS for pattern in value):
                raise RequestError(f"{name}: a pattern has more than {MAX_PATTERN_LETTERS} letters")
            if len(value) > limit:
                raise RequestError(f"{name}: {len(value)} patterns; at most {limit} are allowed")
        elif not isinstance(value, list | tuple | int | float) or isinstance(value, bool):
            text = shortened(repr(value))
            raise RequestError(f"{name}: must be numbers or numbers by pattern, got {text}")
        try:
            columns, values = self._robot.setpoints.spread(value)
            if default is not None:  # for the motors that no pattern matches, as in a scene
                others = [i for i in self._motors.with_gains.tolist() if i not in columns]
                if not isinstance(default, int | float) or isinstance(default, bool):
                    text = shortened(repr(default))
                    raise RequestError(f"{name}: {DEFAULT} must be a number, got {text}")
                columns = [*columns, *others]
                values = np.append(values, [float(default)] * len(others))
        except OverflowError:
            raise RequestError(f"{name}: a number is too large") from None
        except ValueError as error:  # describes the problem, but not in which of the values
            raise RequestError(f"{name}: {error}") from None
        if name in GAINS and not set(columns) <= set(self._motors.with_gains.tolist()):
            raise RequestError(f"{name}: one of them has no PDController whose gains can be set")
        return columns, numbers(name, values, negative=name not in GAINS)
