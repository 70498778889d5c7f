"""Edits made while playing: what they were, and the way to take each back."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from mjrig.editor.undo import Data
from mjrig.errors import PropertyError
from mjrig.scene import Scene, find
from mjrig.scene_diff import Change, Difference, differences

Revert = Callable[[Scene], None]


def changes_since(began: Data, scene: Scene) -> list[tuple[str, Revert]]:
    """Each difference between what a scene said then and says now, with its way back."""
    then = Scene()
    then._base = scene.base
    then.assign(deepcopy(began))
    return [(str(d), _revert(d, then, began)) for d in differences(then, scene)]


def _revert(difference: Difference, then: Scene, began: Data) -> Revert:
    path, name = difference.path, difference.path.partition(".")[0]
    if difference.what == "property" and difference.change is Change.CHANGED:
        return lambda scene: _set_back(scene, then, path)
    return lambda scene: _put_back(scene, began, name)


def _set_back(scene: Scene, then: Scene, path: str) -> None:
    """One property as it was."""
    target, name = find(then, path)
    if target.is_authored(name):
        scene.set(path, target.authored(name))
    else:
        now, name = find(scene, path)
        now.unset(name)


def _put_back(scene: Scene, began: Data, name: str) -> None:
    """Whatever has this name, as it was; what was not there goes."""
    for kind in ("actors", "frames", "collision_groups"):
        old = [item for item in began.get(kind, []) if item.get("name") == name]
        written: Any = scene.to_data().get(kind, [])
        now = [item for item in written if item.get("name") != name]
        if old or len(now) < len(getattr(scene, kind)):
            scene.property_named(kind).assign(scene, deepcopy([*now, *old]))
            return
    raise PropertyError(f"{name!r} cannot be put back by itself; undo does it")
