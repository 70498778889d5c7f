"""Native execution: the equivalent MuJoCo actuators, their efforts, telemetry and memory."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from mjrig.components.executions.pipeline_run import PipelineHost, PipelineRun, StateInputs
from mjrig.components.laws.clamps import (
    Clamp,
    DCMotor,
    MaxEffort,
    TorqueSpeedCurve,
    twin,
)
from mjrig.components.laws.equations import Gains, LawSignals, pd, pid
from mjrig.components.laws.feedback import PID
from mjrig.components.laws.pipeline_arrays import Operation
from mjrig.core.arrays import FloatArray, as_slice
from mjrig.core.control.efforts import EffortLog, SeenEfforts, StepRows
from mjrig.core.control.execution import is_rk4
from mjrig.core.control.lowering import DCForm, LawMemory, Lowered, NativeForm

# Native form --------------------------------------------------------------------------------------
# Native form of a pipeline: the equivalent MuJoCo actuator, and its efforts.


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
    gains = law._gains
    if any((gain > _LARGEST_GAIN).any() for gain in (gains.kp, gains.kv, gains.ki)):
        return "its effort could overflow, and MuJoCo would not report that"
    return ""


def native_form_of(controller: PipelineHost) -> NativeForm:
    """The parameters of the MuJoCo actuators, actuator space."""
    pipe = controller._pipe
    law: Any = pipe.law
    gains: Gains = law._gains
    low, high, dc = limits_of(pipe.clamps, controller.num_bindings)
    delay = controller.delay
    return NativeForm(
        kp=gains.kp,
        kv=gains.kv,
        low=low,
        high=high,
        ki=gains.ki if isinstance(law, PID) else None,
        integral_max=gains.integral_max if isinstance(law, PID) else None,
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
            line = clamp._line
            dc = DCForm(line.saturation, line.velocity_limit)
            low, high = np.maximum(low, -line.most), np.minimum(high, line.most)
        elif isinstance(clamp, TorqueSpeedCurve):
            most = np.maximum(clamp._curve.driving, clamp._curve.braking)
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
        after = np.clip(effort, *clamp.bounds(q, qd))
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
    signals = LawSignals(q, qd, target_q, target_qd, feedforward, 0.0)
    if integral is None:
        return np.asarray(pd(law._gains, signals))
    return np.asarray(pid(law._gains, signals, integral))


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
            effort = np.clip(effort, *clamp.over_rows(len(raw)).bounds(q, qd))
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


# Native run ---------------------------------------------------------------------------------------
# Native execution: MuJoCo's actuators run the law; its telemetry and memory are read here.


#: Raw effort and effort of the last step, joint units; no effort: there was no step yet.
NativeTelemetry = tuple[FloatArray, FloatArray | None]


class NativeRun(PipelineRun):
    """A law in the actuators of `lowered`; its efforts are computed on request."""

    guards_ctrl = False

    def __init__(self, host: PipelineHost, model: Any, data: Any, lowered: Lowered) -> None:
        super().__init__(host, model, data)
        self.lowered = lowered
        self._inputs = StateInputs(host, data)
        self._factor = np.array([b.factor for b in host.bindings])
        self._looked_at = 0.0  # the time after a reset
        self._looked: NativeTelemetry = (np.zeros(host.num_bindings), None)

    def writers(self) -> list[Operation]:
        """Calls that copy the setpoints to the inputs of the actuators."""
        ctrl, places = self._data.ctrl, self.lowered.inputs
        return [
            *self._inputs.read_targets,
            *(
                partial(ctrl.__setitem__, places[:, k].copy(), row)
                for k, row in enumerate(self._inputs.targets)
            ),
        ]

    def before_change(self) -> None:
        # The last step was taken with the present values.
        if self.lowered.aside is None:
            self._look()
        elif self._host.enabled:  # switched on again; meanwhile there was nothing to see
            self._looked_at = float(self._data.time)

    def bring_home(self) -> None:
        take_memory(self._host, self.lowered)

    def reset(self) -> None:
        self.lowered.start_over()
        self._looked_at = 0.0
        # As in python: what is left in ctrl until the law is run.
        self._looked = (np.zeros(self._host.num_bindings), self._factor * self.lowered.left)

    # Telemetry ----------------------------------------------------------------------------------

    def _look(self) -> NativeTelemetry:
        """What MuJoCo's actuators did in the last step; counts the clamps that acted in it."""
        now = float(self._data.time)
        if now != self._looked_at:
            raw, effort, acted = native_effort_of(self._host, self.lowered)
            self._looked_at, self._looked = now, (raw, effort)
            for count, one in zip(self._pipe._acted, acted, strict=True):
                np.add(count, one, out=count)
        return self._looked

    def raw_effort(self) -> FloatArray:
        return self._look()[0]

    def effort(self) -> FloatArray | None:
        return self._look()[1]

    def count_clamps(self) -> None:
        if self._host.enabled:
            self._look()

    def watcher(self) -> Callable[[float], object] | None:
        return (lambda time: self._look()) if self._host.count_clamps else None

    def effort_log(self) -> EffortLog:
        if is_rk4(self._model):  # its telemetry is of the last stage, which no row shows
            return SeenEfforts(self._host, self._host.columns)
        return NativeEfforts(self._host, self.lowered)

    # Memory -------------------------------------------------------------------------------------

    def memory(self) -> Any:
        lowered = self.lowered
        if lowered.aside is None:
            self._look()
        law = tuple(lowered.memory()), lowered.aside is not None, lowered.awaits_command
        return law, self._looked_at, self._looked

    def restore(self, memory: Any) -> None:
        lowered = self.lowered
        if memory is None:  # it did not run natively then: the pipeline has the memory
            delay = self._pipe.delay
            started = delay is None or bool(self._pipe.state.delay_count.any())
            lowered.awaits_command = lowered.has_delay and not started
            lowered.recall(given_memory(self._host, lowered), True)
            self._looked_at = float(self._data.time)
            self._looked = (self._pipe.space.factor * self._pipe._raw, None)
            return
        (law_memory, was_aside, lowered.awaits_command), *seen = memory
        self._looked_at, self._looked = seen
        lowered.recall(LawMemory(*law_memory), was_aside)
