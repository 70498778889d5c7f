"""What binds a controller: an articulation, a bare model, or nothing yet."""

from collections.abc import Iterable
from typing import Any, Protocol

from mjrig.control.setpoints import Setpoints, UntrackedSetpoints
from mjrig.errors import BindingError
from mjrig.model.binding import ActuatorBinding, describe_actuators
from mjrig.names import Slots


class Rebindable(Protocol):
    """What a host has to know of a controller to bind it again."""

    _host: Any

    def bind(self, model: Any, data: Any, actuator_ids: Iterable[int]) -> None: ...


class ControlHost(Protocol):
    """What a controller needs from its host: an articulation, or a bare model."""

    @property
    def label(self) -> str: ...
    @property
    def setpoints(self) -> Setpoints: ...
    def describe(self, actuator_ids: Iterable[int]) -> list[ActuatorBinding]: ...
    def rebind(self, controller: Any) -> None: ...
    def report_non_finite(self, binding: ActuatorBinding) -> None: ...


class Unbound:
    """The host of a controller that is not bound yet."""

    def __init__(self, label: str) -> None:
        self.label = label

    @property
    def setpoints(self) -> Setpoints:
        """There are none.

        Raises:
            BindingError: always.
        """
        raise BindingError(f"{self.label} is not bound: put it on an actor, or call bind()")

    def describe(self, actuator_ids: Iterable[int]) -> list[ActuatorBinding]:
        """There are none."""
        return []

    def rebind(self, controller: Rebindable) -> None:
        """Nothing to bind again."""

    def report_non_finite(self, binding: ActuatorBinding) -> None:
        """Ignored: there is no event log."""


class BareModel:
    """A host for a controller bound to an MjModel without an articulation."""

    def __init__(self, model: Any, data: Any, actuator_ids: Iterable[int]) -> None:
        self.label = "model"
        self._model, self._data = model, data
        self._found = describe_actuators(model, actuator_ids)
        single = [b for b in self._found if b.output_count == 1]
        slots = Slots([b.names for b in single], "model")
        self.setpoints: Setpoints = UntrackedSetpoints(slots, owner="model")
        for i, binding in enumerate(single):
            self.setpoints.position[i] = (
                data.qpos[binding.qpos_address]
                if binding.on_joint
                else data.actuator_length[binding.output_address]
            )

    def describe(self, actuator_ids: Iterable[int]) -> list[ActuatorBinding]:
        """The actuators of those ids."""
        wanted = set(actuator_ids)
        return [b for b in self._found if b.actuator_id in wanted]

    def rebind(self, controller: Rebindable) -> None:
        """Bind again after a structural change."""
        controller._host = self  # not a new one, which would have its own setpoints
        try:
            controller.bind(self._model, self._data, [b.actuator_id for b in self._found])
        finally:
            controller._host = None

    def report_non_finite(self, binding: ActuatorBinding) -> None:
        """Ignored: a bare model has no event log."""
