"""Actor: an actor of a scene, with handles to the elements of its model."""

from mjrig.actuators.actuator import Actuator
from mjrig.properties.component import ActorComponent
from mjrig.scene.actor import ActorDescription
from mjrig.scene_edit.actuator_conversion import use_motors, use_position_actuators
from mjrig.scene_edit.elements import Element, element


class Actor(ActorDescription):
    """One robot or object in a scene."""

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

    def use_motors(self, pattern: str = ".*") -> ActorComponent:
        """Convert the model's position actuators to motors under a PDController of the same gains.

        Under an implicit integrator the scene gets `sim: {actuation: implicit}`, so that the gains
        are integrated as before. Where that would reach other controllers, or the motion will
        differ for another reason, a warning is logged.

        Args:
            pattern: names of the model's actuators; those that are not position actuators stay.

        Returns:
            The PDController.

        Raises:
            BindingError: the pattern matches no position actuator.
        """
        return use_motors(self, pattern)

    def use_position_actuators(self, component: ActorComponent) -> list[Actuator]:
        """Remove a PDController and convert its motors to position actuators of its gains.

        Returns:
            The actuators that were authored, one per group of equal gains.

        Raises:
            BindingError: it does something a position actuator cannot, or is not on this actor.
        """
        return use_position_actuators(self, component)
