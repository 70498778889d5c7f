"""Paths in a scene, as in `dog.PDController.kp` or `scene.seed`; new data applied to objects."""

from typing import Any

from mjrig.core.errors import MjrigError, PropertyError
from mjrig.core.properties.has_properties import HasProperties

# Scene path ---------------------------------------------------------------------------------------


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
        parts.append(obj.path_name)
        obj = obj._parent
    return ".".join(reversed(parts)) or SCENE
