"""Component: properties and a life cycle, found by its registered type name."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

from mjrig.errors import PropertyError
from mjrig.names import suggestion
from mjrig.properties.has_properties import HasProperties


class Component(HasProperties):
    """Something with properties that has a type name: on an actor, or nested in another component.

    The type name is the class's name, registered in the entry-point group `mjrig.components`.
    """

    def to_data(self) -> dict[str, object]:
        return {"type": type(self).__name__, **super().to_data()}

    @classmethod
    def from_data(cls, data: Mapping[str, object]) -> Self:
        return super().from_data({k: v for k, v in data.items() if k != "type"})


class ActorComponent(Component):
    """What can be listed under an actor's `components:`.

    Hooks, all optional.
    """

    def attach(self, articulation: HasProperties) -> None:
        """The actor is compiled; resolve names here, raise BindingError for what does not fit."""

    def detach(self) -> None:
        """The component leaves the running world."""

    def reset(self) -> None:
        """The world was reset: forget everything."""

    def before_controls(self, time: float) -> None:
        """Called before every physics step, before any controller: the place to move setpoints."""

    @property
    def needs_position_stage(self) -> bool:
        """Whether `before_controls` reads what MuJoCo derives from the state inside the step.

        The world then steps in two stages, and the component runs between them.
        """
        return False

    def memory(self) -> Any:
        """What `restore` needs to continue bit-exactly, as an own copy; None for nothing."""
        return None

    def memory_signature(self) -> object:
        """What must be the same for `restore` to take a memory."""
        return None

    def restore(self, memory: Any) -> None:
        """Take back what `memory` returned."""

    # What runs a component calls these: the base classes' own part of a hook, then the hook. ------

    def start_over(self) -> None:
        """Forget everything: `reset`, and what the base classes keep."""
        self._reset()
        self.reset()

    def full_memory(self) -> Any:
        """All that `take_back` needs: `memory`, and what the base classes keep."""
        return self._memory(), self.memory()

    def full_signature(self) -> object:
        """What must be the same for `take_back` to take a memory."""
        own, hook = self._memory_signature(), self.memory_signature()
        return own if hook is None else hook if own is None else (own, hook)

    def take_back(self, memory: Any) -> None:
        """Take back what `full_memory` returned."""
        own, hook = memory
        self._restore(own)
        self.restore(hook)

    @property
    def between_stages(self) -> bool:
        """Whether it runs between the two stages of a step."""
        return self._needs_position_stage or self.needs_position_stage

    def _reset(self) -> None:
        """The base classes' own part of `reset`."""

    def _memory(self) -> Any:
        """The base classes' own part of `memory`."""
        return None

    def _memory_signature(self) -> object:
        """The base classes' own part of `memory_signature`."""
        return None

    def _restore(self, memory: Any) -> None:
        """The base classes' own part of `restore`."""

    @property
    def _needs_position_stage(self) -> bool:
        """Whether the base classes read what MuJoCo computes inside the step."""
        return False


def component_named(
    owner: HasProperties, components: Iterable[HasProperties], name: str
) -> HasProperties:
    """A component by type name (`PDController`, `PDController_2`) or its short form (`pd`).

    Raises:
        PropertyError: there is none.
    """
    by_role = {c._role: c for c in components}
    if name in by_role:
        return by_role[name]
    short = [c for role, c in by_role.items() if role.lower().replace("controller", "") == name]
    if len(short) == 1:
        return short[0]
    raise PropertyError(
        f"{owner.label} has no component {name!r}; {suggestion(name, by_role, label='has')}"
    )
