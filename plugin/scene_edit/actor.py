"""Actor: an actor of a scene, with handles to the elements of its model."""

from typing import Any

from mjrig.actuators.actuator import Actuator
from mjrig.properties.component import ActorComponent
from mjrig.properties.scalar_kinds import Bool
from mjrig.scene.actor import USE_MOTORS, ActorDescription
from mjrig.scene_edit.actuator_conversion import use_motors, use_position_actuators
from mjrig.scene_edit.elements import Element, element


class MotorSwitch:
    """`actor.use_motors`: whether the scene says so; called, it converts the description itself."""

    __slots__ = ("_actor", "_on")

    def __init__(self, actor: ActorDescription, on: bool) -> None:
        self._actor, self._on = actor, on

    def __bool__(self) -> bool:
        return self._on

    def __repr__(self) -> str:
        return str(self._on)

    def __call__(self, pattern: str = ".*") -> ActorComponent:
        """Convert the model's position actuators to motors under a PDController of the same gains.

        Args:
            pattern: names of the model's actuators; those that are not position actuators stay.

        Returns:
            The PDController.

        Raises:
            BindingError: the pattern matches no position actuator.
        """
        return use_motors(self._actor, pattern)


class UseMotors(Bool):
    """A yes or no in the file, and a method in Python."""

    def __get__(self, obj: Any, owner: type) -> Any:
        return self if obj is None else MotorSwitch(obj, obj.__dict__[self.name])


class Actor(ActorDescription):
    """One robot or object in a scene."""

    use_motors = UseMotors(False, structural=True, doc=USE_MOTORS)

    def joint(self, name: str) -> Element:
        """A joint of the model, to attach actuators to.

        Raises:
            BindingError: there is none of that name; the same for `body`, `site` and `tendon`.
        """
        return element(self, "joint", name)

    def body(self, name: str) -> Element:
        """A body of the model."""
        return element(self, "body", name)

    def site(self, name: str) -> Element:
        """A site of the model."""
        return element(self, "site", name)

    def tendon(self, name: str) -> Element:
        """A tendon of the model."""
        return element(self, "tendon", name)

    def use_position_actuators(self, component: ActorComponent) -> list[Actuator]:
        """Remove a PDController and convert its motors to position actuators of its gains.

        Returns:
            The actuators that were authored, one per group of equal gains.

        Raises:
            BindingError: it does something a position actuator cannot, or is not on this actor.
        """
        return use_position_actuators(self, component)
