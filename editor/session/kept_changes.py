"""Edits made while playing: what they were, and the way to take each back."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from mjrig.editor.session.undo import Data
from mjrig.errors import PropertyError
from mjrig.properties.has_properties import HasProperties
from mjrig.scene.scene_path import existing, find
from mjrig.scene_edit.diff import Change, Difference, differences
from mjrig.scene_edit.scene import Scene

Revert = Callable[[Scene], None]
#: Where the things that a difference is about are listed.
_LISTS = {
    "actor": "actors",
    "frame": "frames",
    "group": "collision_groups",
    "component": "components",
}


def changes_since(began: Data, scene: Scene) -> list[tuple[str, Revert]]:
    """Each difference between what a scene said then and says now, with its way back."""
    then = Scene()
    then._base, then._reading = scene.base, scene.reading
    then.assign(deepcopy(began))
    return [(str(d), _revert(d, then)) for d in differences(then, scene)]


def _revert(difference: Difference, then: Scene) -> Revert:
    path, what = difference.path, difference.what
    owner, _, name = path.rpartition(".")
    if what == "property" and difference.change is Change.CHANGED:
        return lambda scene: _set_back(scene, then, path)
    if what in _LISTS:
        return lambda scene: _put_back(scene, then, owner, _LISTS[what], name)
    if what == "order":
        return lambda scene: _refuse(path)
    return lambda scene: _set_back(scene, then, f"{owner or 'scene'}.{what}")


def _refuse(path: str) -> None:
    raise PropertyError(f"the {path} cannot be put back by itself; undo does it")


def _set_back(scene: Scene, then: Scene, path: str) -> None:
    """One property as it was."""
    path = path if "." in path else f"scene.{path}"
    source = scene._source(path.partition(".")[0])
    if source is not None:  # it is set on top of an included file
        _set_back_on_top(source[0], then, path)
        return
    owner, _, name = path.rpartition(".")
    before = existing(then, owner)
    if before is not None and before.is_authored(name):
        scene.set(path, before.authored(name))
        return
    now, name = find(scene, path)
    now.unset(name)
    if before is None:
        _leave_no_shell(scene, owner)


def _set_back_on_top(include: Any, then: Scene, path: str) -> None:
    listed = include._as_listed(path.removeprefix(include.prefix))
    before: dict[str, Any] = {}
    for other in then.include:
        if (other.file, other.prefix) == (include.file, include.prefix):
            before = dict(other.set)
    kept = {key: value for key, value in include.set.items() if key != listed}
    include.set = {**kept, **{key: before[key] for key in before if key == listed}}


def _leave_no_shell(scene: Scene, path: str) -> None:
    """A part that was made for a property goes when nothing is left in it."""
    outer, _, role = path.rpartition(".")
    made, holder = existing(scene, path), existing(scene, outer) if outer else scene
    if made is not None and holder is not None and role in holder._nesting:
        if not made.to_data().keys() - {"type"}:
            holder.unset(role)


def _put_back(scene: Scene, then: Scene, owner: str, kind: str, name: str) -> None:
    """One item of a list as it was, at its place; one that was not there goes."""
    old, now = (_items(_owner(s, owner), kind) for s in (then, scene))
    items = [item for item in now if _called(item, kind) != name]
    index = next((i for i, item in enumerate(old) if _called(item, kind) == name), None)
    if index is not None:
        before = {_called(item, kind) for item in old[:index]}
        at = max(
            (i + 1 for i, item in enumerate(items) if _called(item, kind) in before), default=0
        )
        items.insert(at, old[index])
    holder = _owner(scene, owner)
    holder.property_named(kind).assign(holder, deepcopy([item.to_data() for item in items]))
    if not items and not _owner(then, owner).is_authored(kind):
        holder.unset(kind)


def _owner(scene: Scene, path: str) -> HasProperties:
    return scene[path] if path else scene


def _items(owner: HasProperties, kind: str) -> list[Any]:
    return list(getattr(owner, kind))


def _called(item: Any, kind: str) -> str:
    return str(item._role if kind == "components" else item.name)
