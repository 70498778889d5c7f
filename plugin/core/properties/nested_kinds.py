"""Property kinds that hold components: one, or a list of them."""

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from mjrig.core.errors import PropertyError, UntrustedTypeError
from mjrig.core.properties import registry
from mjrig.core.properties.declaration import Property
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.hooks import required
from mjrig.core.properties.registry import is_module_type, load_type

C = TypeVar("C", bound=HasProperties)
T = TypeVar("T")
#: An item of a value: what was given, its role, and its index in the list.
Item = tuple[object, str, tuple[int, ...]]


class _Nesting(Property[T], Generic[T, C], ABC):
    """Makes the components that a value describes, each with the object as its parent."""

    nests: ClassVar[bool] = True
    short: str | None = None

    def __init__(self, default: T, base: type[C], *, polymorphic: bool, **about: Any) -> None:
        super().__init__(default, **about)
        self.base = base
        self.polymorphic = polymorphic

    def declaration_problem(self) -> str:
        if not (isinstance(self.base, type) and issubclass(self.base, HasProperties)):
            return f"it must hold a class with properties, got {self.base!r}"
        return super().declaration_problem()

    @required()
    def _items(self, obj: HasProperties, value: object, present: Sequence[C]) -> list[Item]:
        """The items of a value, which follow components that are present already."""
        raise NotImplementedError

    @required()
    def _joined(self, children: list[C]) -> T:
        """The property's value."""
        raise NotImplementedError

    def accept(
        self, obj: HasProperties, value: object, present: Sequence[C] = ()
    ) -> tuple[object, T]:
        """The components, with arrays resolved like the object's.

        Args:
            obj: the object they are nested in.
            value: components, or mappings that describe them.
            present: components that stay in front of them, untouched.
        """
        children = [*present]
        for item, role, index in self._items(obj, value, present):
            data: Mapping[str, object] | None = None
            if isinstance(item, self.base):
                child = item
                self._adopt(obj, child, role, index)
            else:
                cls, data, is_short = self._described(obj, item, index)
                child = cls.blank()
                child.own(obj, role, self.name)
                child._written_short = is_short
            try:
                if data is not None:
                    child.assign(data)
                if obj._slots is not None:
                    child.spread_over(obj._slots)
            except PropertyError as error:
                raise error.below(self.name, *index) from None
            children.append(child)
        result = self._joined(children)
        return result, result

    def _adopt(self, obj: HasProperties, child: C, role: str, index: tuple[int, ...]) -> None:
        parent = child._parent
        if parent is not None and (parent, child._inside) != (obj, self.name):
            problem = f"{child!r} already belongs to {parent.label}; use a copy"
            raise self.error(obj, problem, index)
        obj.adopt(child, role, self.name)

    def _described(
        self, obj: HasProperties, item: object, index: tuple[int, ...]
    ) -> tuple[type[C], Mapping[str, object], bool]:
        """Class and values of the component that an item describes; whether by text alone."""
        if self.short is not None and isinstance(item, str):
            is_short, data = True, {self.short: item}
        elif isinstance(item, Mapping):
            is_short, data = False, dict(item)
        else:
            raise self._item_error(obj, index, f"must be a mapping, got {item!r}")
        if not self.polymorphic:
            return self.base, data, is_short
        if "type" not in data:
            known = ", ".join(registry.names(self.base))
            raise self._item_error(obj, index, f"needs a 'type', one of {known}")
        name = str(data.pop("type"))
        try:
            if is_module_type(name):
                return load_type(name, self.base, obj), data, is_short
            return registry.get(name, self.base), data, is_short
        except UntrustedTypeError as error:
            found = self._item_error(obj, index, str(error))
            raise UntrustedTypeError(
                str(found), found.keys, at=("type",), folder=error.folder
            ) from None
        except PropertyError as error:
            raise self._item_error(obj, index, str(error), at=("type",)) from error.__cause__

    def _item_error(
        self, obj: HasProperties, index: tuple[int, ...], problem: str, at: tuple[str, ...] = ()
    ) -> PropertyError:
        """An error about one item of a list, or about the one nested component."""
        where = "".join(f"[{i}]" for i in index)
        text = f"{obj.label}.{self.name}{where}: {problem}"
        return PropertyError(text, (self.name, *index), at=at)

    def _item_data(self, child: HasProperties) -> dict[str, object]:
        """A component as plain data."""
        data = child.to_data()
        if not self.polymorphic:
            data.pop("type", None)  # only one class is possible here
        return data

    def _item_schema(self) -> dict[str, object]:
        """JSON Schema of one component."""
        return {"x-mjrig": {"family" if self.polymorphic else "class": self.base}}


class Nested(_Nesting[C | None, C]):
    """One nested component: of exactly this class, or of any registered type below it.

    Args:
        base: the class; where it is a family (`polymorphic`), a mapping names its `type`.
    """

    kind = "component"

    def __init__(self, base: type[C], *, polymorphic: bool = False, **about: Any) -> None:
        super().__init__(None, base, polymorphic=polymorphic, **about)

    def __set__(self, obj: HasProperties, value: C | Mapping[str, object] | None) -> None:
        self.assign(obj, value)

    def _items(self, obj: HasProperties, value: object, present: Sequence[C]) -> list[Item]:
        return [] if value is None else [(value, self.name, ())]

    def _joined(self, children: list[C]) -> C | None:
        return children[0] if children else None

    def make_part(self, obj: HasProperties) -> None:
        if not self.polymorphic:
            self.assign(obj, {})

    def to_data(self, authored: Any) -> object:
        return None if authored is None else self._item_data(authored)

    def json_schema(self) -> dict[str, object]:
        return {"anyOf": [self._item_schema(), {"type": "null"}]}

    def default_text(self) -> str:
        return "none"


class NestedList(_Nesting[tuple[C, ...], C]):
    """A list of nested components, in order: of one class, or of a registered family.

    Args:
        base: the class; where it is a family (`polymorphic`), a mapping names its `type`.
        short: the property that an item given as text sets.
    """

    kind = "components"

    def __init__(
        self, base: type[C], *, polymorphic: bool = True, short: str | None = None, **about: Any
    ) -> None:
        super().__init__((), base, polymorphic=polymorphic, **about)
        self.short = short

    def declaration_problem(self) -> str:
        problem = super().declaration_problem()
        if not problem and self.short is not None and self.short not in self.base._properties:
            return f"short names no property {self.short!r} of {self.base.__name__}"
        return problem

    def __set__(self, obj: HasProperties, value: Sequence[C | Mapping[str, object]]) -> None:
        self.assign(obj, value)

    def _items(self, obj: HasProperties, value: object, present: Sequence[C]) -> list[Item]:
        if not isinstance(value, list | tuple):
            raise self.error(obj, f"must be a list, got {value!r}")
        components = [id(v) for v in (*present, *value) if isinstance(v, HasProperties)]
        if len(set(components)) < len(components):
            raise self.error(obj, "has one component twice; use a copy")
        roles = [child._role for child in present]
        found: list[Item] = []
        for index, item in enumerate(value, len(roles)):
            roles.append(self.role(item, index, roles))
            found.append((item, roles[index], (index,)))
        return found

    def _joined(self, children: list[C]) -> tuple[C, ...]:
        return tuple(children)

    def append(self, obj: HasProperties, item: C | Mapping[str, object]) -> None:
        """Add an item at the end without touching the others, however many there are.

        Raises:
            PropertyError: it does not fit; nothing was changed.
        """
        with obj.changes(nested=False):
            obj._replace(self, *self.accept(obj, [item], obj.__dict__[self.name]))

    def role(self, item: object, index: int, taken: Sequence[str]) -> str:
        """What an item is called in labels and paths."""
        return f"{self.name}[{index}]"

    def to_data(self, authored: Any) -> object:
        return [self._item_data(child) for child in authored]

    def _item_data(self, child: HasProperties) -> Any:
        data = super()._item_data(child)
        if self.short is None or not child._written_short or list(data) != [self.short]:
            return data
        return data[self.short]

    def json_schema(self) -> dict[str, object]:
        item = self._item_schema()
        if self.short is not None:
            item = {"anyOf": [{"type": "string"}, item]}
        return {"type": "array", "items": item}

    def default_text(self) -> str:
        return "[]"
