"""Component: properties and a life cycle, found by its registered type name."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from mjrig.core.errors import PropertyError
from mjrig.core.names import suggestion
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.hooks import default_hook, hook_methods
from mjrig.core.properties.memory import declared_names, memory_of, restore_memory
from mjrig.core.properties.registry import class_in


class Component(HasProperties):
    """Something with properties that has a type name: on an actor, or nested in another component.

    The type name is the class's name, registered in the entry-point group `mjrig.components` or by
    `mjrig.register`; of a class in a module beside a scene it is `module:class`.
    """

    _begins_with_hooks = True
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

    @classmethod
    def from_data(cls, data: Mapping[str, object]) -> Self:
        return super().from_data({k: v for k, v in data.items() if k != "type"})


class ActorComponent(Component):
    """What can be listed under an actor's `components:`.

    Hooks, all optional.
    """

    #: Private attributes that change from step to step; `memory` and `restore` are for the rest.
    _remembered: ClassVar[tuple[str, ...]] = ()

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

    @default_hook
    def memory(self) -> Any:
        """What `restore` needs to continue bit-exactly, as a copy; None for nothing.

        Plain data and numpy arrays can be stored in recordings, too.
        """
        return None

    def memory_signature(self) -> object:
        """What must be equal for `restore` to accept a memory."""
        return None

    @default_hook
    def restore(self, memory: Any) -> None:
        """Restore what `memory` returned."""

    # Structure ----------------------------------------------------------------------------------

    #: Its structural properties when it was attached; None: it is in no running world.
    _attached_as: tuple[object, ...] | None = None

    def mark_attached(self) -> None:
        """Names are resolved for its present structural properties."""
        self._attached_as = self._structure()

    def outdated_structure(self) -> tuple[str, ...]:
        """The structural properties that differ from those it was attached with."""
        if self._attached_as is None:
            return ()
        names = [p.name for p in self.properties() if p.structural]
        pairs = zip(names, self._attached_as, self._structure(), strict=True)
        return tuple(name for name, then, now in pairs if then != now)

    def _structure(self) -> tuple[object, ...]:
        """The values of its structural properties."""
        values = ((p.name, self.__dict__[p.name]) for p in self.properties() if p.structural)
        # Arrays are spread over the actuators after this: what was written is compared.
        return tuple(
            self._authored.get(name) if isinstance(value, np.ndarray) else value
            for name, value in values
        )

    # The declared attributes and the hooks together, called by the world ------------------------

    def full_memory(self) -> tuple[Any, Any]:
        """All that `take_back` needs: the declared attributes, and `memory`."""
        return memory_of(self), self.memory()

    def full_signature(self) -> object:
        """What must be equal for `take_back` to accept a memory."""
        results = (method(self) for method in hook_methods(type(self), "memory_signature"))
        signatures = [signature for signature in results if signature is not None]
        return tuple(signatures) if len(signatures) > 1 else signatures[0] if signatures else None

    def take_back(self, memory: Any) -> None:
        """Restore what `full_memory` returned; None: it could not be read."""
        if memory is not None:
            declared, hook = memory
            restore_memory(self, declared)
            self.restore(hook)

    def remembers(self) -> bool:
        """Whether its output depends on earlier steps, so that it needs a memory to go on."""
        return bool(declared_names(type(self))) or self.has_memory()

    def has_memory(self) -> bool:
        """Whether `memory` returns something, or cannot."""
        try:
            return self.memory() is not None
        except Exception:  # of a class of another package
            return True

    @property
    def between_stages(self) -> bool:
        """Whether it runs between the two stages of a step."""
        return self.needs_position_stage


def _from_module(file: Path, name: str, values: Mapping[str, object]) -> Component:
    """Unpickle a component whose class is in a module beside a scene."""
    return class_in(file, name, Component).from_data(values)


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
