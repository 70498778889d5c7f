"""Edit: one place in a scene's data, with its value before and after.

Lists and mappings have an order, so that something added or removed has a place in it: the index
that ends the path of a list item, or `at` for a property or the key of a table. With it, undoing a
removal puts the lines of the file back where they were.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from mjrig.yaml_text.item_trees import UNKNOWN, ItemTree

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
