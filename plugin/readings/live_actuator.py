"""LiveActuator: one actuator of a running robot, read at its own addresses."""

from collections.abc import Mapping
from typing import Any, ClassVar

import mujoco

from mjrig.arrays import FloatArray, read_only
from mjrig.attributes import CheckedAttributes
from mjrig.model.binding import ActuatorBinding

_TRN = mujoco.mjtTrn
_PARENT_TAG = {
    int(_TRN.mjTRN_JOINT): "joint",
    int(_TRN.mjTRN_JOINTINPARENT): "jointinparent",
    int(_TRN.mjTRN_SLIDERCRANK): "cranksite",
    int(_TRN.mjTRN_TENDON): "tendon",
    int(_TRN.mjTRN_SITE): "site",
    int(_TRN.mjTRN_BODY): "body",
}


class LiveActuator(CheckedAttributes):
    """Current values of an actuator. Several inputs, outputs or activations read as arrays.

    These are read-only copies; assign `activation` to change it.
    """

    _instead_of: ClassVar[Mapping[str, str]] = {
        "ctrl": "command it by set_targets(…) of its robot",
    }

    def __init__(self, model: Any, data: Any, binding: ActuatorBinding) -> None:
        self._model, self._data, self._binding = model, data, binding

    @property
    def name(self) -> str:
        """Its local name."""
        return self._binding.actuator

    @property
    def tag(self) -> str:
        """MuJoCo's name for this kind of actuator."""
        return self._binding.kind

    @property
    def parent_tag(self) -> str:
        """MuJoCo's name for the kind of transmission target."""
        i = self._binding.actuator_id
        kind = int(self._model.actuator_trntype[i])
        if kind == int(_TRN.mjTRN_SO3):
            return "joint" if self._model.actuator_trnid[i][1] < 0 else "site"
        return _PARENT_TAG[kind]

    @property
    def force(self) -> float | FloatArray:
        """The force MuJoCo applied in the last step."""
        return self._output(self._data.actuator_force)

    @property
    def applied_force(self) -> float | FloatArray:
        """The same as `force`."""
        return self.force

    @property
    def length(self) -> float | FloatArray:
        """The length of the transmission."""
        return self._output(self._data.actuator_length)

    @property
    def velocity(self) -> float | FloatArray:
        """The velocity of the transmission."""
        return self._output(self._data.actuator_velocity)

    @property
    def ctrl(self) -> float | FloatArray:
        """The control input."""
        first = self._binding.ctrl_address
        return _one_or_all(self._data.ctrl[first : first + self._binding.ctrl_count])

    @property
    def activation(self) -> float | FloatArray | None:
        """The activation; None where it has none."""
        values = self._activations()
        return _one_or_all(values) if len(values) else None

    @activation.setter
    def activation(self, value: float | FloatArray) -> None:
        values = self._activations()
        if not len(values):
            raise ValueError(f"actuator {self.name!r} has no activation")
        values[:] = value

    def _activations(self) -> FloatArray:
        i = self._binding.actuator_id
        first, count = int(self._model.actuator_actadr[i]), int(self._model.actuator_actnum[i])
        values: FloatArray = self._data.act[first : first + count] if count else self._data.act[:0]
        return values

    def _output(self, values: FloatArray) -> float | FloatArray:
        first = self._binding.output_address
        return _one_or_all(values[first : first + self._binding.output_count])

    def __repr__(self) -> str:
        return f"LiveActuator({self.name!r}, {self.tag})"


def _one_or_all(values: FloatArray) -> float | FloatArray:
    return float(values[0]) if len(values) == 1 else read_only(values.copy())
