"""Edit: one place in a scene's data, with its value before and after; edits applied to a scene.

Lists and mappings have an order, so that something added or removed has a place in it: the
index that ends the path of a list item, or `at` for a property or the key of a mapping.
Either all edits of a group are applied, or none.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from mjrig.core.errors import PropertyError
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_text import restore_items
from mjrig.core.yaml_text.comparison import UNKNOWN, ItemTree
from mjrig.editor.text import tr

# Edits --------------------------------------------------------------------------------------------
# Edit: one place in a scene's data, with its value before and after.
#
# Lists and mappings have an order, so that something added or removed has a place in it: the index
# that ends the path of a list item, or `at` for a property or the key of a table. With it,
# undoing a removal puts the lines of the file back where they were.


#: Names of properties and indices of list items, from the scene down; data is what `to_data` gives.
Path = tuple[Any, ...]
Data = Mapping[str, Any]


class _Unset(Enum):
    UNSET = "unset"

    def __repr__(self) -> str:
        return self.value


#: Stands for a value where nothing is authored.
UNSET: Final = _Unset.UNSET


@dataclass(frozen=True)
class Edit:
    """The value of one place before and after; UNSET where it is not there."""

    path: Path
    before: Any
    after: Any
    #: Place in the order of its owner, of a property or key that is added or removed.
    at: int = 0
    #: The list items in the values; of a list item itself, those of a list with it alone.
    items_before: ItemTree = UNKNOWN
    items_after: ItemTree = UNKNOWN

    @property
    def inverse(self) -> "Edit":
        """The edit that takes this one back."""
        return replace(
            self,
            before=self.after,
            after=self.before,
            items_before=self.items_after,
            items_after=self.items_before,
        )

    @property
    def moves_items(self) -> bool:
        """Whether it adds or removes an item of a list, so that indices after it change."""
        one_sided = self.before is UNSET or self.after is UNSET
        return one_sided and isinstance(self.path[-1], int)


def inverse(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """The edits that take a group back, in the order they must be made."""
    return tuple(edit.inverse for edit in reversed(edits))


def merged(first: Sequence[Edit], second: Sequence[Edit]) -> tuple[Edit, ...]:
    """One group that does what two do one after the other; a drag stays as small as one edit."""
    head, tail = first[: -len(second)], first[-len(second) :]
    same_places = [edit.path for edit in tail] == [edit.path for edit in second]
    if not same_places or any(edit.moves_items or edit.after is UNSET for edit in tail):
        return (*first, *second)
    pairs = zip(tail, second, strict=True)
    return (
        *head,
        *(replace(a, after=b.after, items_after=b.items_after) for a, b in pairs),
    )


# Apply edits --------------------------------------------------------------------------------------
# Apply edits to a scene: all of them, or none where one is refused.


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
