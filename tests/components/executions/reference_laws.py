"""An own account of what controllers do, in plain loops: for comparison with the real ones."""

import math
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from tests.components.executions.random_drives import motors

#: (position, velocity, feedforward) of every single-output actuator, at a step.
Setpoints = Callable[[int, int], Sequence[Any]]
_ROW = {"pos": 0, "vel": 1, "ff": 2}


class ReferenceLaw:
    """One actuator under PD or PID with delay and clamps, computed from its equations."""

    def __init__(self, model: Any, actuator: int, given: Mapping[str, Any], tick: float) -> None:
        name = model.actuator(actuator).name
        joint = int(model.actuator_trnid[actuator][0])
        self.qpos, self.dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        self.ctrl = int(model.actuator_ctrladr[actuator])
        self.tick, self.given = tick, given
        out = int(model.actuator_outadr[actuator])
        self.g = float(model.actuator_gear[out][0]) * float(model.actuator_gainprm[actuator][0])
        square = self.g * self.g
        self.kp, self.kv, self.ki = (_of(given, n, name, 0.0) / square for n in ("kp", "kv", "ki"))
        self.most = _of(given, "integral_max", name, math.inf) * abs(self.g)
        self.limit = min(_of(given, "torque_limit", name, 200.0) / abs(self.g), 1e10)
        self.range = (-math.inf, math.inf)
        if given.get("clamp_targets") and model.jnt_limited[joint]:
            self.range = tuple(model.jnt_range[joint])
        delay = given.get("delay", {})
        # Half a tick counts as a whole one, whatever the last bit of the quotient.
        ticks = math.floor(delay.get("seconds", 0.0) / tick + 0.5 + 1e-9)
        steps = ticks if "seconds" in delay else delay.get("steps", 0)
        self.past: deque[tuple[float, float, float]] = deque(maxlen=steps + 1)
        self.integral = self.value = 0.0

    def compute(self, data: Any, command: Sequence[float]) -> float:
        """The ctrl of one tick."""
        g = self.g
        q, v = data.qpos[self.qpos] * g, data.qvel[self.dof] * g
        target = min(max(command[0], self.range[0]), self.range[1])
        self.past.append((target * g, command[1] * g, command[2] / g))
        to_q, to_v, feedforward = self.past[0]
        pull = None
        if self.given["type"] == "PIDController":
            grown = self.integral + (to_q - q) * self.tick
            self.integral = min(max(grown, -self.most), self.most)
            pull = self.ki * self.integral
        if self.given.get("order") == "textbook":
            raw = feedforward + self.kp * (to_q - q)
            raw = raw if pull is None else raw + pull
            raw = raw + self.kv * (to_v - v)
        else:
            raw = (self.kp * to_q + self.kv * to_v) + feedforward
            raw = raw if pull is None else raw + pull
            raw = raw + (-self.kp * q + -self.kv * v)
        for clamp in self.given.get("clamps", ()):
            low, high = self._bounds(clamp, v)
            raw = min(max(raw, low), high)
        self.value = min(max(raw, -self.limit), self.limit)
        return self.value

    def _bounds(self, clamp: Mapping[str, Any], v: float) -> tuple[float, float]:
        if clamp["type"] == "MaxEffort":
            most = clamp["max_effort"]
            ends = clamp.get("min_effort", -most) / self.g, most / self.g
            return min(ends), max(ends)
        g = abs(self.g)
        if clamp["type"] == "TorqueSpeedCurve":
            drive, brake = (clamp.get(y, clamp["y1"]) / g for y in ("y1", "y2"))
            x1, x2 = clamp["x1"] * g, clamp["x2"] * g
            if abs(v) > x1:
                drive, brake = (
                    max(-y / (x2 - x1) * (abs(v) - x1) + y, 0.0) for y in (drive, brake)
                )
            return -(drive if v < 0.0 else brake), drive if v > 0.0 else brake
        stall, top = clamp["saturation_effort"] / g, clamp["velocity_limit"] * g
        most = clamp.get("max_effort", math.inf) / g
        corner = top * (1.0 + most / stall)
        share = min(max(v, -corner), corner) / top
        return max(stall * (-1.0 - share), -most), min(stall * (1.0 - share), most)


def _of(given: Mapping[str, Any], what: str, name: str, usual: float) -> float:
    value = given.get(what, usual)
    if isinstance(value, Mapping):
        value = value[name] if name in value else value["default"]
    return float(value)


def has_reference(given: Mapping[str, Any]) -> bool:
    """Whether a controller has nothing but what is written down here."""
    odd = {"precision", "effort", "transmissions"} & given.keys()
    tables = any(c["type"] == "PositionTable" for c in given.get("clamps", ()))
    return not odd and not tables and "random" not in given.get("delay", {})


def reference(
    model: Any, controllers: Sequence[Mapping[str, Any]], commands: Setpoints, steps: int
) -> Any:
    """(steps, nq + nv) states of a plain loop around `mj_step`."""
    data = mujoco.MjData(model)
    mujoco.mj_resetCtrl(model, data)
    mujoco.mj_forward(model, data)
    single = [i for i in range(model.nactuator) if model.actuator_outnum[i] == 1]
    laws: dict[int, tuple[ReferenceLaw, int]] = {}
    for given in controllers:
        decimation = int(given.get("decimation", 1))
        for i in single:
            name = model.actuator(i).name
            if name in motors(model) and re.fullmatch(str(given["actuators"]), name):
                tick = decimation * model.opt.timestep
                laws[i] = ReferenceLaw(model, i, given, tick), decimation
    states = []
    for step in range(steps):
        rows = commands(step, len(single))
        for column, i in enumerate(single):
            command = [row[column] for row in rows]
            first, count = int(model.actuator_ctrladr[i]), int(model.actuator_ctrlnum[i])
            if i in laws:
                law, decimation = laws[i]
                value = law.compute(data, command) if step % decimation == 0 else law.value
                data.ctrl[first] = value
                continue
            for k in range(count):
                known = mujoco.mj_actuatorInputName(model, i, k) or "" if count > 1 else ""
                data.ctrl[first + k] = command[_ROW.get(known, 0)]
        mujoco.mj_step(model, data)
        states.append(np.concatenate([data.qpos, data.qvel]))
    return np.array(states)
