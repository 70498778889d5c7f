"""SceneTracker: the data of a scene, and the edits made since it was last examined.

Values are swapped whole, never written in place, so an object whose mapping of authored values is
still the same one was not edited: only what was touched is turned into data and compared. The data
is never changed in place either; two versions of it share all that stayed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from mjrig.core.properties.collection_kinds import Table
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_text import item_tree
from mjrig.core.yaml_text.comparison import UNKNOWN, ItemTree, identity, same
from mjrig.editor.edits.edits import UNSET, Data, Edit, ItemPath, with_key


@dataclass(frozen=True)
class _Seen:
    """An object as it was: what it had authored, and its part of the data."""

    obj: HasProperties
    authored: Mapping[str, object]
    data: Data


class SceneTracker:
    """The data of a scene as of the last `accept`, and the edits since then."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.data: Data = scene.to_data()
        self._items = item_tree(scene)
        self._seen: dict[int, _Seen] = {}
        self._note(scene, self.data)

    def edits(self, since: Data | None = None) -> tuple[Edit, ...]:
        """The edits that lead to the scene's present data.

        Args:
            since: the `data` of an earlier time; None: that of the last `accept`.
        """
        if since is not None:
            return tuple(self._object(self.scene, since, (), UNKNOWN))
        return tuple(self._object(self.scene, self.data, (), self._items))

    def accept(self, edits: Sequence[Edit]) -> None:
        """Take the edits since the last time as known."""
        for edit in edits:
            self.data = edited(self.data, edit.path, edit)
        self._seen = {}
        self._items = item_tree(self.scene)
        self._note(self.scene, self.data)

    def _note(self, obj: HasProperties, data: Data) -> None:
        self._seen[id(obj)] = _Seen(obj, obj.authored_values, data)
        for name, parts in _parts(obj).items():
            inside = data.get(name)
            for part, own in zip(
                parts, inside if isinstance(inside, list) else [inside], strict=False
            ):
                if isinstance(own, Mapping):
                    self._note(part, own)

    def _is_untouched(self, obj: HasProperties, before: Data) -> bool:
        seen = self._seen.get(id(obj))
        return seen is not None and seen.data is before and seen.authored is obj.authored_values

    # Edits --------------------------------------------------------------------------------------

    def _object(
        self, obj: HasProperties, before: Data, path: ItemPath, items: ItemTree
    ) -> Iterator[Edit]:
        if self._is_untouched(obj, before):
            for name in _parts(obj):
                yield from self._property(obj, name, before[name], path, items.at(name))
            return
        after = [n for n in obj.authored_values if obj.property_named(n).stored]
        written = [n for n in before if n != "type"]  # which is not a property
        for i, name in reversed(list(enumerate(written))):
            if name not in after:
                yield Edit((*path, name), before[name], UNSET, i, items.at(name))
        for i, name in enumerate(after):
            if name not in before:
                fresh = item_tree(obj).at(name)
                yield Edit((*path, name), UNSET, obj.authored(name), i, UNKNOWN, fresh)
        for name in after:
            if name in before:
                yield from self._property(obj, name, before[name], path, items.at(name))

    def _property(
        self, obj: HasProperties, name: str, before: Any, path: ItemPath, items: ItemTree
    ) -> Iterator[Edit]:
        prop, path = obj.property_named(name), (*path, name)
        if isinstance(prop, NestedList) and isinstance(before, list):
            yield from self._list(obj, name, before, path, items)
            return
        part = getattr(obj, name)
        if isinstance(prop, Nested) and isinstance(before, Mapping) and _is_one(part, before):
            yield from self._object(part, before, path, items)
            return
        after = obj.authored(name)
        if same(before, after):
            return
        if isinstance(prop, Table) and isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _table(before, after, path)
        else:
            yield Edit(path, before, after, 0, items, item_tree(obj).at(name))

    def _list(
        self,
        obj: HasProperties,
        name: str,
        before: Sequence[Any],
        path: ItemPath,
        items_before: ItemTree,
    ) -> Iterator[Edit]:
        items = getattr(obj, name)
        if len(items) == len(before) and all(map(self._is_same_item, items, before)):
            for i, (item, old) in enumerate(zip(items, before, strict=True)):
                yield from self._object(item, old, (*path, i), items_before.at(i))
            return
        after: Any = obj.authored(name)
        tokens = items_before.tokens
        if tokens is not None and len(tokens) == len(before):
            keys = list(tokens), [item._token for item in items]
        else:
            keys = self._keys(items, before, after)
        codes = SequenceMatcher(None, *keys, autojunk=False).get_opcodes()
        for _, i1, i2, _, _ in (code for code in reversed(codes) if code[0] != "equal"):
            for i in reversed(range(i1, i2)):
                yield Edit((*path, i), before[i], UNSET, 0, items_before.item(i))
        for _, _, _, j1, j2 in (code for code in codes if code[0] != "equal"):
            for j in range(j1, j2):
                fresh = ItemTree((items[j]._token,), {0: item_tree(items[j])})
                yield Edit((*path, j), UNSET, after[j], 0, UNKNOWN, fresh)
        for _, i1, i2, j1, _ in (code for code in codes if code[0] == "equal"):
            for i, j in zip(range(i1, i2), range(j1, len(after)), strict=False):
                place = (*path, j)
                yield from self._item(items[j], before[i], after[j], place, items_before.at(i))

    def _item(
        self, item: HasProperties, before: Any, after: Any, path: ItemPath, items: ItemTree
    ) -> Iterator[Edit]:
        if isinstance(before, Mapping) and isinstance(after, Mapping) and _is_one(item, before):
            yield from self._object(item, before, path, items)
        elif not same(before, after):
            tokens = (item._token,)
            trees = ItemTree(tokens, {0: items}), ItemTree(tokens, {0: item_tree(item)})
            yield Edit(path, before, after, 0, *trees)

    def _is_same_item(self, item: HasProperties, before: Any) -> bool:
        seen = self._seen.get(id(item))
        return seen is not None and seen.data is before

    def _keys(
        self, items: Sequence[HasProperties], before: Sequence[Any], after: Sequence[Any]
    ) -> tuple[list[object], list[object]]:
        """Keys that are equal for one item of two lists: one object, else its name or type."""
        old: list[object] = [identity(data) for data in before]
        new: list[object] = [identity(data) for data in after]
        places = {id(data): i for i, data in enumerate(before)}
        for j, item in enumerate(items):
            seen = self._seen.get(id(item))
            i = places.get(id(seen.data)) if seen is not None else None
            if i is not None:
                old[i] = new[j] = (i,)
        return old, new


def edited(data: Any, path: ItemPath, edit: Edit) -> Any:
    """Data with one edit made; what is not on its path is shared."""
    key, rest = path[0], path[1:]
    if isinstance(data, list):
        item = [edited(data[key], rest, edit)] if rest else [edit.after][: edit.after is not UNSET]
        return [*data[:key], *item, *data[key + (bool(rest) or edit.before is not UNSET) :]]
    at = edit.at + ("type" in data)  # which is not a property
    return with_key(data, key, edited(data[key], rest, edit) if rest else edit.after, at)


def followed(data: Data, edit: Edit) -> Data:
    """Other data of the same scene with an edit made, where the place is the same in both."""
    found: Any = data
    *way, last = edit.path
    try:
        for key in way:
            found = found[key]
        if edit.moves_items:
            fits = edit.after is not UNSET or same(found[last], edit.before)
        elif edit.before is UNSET:
            fits = last not in found
        else:
            fits = same(found[last], edit.before)
    except (KeyError, IndexError, TypeError):
        return data
    made: Data = edited(data, edit.path, edit) if fits else data
    return made


def _table(before: Data, after: Data, path: ItemPath) -> Iterator[Edit]:
    for i, key in reversed([(i, k) for i, k in enumerate(before) if k not in after]):
        yield Edit((*path, key), before[key], UNSET, i)
    for i, key in enumerate(after):
        if key not in before:
            yield Edit((*path, key), UNSET, after[key], i)
        elif not same(before[key], after[key]):
            yield Edit((*path, key), before[key], after[key])


def _parts(obj: HasProperties) -> dict[str, list[HasProperties]]:
    """The objects nested in what an object has authored, by property."""
    found: dict[str, list[HasProperties]] = {}
    for name in obj.authored_values:
        prop = obj.property_named(name)
        if prop.nests and prop.stored:
            value = getattr(obj, name)
            found[name] = list(value) if isinstance(value, tuple) else [value] if value else []
    return found


def _is_one(part: HasProperties | None, before: Data) -> bool:
    """Whether a part may be what the data was about: it is of that type."""
    return part is not None and before.get("type", type(part).__name__) == type(part).__name__
