"""Python execution: the pipeline in numpy, as prepared calls on preallocated arrays."""

from collections.abc import Sequence
from math import hypot, isfinite
from typing import Any

import mujoco
import numpy as np

from mjrig.components.executions.pipeline_run import (
    EveryTick,
    PipelineHost,
    PipelineRun,
    StateInputs,
    write_ctrl,
)
from mjrig.components.laws.pipeline_arrays import Buffer, Operation, as_slice, scaled
from mjrig.core.arrays import FloatArray
from mjrig.core.control.finite_guard import LARGEST

_LARGEST_SQUARE = LARGEST**2


class PythonRun(PipelineRun):
    """Gather, law, clamps and the copy to ctrl, one prepared call after the other."""

    def __init__(self, host: PipelineHost, model: Any, data: Any, ticks: EveryTick) -> None:
        super().__init__(host, model, data)
        self._ticks = ticks
        self._setpoints = host.setpoints
        self._inputs = StateInputs(host, data)
        self._prepare_writing()
        self.refresh()

    def _prepare_writing(self) -> None:
        """ctrl is the pipeline's effort, divided by gear·gain where it ran in joint space."""
        factor = np.array([b.factor for b in self._host.bindings])
        in_joint_space = not np.array_equal(self._pipe.space.factor, factor)
        own = self._pipe._effort
        self._value: Buffer = own
        self._convert: tuple[Operation, ...] = ()
        if in_joint_space:
            self._value, convert = scaled(own, [], factor, divide=True)
            self._convert = tuple(convert)
        self._write = write_ctrl(self._host, self._data.ctrl, self._value)

    def refresh(self) -> None:
        inputs = self._inputs
        self._pipe.prepare(inputs.q, inputs.qd, inputs.targets, self._host._tick)
        self._program = (*inputs.read_state, *self._pipe.program, *self._convert)
        self._version = -1

    def stepper(self) -> Operation:
        return self._ticks.around(self, self._put)

    def __call__(self) -> None:
        if self._setpoints.version != self._version:
            self._take_targets()
        for operation in self._program:
            operation()
        self._check_raw(self._value)
        self._put()

    def _check_raw(self, value: Buffer) -> None:
        """No clamp hides that the law's own effort was not finite: it stays so behind them."""
        raw = self._pipe._raw
        if not isfinite(np.vdot(raw, raw)):
            bad = ~np.isfinite(raw)
            value[bad] = raw[bad]

    def _take_targets(self) -> None:
        self._version = self._setpoints.version
        for read in self._inputs.read_targets:
            read()
        if self._pipe.delay is None:
            self._pipe.command()

    def _put(self) -> None:
        """Write the effort of the last tick; where it is not finite the last finite ctrl stays."""
        if self._value.dot(self._value) < _LARGEST_SQUARE:
            self._write()
            return
        ctrl = self._data.ctrl
        for binding, value in zip(self._host.bindings, self._value, strict=True):
            if abs(value) <= LARGEST:
                ctrl[binding.ctrl_address] = value
            else:
                self._host.report_non_finite(binding)


class DirectRun(PythonRun):
    """The same where ctrl itself can be the array that the last clamp writes into.

    That needs neighbouring actuators, float64, a pipeline in actuator space and a tick in every
    step. It saves a copy and a second check: the common case.
    """

    @classmethod
    def fits(cls, host: PipelineHost) -> bool:
        """Whether a controller is such a case."""
        space, bindings = host._pipe.space, host.bindings
        return (
            host.decimation == 1
            and space.dtype == np.float64
            and len(bindings) > 0
            and as_slice([b.ctrl_address for b in bindings]) is not None
            and np.array_equal(space.factor, [b.factor for b in bindings])
        )

    def _prepare_writing(self) -> None:
        addresses = [b.ctrl_address for b in self._host.bindings]
        self._out = self._data.ctrl[addresses[0] : addresses[-1] + 1]
        self._good = self._out.tobytes()
        self._calls: list[Operation] = []

    def refresh(self) -> None:
        inputs, pipe = self._inputs, self._pipe
        pipe.prepare(inputs.q, inputs.qd, inputs.targets, self._host._tick, self._out)
        self._version = -1
        # The articulation holds this very list.
        self._calls[:] = [*inputs.read_state, *pipe.program, self._finishing()]

    def _finishing(self) -> Operation:
        """Count what the last clamp did, and make sure that ctrl is finite."""
        out, pipe = self._out, self._pipe
        unclamped, written, values = pipe.unclamped.tobytes, out.tobytes, out.tolist
        # One clamp alone has changed what was not finite; behind several it cannot be seen.
        has_several = len(pipe.clamps) > 1

        def finish() -> None:
            now = written()
            if unclamped() != now:
                pipe.count_last(out)
                self._check_raw(out)
            elif has_several:
                self._check_raw(out)
            # The cheapest check of some dozens of values for NaN, infinity and too large ones.
            if hypot(*values()) < LARGEST:
                self._good = now
            else:
                self._hold()

        return finish

    def stepper(self) -> Operation:
        return self

    def calls(self) -> Sequence[Operation]:
        return self._calls

    def setpoint_calls(self) -> Sequence[Operation]:
        return (self._take_targets,)

    def __call__(self) -> None:
        if self._setpoints.version != self._version:
            self._take_targets()
        for call in self._calls:
            call()

    def _hold(self) -> None:
        """Put the last finite ctrl back where an effort is not finite."""
        good = np.frombuffer(self._good)
        for i, binding in enumerate(self._host.bindings):
            if not abs(self._out[i]) <= LARGEST:
                self._host.report_non_finite(binding)
                self._out[i] = good[i]
        self._good = self._out.tobytes()

    def bring_home(self) -> None:
        self._pipe._effort[:] = self._out

    def restore(self, memory: Any) -> None:
        super().restore(memory)
        self._good = self._pipe._effort.tobytes()


class ImplicitRun(PythonRun):
    """The same with the effort of the end of the step, solved for with the mass matrix."""

    def refresh(self) -> None:
        self._version = -1

    def __call__(self) -> None:
        inputs = self._inputs
        for read in (*inputs.read_targets, *inputs.read_state):
            read()
        self._pipe.advance_implicit(
            inputs.q, inputs.qd, *inputs.targets, self._host._tick, self._inverse_mass()
        )
        for convert in self._convert:
            convert()
        self._check_raw(self._value)
        self._put()

    def _inverse_mass(self) -> FloatArray:
        """The block of M⁻¹ of the owned joints, in the pipeline's space."""
        dofs = np.array([b.dof_address for b in self._host.bindings], dtype=np.intp)
        unit = np.zeros((len(dofs), self._model.nv))
        unit[np.arange(len(dofs)), dofs] = 1.0
        solved = np.zeros_like(unit)
        mujoco.mj_solveM(self._model, self._data, solved, unit)
        factor = self._pipe.space.factor
        block: FloatArray = solved[:, dofs] * factor[:, None] * factor[None, :]
        return block
