"""The compiled execution: a controller's pipeline handed to the fused kernel."""

import importlib.util
from typing import TYPE_CHECKING, Any

import numpy as np
from mjrig.components.clamp import DCMotor, MaxEffort, PositionTable
from mjrig.components.feedback import PD, PID
from mjrig.components.pipeline import Pipeline

if TYPE_CHECKING:
    from mjrig.components.pipeline_controller import PipelineController


def why_no_numba() -> str:
    """Why the kernel cannot run here; empty if it can."""
    found = importlib.util.find_spec("numba") is not None
    return "" if found else "needs the extra 'fast': pip install 'mjrig[fast]' (no numba)"


class CompiledStep:
    """One tick of a controller as one call; it shares the pipeline's memory.

    `refresh` must follow every change of a parameter.
    """

    def __init__(self, controller: "PipelineController", pipe: Pipeline, data: Any) -> None:
        from mjrig.components import kernel

        self._kernel = kernel
        self._controller, self._pipe = controller, pipe
        bindings = controller.bindings
        self._index = np.array(
            [
                [b.qpos_address for b in bindings],
                [b.dof_address for b in bindings],
                [b.ctrl_address for b in bindings],
                controller.columns,
            ],
            dtype=np.int64,
        )
        self._arrays = (data.qpos, data.qvel, controller.setpoints.values, data.ctrl)
        self._values = np.zeros((2, len(bindings)))
        # The pipeline's own buffers become rows of the kernel's, so that both mean the same.
        pipe._raw, pipe._effort = self._values
        self._acted = np.zeros((len(pipe.clamps), len(bindings)), np.int64)
        pipe._acted = list(self._acted)
        pipe.arrange()
        self.refresh()

    def refresh(self) -> None:
        """Take the parameters and the memory of the pipeline as they are now."""
        kernel, pipe, size = self._kernel, self._pipe, self._values.shape[1]
        law = pipe.law
        assert isinstance(law, PD)
        gain = np.zeros((8, size))
        gain[kernel.FACTOR] = pipe.space.factor
        gain[kernel.KP], gain[kernel.KV] = law._kp, law._kv
        gain[kernel.CONSTANT] = law._constant
        low, high = self._controller._target_range()
        gain[kernel.TARGET_LOW], gain[kernel.TARGET_HIGH] = low, high
        integral = np.zeros(0)
        if isinstance(law, PID):
            gain[kernel.KI], gain[kernel.INTEGRAL_MAX] = law._ki, law._high
            integral = pipe.state.integral
        kinds, clamps, tables = self._clamps(size)
        ring, self._memory = np.zeros((0, 3, size)), np.zeros((3, size), np.int64)
        if pipe.delay is not None:
            pipe.delay.grow(pipe.state, self._controller._tick)
            ring = pipe.state.delay_ring
            self._memory[0] = pipe.state.delay_count
            self._memory[1] = pipe.delay.lags(self._controller._tick, pipe.state)
            self._memory[2, 0] = pipe.state.delay_head[0]
        fixed = (self._index, gain, kinds, clamps, tables, ring, self._memory, integral)
        dt = self._controller._tick
        self._arguments = (*self._arrays, *fixed, self._values, self._acted, dt)

    def _clamps(self, size: int) -> tuple[Any, Any, Any]:
        kernel, pipe = self._kernel, self._pipe
        kinds = np.zeros(len(pipe.clamps), np.int64)
        clamps = np.zeros((len(pipe.clamps), 4, size))
        found = [c for c in pipe.clamps if isinstance(c, PositionTable)]
        longest = max((t._x.shape[1] for t in found), default=2)
        tables = np.zeros((len(found), 2, size, longest))
        for i, clamp in enumerate(pipe.clamps):
            if isinstance(clamp, MaxEffort):
                kinds[i] = kernel.MAX_EFFORT
                clamps[i, 0], clamps[i, 1] = clamp._low, clamp._high
            elif isinstance(clamp, DCMotor):
                kinds[i] = kernel.DC_MOTOR
                clamps[i] = clamp._saturation, clamp._limit, clamp._max, clamp._corner
            elif isinstance(clamp, PositionTable):
                kinds[i] = kernel.TABLE
                # A shorter table repeats its last point: beyond it the value is constant anyway.
                room = longest - clamp._x.shape[1]
                padding = ((0, 0), (0, room))
                tables[found.index(clamp), 0] = np.pad(clamp._x, padding, mode="edge")
                tables[found.index(clamp), 1] = np.pad(clamp._y, padding, mode="edge")
        return kinds, clamps, tables

    def __call__(self) -> None:
        self._kernel.run(*self._arguments)

    def write_back(self) -> None:
        """Bring the delay's counters home, before somebody reads the pipeline's memory."""
        pipe = self._pipe
        if pipe.delay is not None:
            pipe.state.delay_count[...] = self._memory[0]
            pipe.state.delay_head[0] = self._memory[2, 0]
