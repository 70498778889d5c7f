"""Component: properties and a life cycle, found by its registered type name."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from mjrig.errors import PropertyError
from mjrig.names import suggestion
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.module_types import class_in


class Component(HasProperties):
    """Something with properties that has a type name: on an actor, or nested in another component.

    The type name is the class's name, registered in the entry-point group `mjrig.components` or by
    `mjrig.register`; of a class in a module beside a scene it is `module:class`.
    """

    #: Set on a class that was loaded from a module beside a scene, and not inherited from it.
    _type_name: ClassVar[str]
    _module_file: ClassVar[Path]

    @classmethod
    def type_name(cls) -> str:
        """The value of `type` in a scene file."""
        return str(vars(cls).get("_type_name", cls.__name__))

    def to_data(self) -> dict[str, object]:
        return {"type": self.type_name(), **super().to_data()}

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if "_module_file" not in vars(type(self)):
            return super().__reduce__()
        return _from_module, (self._module_file, self._type_name, self._assigned())

    def _begin(self, values: Mapping[str, object]) -> None:
        """Assign the first values; the hooks are called even if there are none."""
        with self.changes():
            self.__dict__["_is_fresh"] = True
            self.assign(values)

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
        """The world was reset: clear all memory."""

    def before_controls(self, time: float) -> None:
        """Called before every physics step, before any controller: the place to move setpoints."""

    def quiet_steps(self) -> int:
        """Steps after the present one in which `before_controls` has nothing to do.

        Asked after `before_controls`; MuJoCo may take these steps in a row.
        """
        return 0

    @property
    def needs_position_stage(self) -> bool:
        """Whether `before_controls` reads what MuJoCo derives from the state inside the step.

        The world then steps in two stages, and the component runs between them.
        """
        return False

    def memory(self) -> Any:
        """What `restore` needs to continue bit-exactly, as a copy; None for nothing."""
        return None

    def memory_signature(self) -> object:
        """What must be equal for `restore` to accept a memory."""
        return None

    def restore(self, memory: Any) -> None:
        """Restore what `memory` returned."""

    # What runs a component calls these: the base classes' own part of a hook, then the hook. ------

    def start_over(self) -> None:
        """Clear all memory: `reset`, and what the base classes keep."""
        self._own_reset()
        self.reset()

    def full_memory(self) -> Any:
        """All that `take_back` needs: `memory`, and what the base classes keep."""
        return self._own_memory(), self.memory()

    def full_signature(self) -> object:
        """What must be equal for `take_back` to accept a memory."""
        own, hook = self._own_memory_signature(), self.memory_signature()
        return own if hook is None else hook if own is None else (own, hook)

    def take_back(self, memory: Any) -> None:
        """Restore what `full_memory` returned."""
        own, hook = memory
        self._own_restore(own)
        self.restore(hook)

    @property
    def between_stages(self) -> bool:
        """Whether it runs between the two stages of a step."""
        return self._own_needs_position_stage or self.needs_position_stage

    def _own_reset(self) -> None:
        """The base classes' own part of `reset`."""

    def _own_memory(self) -> Any:
        """The base classes' own part of `memory`."""
        return None

    def _own_memory_signature(self) -> object:
        """The base classes' own part of `memory_signature`."""
        return None

    def _own_restore(self, memory: Any) -> None:
        """The base classes' own part of `restore`."""

    @property
    def _own_needs_position_stage(self) -> bool:
        """Whether the base classes read what MuJoCo computes inside the step."""
        return False


def _from_module(file: Path, name: str, values: Mapping[str, object]) -> Component:
    """Unpickle a component whose class is in a module beside a scene."""
    return class_in(file, name, Component)._authored_as(values)


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
