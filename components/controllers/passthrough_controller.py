"""PassthroughController: setpoints directly to the actuators it owns."""

from typing import Any, ClassVar

from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.execution import Support
from mjrig.core.control.setpoints import Source, direct_writers
from mjrig.core.model.binding import ActuatorBinding


class PassthroughController(ArticulationController):
    """ctrl = position setpoint, unscaled.

    The same as an actuator without an owner gets, made explicit: other controllers cannot own
    these actuators, of whatever kind they are.
    """

    follows_pose: ClassVar[bool] = False

    def prepare(self) -> None:
        super().prepare()
        self._writers: tuple[Any, ...] = ()

    def _may_own(self, binding: ActuatorBinding, literal: bool) -> bool:
        return binding.output_count == 1 and binding.ctrl_count == 1

    def supports(self) -> dict[str, Support]:
        plain = Support(True, "ctrl is the setpoint: there is nothing to compute")
        return super().supports() | {"native": plain}

    def on_bind(self, model: Any, data: Any) -> None:
        self._writers = tuple(direct_writers(self.setpoints, list(self.bindings), data.ctrl))

    def compute_and_apply(self, model: Any, data: Any, source: Source) -> None:
        for write in self._writers:
            write()
