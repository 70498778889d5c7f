"""Scene and Actor: a scene that is edited by name, with handles to the elements of its models."""

from pathlib import Path
from typing import Any

from mjrig.core.properties.component import ActorComponent
from mjrig.core.properties.nested_kinds import NestedList
from mjrig.core.properties.scalar_kinds import Bool
from mjrig.core.scene.actor_description import USE_MOTORS, ActorDescription
from mjrig.core.scene.actuator import Actuator
from mjrig.core.scene.editing.actuator_conversion import use_motors, use_position_actuators
from mjrig.core.scene.editing.elements import Element, element
from mjrig.core.scene.editing.rename_and_remove import remove, rename
from mjrig.core.scene.scene_description import SceneDescription

# Actor --------------------------------------------------------------------------------------------


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


# Scene --------------------------------------------------------------------------------------------


class Scene(SceneDescription):
    """Actors and simulation options, made in Python or read from a file."""

    # Narrower than in the description; assigning any other type is refused at run time.
    actors: NestedList[Actor] = NestedList(  # pyrefly: ignore[bad-override]
        Actor, polymorphic=False, structural=True, doc="Actors of the scene."
    )

    def __getitem__(self, name: str) -> Actor:
        """An actor by name; one of an included file as a copy that refuses to be changed.

        Raises:
            PropertyError: there is none of that name.
        """
        actor = super().__getitem__(name)
        assert isinstance(actor, Actor)
        return actor

    def add_actor(
        self, name: str, *, model: str | Path | None = None, **properties: object
    ) -> Actor:
        """Add an actor and return it.

        Args:
            name: its name, unique in the scene.
            model: file of the model; none for an actor with a `prop`.
            properties: of Actor.

        Raises:
            PropertyError: the name is taken or a value does not fit; nothing was changed.
        """
        actor = super().add_actor(name, model=model, **properties)
        assert isinstance(actor, Actor)
        return actor

    def rename(self, path: str, new: str) -> list[str]:
        """Rename an actor, frame, group, or an element of an actor (`dog.FL_hip`).

        Every reference in the scene follows; a model's own element is renamed in `renamed:`.

        Returns:
            The references that were updated.

        Raises:
            PropertyError: there is no such item, or the new name is taken; nothing was changed.
        """
        return rename(self, path, new)

    def remove(self, path: str, *, dry_run: bool = False, dependents: str = "refuse") -> list[str]:
        """Remove an actor, frame, group, or an element of an actor (`dog.FL_hip`) from the scene.

        Args:
            path: what to remove; a model's own element is listed in `removed:`.
            dry_run: change nothing, only report.
            dependents: `refuse` if something needs it, or `remove` that too.

        Returns:
            What is, or would be, removed: the item itself first, then what depended on it.

        Raises:
            PropertyError: there is no such item, or something needs it; nothing was changed.
        """
        return remove(self, path, dry_run=dry_run, dependents=dependents)
