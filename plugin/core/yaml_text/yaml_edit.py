"""Minimal edits of YAML text: write new data and change only the lines that must change.

The new data is compared with the text's data; each difference becomes one splice at the
parser's marks. Aliases stay where their values remain equal. The result is parsed again and
compared before it is returned.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

import yaml

from mjrig.core.errors import SceneError
from mjrig.core.yaml_text.comparison import UNKNOWN, ItemTree, Plan, matched, same
from mjrig.core.yaml_text.entry_edits import BLANK, Entry, EntryEdits, Splice, TextPlaces, spliced
from mjrig.core.yaml_text.formatting import (
    dump,
    format_block,
    format_flow,
    format_inside_flow,
    is_flat,
)
from mjrig.core.yaml_text.yaml_document import AliasNode, Document

# Aliases ------------------------------------------------------------------------------------------


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


# Yaml edit ----------------------------------------------------------------------------------------
# Minimal edits of YAML text: write new data, touching only the lines that must change.
#
# The new data is compared with that of the text; each difference becomes one splice at the
# parser's marks. The result is parsed again and compared before it is returned.


#: An edit of a mapping that others merge changes them too; the next round restores those, and the
#: mappings that merge them in turn, one level a round.
_ROUNDS = 8


def updated_text(
    document: Document, data: Any, items: ItemTree = UNKNOWN, items_before: ItemTree = UNKNOWN
) -> str:
    """The text with the smallest change that makes it parse to `data`.

    A value shared by YAML aliases is written out where it differs from the others.

    Args:
        document: the text.
        data: what it shall parse to.
        items: the list items of `data`: those that the text has keep their lines and comments.
        items_before: those of the text.

    Raises:
        SceneError: the data is not plain, or too much for one file.
    """
    if document.root is None:
        end, block = len(document.text), format_block(data, 0)
        return document.mark + spliced(
            document.text, [TextPlaces(document.text).lines_after(end, block)]
        )
    for write_out in (False, True):
        text = _rewritten(document, data, items, items_before, write_out=write_out)
        if text is not None:
            return document.mark + text
    raise SceneError(f"{document.file}:1:1: the change cannot be written as YAML")


def _rewritten(
    document: Document,
    data: Any,
    items: ItemTree,
    items_before: ItemTree,
    *,
    write_out: bool,
) -> str | None:
    """The new text; None: it does not parse to `data`.

    Args:
        document: the text.
        data: what it shall parse to.
        items: the list items of `data`.
        items_before: those of the text.
        write_out: begin with a text without aliases.
    """
    try:
        splices = _Differ(document).independent(data, items, items_before, all_aliases=write_out)
        if splices:
            document = Document(spliced(document.text, splices), document.file)
        for _ in range(_ROUNDS):
            differ = _Differ(document, data, items, items_before)
            text = spliced(document.text, differ.splices(data, items, items_before))
            document, items_before = Document(text, document.file), items
            if same(document.data, data):
                return text
    except SceneError:
        pass
    return None


@dataclass(frozen=True)
class _Slot:
    """Where a value is: after a key (its node), in a flow collection, or neither."""

    key: Any = None
    flow: bool = False


class _Differ:
    """Collects splices; every method returns the splices of one node."""

    def __init__(
        self,
        document: Document,
        data: Any = None,
        items: ItemTree = UNKNOWN,
        items_before: ItemTree = UNKNOWN,
    ) -> None:
        self.document, self.text = document, document.text
        self._places = TextPlaces(self.text)
        self._entries = EntryEdits(self._places)
        #: Shared nodes that change alike wherever they are used: written once.
        self._common = {
            id(anchor.node)
            for anchor in shared_values(document, data, items, items_before)
            if anchor.is_common
        }

    def splices(self, data: Any, items: ItemTree, items_before: ItemTree) -> list[Splice]:
        """The splices that make the text parse to `data`, aliases of changed values aside."""
        document = self.document
        return self.compare(document.root, document.data, data, _Slot(), items_before, items)

    def independent(
        self, data: Any, items: ItemTree, items_before: ItemTree, *, all_aliases: bool
    ) -> list[Splice]:
        """The splices after which no value is shared with one that changes or is removed.

        The anchor goes to the first alias that still needs it. The data stays the same.
        """
        splices: list[Splice] = []
        for anchor in shared_values(self.document, data, items, items_before):
            if not all_aliases and (anchor.is_common or anchor.is_intact):
                continue
            owner, name = anchor.node, anchor.name(self.text)
            if name:
                splices.append(self._places.without_word(owner.start_mark.index, f"&{name}"))
            heir = None if all_aliases or not name else anchor.heir
            for use in anchor.uses:
                if heir is not None and use.order > heir.order:
                    break
                word = f"&{name}" if use is heir else ""
                slot = _Slot(use.key, use.flow)
                splices += self._replace(use.node, anchor.value, slot, word)
        return splices

    def compare(
        self,
        node: Any,
        old: Any,
        new: Any,
        slot: _Slot,
        old_items: ItemTree = UNKNOWN,
        new_items: ItemTree = UNKNOWN,
    ) -> list[Splice]:
        with_target = isinstance(node, AliasNode) and id(node.target) in self._common
        if same(old, new) or with_target:  # an alias changes with its target
            return []
        if isinstance(node, AliasNode):  # its value now differs from its target's
            return self._replace(node, new, slot)
        if isinstance(node, yaml.MappingNode) and isinstance(new, Mapping) and old and new:
            return self._mapping(node, old, new, slot, old_items, new_items)
        if isinstance(node, yaml.SequenceNode) and isinstance(new, list | tuple) and old and new:
            return self._sequence(node, old, new, slot, old_items, new_items)
        if _is_quoted(node) and isinstance(new, str):
            quoted: Any = node
            start, text = quoted.start_mark.index, dump(new, quoted.style).rstrip("\n")
            return [(start, self._places.end_of(node), self._glue(start, slot) + text)]
        return self._replace(node, new, slot)

    def _mapping(
        self,
        node: Any,
        old: Any,
        new: Mapping[str, Any],
        slot: _Slot,
        old_items: ItemTree,
        new_items: ItemTree,
    ) -> list[Splice]:
        entries = [Entry(k.start_mark.index, self._places.end_of(v)) for k, v in node.value]
        own: dict[str, int] = {k.value: i for i, (k, _) in enumerate(node.value) if k.tag != MERGE}
        renamed = self._renamed_keys(node, own, old, new)
        now: dict[str, int] = {renamed.get(key, key): i for key, i in own.items()}
        plan = Plan(gone={i for key, i in now.items() if key not in new})
        if len(plan.gone) == len(entries) or self._is_pair(node):
            return self._replace(node, new, slot)
        merges = [i for i, (k, _) in enumerate(node.value) if k.tag == MERGE]
        merged = {key: old[key] for key in old if key not in own}
        splices: list[Splice] = []
        if any(key not in new for key in merged):
            # A merged key can be overridden, but not removed: the others are written out.
            merged = {key: new[key] for key in merged if key in new}
            for i, value in zip(merges, [merged, *[{}] * len(merges)], strict=False):
                k, v = node.value[i]
                splices += self._replace(v, value, _Slot(k, node.flow_style))
        # A merged key that changes gets its own entry, which overrides the merged one.
        fresh = [k for k in new if k not in now and not (k in merged and same(merged[k], new[k]))]
        for key in fresh:
            place = _place(key, new, now, len(entries))
            place = max(place, *(i + 1 for i in merges)) if key in merged else place
            plan.fresh.setdefault(place, {})[key] = new[key]
        plan.fresh = dict(sorted(plan.fresh.items()))
        for key, i in own.items():
            k, v = node.value[i]
            key_now: str = renamed.get(key, key)
            if key_now != key:
                splices.append((k.start_mark.index, k.end_mark.index, _key(key_now, node)))
            if key_now in new:
                trees = old_items.at(key), new_items.at(key_now)
                place = _Slot(k, node.flow_style)
                splices += self.compare(v, old[key], new[key_now], place, *trees)
        return splices + self._entries.rearranged(node, entries, plan)

    def _renamed_keys(
        self, node: Any, own: Mapping[str, int], old: Any, new: Mapping[str, Any]
    ) -> dict[str, str]:
        """Renamed keys: the value is the same and in the same place."""
        before, after = list(own), [k for k in new if k in own or k not in old]
        changes = SequenceMatcher(None, before, after, False).get_opcodes()
        pairs = (
            pair
            for tag, i, i_end, j, j_end in changes
            if tag == "replace" and i_end - i == j_end - j
            for pair in zip(before[i:i_end], after[j:j_end], strict=True)
        )
        return {
            gone: key
            for gone, key in pairs
            if gone not in new
            and key not in own
            and same(old[gone], new[key])
            and self._is_simple_key(node.value[own[gone]][0])
        }

    def _is_simple_key(self, key: Any) -> bool:
        """Whether a key can be rewritten: no alias needs it, and a blank follows its colon."""
        start, end = key.start_mark.index, key.end_mark.index
        is_tight = self.text[end : end + 1] == ":" and self.text[end + 1 : end + 2] not in BLANK
        return not (isinstance(key, AliasNode) or self.text[start] in "&!" or is_tight)

    def _is_pair(self, node: Any) -> bool:
        """Whether a mapping is `a: 1` in `[a: 1]`: without brackets there is no room for more."""
        return bool(node.flow_style) and self.text[node.start_mark.index] not in "{&!"

    def _sequence(
        self,
        node: Any,
        old: Any,
        new: Sequence[Any],
        slot: _Slot,
        old_items: ItemTree,
        new_items: ItemTree,
    ) -> list[Splice]:
        starts = [
            i.start_mark.index if node.flow_style else self._places.dash_of(i) for i in node.value
        ]
        entries = [
            Entry(s, self._places.end_of(i)) for s, i in zip(starts, node.value, strict=True)
        ]
        begins_line = self._entries.begins_line(starts[0])
        pairs, plan = matched(list(old), list(new), old_items, new_items)
        if not pairs and new_items.tokens is not None and (begins_line or node.flow_style):
            return self._entries.replaced(node, entries, new)
        if not pairs or (plan.moved and not (begins_line or node.flow_style)):
            return self._replace(node, new, slot)
        place = _Slot(flow=node.flow_style)
        changes = {
            i: self.compare(node.value[i], old[i], new[j], place, old_items.at(i), new_items.at(j))
            for i, j in pairs.items()
        }
        staying = [splice for i in pairs if i not in plan.moved for splice in changes[i]]
        moving = {i: changes[i] for i in plan.moved}
        return staying + self._entries.rearranged(node, entries, plan, moving)

    # One value for another ----------------------------------------------------------------------

    def _replace(self, node: Any, new: Any, slot: _Slot, anchor: str = "") -> list[Splice]:
        """Write another value in the place of a node, with an anchor in front of it."""
        start, end = node.start_mark.index, self._places.end_of(node)
        word = anchor and f"{anchor} "
        if slot.flow:
            return [(start, end, self._glue(start, slot) + word + format_inside_flow(new))]
        after = self._lost_newline(node, end)
        if slot.key is None:
            glue = self._glue(start, slot)
            column = start - self._places.line_start(start) + len(glue)
            value = format_flow(new) if anchor else self._hanging(node, new, column)
            return [(start, end, glue + word + value + after)]
        column = slot.key.start_mark.column
        colon = self.text.index(":", slot.key.end_mark.index) + 1
        key_line = self._places.line_end(colon)
        if _is_block(node) and _content_start(node) > key_line:  # comments after the colon stay
            gone = (key_line, self._places.line_end(end))
            name = re.match(r"&\S+", self.text[start:])
            unnamed = [self._places.without_word(start, name[0])] if name else []
            if is_flat(new):
                return [*unnamed, (colon, colon, " " + format_flow(new)), (*gone, "")]
            block = self._places.lines("\n" + format_block(new, column + 2))
            return [*unnamed, (*gone, block)]
        if is_flat(new):
            return [(start, end, self._glue(start, slot) + word + format_flow(new) + after)]
        block = format_block(new, column + 2)
        head = f" {anchor}" if anchor else ""
        return [(colon, end, head + after), self._places.lines_after(end, block)]

    def _hanging(self, node: Any, new: Any, column: int) -> str:
        """A value that begins where the old one did, after a dash or at the top of the text."""
        is_plain = not isinstance(new, Mapping | list | tuple) or not new
        was_plain = not isinstance(node, yaml.CollectionNode)
        if is_plain or (was_plain and is_flat(new)) or not (was_plain or _is_block(node)):
            return format_flow(new)
        return self._places.lines(format_block(new, column)).lstrip(" ")

    def _glue(self, start: int, slot: _Slot) -> str:
        """The separator needed between the text before a value and the value."""
        if slot.flow and slot.key is not None:
            between = self.text[slot.key.end_mark.index : start]
            if ":" not in between:  # `{a}`: a key alone
                return ": "
        return " " if self.text[start - 1 : start] in (":", "-") else ""

    def _lost_newline(self, node: Any, end: int) -> str:
        """A block scalar that keeps its blank lines ends at the start of the next line."""
        is_kept = end > 0 and self.text[end - 1] == "\n" and isinstance(node, yaml.ScalarNode)
        return self._places.newline if is_kept else ""


def _is_block(node: Any) -> bool:
    return isinstance(node, yaml.CollectionNode) and not node.flow_style


def _content_start(node: Any) -> int:
    """Where the first entry of a block begins, behind an anchor."""
    first = node.value[0]
    start: int = (first[0] if isinstance(first, tuple) else first).start_mark.index
    return start


def _is_quoted(node: Any) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.style in ("'", '"')


def _place(key: str, new: Mapping[str, Any], entries: Mapping[str, int], end: int) -> int:
    """Where among the entries a new key goes: after its predecessor in the new data."""
    keys = list(new)
    before = [k for k in keys[: keys.index(key)] if k in entries]
    if before:
        return entries[before[-1]] + 1
    return 0 if any(k in entries for k in keys) else end


def _key(key: str, node: Any) -> str:
    return format_inside_flow(key) if node.flow_style else format_flow(key)
