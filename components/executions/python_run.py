"""The python execution: the pipeline in numpy, as prepared calls on arrays that stay."""

from typing import Any

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.executions.pipeline_host import PipelineHost
from mjrig.components.executions.run import LARGEST, EveryTick, PipelineRun, is_bad
from mjrig.components.executions.state_inputs import StateInputs, write_ctrl
from mjrig.components.laws.gather import Buffer, Operation, scaled

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
        value = self._value
        if value.dot(value) < _LARGEST_SQUARE:
            self._write()
        else:
            self._hold()

    def _take_targets(self) -> None:
        self._version = self._setpoints.version
        for read in self._inputs.read_targets:
            read()
        if self._pipe.delay is None:
            self._pipe.command()

    def _put(self) -> None:
        """Write the effort of the last tick once more."""
        if self._value.dot(self._value) < _LARGEST_SQUARE:
            self._write()
        else:
            self._hold()

    def _hold(self) -> None:
        """Where an effort is not finite the last finite ctrl stays."""
        bad, ctrl = is_bad(self._value), self._data.ctrl
        for binding, value, refused in zip(self._host.bindings, self._value, bad, strict=True):
            if refused:
                self._host.report_non_finite(binding)
            else:
                ctrl[binding.ctrl_address] = value


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
