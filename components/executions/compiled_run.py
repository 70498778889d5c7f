"""Compiled execution: a controller's pipeline run by the fused kernel."""

import importlib.util
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.components.executions.pipeline_run import (
    EveryTick,
    PipelineHost,
    PipelineRun,
    target_range,
    write_ctrl,
)
from mjrig.components.laws.clamps import DCMotor, MaxEffort, PositionTable, TorqueSpeedCurve
from mjrig.components.laws.feedback import PD, PID, SumOrder
from mjrig.components.laws.pipeline_arrays import Operation


@cache
def why_no_numba() -> str:
    """Why the kernel cannot run here; empty if it can."""
    found = importlib.util.find_spec("numba") is not None
    return "" if found else "needs the extra 'fast': pip install 'mjrig[fast]' (no numba)"


class CompiledRun(PipelineRun):
    """One tick of a controller as one call; it shares the pipeline's buffers."""

    def __init__(self, host: PipelineHost, model: Any, data: Any, ticks: EveryTick) -> None:
        from mjrig.components.executions import kernel

        super().__init__(host, model, data)
        self._ticks = ticks
        self.guards_ctrl = host.decimation == 1
        self._kernel, self._tick = kernel, kernel.tick
        pipe, size = self._pipe, host.num_bindings
        self._index = np.array(
            [
                [b.qpos_address for b in host.bindings],
                [b.dof_address for b in host.bindings],
                [b.ctrl_address for b in host.bindings],
                host.columns,
            ],
            dtype=np.float64,
        )
        self._values = np.zeros((2, size))
        # The pipeline's own buffers become rows of the kernel's, so that both mean the same.
        pipe.take_buffers(*self._values)
        self._acted = np.zeros((len(pipe.clamps), size))
        self._lags = np.zeros((3, size))
        self._calls: list[Operation] = []
        self.refresh()

    def stepper(self) -> Operation:
        held = write_ctrl(self._host, self._data.ctrl, self._values[1])
        return self._ticks.around(self, held)

    def calls(self) -> Sequence[Operation]:
        return self._calls if self._host.decimation == 1 else super().calls()

    def refresh(self) -> None:
        kernel, pipe, controller = self._kernel, self._pipe, self._host
        size, dt = controller.num_bindings, controller._tick
        integral, ring = np.zeros(size), np.zeros((0, 3, size))
        if isinstance(pipe.law, PID):
            integral = pipe.state.integral
        if pipe.delay is not None:
            pipe.delay.grow(pipe.state, dt)
            ring = pipe.state.delay_ring
            self._lags[kernel.COUNT] = pipe.state.delay_count
            self._lags[kernel.LAG] = pipe.delay.lags(dt, pipe.state)
            self._lags[kernel.HEAD, 0] = pipe.state.delay_head[0]
        self._acted[:] = pipe._acted
        kinds, clamps, tables = self._clamps(size)
        sizes = np.array(
            [
                size, controller.setpoints.values.shape[1], len(kinds), *tables.shape[::3],
                len(ring), isinstance(pipe.law, PID), dt, self._is_textbook(),
            ],
            dtype=np.float64,
        )  # fmt: skip
        # Kept alive here: the kernel has only their addresses.
        self._arrays = [
            sizes, self._data.qpos, self._data.qvel, controller.setpoints.values, self._data.ctrl,
            self._index, self._gains(size), kinds, clamps, tables, ring, self._lags, integral,
            self._values, self._acted,
        ]  # fmt: skip
        assert all(a.dtype == np.float64 and a.flags.c_contiguous for a in self._arrays)
        self._pointers = np.array([a.ctypes.data for a in self._arrays], dtype=np.uint64)
        self._address = self._pointers.ctypes.data
        self._calls[:] = [self._ticking()]  # the articulation holds this very list

    def _ticking(self) -> Operation:
        tick, address, report = self._tick, self._address, self._report

        def step() -> None:
            if tick(address):
                report()

        return step

    def _is_textbook(self) -> bool:
        law = self._pipe.law
        return isinstance(law, PD) and law.order is SumOrder.TEXTBOOK

    def _gains(self, size: int) -> npt.NDArray[np.float64]:
        kernel, pipe = self._kernel, self._pipe
        law = pipe.law
        assert isinstance(law, PD)
        gain = np.zeros((8, size))
        gain[kernel.FACTOR] = pipe.space.factor
        gains = law._gains
        gain[kernel.KP], gain[kernel.KV], gain[kernel.CONSTANT] = gains[:3]
        gain[kernel.KI], gain[kernel.INTEGRAL_MAX] = gains.ki, gains.integral_max
        low, high = target_range(self._host)
        gain[kernel.TARGET_LOW], gain[kernel.TARGET_HIGH] = low, high
        return gain

    def _clamps(self, size: int) -> tuple[Any, Any, Any]:
        kernel, pipe = self._kernel, self._pipe
        kinds = np.zeros(len(pipe.clamps))
        clamps = np.zeros((len(pipe.clamps), kernel.LIMITS, size))
        found = [c for c in pipe.clamps if isinstance(c, PositionTable)]
        longest = max((t._x.shape[1] for t in found), default=2)
        tables = np.zeros((len(found), 2, size, longest))
        for i, clamp in enumerate(pipe.clamps):
            if isinstance(clamp, MaxEffort):
                kinds[i] = kernel.MAX_EFFORT
                clamps[i, 0], clamps[i, 1] = clamp._low, clamp._high
            elif isinstance(clamp, DCMotor):
                kinds[i] = kernel.DC_MOTOR
                line = clamp._line
                clamps[i, :4] = line.saturation, line.velocity_limit, line.most, line.corner
            elif isinstance(clamp, TorqueSpeedCurve):
                kinds[i] = kernel.CURVE
                clamps[i] = clamp._curve
            elif isinstance(clamp, PositionTable):
                kinds[i] = kernel.TABLE
                # A shorter table repeats its last point: beyond it the value is constant anyway.
                padding = ((0, 0), (0, longest - clamp._x.shape[1]))
                place = found.index(clamp)
                tables[place, 0] = np.pad(clamp._x, padding, mode="edge")
                tables[place, 1] = np.pad(clamp._y, padding, mode="edge")
        return kinds, clamps, tables

    def __call__(self) -> None:
        if self._tick(self._address):
            self._report()

    def _report(self) -> None:
        for binding, effort in zip(self._host.bindings, self._values[1], strict=True):
            if not abs(effort) <= self._kernel.LARGEST:
                self._host.report_non_finite(binding)

    def bring_home(self) -> None:
        kernel, pipe = self._kernel, self._pipe
        for mine, theirs in zip(self._acted, pipe._acted, strict=True):
            theirs[...] = mine
        if pipe.delay is not None:
            pipe.state.delay_count[...] = self._lags[kernel.COUNT]
            pipe.state.delay_head[0] = int(self._lags[kernel.HEAD, 0])
