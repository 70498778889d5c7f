"""Properties and actions of a class by name, checked when the class is created."""

from collections.abc import Mapping
from typing import Any, ClassVar

from mjrig.core.attributes import attribute_error, declared_attributes
from mjrig.core.errors import AttributeNameError, DeclarationError, PropertyError
from mjrig.core.names import listed, nearest
from mjrig.core.properties.actions import Action, collect_actions
from mjrig.core.properties.declaration import Property
from mjrig.core.properties.hooks import (
    check_hooks,
    check_memory_hooks,
    check_outputs,
    check_signatures,
    is_replaceable,
    missing_hook,
)
from mjrig.core.properties.synonyms import meant

# Declaration checks -------------------------------------------------------------------------------
# Checks of a declared property when its class is made: its name, its default, its range.


#: The key that names a component's class in a scene file.
_TYPE_KEY = "type"


class _Owner:
    """Stands in for an instance: only its label is known before there is one."""

    _slots = None

    def __init__(self, prop: Property[Any], label: str) -> None:
        self.label = label
        self.__dict__[prop.name] = prop.default


def check_names(cls: Any) -> None:
    """Check the names of properties, before the class gets attributes that could replace them.

    Raises:
        DeclarationError: a name would hide a member of a base class, or is private.
    """
    for name, member in vars(cls).items():
        if isinstance(member, Property):
            _check_name(cls, name)


def check_declarations(cls: Any) -> None:
    """Check the properties that a class declares itself.

    Raises:
        DeclarationError: a default does not fit, or a plain value would remove a property.
    """
    for prop in vars(cls).values():
        if isinstance(prop, Property):
            _check_default(cls, prop)
            _check_fallback(cls, prop)
    for name in vars(cls):
        _check_kept(cls, name)


def _check_name(cls: Any, name: str) -> None:
    where = f"{cls.__name__}.{name}"
    if name.startswith("_"):
        raise DeclarationError(f"{where}: a property's name must not begin with '_'")
    if name == _TYPE_KEY:
        raise DeclarationError(f"{where}: 'type' names the class in a scene file; rename it")
    for base in cls.__mro__[1:]:
        member = vars(base).get(name)
        if name in vars(base) and not isinstance(member, Property):
            if base.__module__ != "builtins" and is_replaceable(member):
                return
            kind = "method" if callable(member) else "attribute"
            raise DeclarationError(
                f"{where}: the property would hide the {kind} {base.__name__}.{name}; "
                "rename the property"
            )


def _check_kept(cls: Any, name: str) -> None:
    """A plain value in the place of a property removes it, and files could no longer set it."""
    member = vars(cls)[name]
    inherited = next((vars(b)[name] for b in cls.__mro__[1:] if name in vars(b)), None)
    if isinstance(inherited, Property) and not isinstance(member, Property):
        raise DeclarationError(
            f"{cls.__name__}.{name} would hide the property {inherited.owner.__name__}.{name}; "
            f"declare it again with another default, as in {name} = "
            f"{type(inherited).__name__}(…), or rename it"
        )


def _check_default(cls: Any, prop: Property[Any]) -> None:
    problem = prop.declaration_problem()
    # A custom kind may read its values from another form than that of its default.
    is_custom = not type(prop).accept.__module__.startswith("mjrig.")
    if not problem and prop.default_is_input and not is_custom:
        try:
            prop.accept(_Owner(prop, cls.__name__), prop.authored_default())
        except PropertyError as error:
            problem = "the default " + str(error).removeprefix(f"{cls.__name__}.{prop.name}: ")
    if problem:
        raise DeclarationError(f"{cls.__name__}.{prop.name}: {problem}")


def _check_fallback(cls: Any, prop: Property[Any]) -> None:
    if prop.fallback is not None and prop.fallback not in cls._properties:
        has = ", ".join(cls._properties)
        raise DeclarationError(
            f"{cls.__name__}.{prop.name}: fallback names no property {prop.fallback!r}; has: {has}"
        )


# Declared -----------------------------------------------------------------------------------------
# What a class declares: its properties and actions by name, and when a property is editable.


class Declared:
    """Collects the declarations of a class and answers questions about them."""

    _properties: ClassVar[dict[str, Property[Any]]] = {}
    _defaults: ClassVar[dict[str, object]] = {}
    _actions: ClassVar[dict[str, Action]] = {}
    #: The required method that an abstract class lacks; empty: none.
    _missing_hook: ClassVar[str] = ""
    _nesting: ClassVar[tuple[str, ...]] = ()
    _assignable: ClassVar[frozenset[str]] = frozenset()
    #: Attribute → how to change it, for attributes that cannot be assigned.
    _instead_of: ClassVar[Mapping[str, str]] = {}

    _authored: dict[str, object]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_names(cls)
        found: dict[str, Property[Any]] = {}
        for base in reversed(cls.__mro__):
            found |= {n: p for n, p in vars(base).items() if isinstance(p, Property)}
        cls._properties = {n: p for n, p in found.items() if getattr(cls, n) is p}
        cls._defaults = {n: p.default for n, p in cls._properties.items()}
        cls._nesting = tuple(n for n, p in cls._properties.items() if p.nests)
        cls._actions = collect_actions(cls)
        plain = {n for base in cls.__mro__ for n in vars(base) if _holds_a_value(cls, n)}
        cls._assignable = frozenset(plain).union(*declared_attributes(cls))
        cls._missing_hook = missing_hook(cls)
        check_declarations(cls)
        check_hooks(cls)
        if not cls.__module__.startswith("mjrig."):  # the tests check mjrig's own classes
            check_signatures(cls)
            check_outputs(cls)
            check_memory_hooks(cls)
        for name, prop in cls._properties.items():
            if prop.edit_if is not None:
                _check_condition(cls, name, prop.edit_if)

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("_") and name not in self._assignable:
            if hasattr(type(self), name) or not self._properties:
                raise attribute_error(self, name)
            near = nearest(name, self._properties)
            private = "" if near else f"; as an attribute of your own name it '_{name}'"
            raise AttributeNameError(self._no_property(name) + private)
        object.__setattr__(self, name, value)

    @classmethod
    def properties(cls) -> tuple[Property[Any], ...]:
        """The declarations, base classes first, in order."""
        return tuple(cls._properties.values())

    @classmethod
    def actions(cls) -> tuple[Action, ...]:
        """The methods marked as actions."""
        return tuple(cls._actions.values())

    @classmethod
    def property_named(cls, name: str) -> Property[Any]:
        """One declaration.

        Raises:
            PropertyError: there is none of that name; the message names the nearest.
        """
        if name not in cls._properties:
            raise PropertyError(cls._no_property(name), (name,), about_key=True)
        return cls._properties[name]

    @classmethod
    def _no_property(cls, name: str) -> str:
        close = meant(name, cls._properties) or nearest(name, cls._properties)
        hint = f"did you mean {close!r}?" if close else f"has: {listed(cls._properties)}"
        return f"{cls.__name__} has no property {name!r}; {hint}"

    def authored(self, name: str) -> object | None:
        """What was written for a property, as plain data; None if nothing was."""
        prop = self.property_named(name)
        return prop.to_data(self._authored[name]) if name in self._authored else None

    def is_authored(self, name: str) -> bool:
        """Whether anything was written for a property."""
        return self.property_named(name).name in self._authored

    def is_modified(self, name: str) -> bool:
        """Whether a property was written and differs from its default."""
        prop = self.property_named(name)
        return name in self._authored and prop.is_modified(self)

    def why_not_editable(self, name: str) -> str | None:
        """The reason a property cannot be edited now, or None if it can."""
        prop = self.property_named(name)
        if prop.read_only:
            return "is read-only"
        if prop.edit_if is None:
            return None
        other, _, wanted = prop.edit_if.partition("=")
        value = self.__dict__[other]
        if not wanted:
            return None if value else f"needs {other}"
        return None if str(value) == wanted else f"needs {other} = {wanted} (is {value})"


def _holds_a_value(cls: type, name: str) -> bool:
    """Whether a class attribute is a value that an instance may replace, as `count = 0` is."""
    value = getattr(cls, name, None)
    return not (callable(value) or isinstance(value, property))


def _check_condition(cls: type[Declared], name: str, condition: str) -> None:
    other, _, wanted = condition.partition("=")
    if other not in cls._properties:
        has = ", ".join(cls._properties)
        raise DeclarationError(
            f"{cls.__name__}.{name}: edit_if names no property {other!r}; has: {has}"
        )
    choices = getattr(cls._properties[other], "choices", None)
    if wanted and choices is not None and wanted not in map(str, choices):
        raise DeclarationError(
            f"{cls.__name__}.{name}: edit_if names no choice {wanted!r} of {other!r}; "
            f"has: {', '.join(map(str, choices))}"
        )
