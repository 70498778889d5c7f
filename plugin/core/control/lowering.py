"""Lowering: controllers as MuJoCo actuators, from the native form of their law.

A motor a controller owns becomes a `pid` actuator (or a `dcmotor`) with position, velocity and
feedforward inputs. Its numbers are written into the compiled model, so a live edit is the same
write. Driven directly it has no gains, and the feedforward input replaces the motor's ctrl.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray, as_slice
from mjrig.core.model.binding import ActuatorBinding

POS, VEL, FF = 1, 2, 4
INPUTS = 3
#: Arbitrary: the force does not depend on the voltage.
VOLTAGE = 1.0
_NOTHING = np.zeros(0)
_NO_PAST = np.zeros((0, INPUTS))


@dataclass(frozen=True)
class DCForm:
    """A torque-speed curve, actuator space."""

    saturation: FloatArray
    velocity_limit: FloatArray


@dataclass(frozen=True)
class NativeForm:
    """A law MuJoCo can run: arrays over a controller's bindings, actuator space.

    `ki` None: no integral. `early`: the integral is used after its update. `lags`: delay in steps.
    `low`, `high`: the controller's effort limits; the model's own are added.
    """

    kp: FloatArray
    kv: FloatArray
    low: FloatArray
    high: FloatArray
    ki: FloatArray | None = None
    integral_max: FloatArray | None = None
    early: bool = True
    lags: npt.NDArray[np.int64] | None = None
    dc: DCForm | None = None


def change_spec(
    spec: Any, names: Sequence[str], form: NativeForm, timestep: float, room: int = 0
) -> None:
    """Turn motors of a spec into the actuators a form needs; `load` writes the other numbers.

    Args:
        spec: the world's MjSpec.
        names: full names of the actuators, in the form's order.
        form: the law they will run.
        timestep: physics timestep [s].
        room: longest delay that may be set later [steps].
    """
    for i, name in enumerate(names):
        actuator = spec.actuator(name)
        if form.dc is not None:
            voltage = VOLTAGE / 10.0  # placeholders: `load` writes the real values
            actuator.set_to_dcmotor(
                motorconst=[voltage, voltage], resistance=1.0,
                controller=[1.0, 0.0, 1.0, 0.0, 0.0, VOLTAGE], ctrlspec=POS | VEL | FF,
            )  # fmt: skip
        else:
            ki = 1.0 if form.ki is not None else -1.0
            actuator.set_to_pid(kp=1.0, kv=1.0, ki=ki, ctrlspec=POS | VEL | FF)
        # The motor's ctrlrange would clip the *target* now; it is part of forcerange instead.
        actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_FALSE
        actuator.ctrlrange = [0.0, 0.0]
        actuator.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
        actuator.forcerange = [-1.0, 1.0]
        if form.ki is not None:
            actuator.actearly = form.early
            actuator.actlimited = mujoco.mjtLimited.mjLIMITED_TRUE
            actuator.actrange = [-1.0, 1.0]
        lag = 0 if form.lags is None else int(form.lags[i])
        if form.lags is not None:
            _set_delay(actuator, lag, max(lag, room), timestep)


def delay_seconds(steps: int, timestep: float) -> float:
    """The delay for exactly this many steps: half a step less, which makes rounding safe."""
    return max(steps - 0.5, 0.0) * timestep


def _set_delay(actuator: Any, lag: int, room: int, timestep: float) -> None:
    actuator.delay = delay_seconds(lag, timestep)
    # One more than needed: the command that acted in a step can be read after it.
    actuator.nsample = room + 1
    actuator.interp = 0


class LawMemory(NamedTuple):
    """An integral (n,), empty without, and for each actuator its past commands (room, 3)."""

    integral: FloatArray
    pasts: list[FloatArray]


class Lowered:
    """A controller's actuators in a compiled model: loads values, reads what MuJoCo did.

    Args:
        bindings: the controller's, with addresses in this model.
        timestep: physics timestep [s].
    """

    def __init__(
        self, model: Any, data: Any, bindings: Sequence[ActuatorBinding], timestep: float
    ) -> None:
        self._model, self._data, self._timestep = model, data, timestep
        #: Lowest and highest force that the model's own limits allow, whatever the law's are.
        self.own_range = own_force_range(bindings)
        #: Actuator ids, in binding order.
        self.ids = np.array([b.actuator_id for b in bindings], dtype=np.intp)
        self._out = as_slice(np.array([b.output_address for b in bindings], dtype=np.intp))
        self._act = model.actuator_actadr[self.ids].astype(np.intp)
        #: (n, 3) addresses of the position, velocity and feedforward inputs.
        self.inputs = (model.actuator_ctrladr[self.ids, None] + np.arange(INPUTS)).astype(np.intp)
        self._all_inputs = as_slice(self.inputs.ravel())
        self._integrates = not (self._act < 0).any()
        self._rooms: list[int] = model.actuator_history[self.ids, 0].tolist()
        self._has_delay = any(self._rooms)
        rooms = zip(self.ids.tolist(), self._rooms, strict=True)
        self._delayed = tuple(rooms) if self._has_delay else ()
        #: The law's memory when it was switched off; None: it runs.
        self.aside: LawMemory | None = None
        #: Whether the delay history waits for its first command.
        self.awaits_command = False
        #: The ctrl of its motors at the last reset, before the law has acted, and their forces.
        self.left = self.rest = np.zeros(len(bindings))

    def load(self, form: NativeForm) -> None:
        """Write a form's numbers into the model; effective with the next step."""
        self._take_back()
        model, ids = self._model, self.ids
        self._set_force_range(*within(form.low, form.high, self.own_range))
        if form.dc is not None:
            self._load_dc(form, form.dc)
        else:
            model.actuator_biasprm[ids, 1] = -form.kp
            model.actuator_biasprm[ids, 2] = -form.kv
        if form.ki is not None and form.integral_max is not None:
            model.actuator_gainprm[ids, 0] = form.ki
            # NOTE: actrange clips the integral exactly; the actuator's imax would overshoot.
            bounded = np.isfinite(form.integral_max)
            model.actuator_actlimited[ids] = bounded
            bound = np.where(bounded, form.integral_max, 0.0)
            model.actuator_actrange[ids, 0], model.actuator_actrange[ids, 1] = -bound, bound
        if form.lags is not None:
            for i, lag in zip(ids, form.lags, strict=True):
                model.actuator_delay[i] = delay_seconds(int(lag), self._timestep)

    def _load_dc(self, form: NativeForm, dc: DCForm) -> None:
        constant = VOLTAGE / dc.velocity_limit
        resistance = constant * VOLTAGE / dc.saturation
        gains = self._model.actuator_gainprm
        for column, values in ((0, resistance), (1, constant), (4, form.kp), (6, form.kv)):
            gains[self.ids, column] = values
        gains[self.ids, 7] = VOLTAGE

    def drive_directly(self) -> None:
        """No gains: the feedforward input is the motor's old ctrl, with the motor's old limits.

        The law's memory is set aside, since MuJoCo goes on integrating and recording.
        """
        self.aside = self.memory()
        model, ids = self._model, self.ids
        model.actuator_delay[ids] = 0.0
        if (model.actuator_gaintype[ids] == int(mujoco.mjtGain.mjGAIN_DCMOTOR)).all():
            for column in (4, 6, 7):
                model.actuator_gainprm[ids, column] = 0.0
        else:
            model.actuator_biasprm[ids, 0:3] = 0.0
            model.actuator_gainprm[ids, 0] = 0.0
        self._set_force_range(*self.own_range)

    def memory(self) -> LawMemory:
        """The law's memory: its integral, and past commands, oldest first."""
        if self.aside is not None:
            return self.aside
        integral = self.integral()  # picked from the activations: an own copy
        if not self.has_delay:
            return LawMemory(integral, [_NO_PAST] * len(self._rooms))
        pasts = [self._past(int(i), room) for i, room in zip(self.ids, self._rooms, strict=True)]
        return LawMemory(integral, pasts)

    def _past(self, actuator: int, room: int) -> FloatArray:
        # NOTE: a history is one user value, the index of the newest sample, times and values.
        first = int(self._model.actuator_historyadr[actuator]) + 1
        if not room:
            return _NO_PAST
        newest = int(self._data.history[first])
        start = first + 1 + room
        values = self._data.history[start : start + room * INPUTS].reshape(room, INPUTS)
        past: FloatArray = np.roll(values, room - 1 - newest, axis=0)
        return past

    def settle(self) -> None:
        """After a reset or a restore, with the first commands in ctrl: fix the memory."""
        self._take_back()
        if self.awaits_command:
            self.awaits_command = False
            self.prefill()

    def recall(self, memory: LawMemory, was_aside: bool) -> None:
        """A restored state holds this memory, unless the law was switched off then or is now."""
        self.aside = memory if was_aside or self.aside is not None else None

    def _take_back(self) -> None:
        """Restore the memory that was set aside."""
        if self.aside is None:
            return
        integral, pasts = self.aside
        if integral.size:
            self._data.act[self._act] = integral
        for i, past in zip(self.ids, pasts, strict=True):
            if len(past):
                mujoco.mj_initCtrlHistory(self._model, self._data, int(i), None, past)
        self.aside = None

    def start_over(self) -> None:
        """The state was reset: discard the memory; the first command fills the history."""
        self.awaits_command = self.has_delay
        low, high = self.own_range
        self.left = self._data.ctrl[self.inputs[:, -1]]
        self.rest = np.minimum(np.maximum(self.left, low), high)
        if self.aside is not None:
            integral, pasts = self.aside
            self.aside = LawMemory(np.zeros_like(integral), [np.zeros_like(p) for p in pasts])

    def _set_force_range(self, low: FloatArray, high: FloatArray) -> None:
        limited = np.isfinite(low) | np.isfinite(high)
        # One-sided limits do not occur: MuJoCo's ranges are finite, mjrig's symmetric or finite.
        self._model.actuator_forcelimited[self.ids] = limited
        self._model.actuator_forcerange[self.ids, 0] = np.where(limited, low, 0.0)
        self._model.actuator_forcerange[self.ids, 1] = np.where(limited, high, 0.0)

    @property
    def model(self) -> Any:
        """The MjModel that its actuators are in."""
        return self._model

    @property
    def is_acting(self) -> bool:
        """Whether any of its forces is another than at the last reset."""
        return bool((self._data.actuator_force[self._out] != self.rest).any())

    @property
    def activations(self) -> npt.NDArray[np.intp]:
        """Addresses of the integrals among the activations; -1: it has none."""
        return self._act

    def room_for(self, lags: Iterable[int]) -> bool:
        """Whether the history is long enough for these delays."""
        return all(lag < room for lag, room in zip(lags, self._rooms, strict=True))

    @property
    def has_delay(self) -> bool:
        """Whether there is a history of commands."""
        return self._has_delay

    def prefill(self, data: Any = None) -> None:
        """Fill the delay history with the present ctrl: until it has passed, the oldest acts.

        Args:
            data: another MjData of the same model; None: its own.
        """
        data = self._data if data is None else data
        for i, addresses, room in zip(self.ids, self.inputs, self._rooms, strict=True):
            if room:
                values = np.tile(data.ctrl[addresses], (room, 1))
                mujoco.mj_initCtrlHistory(self._model, data, int(i), None, values)

    # What MuJoCo did in the last step -----------------------------------------------------------

    def length(self) -> FloatArray:
        """Actuator lengths the last step started from, read-only: they may be MuJoCo's own."""
        found: FloatArray = self._data.actuator_length[self._out]
        return found

    def velocity(self) -> FloatArray:
        """Actuator velocities the last step started from, as `length`."""
        found: FloatArray = self._data.actuator_velocity[self._out]
        return found

    def commands(self) -> FloatArray:
        """(3, n) position, velocity and feedforward that acted in the last step, read-only."""
        if not self._has_delay:
            now: FloatArray = self._data.ctrl[self._all_inputs].reshape(-1, INPUTS).T
            return now
        found = self._data.ctrl[self.inputs]
        began = float(self._data.time) - self._timestep
        buffer = np.zeros(INPUTS)
        for k, (i, room) in enumerate(self._delayed):
            if room:
                mujoco.mj_readCtrl(self._model, self._data, i, began, buffer, 0)
                found[k] = buffer
        commands: FloatArray = found.T
        return commands

    def integral(self) -> FloatArray:
        """The integral after the last step; empty without."""
        if not self._integrates:
            return _NOTHING
        found: FloatArray = self._data.act[self._act]
        return found


@contextmanager
def at_rest(laws: Sequence[Lowered]) -> Iterator[None]:
    """Let laws in one model give the forces of their motors at the last reset for a while."""
    ids, model = np.concatenate([law.ids for law in laws]), laws[0].model
    limited, ranges = model.actuator_forcelimited[ids], model.actuator_forcerange[ids]
    model.actuator_forcelimited[ids] = True
    model.actuator_forcerange[ids] = np.concatenate([law.rest for law in laws])[:, None]
    try:
        yield
    finally:
        model.actuator_forcelimited[ids], model.actuator_forcerange[ids] = limited, ranges


def within_own_range(
    low: FloatArray, high: FloatArray, bindings: Sequence[ActuatorBinding]
) -> tuple[FloatArray, FloatArray]:
    """The controller's limits within the model's, which win where the two do not overlap.

    Arrays (n,) or (worlds, n).
    """
    return within(low, high, own_force_range(bindings))


def within(
    low: FloatArray, high: FloatArray, own: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Limits within others, which win where the two do not overlap."""
    least, most = own
    return (
        np.minimum(np.maximum(low, least), most),
        np.minimum(np.maximum(high, least), most),
    )


def own_force_range(bindings: Sequence[ActuatorBinding]) -> tuple[FloatArray, FloatArray]:
    """The model's own limits: the motor's ctrlrange times gain, and its forcerange."""
    low, high = np.full(len(bindings), -np.inf), np.full(len(bindings), np.inf)
    for k, binding in enumerate(bindings):
        for limits, factor in ((binding.ctrl_range, binding.gain), (binding.force_range, 1.0)):
            if limits is not None:
                a, b = sorted((limits[0] * factor, limits[1] * factor))
                low[k], high[k] = (min(max(x, a), b) for x in (low[k], high[k]))
    return low, high
