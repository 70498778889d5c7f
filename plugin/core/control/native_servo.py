"""NativeServo: one of MuJoCo's own servos that no controller owns, its gains and its efforts."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.attributes import CheckedAttributes
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.scene.native_elements import GAINS_OF, NativeActuator

#: Kinds whose force is affine in control, length and velocity.
_AFFINE = ("position", "velocity", "intvelocity", "pid")
_SETPOINT = {
    "velocity": "its setpoint is a velocity",
    "intvelocity": "its setpoint is a velocity, which it integrates",
    "damper": "its setpoint is a damping",
}


class NativeServo(CheckedAttributes):
    """A servo in a running world; gains are those of the actuator, efforts those at its joint.

    Args:
        model, data: the world's.
        binding: the actuator; it has one output.
        law: its law as the spec has it now, for what compiling changes.
        kind: its kind, whatever its gains are now.
    """

    binding: Final[ActuatorBinding]
    law: Final[NativeActuator]
    kind: Final[str]

    def __init__(
        self, model: Any, data: Any, binding: ActuatorBinding, law: NativeActuator, kind: str
    ) -> None:
        self._model, self._data = model, data
        self.binding, self.law, self.kind = binding, law, kind
        i, out = binding.actuator_id, binding.output_address
        self._gain, self._bias = model.actuator_gainprm[i], model.actuator_biasprm[i]
        self._inputs = slice(binding.ctrl_address, binding.ctrl_address + binding.ctrl_count)
        self._length = data.actuator_length[out : out + 1]
        self._velocity = data.actuator_velocity[out : out + 1]
        self._force = data.actuator_force[out : out + 1]

    def gains(self) -> dict[str, float]:
        """The gains in force by name; also the damping ratio that a kv was compiled from."""
        found = self.law.gains()
        if "dampratio" in found:
            ratio = found.pop("dampratio")
            return {**found, "kv": -float(self._bias[2]) + 0.0, "dampratio": ratio}
        return found

    @property
    def gear(self) -> float:
        """g: gains of the joint are g² times those of the actuator."""
        return self.binding.gear

    @property
    def why_no_position(self) -> str:
        """Why no position can be commanded; empty: its setpoint is one."""
        if self.kind in _SETPOINT:
            return _SETPOINT[self.kind]
        if "pos" not in self.binding.inputs and self.kind != "position":
            return "has no position input"
        return "" if self.scale else "its kp is 0"

    @property
    def why_no_response(self) -> str:
        """Why it cannot be tested by a motion of its joint; empty: it can."""
        binding = self.binding
        if self.why_no_position or binding.on_joint:
            return self.why_no_position
        verb = "drives" if binding.transmission == "tendon" else "acts on"
        return f"{verb} the {binding.transmission} {binding.target!r}, not a joint"

    @property
    def scale(self) -> float:
        """Position of the joint per unit of the setpoint."""
        if self.kind != "position":
            return 1.0 / self.gear if self.gear else 0.0
        stiffness = -float(self._bias[1]) * self.gear
        return float(self._gain[0]) / stiffness if stiffness else 0.0

    # Efforts ------------------------------------------------------------------------------------

    def raw_effort(self) -> float:
        """Effort of its law before its forcerange, in the last step."""
        return self.gear * self._unlimited()

    def effort(self) -> float:
        """Effort after its forcerange."""
        if self.binding.force_range is None:
            return self.raw_effort()
        low, high = self.binding.force_range
        return self.gear * min(max(self._unlimited(), low), high)

    def _unlimited(self) -> float:
        """The force of its law: MuJoCo's own where no limit cut it, which is exact.

        An activation is read after the step already: a law with one is a step ahead.
        """
        force, limits = float(self._force[0]), self.binding.force_range
        is_cut = limits is not None and not limits[0] < force < limits[1]
        return self._raw_force() if is_cut and self.kind in _AFFINE else force

    def _raw_force(self) -> float:
        """The law at the start of the last step: that is what lengths and velocities are of."""
        bias, length, velocity = self._bias, float(self._length[0]), float(self._velocity[0])
        force = float(bias[0] + bias[1] * length + bias[2] * velocity)
        ctrl, state = self._commanded(), self._state()
        if self.kind != "pid":
            drive = float(state[-1] if len(state) else ctrl[0])
            return force + float(self._gain[0]) * drive
        factors = {"pos": -float(bias[1]), "vel": -float(bias[2]), "ff": 1.0}
        inputs = zip(self.binding.inputs, ctrl.tolist(), strict=True)
        force += float(sum(factors[name] * u for name, u in inputs))
        integral = float(self._gain[0] * state[-1]) if self._gain[0] else 0.0
        return force + integral

    def _state(self) -> FloatArray:
        """Its activations."""
        i = self.binding.actuator_id
        first, count = int(self._model.actuator_actadr[i]), int(self._model.actuator_actnum[i])
        state: FloatArray = self._data.act[max(first, 0) : max(first, 0) + max(count, 0)]
        return state

    def _commanded(self) -> FloatArray:
        """Its controls, clamped to their ranges."""
        ctrl: FloatArray = self._data.ctrl[self._inputs]
        ranges = self._model.actuator_ctrlrange[self._inputs]
        limited = self._model.actuator_ctrllimited[self._inputs].astype(bool)
        clamped: FloatArray = np.where(limited, np.clip(ctrl, ranges[:, 0], ranges[:, 1]), ctrl)
        return clamped


def native_servos(
    model: Any,
    data: Any,
    actuators: Sequence[ActuatorBinding],
    laws: Mapping[str, NativeActuator],
    kinds: Mapping[str, str],
) -> tuple[NativeServo, ...]:
    """Those of some actuators that are servos with gains and one output."""
    return tuple(
        NativeServo(model, data, b, laws[b.actuator], kinds[b.actuator])
        for b in actuators
        if b.output_count == 1 and kinds.get(b.actuator) in GAINS_OF and laws[b.actuator].gains()
    )
