"""Comparison of plain data: equality of values, and matching of list items before and after edits.

A name or a value does not identify an item: a renamed actor is still the same item, and
another actor may have its former name. `ItemTree` therefore tracks the items themselves.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from mjrig.core.properties.declaration import number

# Item trees ---------------------------------------------------------------------------------------
# Which items the lists in some data hold, so that an item is recognised after any edits.
#
# A name or a value does not identify an item: a renamed actor is the same one, and another actor
# may have its former name by then.


@dataclass(frozen=True)
class ItemTree:
    """The items of a list, or those of the lists inside a mapping."""

    #: An object per list item, the same one as long as the item exists; None: it is not a list.
    tokens: tuple[object, ...] | None = None
    #: Keys of a mapping or indices of a list → what is inside.
    inside: Mapping[Any, "ItemTree"] = field(default_factory=dict)

    def at(self, key: object) -> "ItemTree":
        """What is known of the value of a key or index."""
        return self.inside.get(key, UNKNOWN)

    def item(self, index: int) -> "ItemTree":
        """What is known of one item of a list: a list with it alone."""
        if self.tokens is None or index >= len(self.tokens):
            return UNKNOWN
        return ItemTree((self.tokens[index],), {0: self.at(index)})

    def all_tokens(self) -> set[object]:
        """The tokens of all items at any depth."""
        return set(self.tokens or ()).union(*(part.all_tokens() for part in self.inside.values()))


#: Of data whose lists hold plain values.
UNKNOWN = ItemTree()


# Comparison ---------------------------------------------------------------------------------------


def same(a: Any, b: Any) -> bool:
    """Whether two plain values mean the same: `1e-3` as text equals the number, −0.0 not 0."""
    if type(a) is type(b) and isinstance(a, int | float | str) and a and a == b:
        return True
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is type(b) and a == b and not isinstance(a, float):
        return True
    x, y = number(a), number(b)
    if x is None or y is None or (math.isnan(x) and math.isnan(y)):
        return x is not None and y is not None
    return x == y and (x != 0.0 or math.copysign(1.0, x) == math.copysign(1.0, y))


def as_written(
    new: Any,
    before: Any,
    written: Any,
    items: ItemTree = UNKNOWN,
    items_before: ItemTree = UNKNOWN,
) -> Any:
    """`new`, with what did not change in the words of the file.

    Args:
        new: the data to write.
        before: the data as it was understood when the file was read.
        written: the data of the file: `null` for an empty name, one item for a list of one.
        items: the list items of `new`.
        items_before: those of `before`.
    """
    if same(before, written):
        return new
    if same(new, before):
        return written
    if isinstance(new, Mapping) and isinstance(before, Mapping) and isinstance(written, Mapping):
        silent = {k: v for k, v in written.items() if k not in before and k not in new}
        known = before.keys() & written.keys()
        return silent | {
            k: as_written(v, before[k], written[k], items.at(k), items_before.at(k))
            if k in known
            else v
            for k, v in new.items()
        }
    lists = all(isinstance(v, list | tuple) for v in (new, before, written))
    if lists and len(before) == len(written):
        pairs = matched(list(before), list(new), items_before, items)[0]
        origin = {j: i for i, j in pairs.items()}
        return [
            as_written(
                v, before[origin[j]], written[origin[j]], items.at(j), items_before.at(origin[j])
            )
            if j in origin
            else v
            for j, v in enumerate(new)
        ]
    return new


@dataclass
class Plan:
    """What becomes of the entries of a collection."""

    gone: set[int] = field(default_factory=set)
    #: Place among the old entries → the new ones that go in front of it.
    fresh: dict[int, Any] = field(default_factory=dict)
    #: Old entries that are inserted elsewhere: they are gone, and in `fresh` as a `MovedEntry`.
    moved: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class MovedEntry:
    """Stands for an old entry of a list at its new place."""

    index: int


def matched(
    old: list[Any],
    new: list[Any],
    old_items: ItemTree = UNKNOWN,
    new_items: ItemTree = UNKNOWN,
) -> tuple[dict[int, int], Plan]:
    """Which old items of a list correspond to which new ones; the rest are removed or new."""
    tokens = old_items.tokens, new_items.tokens
    if tokens[0] is not None and tokens[1] is not None:
        if (len(tokens[0]), len(tokens[1])) == (len(old), len(new)):
            return _matched_by_token(old, new, tokens[0], tokens[1])
    if len(old) == len(new) and all(number(v) is not None for v in (*old, *new)):
        return {i: i for i in range(len(old))}, Plan()  # a vector: each number has its own place
    kept: dict[int, int] = {}
    plan = Plan()
    exact = SequenceMatcher(None, [*map(repr, old)], [*map(repr, new)], False)
    for tag, i, i_end, j, j_end in exact.get_opcodes():
        if tag == "equal":
            kept.update(zip(range(i, i_end), range(j, j_end), strict=True))
            continue
        names = [identity(item) for item in old[i:i_end]], [identity(n) for n in new[j:j_end]]
        for kind, a, a_end, b, b_end in SequenceMatcher(None, *names, False).get_opcodes():
            if kind == "equal" or (kind == "replace" and a_end - a == b_end - b):
                kept.update(zip(range(i + a, i + a_end), range(j + b, j + b_end), strict=True))
                continue
            plan.gone.update(range(i + a, i + a_end))
            if b_end > b:
                plan.fresh.setdefault(i + a_end, []).extend(new[j + b : j + b_end])
    return kept, plan


def _matched_by_token(
    old: list[Any], new: list[Any], old_tokens: Sequence[object], new_tokens: Sequence[object]
) -> tuple[dict[int, int], Plan]:
    pairs = paired(old_tokens, new_tokens)
    for key in (repr, identity):  # items that were assigned again as data
        free = [i for i in range(len(old)) if i not in pairs]
        fresh = [j for j in range(len(new)) if j not in pairs.values()]
        again = paired([key(old[i]) for i in free], [key(new[j]) for j in fresh])
        pairs |= {free[i]: fresh[j] for i, j in again.items()}
    staying = _longest_increasing(sorted(pairs.items()))
    origin = {j: i for i, j in pairs.items()}
    plan = Plan(gone={i for i in range(len(old)) if i not in staying})
    place = 0
    for j, item in enumerate(new):
        i = origin.get(j)
        if i is not None and i in staying:
            place = i + 1
            continue
        if i is not None:
            plan.moved.add(i)
        plan.fresh.setdefault(place, []).append(item if i is None else MovedEntry(i))
    return pairs, plan


def paired(old: Sequence[Any], new: Sequence[Any]) -> dict[int, int]:
    """Indices of equal values of two lists; of several, the first belong together."""
    places: dict[Any, list[int]] = {}
    for j, value in enumerate(new):
        places.setdefault(value, []).append(j)
    return {i: places[value].pop(0) for i, value in enumerate(old) if places.get(value)}


def _longest_increasing(pairs: list[tuple[int, int]]) -> set[int]:
    """The most items that can stay where they are while the others move around them."""
    ends: list[int] = []  # by length, where the chain with the smallest end ends
    last: list[int] = []  # the item there
    before: dict[int, int | None] = {}
    for i, j in pairs:
        length = bisect_left(ends, j)
        before[i] = last[length - 1] if length else None
        ends[length : length + 1], last[length : length + 1] = [j], [i]
    staying: set[int] = set()
    item = last[-1] if last else None
    while item is not None:
        staying.add(item)
        item = before[item]
    return staying


def identity(item: Any) -> str:
    """What makes a list item the same one after an edit: its name, else its type, else itself."""
    if isinstance(item, Mapping):
        return str(item.get("name", item.get("type", sorted(item))))
    return repr(item)
