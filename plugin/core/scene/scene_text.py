"""SceneText: the text a scene was read from, its data, the items of its lists, the text to save.

Lines and comments of a file belong to an item, even after its name and values change. Undoing
a removal creates a new object from the same data, which inherits the lines of the old object.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mjrig.core.errors import PropertyError, SceneError
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.yaml_text.comparison import UNKNOWN, ItemTree, as_written, identity, paired, same
from mjrig.core.yaml_text.formatting import format_block
from mjrig.core.yaml_text.yaml_document import (
    MAX_NODES,
    Document,
    Keys,
    Resolved,
    count_values,
    escaped,
)
from mjrig.core.yaml_text.yaml_edit import updated_text

# Scene text ---------------------------------------------------------------------------------------


FORMAT = 1


class SceneText:
    """A document with its variables substituted; immutable.

    Args:
        document: the text.
        resolved: its data with the edits that were made when variables changed.
        meaning: the data as the scene understood it; None: word for word.
        items: the list items of the meaning.
        origin: the text as it was read, before variables changed; None: this is it.
        saved: the text of the file, if it was saved since it was read; errors are located in it.
            Edits are still written into the text that was read: it has the lines and comments of
            items that were removed before the save, which undo brings back.
    """

    def __init__(
        self,
        document: Document,
        resolved: Resolved,
        meaning: Mapping[str, Any] | None = None,
        items: ItemTree = UNKNOWN,
        origin: "SceneText | None" = None,
        saved: "SceneText | None" = None,
    ) -> None:
        self.document, self.resolved = document, resolved
        self._meaning = resolved.data if meaning is None else meaning
        self._items = items
        self._origin = self if origin is None else origin
        self._saved = saved
        #: The items that have lines in the text.
        self.tokens = self._origin._items.all_tokens()

    @classmethod
    def read(
        cls,
        text: str,
        file: str,
        overrides: Mapping[str, Any],
        take: Callable[[int], None] = lambda count: None,
    ) -> "SceneText":
        """Parse a text; `take` may refuse the number of its values before they are read.

        Raises:
            SceneError: it is not a scene.
            PropertyError: an override is for a variable it does not have.
        """
        document = Document(text, file, take)
        if not isinstance(document.data, dict):
            raise document.error((), "a scene is a mapping with 'mjrig: 1' and 'actors'")
        if "mjrig" not in document.data:
            raise document.error((), f"the format version is missing; begin with 'mjrig: {FORMAT}'")
        try:
            resolved = Resolved(document.data, {})
        except PropertyError as error:
            raise document.error(
                error.keys, str(error), at=error.at, about_key=error.about_key
            ) from error
        return cls(document, Resolved(document.data, overrides) if overrides else resolved)

    @property
    def data(self) -> dict[str, Any]:
        """The data of the text, variables substituted."""
        return self.resolved.data

    def error(self, path: Keys, message: str, *, at: Keys = (), about_key: bool) -> SceneError:
        """A SceneError at the place of a path."""
        if self._saved is not None:
            return self._saved.error(path, message, at=at, about_key=about_key)
        whole = self.resolved.path_as_written((*path, *at))
        return self.document.error(
            whole[: len(path)], message, at=whole[len(path) :], about_key=about_key
        )

    def understood_as(self, data: Mapping[str, Any], items: ItemTree) -> "SceneText":
        """The text just read, of which the scene made `data`."""
        return SceneText(self.document, self.resolved, data, items)

    def saved_as(
        self, text: str, file: str, data: Mapping[str, Any], items: ItemTree
    ) -> "SceneText":
        """The same text, after it was updated to `data` and written to a file.

        Raises:
            SceneError: the text that was written is not a scene.
        """
        saved = SceneText.read(text, file, self.resolved.overrides).understood_as(data, items)
        origin = None if self._origin is self else self._origin
        return SceneText(self.document, self.resolved, self._meaning, self._items, origin, saved)

    def says(self, data: Mapping[str, Any], path: Keys) -> bool:
        """Whether the text still agrees with `data` at a path."""
        if self._saved is not None:
            return self._saved.says(data, path)
        now: Any = data
        then: Any = self._meaning
        for key in path:
            try:
                now, then = now[key], then[key]
            except (KeyError, IndexError, TypeError):
                return True  # nothing to compare: the nearest place that exists is right
        return same(now, then)

    def reinterpreted_as(self, data: Mapping[str, Any], items: ItemTree) -> "SceneText":
        """The same text with other variables, of which the scene made `data`."""
        return SceneText(self.document, self.resolved, data, items, self._origin, self._saved)

    def with_variables(self, data: Mapping[str, Any], items: ItemTree) -> "SceneText":
        """The text as it is after edits and other variables, both of which are in `data`.

        Raises:
            PropertyError: a variable does not exist any more or refers to itself.
        """
        data = as_written(data, self._meaning, self.data, items, self._items)
        before, after = self.resolved.template.get("vars") or {}, data.get("vars") or {}
        changed = {n for n in after if n not in before or not same(before[n], after[n])}
        overrides = {
            n: v for n, v in self.resolved.overrides.items() if n in after and n not in changed
        }
        template = self.resolved.template_for(data, items, self._items)
        resolved = Resolved(template, overrides)
        return SceneText(self.document, resolved, None, items, self._origin, self._saved)

    def updated(self, data: Mapping[str, Any], items: ItemTree) -> str:
        """The text with the smallest change that makes it mean `data`.

        Args:
            data: of the scene.
            items: its list items; those of the text keep their lines and comments.

        Raises:
            SceneError: that cannot be done in this text.
        """
        origin = self._origin
        data = as_written(data, self._meaning, self.data, items, self._items)
        if self is not origin:  # items that were removed when variables changed may be back
            data = as_written(data, origin._meaning, origin.data, items, origin._items)
        template = next((t for t in self._templates(data, items) if self._means(t, data)), None)
        if template is None:  # its variables were removed: everything is written out
            template = literal(data)
        return updated_text(self.document, template, items, origin._items)

    def _templates(self, data: Mapping[str, Any], items: ItemTree) -> Iterator[Mapping[str, Any]]:
        """Templates that may resolve to `data`, the one most like the document first."""
        origin, written = self._origin, self.document.data
        if "vars" in data:
            try:
                resolved = Resolved({**written, "vars": data["vars"]}, self.resolved.overrides)
            except PropertyError:
                pass
            else:
                yield resolved.template_for(data, items, origin._items)
        yield self.resolved.template_for(data, items, self._items)

    def _means(self, template: Mapping[str, Any], data: Mapping[str, Any]) -> bool:
        try:
            return same(Resolved(template, self.resolved.overrides).data, data)
        except PropertyError:
            return False


def literal(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a scene as a template without variables in it; `vars` itself stays."""
    return {key: value if key == "vars" else escaped(value) for key, value in data.items()}


def new_text(data: Mapping[str, Any]) -> str:
    """The text of a scene that was made in Python."""
    return format_block({"mjrig": FORMAT, **literal(data)}, 0) + "\n"


# Item tracking ------------------------------------------------------------------------------------
# Items of a scene's lists keep their identity: through edits, and when a removed one comes back.
#
# The lines and comments of a file belong to an item, whatever its name and values are by now.
# Undoing a removal makes a new object of the same data: it takes over the identity of the
# removed one.


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
