"""ActuatorView: several actuators read and written at once."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, SupportsIndex, TypeVar, overload

from mjrig.actuators.actuator import Actuator
from mjrig.errors import BindingError, PropertyError
from mjrig.names import suggestion
from mjrig.properties.array_kinds import Vector
from mjrig.properties.has_properties import HasProperties, put_back
from mjrig.properties.nested_kinds import NestedList

T = TypeVar("T")
LIVE = ("force", "applied_force", "activation", "ctrl", "tag", "parent_tag")


class ActuatorView(tuple[Actuator, ...]):
    """Actuators in order.

    Reading a property gives the list of its values. Assigning one value gives it to all of them, a
    list gives each its own. Where a value is itself a list (a range, a whole gear), a flat list is
    one value, and a list of lists gives each its own.
    """

    __slots__ = ()

    @overload
    def __getitem__(self, key: SupportsIndex) -> Actuator: ...
    @overload
    def __getitem__(self, key: slice) -> "ActuatorView": ...
    @overload
    def __getitem__(self, key: str) -> "Actuator | ActuatorView": ...
    def __getitem__(self, key: SupportsIndex | slice | str) -> "Actuator | ActuatorView":
        """By index, slice, or name; a name shared by several gives a view of them.

        Raises:
            BindingError: none has that name.
        """
        if isinstance(key, slice):
            return ActuatorView(super().__getitem__(key))
        if not isinstance(key, str):
            return super().__getitem__(key)
        found = ActuatorView(a for a in self if a.name == key)
        if not found:
            names = [a.name for a in self if a.name]
            raise BindingError(f"there is no actuator {key!r}; {suggestion(key, names)}")
        return found[0] if len(found) == 1 else found

    def apply(self, function: Callable[[Actuator], T]) -> list[T]:
        """Call a function with each; returns what it returned."""
        return [function(actuator) for actuator in self]

    def __getattr__(self, name: str) -> list[Any]:
        self._check(name, read=True)
        return [getattr(actuator, name) for actuator in self]

    def __setattr__(self, name: str, value: object) -> None:
        self._check(name, read=False)
        before: list[tuple[HasProperties, dict[str, object]]]
        before = [(a, dict(a.__dict__)) for a in self]
        try:
            for actuator, item in zip(self, self._shares(name, value), strict=True):
                setattr(actuator, name, item)
        except BaseException:
            put_back(before)
            raise

    def _check(self, name: str, *, read: bool) -> None:
        if name.startswith("_"):
            raise AttributeError(name)
        kinds = {type(a) for a in self} or {Actuator}
        for kind in kinds:
            known = [*kind._properties, *(LIVE if read else ())]
            if name not in known:
                hint = suggestion(name, known)
                raise AttributeError(f"{kind.__name__} has no property {name!r}; {hint}")

    def _shares(self, name: str, value: object) -> list[object]:
        """One value per actuator."""
        if not isinstance(value, list | tuple) or self._is_one(name, value):
            return [value] * len(self)
        if len(value) != len(self):
            raise PropertyError(
                f"{name}: got {len(value)} values for {len(self)} actuators; give one for all of "
                "them, or one each"
            )
        return list(value)

    def _is_one(self, name: str, value: list[Any] | tuple[Any, ...]) -> bool:
        """Whether a list is one value of the property."""
        if any(isinstance(item, list | tuple) for item in value):
            return False
        prop = type(self[0])._properties[name] if self else None
        if isinstance(prop, Vector):
            return not prop.partial or len(value) == prop.size
        return prop is not None and prop.kind in ("samples", "patterns", "components", "inputs")


class ActuatorList(NestedList[Actuator]):
    """The authored actuators of an actor, read as a view."""

    def __init__(self, **about: Any) -> None:
        super().__init__(Actuator, **about)
        self.default = ActuatorView()

    if TYPE_CHECKING:

        @overload
        def __get__(self, obj: None, owner: type) -> Self: ...
        @overload
        def __get__(self, obj: object, owner: type) -> ActuatorView: ...
        def __get__(self, obj: object | None, owner: type) -> Self | ActuatorView: ...

    def accept(self, obj: HasProperties, value: object) -> tuple[object, ActuatorView]:
        authored, made = super().accept(obj, value)
        return authored, ActuatorView(made)
