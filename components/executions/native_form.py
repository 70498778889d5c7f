"""Native form of a pipeline: the equivalent MuJoCo actuator, and its efforts."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from mjrig.arrays import FloatArray, as_slice
from mjrig.components.executions.pipeline_host import PipelineHost
from mjrig.components.laws.clamp import Clamp, DCMotor, MaxEffort, apply_clamp, twin
from mjrig.components.laws.feedback import PID
from mjrig.components.laws.torque_speed_curve import TorqueSpeedCurve
from mjrig.control.lowering import DCForm, LawMemory, Lowered, NativeForm
from mjrig.readings.effort_log import EffortLog, StepRows

#: Times any number that MuJoCo takes, a smaller gain cannot overflow.
_LARGEST_GAIN = 1e200


def why_not_native(controller: PipelineHost) -> str:
    """Why a controller whose parts all have a MuJoCo form has none; empty if it has one."""
    if controller.decimation != 1:
        return f"it runs every {controller.decimation} steps, a MuJoCo actuator every step"
    for binding in controller.bindings:
        if binding.kind != "motor":
            return f"{binding.actuator!r} is no motor ({binding.kind})"
        if binding.native_obstacle:
            return f"{binding.actuator!r} {binding.native_obstacle}"
    law: Any = controller._pipe.law
    gains = [law._kp, law._kv, *([law._ki] if isinstance(law, PID) else [])]
    if any((gain > _LARGEST_GAIN).any() for gain in gains):
        return "its effort could overflow, and MuJoCo would not report that"
    return ""


def native_form_of(controller: PipelineHost) -> NativeForm:
    """The parameters of the MuJoCo actuators, actuator space."""
    pipe = controller._pipe
    law: Any = pipe.law
    low, high, dc = limits_of(pipe.clamps, controller.num_bindings)
    delay = controller.delay
    return NativeForm(
        kp=law._kp,
        kv=law._kv,
        low=low,
        high=high,
        ki=law._ki if isinstance(law, PID) else None,
        integral_max=law._high if isinstance(law, PID) else None,
        lags=None if delay is None else delay.lags(controller._tick),
        dc=dc,
    )


def limits_of(clamps: Iterable[Clamp], size: int) -> tuple[FloatArray, FloatArray, DCForm | None]:
    """The effort range of the clamps, and the torque-speed curve if one is among them."""
    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    dc = None
    for clamp in clamps:
        if isinstance(clamp, MaxEffort):
            low, high = np.maximum(low, clamp._low), np.minimum(high, clamp._high)
        elif isinstance(clamp, DCMotor):
            dc = DCForm(clamp._saturation, clamp._limit)
            low, high = np.maximum(low, -clamp._max), np.minimum(high, clamp._max)
        elif isinstance(clamp, TorqueSpeedCurve):
            most = np.maximum(clamp._driving, clamp._braking)
            low, high = np.maximum(low, -most), np.minimum(high, most)
    return low, high, dc


def take_memory(controller: PipelineHost, lowered: Lowered) -> None:
    """Copy MuJoCo's memory of a law into the state of its pipeline."""
    pipe = controller._pipe
    if pipe.delay is None and not isinstance(pipe.law, PID):
        return
    integral, pasts = lowered.memory()
    if isinstance(pipe.law, PID):
        pipe.state.integral[:] = integral
    if pipe.delay is not None:
        pipe.delay.recall(pipe.state, pasts, started=not lowered.awaits_command)


def given_memory(controller: PipelineHost, lowered: Lowered) -> LawMemory:
    """The memory in the state of a pipeline, in the form MuJoCo's actuators have it."""
    pipe = controller._pipe
    integral, pasts = lowered.memory()
    if isinstance(pipe.law, PID):
        integral = pipe.state.integral.copy()
    if pipe.delay is not None:
        pasts = [pipe.delay.past(pipe.state, i, len(past)) for i, past in enumerate(pasts)]
    return LawMemory(integral, pasts)


def native_effort_of(
    controller: PipelineHost, lowered: Lowered
) -> tuple[FloatArray, FloatArray, list[Any]]:
    """Raw effort, effort and which clamp acted in the last step, from MuJoCo's inputs to it.

    Joint units. MuJoCo itself has only the force after all limits.
    """
    pipe = controller._pipe
    law: Any = pipe.law
    q, qd = lowered.length(), lowered.velocity()
    integral = lowered.integral() if isinstance(law, PID) else None
    raw = _raw_effort(law, q, qd, lowered.commands(), integral)
    effort, acted = raw, []
    for clamp in pipe.clamps:
        after = np.zeros(effort.shape)
        apply_clamp(clamp, effort, q, qd, after)
        acted.append(after != effort)
        effort = after
    factor = pipe.space.factor
    return factor * raw, factor * effort, acted


def _raw_effort(
    law: Any,
    q: FloatArray,
    qd: FloatArray,
    commands: FloatArray,
    integral: FloatArray | None,
) -> FloatArray:
    """The law bracketed as in MuJoCo, actuator space, shapes (n,) or (rows, n).

    `commands` are position, velocity and feedforward, one after the other.
    """
    target_q, target_qd, feedforward = commands
    raw: FloatArray = (law._kp * target_q + law._kv * target_qd) + feedforward
    if integral is not None:
        raw = raw + law._ki * integral
    raw = raw + (law._minus_kp * q + law._minus_kv * qd)
    return raw


class NativeEfforts(EffortLog):
    """The efforts of a native law, from recorded rows; bit-identical to live telemetry.

    Made between two steps, with the commands of the next one in ctrl; it holds until something
    about the law changes.
    """

    def __init__(self, controller: PipelineHost, lowered: Lowered) -> None:
        super().__init__(controller.columns)
        pipe, bindings = controller._pipe, controller.bindings
        self._law: Any = twin(pipe.law)
        self._clamps = [twin(clamp) for clamp in pipe.clamps]
        self._space = pipe.space
        self._gear = np.array([b.gear for b in bindings])
        self._qpos = as_slice(np.array([b.qpos_address for b in bindings], dtype=np.intp))
        self._dof = as_slice(np.array([b.dof_address for b in bindings], dtype=np.intp))
        self._shape, self._inputs = lowered.inputs.shape, as_slice(lowered.inputs.ravel())
        self._act = lowered.activations if isinstance(pipe.law, PID) else None
        delay = controller.delay
        self._lags = None if delay is None else delay.lags(controller._tick)
        self._pasts = lowered.memory().pasts if delay is not None else []

    def efforts(
        self, rows: StepRows, noted: FloatArray, by_ctrl: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        q = self._gear * rows.qpos[rows.first :, self._qpos]
        qd = self._gear * rows.qvel[rows.first :, self._dof]
        integral = None if self._act is None else rows.act[rows.first :, self._act]
        raw = _raw_effort(self._law, q, qd, self._commands(rows), integral)
        effort = raw
        for clamp in self._clamps:
            after = np.zeros_like(effort)
            apply_clamp(clamp.over_rows(len(raw)), effort, q, qd, after)
            effort = after
        return self._space.factor * raw, self._space.factor * effort

    def _commands(self, rows: StepRows) -> FloatArray:
        """(3, rows, n) position, velocity and feedforward that acted in these rows."""
        given = rows.ctrl[:, self._inputs].reshape(len(rows.ctrl), *self._shape)  # (rows, n, 3)
        if self._lags is not None:
            given = given.copy()
            for k, (lag, past) in enumerate(zip(self._lags.tolist(), self._pasts, strict=True)):
                if lag:
                    delayed = np.concatenate([past[len(past) - lag :], given[:, k]])
                    given[:, k] = delayed[: len(given)]
        return np.moveaxis(given[rows.first :], 2, 0)
