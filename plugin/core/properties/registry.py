"""Component types by name: from installed packages (entry points), or registered in Python."""

import re
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from mjrig.core.errors import MjrigError, PropertyError
from mjrig.core.names import suggestion
from mjrig.core.properties.has_properties import Declared

GROUP = "mjrig.components"
C = TypeVar("C")
K = TypeVar("K", bound=type[Any])
#: What `register` was given, by type name.
_registered: dict[str, type[Any]] = {}


def register(cls: K) -> K:
    """Make a component class known by its name in this process; also a class decorator.

    Defining a class again under the same name, as a notebook does, replaces it.

    Raises:
        MjrigError: it is not a component class, lacks a method, or the name belongs to another
            one.
    """
    if not isinstance(cls, type) or not issubclass(cls, Declared):
        raise MjrigError(f"{cls!r} is not a component class")
    if cls._missing_hook:
        raise MjrigError(cls._missing_hook)
    name, where = cls.__name__, _home(cls)
    other = _registered.get(name)
    taken = _points()[name].value if name in _points() else other and _home(other)
    if taken and taken != where:
        raise MjrigError(f"the component {name!r} is {taken} already; give {where} another name")
    _registered[name] = cls
    return cls


def _home(cls: type[Any]) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


@cache
def _points() -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=GROUP):
        other = found.setdefault(point.name, point)
        if other.value != point.value:
            raise MjrigError(
                f"two packages register the component {point.name!r}: "
                f"{other.value} and {point.value}; uninstall one of them"
            )
    return dict(sorted(found.items()))


def refresh() -> None:
    """Read the entry points of the installed packages again."""
    _points.cache_clear()
    _load.cache_clear()


@cache
def _load(name: str) -> Any:
    point = _points()[name]
    try:
        cls = point.load()
    except Exception as error:
        raise MjrigError(
            f"component {name!r} cannot be loaded from {point.value}: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not isinstance(cls, type) or not issubclass(cls, Declared):
        raise MjrigError(f"component {name!r}: {point.value} is not a component class")
    if cls._missing_hook:
        raise MjrigError(f"component {name!r}: {cls._missing_hook}")
    if cls.__name__ != name:
        raise MjrigError(
            f"component {name!r}: {point.value} is registered under another name than the class's; "
            f"register it as {cls.__name__!r}"
        )
    return cls


def names(base: type[Any] | None = None) -> list[str]:
    """The known type names, all of them or those of one family."""
    known = sorted({*_points(), *_registered})
    return known if base is None else [name for name in known if issubclass(_class(name), base)]


def get(name: str, base: type[C]) -> type[C]:
    """A component class by type name.

    Raises:
        PropertyError: no such type, or it is not one of the family.
    """
    if name not in _points() and name not in _registered:
        hint = suggestion(name, names(base))
        raise PropertyError(f"there is no {family(base)} type {name!r}; {hint}")
    cls = _class(name)
    if not issubclass(cls, base):
        hint = suggestion(name, names(base))
        raise PropertyError(f"{name!r} is not a type of {family(base)}; {hint}")
    found: type[C] = cls
    return found


def module_of(name: str) -> str:
    """Where a type comes from: `module:class`, without importing it."""
    return _home(_registered[name]) if name in _registered else _points()[name].value


def _class(name: str) -> Any:
    return _registered[name] if name in _registered else _load(name)


def family(base: type[Any]) -> str:
    """The family in words: `articulation controller`; the roots of the tree are `component`."""
    name = base.__name__
    if name in ("HasProperties", "Component", "ActorComponent"):
        return "component"
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
