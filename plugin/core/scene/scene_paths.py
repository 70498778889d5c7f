"""Paths in a scene, as in `dog.PDController.kp` or `scene.seed`; new data applied to objects."""

from collections.abc import Mapping
from typing import Any

from mjrig.core.errors import MjrigError, PropertyError
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.yaml_text.comparison import identity, same

# Apply data ---------------------------------------------------------------------------------------
# Apply new data to an existing object; the path of an object in the data.


def update(obj: HasProperties, data: Mapping[str, Any]) -> None:
    """Apply `data` to an object, all or nothing; parts that stay remain the same objects.

    Raises:
        PropertyError: a name is unknown or a value does not fit; nothing was changed.
    """
    with obj.changes():
        now = obj.to_data()
        is_key = "type" not in type(obj)._properties  # of the class, which a file may leave out
        for name in now.keys() - data.keys():
            if not (name == "type" and is_key):
                obj.unset(name)
        for name, value in data.items():
            if name == "type" and is_key:
                continue
            if name not in now or not same(now[name], value):
                _update_property(obj, name, now.get(name), value)


def _update_property(obj: HasProperties, name: str, now: Any, value: Any) -> None:
    prop, old = obj.property_named(name), obj.__dict__[name]
    if isinstance(prop, Nested) and old is not None and _same_kind(now, value):
        update(old, value)
    elif isinstance(prop, NestedList) and isinstance(value, list) and old:
        prop.assign(obj, _updated_list(old, now, value))
    else:
        prop.assign(obj, value)


def _updated_list(old: tuple[HasProperties, ...], now: list[Any], new: list[Any]) -> list[Any]:
    """The items of a list: those matched by name or type updated, the rest as data."""
    free = list(zip(old, now, strict=True))
    found: list[Any] = []
    for item in new:
        match = next((pair for pair in free if _is_one(pair[1], item)), None)
        if match is None:
            found.append(item)
            continue
        free.remove(match)
        if not same(match[1], item):
            update(match[0], item)
        found.append(match[0])
    return found


def _is_one(now: Any, new: Any) -> bool:
    if not isinstance(now, Mapping) or not isinstance(new, Mapping):
        return same(now, new)
    return _same_kind(now, new) and identity(now) == identity(new)


def _same_kind(now: Any, new: Any) -> bool:
    both = isinstance(now, Mapping) and isinstance(new, Mapping)
    return both and now.get("type") == new.get("type")


# Scene path ---------------------------------------------------------------------------------------
# Paths of objects and properties in a scene: `dog.PDController.kp`, `scene.seed`.


#: First name of paths to the scene itself: `scene.seed`.
SCENE = "scene"


def find(root: HasProperties, path: str) -> tuple[HasProperties, str]:
    """The object and the last name a dotted path leads to.

    Raises:
        PropertyError: a part of the path does not exist.
    """
    *parts, last = path.split(".")
    if not parts:
        raise PropertyError(f"{path!r} is not a path; write actor.component.property")
    for part in parts:
        root = root.part(part)
    return root, last


def existing(root: Any, path: str) -> HasProperties | None:
    """The object at a path, None if there is none; unlike `find` it makes no part on the way."""
    for name in path.split("."):
        if name in getattr(root, "_nesting", ()) and vars(root)[name] is None:
            return None
        try:
            root = root.part(name)
        except MjrigError:
            return None
    return root if isinstance(root, HasProperties) else None


def path_of(obj: HasProperties) -> str:
    """The path of an object in its scene, as `set` reads it: `dog.PDController.clamps[0]`."""
    parts: list[str] = []
    while obj._parent is not None:
        parts.append((isinstance(obj, ActorDescription) and obj.name) or obj._role)
        obj = obj._parent
    return ".".join(reversed(parts)) or SCENE
