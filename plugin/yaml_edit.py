"""Change a YAML text so that it says something else, touching only the lines that must change.

The new data is compared with what the text says now; each difference becomes one splice at the
parser's marks. The result is parsed again and compared before anybody gets to see it.
"""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

import yaml

from mjrig.errors import SceneError
from mjrig.property_kinds import number
from mjrig.yaml_document import Document

Splice = tuple[int, int, str]


def updated_text(document: Document, data: Any) -> str:
    """The text with the smallest change that makes it say `data`.

    Raises:
        SceneError: that cannot be done by splicing (an edit below a YAML alias).
    """
    if document.root is None:
        return document.text + format_block(data, 0) + "\n"
    splices = sorted(_Differ(document.text).compare(document.root, document.data, data))
    text = document.text
    for start, end, new in reversed(splices):
        text = text[:start] + new + text[end:]
    if not same(Document(text, document.file).data, data):
        raise SceneError(
            f"{document.file}:1:1: the change cannot be written without rewriting the file; "
            "does it touch a value shared by a YAML alias? write that value out"
        )
    return text


def same(a: Any, b: Any) -> bool:
    """Whether two plain values say the same: `1e-3` as text is the number."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, str) != isinstance(b, str):
        return number(a) is not None and number(a) == number(b)
    return (type(a) is type(b) and a == b) or (number(a) is not None and number(a) == number(b))


def format_flow(value: Any) -> str:
    """A value on one line."""
    text = yaml.safe_dump(
        value, default_flow_style=True, width=1_000_000, sort_keys=False, allow_unicode=True
    )
    return text.removesuffix("...\n").strip()


def format_block(value: Any, indent: int) -> str:
    """A value as an indented block; lists and mappings of plain values stay on one line."""
    pad = " " * indent
    if isinstance(value, Mapping) and value:
        lines = []
        for key, item in value.items():
            head = f"{pad}{format_flow(key)}:"
            if _is_flat(item):
                lines.append(f"{head} {format_flow(item)}")
            else:
                lines.append(f"{head}\n{format_block(item, indent + 2)}")
        return "\n".join(lines)
    if isinstance(value, list | tuple) and value:
        return "\n".join(f"{pad}- {format_block(item, indent + 2).lstrip()}" for item in value)
    return pad + format_flow(value)


def _is_flat(value: Any) -> bool:
    """Whether a value reads well on one line: a scalar, or a collection of scalars."""
    items = value.values() if isinstance(value, Mapping) else value
    if isinstance(value, str) or not isinstance(value, Mapping | Sequence):
        return True
    return all(not isinstance(i, Mapping | list | tuple) for i in items)


class _Differ:
    """Collects splices; every method returns the splices of one node."""

    def __init__(self, text: str) -> None:
        self.text = text

    def compare(self, node: Any, old: Any, new: Any, indent: int = -2) -> list[Splice]:
        if same(old, new):
            return []
        if isinstance(node, yaml.MappingNode) and isinstance(new, Mapping) and old and new:
            return self._mapping(node, old, new)
        if isinstance(node, yaml.SequenceNode) and isinstance(new, list) and old and new:
            return self._sequence(node, old, new)
        return [self._replace(node, new, indent)]

    def _replace(self, node: Any, new: Any, indent: int) -> Splice:
        start, end = node.start_mark.index, self._end(node)
        block = indent >= 0 and not _is_flat(new)
        if block:
            while start > 0 and self.text[start - 1] == " ":
                start -= 1
            return (start, end, "\n" + format_block(new, indent + 2))
        glue = " " if start > 0 and self.text[start - 1] in ":-" else ""
        return (start, end, glue + format_flow(new))

    # Mappings -----------------------------------------------------------------------------------

    def _mapping(self, node: Any, old: Any, new: Mapping[str, Any]) -> list[Splice]:
        entries = {k.value: (k, v) for k, v in node.value}
        indent = -2 if node.flow_style else node.start_mark.column
        splices: list[Splice] = []
        for key, (_, value_node) in entries.items():
            if key in new and key in old:
                splices += self.compare(value_node, old[key], new[key], indent)
        gone = [k for k in entries if k not in new]
        if len(gone) == len(entries):
            return [self._replace(node, dict(new), -2)]
        for key in gone:
            splices.append(self._remove_entry(node, list(entries), key, entries))
        fresh = {k: v for k, v in new.items() if k not in old}
        if fresh:
            kept = [v for k, (_, v) in entries.items() if k not in gone]
            splices.append(self._add_entries(node, kept[-1], fresh))
        return splices

    def _add_entries(self, node: Any, last: Any, fresh: Mapping[str, Any]) -> Splice:
        if node.flow_style:
            at = self._end(last)
            return (
                at,
                at,
                "".join(f", {format_flow(k)}: {format_flow(v)}" for k, v in fresh.items()),
            )
        at = self._line_end(self._end(last))
        return (at, at, "\n" + format_block(fresh, node.start_mark.column))

    def _remove_entry(
        self, node: Any, keys: list[str], key: str, entries: Mapping[str, Any]
    ) -> Splice:
        key_node, value_node = entries[key]
        start, end = key_node.start_mark.index, self._end(value_node)
        position = keys.index(key)
        if node.flow_style:
            if position + 1 < len(keys):
                return (start, entries[keys[position + 1]][0].start_mark.index, "")
            return (self._end(entries[keys[position - 1]][1]), end, "")
        first_of_item = self.text[self._line_start(start) : start].strip() != ""
        if first_of_item:  # `- name: x`: the dash stays, the next key moves up
            return (start, entries[keys[position + 1]][0].start_mark.index, "")
        return (self._line_start(start), self._next_line(end), "")

    # Sequences ----------------------------------------------------------------------------------

    def _sequence(self, node: Any, old: list[Any], new: list[Any]) -> list[Splice]:
        if node.flow_style and len(old) != len(new):
            return [self._replace(node, new, -2)]
        splices: list[Splice] = []
        matcher = SequenceMatcher(None, [*map(_identity, old)], [*map(_identity, new)], False)
        for tag, i, i_end, j, j_end in matcher.get_opcodes():
            if tag == "equal" or (tag == "replace" and i_end - i == j_end - j):
                for a, b in zip(range(i, i_end), range(j, j_end), strict=True):
                    splices += self.compare(node.value[a], old[a], new[b])
                continue
            for a in range(i, i_end):
                start = self._dash(node.value[a])
                end = self._end(node.value[a])
                splices.append((self._line_start(start), self._next_line(end), ""))
            if j_end > j:
                splices.append(self._insert_items(node, i, i_end, new[j:j_end]))
        return splices

    def _insert_items(self, node: Any, i: int, i_end: int, items: list[Any]) -> Splice:
        column = self._dash(node.value[0]) - self._line_start(self._dash(node.value[0]))
        block = format_block(items, column)
        if i_end > i:  # takes the place of removed items
            at = self._line_start(self._dash(node.value[i]))
            return (at, at, block + "\n")
        if i == 0:
            at = self._line_start(self._dash(node.value[0]))
            return (at, at, block + "\n")
        at = self._line_end(self._end(node.value[i - 1]))
        return (at, at, "\n" + block)

    # Places in the text -------------------------------------------------------------------------

    def _end(self, node: Any) -> int:
        """Where the content of a node ends, without the blank lines and comments behind it."""
        if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
            last = node.value[-1]
            return self._end(last[1] if isinstance(last, tuple) else last)
        start, end = int(node.start_mark.index), int(node.end_mark.index)
        return start + len(self.text[start:end].rstrip())

    def _dash(self, node: Any) -> int:
        return self.text.rindex("-", 0, node.start_mark.index)

    def _line_start(self, index: int) -> int:
        return self.text.rfind("\n", 0, index) + 1

    def _line_end(self, index: int) -> int:
        end = self.text.find("\n", index)
        return len(self.text) if end < 0 else end

    def _next_line(self, index: int) -> int:
        return min(self._line_end(index) + 1, len(self.text))


def _identity(item: Any) -> str:
    """What makes a list item the same one after an edit: its name, else its type, else itself."""
    if isinstance(item, Mapping):
        return str(item.get("name", item.get("type", sorted(item))))
    return repr(item)
