"""Component types by name, found through the entry-point group `mjrig.components`."""

import re
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from mjrig.errors import MjrigError, PropertyError
from mjrig.names import suggestion

GROUP = "mjrig.components"
C = TypeVar("C")


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
    """Look at the installed packages again."""
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
    if not isinstance(cls, type) or not hasattr(cls, "properties"):
        raise MjrigError(f"component {name!r}: {point.value} is not a component class")
    if cls.__name__ != name:
        raise MjrigError(
            f"component {name!r}: {point.value} is registered under another name than the class's; "
            f"register it as {cls.__name__!r}"
        )
    return cls


def names(base: type[Any] | None = None) -> list[str]:
    """The registered type names, all of them or those of one family."""
    if base is None:
        return list(_points())
    return [name for name in _points() if issubclass(_load(name), base)]


def get(name: str, base: type[C]) -> type[C]:
    """A component class by type name.

    Raises:
        PropertyError: no such type, or it is not one of the family.
    """
    if name not in _points():
        hint = suggestion(name, names(base))
        raise PropertyError(f"there is no {_family(base)} type {name!r}; {hint}")
    cls = _load(name)
    if not issubclass(cls, base):
        hint = suggestion(name, names(base))
        raise PropertyError(f"{name!r} is no {_family(base)} type; {hint}")
    found: type[C] = cls
    return found


def module_of(name: str) -> str:
    """Where a type comes from: `module:class`, without importing it."""
    return _points()[name].value


def _family(base: type[Any]) -> str:
    """The family in words: `articulation controller`; the roots of the tree are `component`."""
    name = base.__name__
    if name in ("HasProperties", "Component", "ActorComponent"):
        return "component"
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
