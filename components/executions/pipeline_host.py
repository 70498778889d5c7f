"""What the other executions see of a controller that owns a pipeline."""

from typing import Any, Protocol

from mjrig.components.laws.pipeline import Pipeline
from mjrig.components.laws.space import Array
from mjrig.control.setpoints import Setpoints
from mjrig.model.binding import ActuatorBinding, BindingTable


class PipelineHost(Protocol):
    """A bound controller; `_pipe` is the pipeline as it is, with no look at its telemetry."""

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
    def _target_range(self) -> tuple[Array, Array]: ...
    def report_non_finite(self, binding: ActuatorBinding) -> None: ...
