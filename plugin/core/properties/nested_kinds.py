"""Property kinds that hold components: one, or a list of them."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from mjrig.core.errors import PropertyError, UntrustedTypeError
from mjrig.core.properties import registry
from mjrig.core.properties.declaration import Property
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.user_code import is_module_type, load_type

C = TypeVar("C", bound=HasProperties)


class Nested(Property[C | None]):
    """One nested component: of exactly this class, or of any registered type below it.

    Args:
        base: the class; where it is a family (`polymorphic`), a mapping names its `type`.
    """

    kind = "component"
    nests: ClassVar[bool] = True

    def __init__(self, base: type[C], *, polymorphic: bool = False, **about: Any) -> None:
        super().__init__(None, **about)
        self.base = base
        self.polymorphic = polymorphic

    def declaration_problem(self) -> str:
        return _base_problem(self.base) or super().declaration_problem()

    def __set__(self, obj: HasProperties, value: C | Mapping[str, object] | None) -> None:
        self.assign(obj, value)

    def accept(self, obj: HasProperties, value: object) -> tuple[object, C | None]:
        if value is None:
            return None, None
        child = _nested(self, obj, value, self.name)
        return child, child

    def make_part(self, obj: HasProperties) -> None:
        if not self.polymorphic:
            self.assign(obj, {})

    def to_data(self, authored: Any) -> object:
        if authored is None:
            return None
        data = authored.to_data()
        if not self.polymorphic:
            data.pop("type", None)  # only one class is possible here
        return data

    def json_schema(self) -> dict[str, object]:
        family = "family" if self.polymorphic else "class"
        return {"anyOf": [{"x-mjrig": {family: self.base}}, {"type": "null"}]}

    def default_text(self) -> str:
        return "none"


class NestedList(Property[tuple[C, ...]]):
    """A list of nested components, in order: of one class, or of a registered family.

    Args:
        base: the class; where it is a family (`polymorphic`), a mapping names its `type`.
        short: the property that an item given as text sets.
    """

    kind = "components"
    nests: ClassVar[bool] = True

    def __init__(
        self, base: type[C], *, polymorphic: bool = True, short: str | None = None, **about: Any
    ) -> None:
        super().__init__((), **about)
        self.base = base
        self.polymorphic = polymorphic
        self.short = short

    def declaration_problem(self) -> str:
        problem = _base_problem(self.base) or super().declaration_problem()
        if not problem and self.short is not None and self.short not in self.base._properties:
            return f"short names no property {self.short!r} of {self.base.__name__}"
        return problem

    def __set__(self, obj: HasProperties, value: Sequence[C | Mapping[str, object]]) -> None:
        self.assign(obj, value)

    def accept(self, obj: HasProperties, value: object) -> tuple[object, tuple[C, ...]]:
        if not isinstance(value, list | tuple):
            raise self.error(obj, f"must be a list, got {value!r}")
        roles: list[str] = []
        made = []
        for i, item in enumerate(value):
            roles.append(self.role(item, i, roles))
            made.append(_nested(self, obj, item, roles[i], (i,)))
        if len(set(map(id, made))) < len(made):
            raise self.error(obj, "has one component twice; use a copy")
        return tuple(made), tuple(made)

    def append(self, obj: HasProperties, item: C | Mapping[str, object]) -> None:
        """Add an item at the end without touching the others, however many there are.

        Raises:
            PropertyError: it does not fit; nothing was changed.
        """
        with obj.changes(nested=False):
            items: tuple[C, ...] = obj.__dict__[self.name]
            if isinstance(item, HasProperties) and (item._parent, item._inside) == (obj, self.name):
                raise self.error(obj, "has one component twice; use a copy")
            role = self.role(item, len(items), [other._role for other in items])
            child = _nested(self, obj, item, role, (len(items),))
            obj._replace(self, (*items, child), (*items, child))

    def role(self, item: object, index: int, taken: Sequence[str]) -> str:
        """What an item is called in labels and paths."""
        return f"{self.name}[{index}]"

    def to_data(self, authored: Any) -> object:
        return [self._item_data(child) for child in authored]

    def _item_data(self, child: HasProperties) -> object:
        data = child.to_data()
        if not self.polymorphic:
            data.pop("type", None)  # only one class is possible here
        if self.short is None or not child._written_short or list(data) != [self.short]:
            return data
        return data[self.short]

    def json_schema(self) -> dict[str, object]:
        family = "family" if self.polymorphic else "class"
        item: dict[str, object] = {"x-mjrig": {family: self.base}}
        if self.short is not None:
            item = {"anyOf": [{"type": "string"}, item]}
        return {"type": "array", "items": item}

    def default_text(self) -> str:
        return "[]"


def _base_problem(base: object) -> str:
    is_class = isinstance(base, type) and issubclass(base, HasProperties)
    return "" if is_class else f"it must hold a class with properties, got {base!r}"


def _nested(
    prop: Nested[C] | NestedList[C],
    obj: HasProperties,
    value: object,
    role: str,
    index: tuple[int, ...] = (),
) -> C:
    """The child described by a value, owned by `obj`, with arrays resolved like the owner's."""
    base = prop.base
    if isinstance(value, base):
        if value._parent is not None and (value._parent, value._inside) != (obj, prop.name):
            where = value._parent.label
            raise prop.error(obj, f"{value!r} already belongs to {where}; use a copy", index)
        obj.adopt(value, role, prop.name)
        child = value
    elif isinstance(value, Mapping):
        data = dict(value)
        cls = _class_named(prop, obj, data, index) if prop.polymorphic else base
        child = cls.blank()
        child.own(obj, role, prop.name)
        try:
            child._begin(data)
        except PropertyError as error:
            raise error.below(prop.name, *index) from None
    elif isinstance(prop, NestedList) and prop.short is not None and isinstance(value, str):
        child = _nested(prop, obj, {prop.short: value}, role, index)
        child._written_short = True
        return child
    else:
        raise _item_error(prop, obj, index, f"must be a mapping, got {value!r}")
    if obj._slots is not None:
        try:
            child.spread_over(obj._slots)
        except PropertyError as error:
            raise error.below(prop.name, *index) from None
    return child


def _class_named(
    prop: Nested[C] | NestedList[C],
    obj: HasProperties,
    data: dict[str, Any],
    index: tuple[int, ...],
) -> type[C]:
    """The class a mapping's `type` names; the key is taken out of the mapping."""
    if "type" not in data:
        known = ", ".join(registry.names(prop.base))
        raise _item_error(prop, obj, index, f"needs a 'type', one of {known}")
    name = str(data.pop("type"))
    try:
        if is_module_type(name):
            return load_type(name, prop.base, obj)
        return registry.get(name, prop.base)
    except UntrustedTypeError as error:
        found = _item_error(prop, obj, index, str(error))
        raise UntrustedTypeError(
            str(found), found.keys, at=("type",), folder=error.folder
        ) from None
    except PropertyError as error:
        raise _item_error(prop, obj, index, str(error), at=("type",)) from error.__cause__


def _item_error(
    prop: Property[Any],
    obj: HasProperties,
    index: tuple[int, ...],
    problem: str,
    at: tuple[str, ...] = (),
) -> PropertyError:
    """An error about one item of a list, or about the one nested component."""
    where = "".join(f"[{i}]" for i in index)
    return PropertyError(f"{obj.label}.{prop.name}{where}: {problem}", (prop.name, *index), at=at)
