"""PipelineRun: base class of the executions of a controller's pipeline."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from mjrig.arrays import FloatArray
from mjrig.components.executions.pipeline_host import PipelineHost
from mjrig.components.laws.gather import Operation
from mjrig.properties.declared_memory import DeclaredMemory
from mjrig.readings.effort_log import EffortLog, LiveEfforts


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
