"""StandGains: temporary gains of the start phase; authored gains are kept."""

from typing import ClassVar

from mjrig.arrays import FloatArray, frozen
from mjrig.components.policies.policy_parts import StartPhase, given
from mjrig.control.articulation import Articulation
from mjrig.control.controller import ArticulationController
from mjrig.errors import BindingError
from mjrig.model.binding import ActuatorBinding
from mjrig.properties.declared_memory import DeclaredMemory
from mjrig.properties.per_actuator import PerActuator


class StandGains(DeclaredMemory):
    """The gains of the start phase on the controllers that drive the joints.

    Raises:
        BindingError: a joint is driven by no controller that has such a gain.
    """

    _remembered: ClassVar[tuple[str, ...]] = ("_is_applied",)

    def __init__(
        self, start: StartPhase, robot: Articulation, bindings: list[ActuatorBinding]
    ) -> None:
        self._robot, self._bindings = robot, bindings
        found = {name: given(start, name) for name in ("kp", "kv")}
        self._gains: dict[str, FloatArray] = {n: v for n, v in found.items() if v is not None}
        self.applied = False

    @property
    def _is_applied(self) -> bool:
        return self.applied

    @_is_applied.setter
    def _is_applied(self, applied: bool) -> None:
        if applied and not self.applied:
            self.apply()
        elif not applied:
            self.put_back()

    def apply(self) -> None:
        """Apply these gains; authored values stay unchanged."""
        self.applied = True
        for name, values in self._gains.items():
            for controller, places in self._owners(name).items():
                array = controller.__dict__[name].copy()
                for own, mine in places:
                    array[own] = values[mine]
                controller.__dict__[name] = frozen(array)
                self._tell(controller, name)

    def put_back(self) -> None:
        """Restore the authored gains."""
        if not self.applied:
            return
        self.applied = False
        for name in self._gains:
            for controller in self._owners(name):
                controller.property_named(name).refresh(controller)
                self._tell(controller, name)

    def _tell(self, controller: ArticulationController, name: str) -> None:
        controller._own_on_change((name,))
        controller.on_change((name,))
        controller._notify((name,))

    def _owners(self, name: str) -> dict[ArticulationController, list[tuple[int, int]]]:
        """The controllers with that gain: (place in the controller, place in the policy)."""
        owners: dict[ArticulationController, list[tuple[int, int]]] = {}
        for mine, binding in enumerate(self._bindings):
            for controller in self._robot.controllers:
                ids = [b.actuator_id for b in controller.bindings]
                if binding.actuator_id in ids and _has(controller, name):
                    place = ids.index(binding.actuator_id), mine
                    owners.setdefault(controller, []).append(place)
                    break
            else:
                raise BindingError(
                    f"policy.start.{name}: no controller of {self._robot.name!r} has a {name} "
                    f"for {binding.actuator!r}"
                )
        return owners


def _has(controller: ArticulationController, name: str) -> bool:
    return any(p.name == name and isinstance(p, PerActuator) for p in controller.properties())
