"""YAML aliases: the values that several places of a document share, and which may stay shared."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from mjrig.yaml_text.comparison import matched, same
from mjrig.yaml_text.item_trees import ItemTree
from mjrig.yaml_text.yaml_document import Document
from mjrig.yaml_text.yaml_nodes import AliasNode

#: The tag of `<<`, whose value is merged into the mapping.
MERGE = "tag:yaml.org,2002:merge"
_ANCHOR = re.compile(r"&([^\s,\[\]{}]+)")


class _Absent:
    """Stands for the value of a place that the new data does not have."""


_ABSENT = _Absent()


@dataclass(frozen=True)
class NodePlace:
    """Where a node is used: itself, or an alias of it."""

    node: Any
    #: Its new value; `_ABSENT` if it is removed.
    new: Any
    #: The order of places in the text, and in the new text.
    order: tuple[int, ...]
    new_order: tuple[int, ...]
    #: Key of the mapping it is a value of.
    key: Any = None
    #: Whether it is between brackets.
    flow: bool = False

    def inside(self, index: int, new_index: int, node: Any, new: Any, key: Any) -> "NodePlace":
        """The place of an entry."""
        orders = (*self.order, index), (*self.new_order, new_index)
        return NodePlace(node, new, *orders, key, bool(self.node.flow_style))


@dataclass
class SharedValue:
    """A node with an anchor, and the aliases of it in the order of the text."""

    node: Any
    value: Any
    #: Its place; None: it is a key.
    owner: NodePlace | None = None
    uses: list[NodePlace] = field(default_factory=list)

    def name(self, text: str) -> str:
        """The name of the anchor; empty: something is in front of it."""
        match = _ANCHOR.match(text, self.node.start_mark.index)
        return match[1] if match else ""

    @property
    def is_common(self) -> bool:
        """Whether all places change alike, so that the value is edited once."""
        owner = self.owner
        return owner is not None and all(
            not isinstance(use.new, _Absent)
            and not is_merged(use)
            and same(owner.new, use.new)
            and owner.new_order < use.new_order
            for use in self.uses
        )

    @property
    def is_intact(self) -> bool:
        """Whether the anchor can stay as it is: its aliases still follow it, with its value."""
        owner = self.owner
        if owner is None or isinstance(owner.new, _Absent):
            return False
        needing = [use for use in self.uses if self._needs(use)]
        if any(owner.new_order > use.new_order for use in needing):
            return False
        # Mappings that merge a changed one get entries that override it.
        return same(owner.new, self.value) or all(map(is_merged, needing))

    @property
    def heir(self) -> NodePlace | None:
        """The first alias that still stands for the value, if it is the first from now on, too."""
        needing = [use for use in self.uses if self._needs(use)]
        if not needing or any(use.new_order < needing[0].new_order for use in needing):
            return None
        return needing[0]

    def _needs(self, use: NodePlace) -> bool:
        is_present = not isinstance(use.new, _Absent)
        return is_present and (is_merged(use) or same(use.new, self.value))


def is_merged(place: NodePlace) -> bool:
    """Whether it is the value of `<<`, or one of several."""
    return place.key is not None and place.key.tag == MERGE


def shared_values(
    document: Document, data: Any, items: ItemTree, items_before: ItemTree
) -> list[SharedValue]:
    """All values that aliases refer to."""
    if "*" not in document.text:
        return []
    shared: dict[int, SharedValue] = {}
    root = NodePlace(document.root, data, (), ())
    places = list(_NodePlaces(document).below(root, document.data, items_before, items))
    for place in places:
        if isinstance(place.node, AliasNode):
            target = place.node.target
            if id(target) not in shared:
                shared[id(target)] = SharedValue(target, document.value_of(target))
            shared[id(target)].uses.append(place)
    for place in places:
        if id(place.node) in shared:
            shared[id(place.node)].owner = place
    return list(shared.values())


@dataclass(frozen=True)
class _NodePlaces:
    """Finds every node and alias of a document."""

    document: Document

    def below(
        self, place: NodePlace, old: Any, old_items: ItemTree, new_items: ItemTree
    ) -> Iterator[NodePlace]:
        """A place and those inside."""
        yield place
        if isinstance(place.node, yaml.MappingNode):
            yield from self._in_mapping(place, old, old_items, new_items)
        elif isinstance(place.node, yaml.SequenceNode):
            yield from self._in_sequence(place, old, old_items, new_items)

    def _in_mapping(
        self, place: NodePlace, old: Any, old_items: ItemTree, new_items: ItemTree
    ) -> Iterator[NodePlace]:
        new = place.new if isinstance(place.new, Mapping) else {}
        for i, (key, node) in enumerate(place.node.value):
            if key.tag == MERGE:
                value = self.document.value_of(node)
                after = value if isinstance(place.new, Mapping) else _ABSENT
            else:
                value, after = old[key.value], new.get(key.value, _ABSENT)
            inner = place.inside(i, i, node, after, key)
            trees = old_items.at(key.value), new_items.at(key.value)
            yield from self.below(inner, value, *trees)

    def _in_sequence(
        self, place: NodePlace, old: Any, old_items: ItemTree, new_items: ItemTree
    ) -> Iterator[NodePlace]:
        new = list(place.new) if isinstance(place.new, list | tuple) else []
        pairs, _ = matched(list(old), new, old_items, new_items)
        for i, node in enumerate(place.node.value):
            j = pairs.get(i)
            after = _ABSENT if j is None else new[j]
            key = place.key if is_merged(place) else None
            inner = place.inside(i, i if j is None else j, node, after, key)
            yield from self.below(inner, old[i], old_items.at(i), new_items.at(j))
