"""Seeding: setpoints that keep a robot where it is."""

from collections.abc import Collection, Sequence
from typing import Any

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.passthrough_writers import row_of, takes_rows
from mjrig.model.actor_model import ActorState
from mjrig.model.binding import ActuatorBinding

_IDENTITY = {"qw": 1.0}


class Seeds:
    """Computes setpoints from poses and keyframes, for the actuators of one articulation.

    Args:
        model, data: the world's.
        actuators: all actuators of the articulation, in id order.
        first: where its share of ctrl begins.
    """

    def __init__(
        self, model: Any, data: Any, actuators: Sequence[ActuatorBinding], first: int
    ) -> None:
        self._model, self._data, self._actuators, self._first = model, data, actuators, first
        self._scratch: Any = None

    def rows(self, qpos: FloatArray, ctrl: FloatArray | None, owned: Collection[int]) -> FloatArray:
        """(3, n) position, velocity and feedforward of the single-output actuators.

        Those of `owned` ids stay where they are; direct ones take ctrl, else their length if they
        are position-type, else 0.
        """
        single = [b for b in self._actuators if b.output_count == 1]
        seeds = np.zeros((3, len(single)))
        lengths = self._lengths(qpos)
        for column, binding in enumerate(single):
            if binding.actuator_id in owned and binding.on_joint:
                seeds[0, column] = qpos[binding.qpos_address]
            elif binding.actuator_id in owned:
                seeds[0, column] = lengths[binding.output_address]
            elif (given := self._given(ctrl, binding)) is not None:
                for k, value in enumerate(given):
                    seeds[row_of(binding, k), column] = value
            elif binding.kind == "position" or "pos" in binding.inputs:
                seeds[0, column] = lengths[binding.output_address]
        return seeds

    def inputs(self, state: ActorState) -> dict[str, FloatArray]:
        """Input vectors from a state's ctrl, else zero, or the identity for quaternions."""
        seeds = {}
        for binding in self._actuators:
            if takes_rows(binding):
                continue
            values = self._given(state.ctrl, binding)
            if values is None:
                values = np.array([_IDENTITY.get(name, 0.0) for name in binding.inputs])
            if binding.inputs[:1] == ("qw",) and not values.any():
                values[0] = 1.0  # a keyframe without ctrl compiles to zeros: no valid quaternion
            seeds[binding.actuator] = values
        return seeds

    def _given(self, ctrl: FloatArray | None, binding: ActuatorBinding) -> FloatArray | None:
        """A copy of an actuator's ctrl, where a state gives it."""
        if ctrl is None:
            return None
        first = binding.ctrl_address - self._first
        values = ctrl[first : first + binding.ctrl_count]
        return None if np.isnan(values).any() else values.copy()

    def _lengths(self, qpos: FloatArray) -> FloatArray:
        """Actuator lengths at a pose; those in the data are of the state before the last step."""
        if self._scratch is None:
            self._scratch = mujoco.MjData(self._model)
        model, scratch = self._model, self._scratch
        scratch.qpos[:] = qpos
        scratch.mocap_pos[:], scratch.mocap_quat[:] = self._data.mocap_pos, self._data.mocap_quat
        for compute in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_tendon):
            compute(model, scratch)
        mujoco.mj_transmission(model, scratch)
        lengths: FloatArray = scratch.actuator_length
        return lengths
