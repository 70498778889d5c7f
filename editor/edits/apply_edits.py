"""Apply edits to a scene: all of them, or none where one is refused."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from copy import deepcopy
from typing import Any

from mjrig.editor.edits.edits import UNSET, Data, Edit, Path
from mjrig.editor.texts.texts import tr
from mjrig.errors import PropertyError
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.nested_kinds import Nested, NestedList
from mjrig.scene.item_tracking import restore_items
from mjrig.scene_edit.scene import Scene


def apply(scene: Scene, edits: Sequence[Edit]) -> None:
    """Give every place the value it has after its edit.

    Variables come first: a change of one sets every value that uses it, and those values keep
    using it.

    Raises:
        PropertyError: a value does not fit; nothing was changed.
    """
    with ExitStack() as group:  # properties of one object are validated together at the end
        for edit in sorted(edits, key=lambda edit: edit.path[0] != "vars"):
            chain, rest = walk(scene, edit.path)
            for obj in chain:
                group.enter_context(obj.changes())
            _put(chain[-1], rest, edit)


def walk(scene: Scene, path: Path) -> tuple[list[HasProperties], Path]:
    """The objects that a path leads through, and what is left of it in the last one."""
    chain: list[HasProperties] = [scene]
    while len(path) > 1:
        obj, name = chain[-1], path[0]
        prop, value = obj.property_named(name), getattr(obj, name)
        if isinstance(prop, NestedList) and len(path) > 2 and path[1] < len(value):
            chain.append(value[path[1]])
            path = path[2:]
        elif isinstance(prop, Nested) and value is not None:
            chain.append(value)
            path = path[1:]
        else:
            break
    return chain, path


def _put(obj: HasProperties, path: Path, edit: Edit) -> None:
    name, *inside = path
    prop = obj.property_named(name)
    if len(inside) > 1 or (inside and isinstance(prop, Nested)):
        raise PropertyError(tr("{label} has no part {name!r} any more", label=obj.label, name=name))
    if not inside:
        _put_property(obj, name, edit)
    elif isinstance(prop, NestedList):
        items, at = list(getattr(obj, name)), inside[0]
        items[at : at + (edit.before is not UNSET)] = _items(edit)
        prop.assign(obj, items)
        restore_items(getattr(obj, name)[at : at + 1], edit.items_after)
    else:
        table = obj.authored(name)
        now = table if isinstance(table, Mapping) else {}
        prop.assign(obj, with_key(now, inside[0], deepcopy(edit.after), edit.at))


def _items(edit: Edit) -> list[Any]:
    return [] if edit.after is UNSET else [deepcopy(edit.after)]


def _put_property(obj: HasProperties, name: str, edit: Edit) -> None:
    if edit.after is UNSET:
        obj.unset(name)
        return
    is_new = not obj.is_authored(name)
    obj.property_named(name).assign(obj, deepcopy(edit.after))
    restore_items(getattr(obj, name), edit.items_after)
    if is_new:
        stored = {n: n for n in obj.authored_values if obj.property_named(n).stored}
        order = with_key({n: n for n in stored if n != name}, name, name, edit.at)
        obj.reorder([*order, *(n for n in obj.authored_values if n not in order)])


def with_key(data: Data, key: str, value: Any, at: int) -> dict[str, Any]:
    """A copy of a mapping with another value for a key; a new key goes to `at`, UNSET goes out."""
    if value is UNSET:
        return {k: v for k, v in data.items() if k != key}
    if key in data:
        return {k: value if k == key else v for k, v in data.items()}
    items = list(data.items())
    items.insert(at, (key, value))
    return dict(items)
