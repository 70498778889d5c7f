"""Inputs of a controller's pipeline: state and setpoints, gathered."""

from functools import partial
from typing import Any

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.executions.pipeline_host import PipelineHost
from mjrig.components.laws.clip import clip
from mjrig.components.laws.gather import Buffer, Operation, as_slice, gather, merge, scaled
from mjrig.control.setpoints import FEEDFORWARD, POSITION, VELOCITY

Gathered = tuple[Buffer, list[Operation]]


class StateInputs:
    """q, qd and targets in the pipeline's space, and the calls that update them."""

    def __init__(self, host: PipelineHost, data: Any) -> None:
        self._host, self._dtype = host, host._pipe.space.dtype
        factor = host._pipe.space.factor
        q = scaled(*self._state(data.qpos, data.actuator_length, "qpos_address"), factor)
        qd = scaled(*self._state(data.qvel, data.actuator_velocity, "dof_address"), factor)
        targets = (
            scaled(*self._inside_joint_range(*self._row(POSITION)), factor),
            scaled(*self._row(VELOCITY), factor),
            scaled(*self._row(FEEDFORWARD), factor, divide=True),
        )
        self.q, self.qd = q[0], qd[0]
        #: Position, velocity and feedforward.
        self.targets = targets[0][0], targets[1][0], targets[2][0]
        self.read_state: tuple[Operation, ...] = (*q[1], *qd[1])
        self.read_targets = tuple(op for _, operations in targets for op in operations)

    def _state(self, joint: FloatArray, actuator: FloatArray, address: str) -> Gathered:
        bindings = self._host.bindings
        on_joint = [i for i, b in enumerate(bindings) if b.on_joint]
        joints = gather(joint, [getattr(bindings[i], address) for i in on_joint], self._dtype)
        if len(on_joint) == len(bindings):
            return joints
        others = [i for i, b in enumerate(bindings) if not b.on_joint]
        lengths = gather(actuator, [bindings[i].output_address for i in others], self._dtype)
        parts = [(np.array(on_joint), *joints), (np.array(others), *lengths)]
        return merge([p for p in parts if len(p[0])], len(bindings))

    def _row(self, row: int) -> Gathered:
        return gather(self._host.setpoints.values[row], self._host.columns.tolist(), self._dtype)

    def _inside_joint_range(self, target: Buffer, operations: list[Operation]) -> Gathered:
        if not self._host.clamp_targets:
            return target, operations
        low, high = target_range(self._host, self._dtype)
        inside = np.zeros_like(target)
        return inside, [
            *operations,
            partial(clip, target, low, high, inside),
        ]


def target_range(host: PipelineHost, dtype: Any = np.float64) -> tuple[Buffer, Buffer]:
    """The range position targets are clamped to, joint units."""
    unlimited = (-np.inf, np.inf)
    ranges = [b.joint_range if host.clamp_targets else None for b in host.bindings]
    table = np.array([r or unlimited for r in ranges], dtype).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def write_ctrl(host: PipelineHost, ctrl: Buffer, value: Buffer) -> Operation:
    """The call that copies values to the ctrl of a controller's actuators."""
    addresses = [b.ctrl_address for b in host.bindings]
    where: Any = as_slice(addresses)
    if where is not None:
        return partial(np.copyto, ctrl[where], value)
    return partial(ctrl.__setitem__, np.array(addresses, dtype=np.intp), value)
