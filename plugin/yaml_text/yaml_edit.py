"""Minimal edits of YAML text: write new data, touching only the lines that must change.

The new data is compared with that of the text; each difference becomes one splice at the
parser's marks. The result is parsed again and compared before it is returned.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import yaml

from mjrig.errors import SceneError
from mjrig.yaml_text.aliases import MERGE, aliases, common_nodes
from mjrig.yaml_text.comparison import Plan, matched, same
from mjrig.yaml_text.entry_edits import Entry, EntryEdits
from mjrig.yaml_text.formatting import dump, format_block, format_flow, format_inside_flow, is_flat
from mjrig.yaml_text.text_places import BLANK, Splice, TextPlaces
from mjrig.yaml_text.yaml_document import Document
from mjrig.yaml_text.yaml_nodes import AliasNode


def updated_text(document: Document, data: Any) -> str:
    """The text with the smallest change that makes it parse to `data`.

    Raises:
        SceneError: that cannot be done by splicing (an edit of a value shared by YAML aliases).
    """
    if document.root is None:
        end, block = len(document.text), format_block(data, 0)
        splices = [TextPlaces(document.text).lines_after(end, block)]
    else:
        splices = _Differ(document, data).compare(document.root, document.data, data, _Slot())
    text = document.text
    # Where several begin at one place, the first listed comes first in the text.
    for start, end, new in reversed(sorted(splices, key=lambda s: s[:2])):
        text = text[:start] + new + text[end:]
    try:
        written = Document(text, document.file).data
    except SceneError:
        written = None
    if not same(written, data):
        raise SceneError(
            f"{document.file}:1:1: the change cannot be written without rewriting the file; "
            "does it touch a value shared by a YAML alias? write that value out"
        )
    return document.mark + text


@dataclass(frozen=True)
class _Slot:
    """Where a value is: after a key (its node), in a flow collection, or neither."""

    key: Any = None
    flow: bool = False


class _Differ:
    """Collects splices; every method returns the splices of one node."""

    def __init__(self, document: Document, data: Any) -> None:
        self.document, self.text = document, document.text
        self._places = TextPlaces(self.text)
        self._entries = EntryEdits(self._places)
        uses = Counter(id(a.target) for a in aliases(document.root))
        self._shared = set(uses)
        #: Shared nodes that change alike wherever they are used: written once.
        self._common = common_nodes(document.root, data, uses)

    def compare(self, node: Any, old: Any, new: Any, slot: _Slot) -> list[Splice]:
        with_target = isinstance(node, AliasNode) and id(node.target) in self._common
        if same(old, new) or with_target:  # an alias changes with its target
            return []
        if isinstance(node, AliasNode):  # its value now differs from its target's
            return self._replace(node, new, slot)
        if id(node) in self._shared - self._common:
            mark = node.start_mark
            raise SceneError(
                f"{self.document.file}:{mark.line + 1}:{mark.column + 1}: "
                "this value is used by a YAML alias too; write it out there to change it here"
            )
        if isinstance(node, yaml.MappingNode) and isinstance(new, Mapping) and old and new:
            return self._mapping(node, old, new, slot)
        if isinstance(node, yaml.SequenceNode) and isinstance(new, list | tuple) and old and new:
            return self._sequence(node, old, new, slot)
        if _is_quoted(node) and isinstance(new, str):
            quoted: Any = node
            start, text = quoted.start_mark.index, dump(new, quoted.style).rstrip("\n")
            return [(start, self._places.end_of(node), self._glue(start, slot) + text)]
        return self._replace(node, new, slot)

    def _mapping(self, node: Any, old: Any, new: Mapping[str, Any], slot: _Slot) -> list[Splice]:
        entries = [Entry(k.start_mark.index, self._places.end_of(v)) for k, v in node.value]
        own: dict[str, int] = {k.value: i for i, (k, _) in enumerate(node.value) if k.tag != MERGE}
        renamed = self._renamed_keys(node, own, old, new)
        now: dict[str, int] = {renamed.get(key, key): i for key, i in own.items()}
        plan = Plan(gone={i for key, i in now.items() if key not in new})
        if len(plan.gone) == len(entries) or self._is_pair(node):
            return self._replace(node, new, slot)
        # A merged key that changes gets its own entry, which overrides the merged one.
        fresh = [k for k in new if k not in now and (k not in old or not same(old[k], new[k]))]
        for key in fresh:
            plan.fresh.setdefault(_place(key, new, now, len(entries)), {})[key] = new[key]
        plan.fresh = dict(sorted(plan.fresh.items()))
        splices: list[Splice] = []
        for key, i in own.items():
            k, v = node.value[i]
            key_now: str = renamed.get(key, key)
            if key_now != key:
                splices.append((k.start_mark.index, k.end_mark.index, _key(key_now, node)))
            if key_now in new:
                splices += self.compare(v, old[key], new[key_now], _Slot(k, node.flow_style))
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

    def _sequence(self, node: Any, old: Any, new: Sequence[Any], slot: _Slot) -> list[Splice]:
        starts = [
            i.start_mark.index if node.flow_style else self._places.dash_of(i) for i in node.value
        ]
        entries = [
            Entry(s, self._places.end_of(i)) for s, i in zip(starts, node.value, strict=True)
        ]
        kept, plan = matched(list(old), list(new))
        if not kept:
            return self._replace(node, new, slot)
        splices: list[Splice] = []
        for i, j in kept.items():
            splices += self.compare(node.value[i], old[i], new[j], _Slot(flow=node.flow_style))
        return splices + self._entries.rearranged(node, entries, plan)

    # One value for another ----------------------------------------------------------------------

    def _replace(self, node: Any, new: Any, slot: _Slot) -> list[Splice]:
        start, end = node.start_mark.index, self._places.end_of(node)
        if slot.flow:
            return [(start, end, self._glue(start, slot) + format_inside_flow(new))]
        after = self._lost_newline(node, end)
        if slot.key is None:
            glue = self._glue(start, slot)
            column = start - self._places.line_start(start) + len(glue)
            return [(start, end, glue + self._hanging(node, new, column) + after)]
        column = slot.key.start_mark.column
        colon = self.text.index(":", slot.key.end_mark.index) + 1
        key_line = self._places.line_end(colon)
        if _is_block(node) and start > key_line:  # what follows the colon stays
            gone = (key_line, self._places.line_end(end))
            if is_flat(new):
                return [(colon, colon, " " + format_flow(new)), (*gone, "")]
            return [(*gone, self._places.lines("\n" + format_block(new, column + 2)))]
        if is_flat(new):
            return [(start, end, self._glue(start, slot) + format_flow(new) + after)]
        return [(colon, end, after), self._places.lines_after(end, format_block(new, column + 2))]

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
