"""PipelineRun: base class of the executions of a controller's pipeline, and their inputs."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np

from mjrig.components.laws.pipeline import Pipeline
from mjrig.components.laws.pipeline_arrays import (
    Buffer,
    Operation,
    as_slice,
    clip,
    gather,
    merge,
    scaled,
)
from mjrig.core.arrays import FloatArray
from mjrig.core.control.efforts import EffortLog, LiveEfforts
from mjrig.core.control.setpoints import FEEDFORWARD, POSITION, VELOCITY, Setpoints
from mjrig.core.model.binding import ActuatorBinding, BindingTable
from mjrig.core.properties.memory import DeclaredMemory

# Pipeline host ------------------------------------------------------------------------------------
# PipelineHost: the interface of a controller to the run of its pipeline.


class PipelineHost(Protocol):
    """A bound controller; `_pipe` is its pipeline, `_tick` the time between two runs of it [s]."""

    _pipe: Pipeline
    _tick: float

    @property
    def bindings(self) -> BindingTable: ...
    @property
    def num_bindings(self) -> int: ...
    @property
    def columns(self) -> Any: ...
    @property
    def setpoints(self) -> Setpoints: ...
    @property
    def decimation(self) -> Any: ...
    @property
    def delay(self) -> Any: ...
    @property
    def enabled(self) -> Any: ...
    @property
    def count_clamps(self) -> Any: ...
    @property
    def clamp_targets(self) -> Any: ...
    @property
    def raw_effort(self) -> FloatArray | None: ...
    @property
    def native_effort(self) -> FloatArray | None: ...
    def report_non_finite(self, binding: ActuatorBinding) -> None: ...


# State inputs -------------------------------------------------------------------------------------
# Inputs of a controller's pipeline: state and setpoints, gathered.


Gathered = tuple[Buffer, list[Operation]]


class StateInputs:
    """q, qd and targets in the pipeline's space, and the calls that update them."""

    def __init__(self, host: PipelineHost, data: Any) -> None:
        self._host, self._dtype = host, host._pipe.space.dtype
        factor = host._pipe.space.factor
        q = scaled(*self._state(data.qpos, data.actuator_length, "qpos_address"), factor)
        qd = scaled(*self._state(data.qvel, data.actuator_velocity, "dof_address"), factor)
        targets = (
            scaled(*self._inside_joint_range(*self._row(POSITION)), factor),
            scaled(*self._row(VELOCITY), factor),
            scaled(*self._row(FEEDFORWARD), factor, divide=True),
        )
        self.q, self.qd = q[0], qd[0]
        #: Position, velocity and feedforward.
        self.targets = targets[0][0], targets[1][0], targets[2][0]
        self.read_state: tuple[Operation, ...] = (*q[1], *qd[1])
        self.read_targets = tuple(op for _, operations in targets for op in operations)

    def _state(self, joint: FloatArray, actuator: FloatArray, address: str) -> Gathered:
        bindings = self._host.bindings
        on_joint = [i for i, b in enumerate(bindings) if b.on_joint]
        joints = gather(joint, [getattr(bindings[i], address) for i in on_joint], self._dtype)
        if len(on_joint) == len(bindings):
            return joints
        others = [i for i, b in enumerate(bindings) if not b.on_joint]
        lengths = gather(actuator, [bindings[i].output_address for i in others], self._dtype)
        parts = [(np.array(on_joint), *joints), (np.array(others), *lengths)]
        return merge([p for p in parts if len(p[0])], len(bindings))

    def _row(self, row: int) -> Gathered:
        return gather(self._host.setpoints.values[row], self._host.columns.tolist(), self._dtype)

    def _inside_joint_range(self, target: Buffer, operations: list[Operation]) -> Gathered:
        if not self._host.clamp_targets:
            return target, operations
        low, high = target_range(self._host, self._dtype)
        inside = np.zeros_like(target)
        return inside, [
            *operations,
            partial(clip, target, low, high, inside),
        ]


def target_range(host: PipelineHost, dtype: Any = np.float64) -> tuple[Buffer, Buffer]:
    """The range position targets are clamped to, joint units."""
    unlimited = (-np.inf, np.inf)
    ranges = [b.joint_range if host.clamp_targets else None for b in host.bindings]
    table = np.array([r or unlimited for r in ranges], dtype).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def write_ctrl(host: PipelineHost, ctrl: Buffer, value: Buffer) -> Operation:
    """The call that copies values to the ctrl of a controller's actuators."""
    addresses = [b.ctrl_address for b in host.bindings]
    where: Any = as_slice(addresses)
    if where is not None:
        return partial(np.copyto, ctrl[where], value)
    return partial(ctrl.__setitem__, np.array(addresses, dtype=np.intp), value)


# Run ----------------------------------------------------------------------------------------------
# PipelineRun: base class of the executions of a controller's pipeline.


class PipelineRun:
    """Base class of the executions: a law that runs in this process.

    The controller calls `before_change` before its parameters change and `refresh` afterwards. The
    pipeline's state holds the law's memory after `bring_home`.
    """

    #: Whether it never writes a ctrl that is not finite.
    guards_ctrl = True

    def __init__(self, host: PipelineHost, model: Any, data: Any) -> None:
        self._host, self._pipe = host, host._pipe
        self._model, self._data = model, data

    def stepper(self) -> Operation:
        """The function called before every physics step."""
        raise NotImplementedError

    def calls(self) -> Sequence[Operation]:
        """The same as a sequence of calls."""
        return (self.stepper(),)

    def setpoint_calls(self) -> Sequence[Operation]:
        """Called before a step whose setpoints differ from the last step's."""
        return ()

    def refresh(self) -> None:
        """Take over the present parameters and memory of the pipeline."""

    def before_change(self) -> None:
        """Parameters are about to change: read the telemetry of the old ones."""
        self.bring_home()

    def bring_home(self) -> None:
        """Copy the law's memory into the pipeline's state."""

    def reset(self) -> None:
        """The world was reset, and the pipeline's state with it."""
        self.refresh()

    # Telemetry ----------------------------------------------------------------------------------

    def raw_effort(self) -> FloatArray:
        """The law's effort in the last step, before clamps, joint units."""
        raw: FloatArray = self._pipe.space.factor * self._pipe._raw
        return raw

    def effort(self) -> FloatArray | None:
        """Effort after the clamps, joint units; None: derived from ctrl."""
        return None

    def count_clamps(self) -> None:
        """Update the counters of the clamps."""
        self.bring_home()

    def watcher(self) -> Callable[[float], object] | None:
        """Called between steps to inspect the last one; None: nothing."""
        return None

    def effort_log(self) -> EffortLog:
        """How its efforts get into a recording."""
        return LiveEfforts(self._host.columns, self._pipe._raw, self._pipe.space.factor)

    # Memory, besides the pipeline's state -------------------------------------------------------

    def memory(self) -> Any:
        """What `restore` needs, as a copy."""
        return None

    def restore(self, memory: Any) -> None:
        """Restore what `memory` returned; the pipeline's state is already restored."""
        self.refresh()


class EveryTick(DeclaredMemory):
    """Runs a tick on the steps 0, k, 2k after a reset, and holds its effort in between."""

    _remembered: ClassVar[tuple[str, ...]] = ("is_due",)

    def __init__(self, host: PipelineHost, model: Any, data: Any) -> None:
        self._decimation = int(host.decimation)
        self._model, self._data = model, data
        #: Whether the first tick is still pending, whatever the step.
        self.is_due = True

    def around(self, tick: Operation, hold: Operation) -> Operation:
        """The function called before every step: the tick itself where every step is one."""
        if self._decimation == 1:
            return tick
        model, data, decimation = self._model, self._data, self._decimation

        def step() -> None:
            if self.is_due or round(data.time / model.opt.timestep) % decimation == 0:
                self.is_due = False
                tick()
            else:
                hold()

        return step
