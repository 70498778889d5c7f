"""Initial setpoints: those that keep a robot at its present pose."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.passthrough_writers import row_of, takes_rows
from mjrig.core.model.actor_model import ActorState
from mjrig.core.model.binding import ActuatorBinding

_IDENTITY = {"qw": 1.0}


def _is_position(binding: ActuatorBinding) -> bool:
    """Whether its setpoint is a position also without a law."""
    return binding.kind == "position" or "pos" in binding.inputs


class Scratch:
    """An MjData to work out poses in, made when it is first needed; one serves a whole world."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._data: Any = None

    @property
    def data(self) -> Any:
        """The data; what is in it is of no state in particular."""
        if self._data is None:
            self._data = mujoco.MjData(self._model)
        return self._data


class Seeds:
    """Computes setpoints from poses and keyframes, for the actuators of one articulation.

    Args:
        model, data: the world's.
        actuators: all actuators of the articulation, in id order.
        first: where its share of ctrl begins.
        scratch: where actuator lengths are worked out.
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        actuators: Sequence[ActuatorBinding],
        first: int,
        scratch: Scratch,
    ) -> None:
        self._model, self._data, self._first = model, data, first
        self._scratch = scratch
        self._single = [b for b in actuators if b.output_count == 1]
        self._with_inputs = [b for b in actuators if not takes_rows(b)]
        #: The owned ids the columns below are of.
        self._owned: set[int] | None = None

    def rows(self, qpos: FloatArray, ctrl: FloatArray | None, owned: Collection[int]) -> FloatArray:
        """(3, n) position, velocity and feedforward of the single-output actuators.

        Those of `owned` ids stay where they are; direct ones take ctrl, else what holds their
        length if they are position-type, else 0.
        """
        if owned != self._owned:
            self._sort(set(owned))
        seeds = np.zeros((3, len(self._single)))
        seeds[0, self._joints] = qpos[self._addresses]
        following = list(self._elsewhere)
        for column, binding in self._direct:
            given = self._given(ctrl, binding)
            if given is not None:
                for k, value in enumerate(given):
                    seeds[row_of(binding, k), column] = value
            elif _is_position(binding):
                following.append((column, binding))
        if following:
            lengths = self._lengths(qpos)
            for column, binding in following:
                seeds[0, column] = self._holding(binding, float(lengths[binding.output_address]))
        return seeds

    def _holding(self, binding: ActuatorBinding, length: float) -> float:
        """The setpoint that holds a length; a position actuator's may have other units."""
        gain, slope, offset = self._servo(binding)
        plain = gain == slope and offset == 0.0
        if plain or not gain or binding.actuator_id in (self._owned or ()):
            return length
        return (slope * length - offset) / gain

    def wanted(self, setpoints: FloatArray, owned: Collection[int]) -> dict[str, float]:
        """The coordinates or lengths that position setpoints ask for, by actuator."""
        found = {}
        for column, binding in enumerate(self._single):
            gain, slope, offset = self._servo(binding)
            if binding.actuator_id in owned:
                found[binding.actuator] = float(setpoints[column])
            elif _is_position(binding) and slope * binding.gear:
                length = (gain * float(setpoints[column]) + offset) / slope
                found[binding.actuator] = length / binding.gear
        return found

    def asking(self, wanted: Mapping[str, float], owned: Collection[int]) -> dict[int, float]:
        """The setpoints that ask for these coordinates or lengths, by column."""
        found = {}
        for column, binding in enumerate(self._single):
            gain, slope, offset = self._servo(binding)
            asked = wanted.get(binding.actuator)
            if asked is not None and binding.actuator_id in owned:
                found[column] = asked
            elif asked is not None and _is_position(binding) and gain:
                found[column] = (slope * asked * binding.gear - offset) / gain
        return found

    def _servo(self, binding: ActuatorBinding) -> tuple[float, float, float]:
        """(gain, slope, offset) of a servo: force = gain·setpoint - slope·length + offset."""
        i = binding.actuator_id
        if binding.kind != "position":
            return 1.0, 1.0, 0.0
        bias = self._model.actuator_biasprm[i]
        return float(self._model.actuator_gainprm[i, 0]), -float(bias[1]), float(bias[0])

    def _sort(self, owned: set[int]) -> None:
        """Which columns take a coordinate, which an actuator length, which neither for sure."""
        columns = list(enumerate(self._single))
        mine = [(c, b) for c, b in columns if b.actuator_id in owned]
        joints = [(c, b.qpos_address) for c, b in mine if b.on_joint]
        self._joints, self._addresses = np.array(joints, dtype=np.intp).reshape(-1, 2).T
        self._elsewhere = [(c, b) for c, b in mine if not b.on_joint]
        self._direct = [(c, b) for c, b in columns if b.actuator_id not in owned]
        self._owned = owned

    def inputs(self, state: ActorState) -> dict[str, FloatArray]:
        """Input vectors from a state's ctrl, else zero, or the identity for quaternions."""
        seeds = {}
        for binding in self._with_inputs:
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
        model, scratch = self._model, self._scratch.data
        scratch.qpos[:] = qpos
        scratch.mocap_pos[:], scratch.mocap_quat[:] = self._data.mocap_pos, self._data.mocap_quat
        for compute in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_tendon):
            compute(model, scratch)
        mujoco.mj_transmission(model, scratch)
        lengths: FloatArray = scratch.actuator_length
        return lengths
