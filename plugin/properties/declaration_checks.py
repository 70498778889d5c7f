"""Checks of a declared property when its class is made: its name, its default, its range."""

from typing import Any

from mjrig.errors import DeclarationError, PropertyError
from mjrig.properties.declaration import Property
from mjrig.properties.hooks import is_replaceable

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
