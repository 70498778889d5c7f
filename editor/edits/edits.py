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
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from mjrig.core.errors import PropertyError
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_text import restore_items
from mjrig.core.yaml_text.comparison import UNKNOWN, ItemTree
from mjrig.core.yaml_text.formatting import format_flow
from mjrig.editor.text import tr

# Edits --------------------------------------------------------------------------------------------
# Edit: one place in a scene's data, with its value before and after.
#
# Lists and mappings have an order, so that something added or removed has a place in it: the index
# that ends the path of a list item, or `at` for a property or the key of a table. With it,
# undoing a removal puts the lines of the file back where they were.


#: Names of properties and indices of list items, from the scene down; data is what `to_data` gives.
ItemPath = tuple[Any, ...]
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

    path: ItemPath
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


def walk(scene: Scene, path: ItemPath) -> tuple[list[HasProperties], ItemPath]:
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


def _put(obj: HasProperties, path: ItemPath, edit: Edit) -> None:
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


# Change text --------------------------------------------------------------------------------------
# What a group of edits changed, in a few words: `10 -> 20`.


#: So many values are written out, each with so many characters at most.
_VALUES, _LONGEST = 3, 24


def change_text(edits: Sequence[Edit]) -> str:
    """Each value before and after; a number of values where there are many.

    Empty where items were added, removed or moved: the name of such an edit tells it.
    """
    if any(edit.moves_items for edit in edits):
        return ""
    if len(edits) == 1:
        return _both(edits[0])
    if len(edits) > _VALUES:
        return tr("{count} values", count=len(edits))
    return ", ".join(f"{edit.path[-1]} {_both(edit)}" for edit in edits)


def _both(edit: Edit) -> str:
    return f"{_text(edit.before)} -> {_text(edit.after)}"


def _text(value: Any) -> str:
    text = "default" if value is UNSET else format_flow(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


# Undo ---------------------------------------------------------------------------------------------


#: What is kept at most: entries, and values in all of them together. The oldest go first.
MAX_ENTRIES = 2000
MAX_VALUES = 200_000


@dataclass(frozen=True)
class UndoEntry:
    """The edits that one undo takes back."""

    name: str
    edits: tuple[Edit, ...]
    #: Edits that follow each other with one key are one entry, until `seal`.
    merge: str | None = None
    #: What file names in them are relative to, and whether the scene had no file of its own then.
    folder: Path = Path()
    is_of_new_scene: bool = False
    #: What the actors did on its other side, where it made a new world; the session's own.
    kept: Any = None

    @cached_property
    def size(self) -> int:
        """Number of values it keeps."""
        return sum(_size(edit.before) + _size(edit.after) for edit in self.edits)

    @cached_property
    def change(self) -> str:
        """The values before and after; empty where its name tells it."""
        return change_text(self.edits)


class UndoStack:
    """The edits so far, and how far back we are in them."""

    def __init__(self) -> None:
        self._entries: list[UndoEntry] = []
        self._done = 0
        self._saved: int | None = 0
        self._forgotten = 0

    def push(self, entry: UndoEntry) -> None:
        """Note edits that were made; what was undone before it is forgotten."""
        if self._saved is not None and self._saved > self._done:
            self._saved = None  # the saved state can no longer be reached
        del self._entries[self._done :]
        last = self._entries[-1] if self._entries else None
        if entry.merge is not None and last is not None and last.merge == entry.merge:
            edits = merged(last.edits, entry.edits)
            kept = entry.kept if last.kept is None else last.kept
            self._entries[-1] = replace(entry, edits=edits, kept=kept)
            if self._saved == self._done:
                self._saved = None
        else:
            self._entries.append(entry)
            self._done += 1
        self._forget_oldest()

    def _forget_oldest(self) -> None:
        """Keep within the bounds; the last edit can always be undone."""
        size = sum(entry.size for entry in self._entries)
        while len(self) > 1 and (len(self) > MAX_ENTRIES or size > MAX_VALUES):
            size -= self._entries.pop(0).size
            self._done -= 1
            self._forgotten += 1
            if self._saved is not None:
                self._saved = self._saved - 1 if self._saved > 0 else None

    def seal(self) -> None:
        """End a merged entry: the mouse button was released."""
        if self._entries and self._entries[-1].merge is not None and self._done == len(self):
            self._entries[-1] = replace(self._entries[-1], merge=None)

    @property
    def undoable(self) -> UndoEntry | None:
        """What undo would take back."""
        return self._entries[self._done - 1] if self._done else None

    @property
    def redoable(self) -> UndoEntry | None:
        """What redo would do again."""
        return self._entries[self._done] if self._done < len(self._entries) else None

    def step_back(self, *, kept: Any = None) -> UndoEntry:
        """Note that the last edit was undone, and return it."""
        self._done -= 1
        return self._crossed(kept)

    def step_forward(self, *, kept: Any = None) -> UndoEntry:
        """Note that the next edit was made again, and return it."""
        self._done += 1
        return self._crossed(kept, -1)

    def _crossed(self, kept: Any, offset: int = 0) -> UndoEntry:
        """The entry that was just crossed; from now on it leads back to where we came from."""
        at = self._done + offset
        self._entries[at] = replace(self._entries[at], kept=kept)
        return self._entries[at]

    @property
    def is_dirty(self) -> bool:
        """Whether the scene differs from what was saved."""
        return self._saved != self._done

    def mark_saved(self) -> None:
        """The present state is on disk."""
        self.seal()
        self._saved = self._done

    @property
    def names(self) -> Sequence[str]:
        """All entries that are kept, oldest first."""
        return [entry.name for entry in self._entries]

    @property
    def entries(self) -> Sequence[UndoEntry]:
        """The same, with what they changed."""
        return tuple(self._entries)

    @property
    def forgotten(self) -> int:
        """How many edits can no longer be undone."""
        return self._forgotten

    @property
    def position(self) -> int:
        """How many edits are done, forgotten ones included."""
        return self._forgotten + self._done

    def __len__(self) -> int:
        return len(self._entries)


def _size(value: Any) -> int:
    if isinstance(value, Mapping):
        return 1 + sum(map(_size, value.values()))
    return 1 + sum(map(_size, value)) if isinstance(value, list | tuple) else 1
