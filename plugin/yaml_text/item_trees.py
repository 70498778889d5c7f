"""Which items the lists in some data hold, so that an item is recognised after any edits.

A name or a value does not identify an item: a renamed actor is the same one, and another actor may
have its former name by then.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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
