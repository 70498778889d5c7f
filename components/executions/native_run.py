"""Native execution: MuJoCo's actuators run the law; its telemetry and memory are read here."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.executions.native_form import (
    NativeEfforts,
    given_memory,
    native_effort_of,
    take_memory,
)
from mjrig.components.executions.pipeline_host import PipelineHost
from mjrig.components.executions.run import PipelineRun
from mjrig.components.executions.state_inputs import StateInputs
from mjrig.components.laws.gather import Operation
from mjrig.control.execution import is_rk4
from mjrig.control.lowering import LawMemory, Lowered
from mjrig.readings.effort_log import EffortLog, SeenEfforts

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
