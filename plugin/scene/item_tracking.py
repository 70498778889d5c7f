"""Items of a scene's lists keep their identity: through edits, and when a removed one comes back.

The lines and comments of a file belong to an item, whatever its name and values are by now. Undoing
a removal makes a new object of the same data: it takes over the identity of the removed one.
"""

from collections.abc import Mapping, Sequence

from mjrig.errors import PropertyError
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.nested_kinds import NestedList
from mjrig.scene.scene_text import SceneText
from mjrig.yaml_text.comparison import identity, paired, same
from mjrig.yaml_text.item_trees import ItemTree
from mjrig.yaml_text.yaml_nodes import MAX_NODES, count_values

#: The token of the object that has the list, and the name of the property.
_List = tuple[object, str]


class TracksItems(HasProperties):
    """Remembers the removed items that have lines in its text."""

    _text: SceneText | None
    #: The last object of every such item; replaced as a whole, as all values are.
    _removed: Mapping[_List, Mapping[object, HasProperties]]
    #: About how many values it has; None: it is being read, or has no text.
    _values: int | None

    def _understand(self, text: SceneText) -> None:
        """Note that the present data is that of a text."""
        data = self.to_data()
        self._text, self._removed = text.understood_as(data, item_tree(self)), {}
        self._values = count_values(data)

    def _note_saved(self, text: str, file: str) -> None:
        """Note that the present data was written to a file."""
        if self._text is None:
            self._understand(SceneText.read(text, file, {}))
        else:
            self._text = self._text.saved_as(text, file, self.to_data(), item_tree(self))

    def _check_size(self, more: int) -> None:
        """Refuse more values than a file can have.

        Raises:
            PropertyError: there are too many.
        """
        if self._values is not None:
            self._values += more
            if more > 0 and self._values > MAX_NODES:
                self._values = count_values(self.to_data())
                if self._values > MAX_NODES:
                    raise PropertyError(f"a scene file has at most {MAX_NODES} values")

    def _items_replaced(
        self,
        owner: HasProperties,
        name: str,
        gone: Sequence[HasProperties],
        fresh: Sequence[HasProperties],
    ) -> None:
        if self._values is not None:
            self._check_size(_count_all(fresh) - _count_all(gone))
        key = (owner._token, name)
        tokens = self._text.tokens if self._text is not None else ()
        lost = {item._token: item for item in gone if item._token in tokens}
        removed = {**self._removed.get(key, {}), **lost}
        if lost:
            self._removed = {**self._removed, key: removed}
        if fresh and (removed or gone):
            present = {id(item._token) for item in owner.children()}
            earlier = [r for r in removed.values() if id(r._token) not in present]
            _recognise(fresh, [i for i in gone if id(i._token) not in present], earlier)


def item_tree(obj: HasProperties) -> ItemTree:
    """The list items of what an object has authored."""
    inside: dict[str, ItemTree] = {}
    for name in obj.authored_values:
        prop = obj.property_named(name)
        if not (prop.nests and prop.stored):
            continue
        value = obj.__dict__[name]
        if isinstance(prop, NestedList):
            tokens = tuple(item._token for item in value)
            inside[name] = ItemTree(tokens, {i: item_tree(item) for i, item in enumerate(value)})
        elif value is not None:
            inside[name] = item_tree(value)
    return ItemTree(None, inside)


def _count_all(items: Sequence[HasProperties]) -> int:
    return sum(count_values(item.to_data()) for item in items)


def restore_items(value: object, items: ItemTree) -> None:
    """Give list items that were made again from data the identity they had."""
    if isinstance(value, tuple):
        for i, (item, token) in enumerate(zip(value, items.tokens or (), strict=False)):
            item.__dict__["_token"] = token
            restore_items(item, items.at(i))
    elif isinstance(value, HasProperties):
        for name, inside in items.inside.items():
            restore_items(value.__dict__[name], inside)


def _recognise(
    fresh: Sequence[HasProperties],
    replaced: Sequence[HasProperties],
    removed: Sequence[HasProperties],
) -> None:
    """Give new items the identity of equal ones that are gone, or else of replaced ones.

    Args:
        fresh: the new items.
        replaced: items that are gone since the same assignment; their name or type is enough.
        removed: items that are gone.
    """
    free = [*replaced, *removed]
    unknown: list[HasProperties] = []
    for item in fresh:
        data = item.to_data()
        equal = (r for r in free if type(r) is type(item) and same(r.to_data(), data))
        if (match := next(equal, None)) is None:
            unknown.append(item)
        else:
            free = [r for r in free if r._token is not match._token]
            _inherit(item, match)
    free = [r for r in replaced if any(r is f for f in free)]
    names = [[identity(item.to_data()) for item in items] for items in (unknown, free)]
    for i, j in paired(*names).items():
        _inherit(unknown[i], free[j])


def _inherit(item: HasProperties, former: HasProperties) -> None:
    item.__dict__["_token"] = former._token
    for name in item._nesting if type(item) is type(former) else ():
        parts, former_parts = _parts(item.__dict__[name]), _parts(former.__dict__[name])
        _recognise(parts, former_parts, ())


def _parts(value: object) -> list[HasProperties]:
    values = value if isinstance(value, tuple) else (value,)
    return [part for part in values if isinstance(part, HasProperties)]
