"""Change a YAML text so that it says something else, touching only the lines that must change.

The new data is compared with what the text says now; each difference becomes one splice at the
parser's marks. The result is parsed again and compared before anybody gets to see it.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

import yaml

from mjrig.errors import SceneError
from mjrig.properties.bounds import number
from mjrig.yaml_text.yaml_document import AliasNode, Document

Splice = tuple[int, int, str]
_MERGE = "tag:yaml.org,2002:merge"
_BLANK = " \t\r\n"


def updated_text(document: Document, data: Any) -> str:
    """The text with the smallest change that makes it say `data`.

    Raises:
        SceneError: that cannot be done by splicing (an edit of what YAML aliases stand for).
    """
    differ = _Differ(document, data)
    if document.root is None:
        splices = [differ.lines_after(len(document.text), format_block(data, 0))]
    else:
        splices = differ.compare(document.root, document.data, data, _Slot())
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


# Values to text ---------------------------------------------------------------------------------


class _Dumper(yaml.SafeDumper):
    """Every value written out, on one line."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def _text(self, data: str) -> Any:
        style = '"' if len(data.splitlines()) > 1 or data[-1:].isspace() else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper._text)


def format_flow(value: Any) -> str:
    """A value on one line, as it may stand behind a key."""
    text = _dump(value)
    return text.removesuffix("...\n").removesuffix("\n")


def format_inside_flow(value: Any) -> str:
    """A value on one line, as it may stand between brackets: `a,b` needs quotes there."""
    return _dump([value])[1:-2]


def _dump(value: Any, style: str | None = None) -> str:
    text: str = yaml.dump(
        value,
        Dumper=_Dumper,
        default_flow_style=True,
        default_style=style,
        width=1_000_000,
        sort_keys=False,
        allow_unicode=True,
    )
    return text


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
        return "\n".join(f"{pad}- {format_block(item, indent + 2).lstrip(' ')}" for item in value)
    return pad + format_flow(value)


def _is_flat(value: Any) -> bool:
    """Whether a value reads well on one line: a scalar, or a collection of scalars."""
    items = value.values() if isinstance(value, Mapping) else value
    if isinstance(value, str) or not isinstance(value, Mapping | Sequence):
        return True
    return all(not isinstance(i, Mapping | list | tuple) for i in items)


# Differences to splices -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Slot:
    """Where a value stands: behind a key (its node), in a flow collection, or neither."""

    key: Any = None
    flow: bool = False


@dataclass(frozen=True)
class _Entry:
    """One item of a list, or one key with its value: from its dash, key or bracket to its end."""

    start: int
    end: int


@dataclass
class _Plan:
    """What becomes of the entries of a collection."""

    gone: set[int] = field(default_factory=set)
    #: Place among the old entries → the new ones that go in front of it.
    fresh: dict[int, Any] = field(default_factory=dict)


class _Differ:
    """Collects splices; every method returns the splices of one node."""

    def __init__(self, document: Document, data: Any) -> None:
        self.document, self.text = document, document.text
        self.newline = "\r\n" if "\r\n" in self.text else "\n"
        self._dashes: list[int] | None = None
        uses = Counter(id(a.target) for a in _aliases(document.root))
        self._shared = set(uses)
        #: What is shared and said by all who share it in the same new way: written once.
        self._common = _common(document.root, data, uses)

    def compare(self, node: Any, old: Any, new: Any, slot: _Slot) -> list[Splice]:
        with_target = isinstance(node, AliasNode) and id(node.target) in self._common
        if same(old, new) or with_target:  # an alias changes with what it stands for
            return []
        if isinstance(node, AliasNode):  # it says something of its own from now on
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
            start, text = quoted.start_mark.index, _dump(new, quoted.style).rstrip("\n")
            return [(start, self._end(node), self._glue(start, slot) + text)]
        return self._replace(node, new, slot)

    def _mapping(self, node: Any, old: Any, new: Mapping[str, Any], slot: _Slot) -> list[Splice]:
        entries = [_Entry(k.start_mark.index, self._end(v)) for k, v in node.value]
        own: dict[str, int] = {k.value: i for i, (k, _) in enumerate(node.value) if k.tag != _MERGE}
        renamed = self._renamed_keys(node, own, old, new)
        now: dict[str, int] = {renamed.get(key, key): i for key, i in own.items()}
        plan = _Plan(gone={i for key, i in now.items() if key not in new})
        if len(plan.gone) == len(entries) or self._is_pair(node):
            return self._replace(node, new, slot)
        # A merged key that changes gets an entry of its own, which wins over the merged one.
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
        return splices + self._rearranged(node, entries, plan)

    def _renamed_keys(
        self, node: Any, own: Mapping[str, int], old: Any, new: Mapping[str, Any]
    ) -> dict[str, str]:
        """Keys that only have another name now: the value is the same and stands where it stood."""
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
        """Whether a key can be written anew: no alias needs it, and a blank follows its colon."""
        start, end = key.start_mark.index, key.end_mark.index
        is_tight = self.text[end : end + 1] == ":" and self.text[end + 1 : end + 2] not in _BLANK
        return not (isinstance(key, AliasNode) or self.text[start] in "&!" or is_tight)

    def _is_pair(self, node: Any) -> bool:
        """Whether a mapping is `a: 1` in `[a: 1]`: without brackets there is no room for more."""
        return bool(node.flow_style) and self.text[node.start_mark.index] not in "{&!"

    def _sequence(self, node: Any, old: Any, new: Sequence[Any], slot: _Slot) -> list[Splice]:
        starts = [i.start_mark.index if node.flow_style else self._dash(i) for i in node.value]
        entries = [_Entry(s, self._end(i)) for s, i in zip(starts, node.value, strict=True)]
        kept, plan = matched(list(old), list(new))
        if not kept:
            return self._replace(node, new, slot)
        splices: list[Splice] = []
        for i, j in kept.items():
            splices += self.compare(node.value[i], old[i], new[j], _Slot(flow=node.flow_style))
        return splices + self._rearranged(node, entries, plan)

    # Entries removed and added ------------------------------------------------------------------

    def _rearranged(self, node: Any, entries: list[_Entry], plan: _Plan) -> list[Splice]:
        if node.flow_style:
            return [*self._flow_removed(entries, plan), *self._flow_added(entries, plan)]
        start = entries[0].start
        column = start - self._line_start(start)
        if not self.text[self._line_start(start) : start].strip(_BLANK):
            return self._block_changed(entries, plan, column, 0)
        # `- name: x`: the first entry shares its line with the dash, which stays.
        first = next(i for i in range(len(entries)) if i not in plan.gone)
        fresh = _joined([plan.fresh.pop(i) for i in range(first + 1) if i in plan.fresh])
        splices = self._block_changed(entries, plan, column, first)
        if fresh is not None:
            new = self._lines(format_block(fresh, column)).lstrip(" ")
            if first:
                splices.append((start, self._line_end(entries[first - 1].end), new))
            else:
                splices.append((start, start, new + self.newline + " " * column))
        elif first:
            splices.append(self._moved_up(entries, first))
        return splices

    def _moved_up(self, entries: list[_Entry], first: int) -> Splice:
        """The entries before `first` go; it takes their place behind the dash."""
        start, end = entries[0].start, self._line_end(entries[first - 1].end)
        if self.text[end : entries[first].start].strip(_BLANK):  # a comment: the dash stays alone
            return (len(self.text[:start].rstrip(" ")), end, "")
        return (start, entries[first].start, "")

    def _block_changed(
        self, entries: list[_Entry], plan: _Plan, column: int, first: int
    ) -> list[Splice]:
        """Whole lines taken out and put in, from the entry `first` on."""
        splices: list[Splice] = []
        for i in sorted(plan.gone):
            if i >= first:
                start, end = self._line_start(entries[i].start), self._next_line(entries[i].end)
                splices.append((start, end, ""))
        for place, fresh in plan.fresh.items():
            block = format_block(fresh, column)
            before = max(place - 1, 0)
            if place and before not in plan.gone:
                splices.append(self.lines_after(entries[before].end, block))
            else:
                at = self._line_start(entries[before].start)
                splices.append((at, at, self._lines(block) + self.newline))
        return splices

    def _flow_removed(self, entries: list[_Entry], plan: _Plan) -> Iterable[Splice]:
        kept = [i for i in range(len(entries)) if i not in plan.gone]
        for i in sorted(plan.gone):
            if i < kept[-1]:
                yield (entries[i].start, entries[i + 1].start, "")
            else:
                yield (entries[i - 1].end, entries[i].end, "")

    def _flow_added(self, entries: list[_Entry], plan: _Plan) -> Iterable[Splice]:
        first = next(i for i in range(len(entries)) if i not in plan.gone)
        for place, fresh in plan.fresh.items():
            text = format_flow(fresh)[1:-1]
            if place <= first:
                yield (entries[first].start, entries[first].start, text + ", ")
            else:
                last = max(i for i in range(place) if i not in plan.gone)
                yield (entries[last].end, entries[last].end, ", " + text)

    # One value for another ----------------------------------------------------------------------

    def _replace(self, node: Any, new: Any, slot: _Slot) -> list[Splice]:
        start, end = node.start_mark.index, self._end(node)
        if slot.flow:
            return [(start, end, self._glue(start, slot) + format_inside_flow(new))]
        after = self._lost_newline(node, end)
        if slot.key is None:
            glue = self._glue(start, slot)
            column = start - self._line_start(start) + len(glue)
            return [(start, end, glue + self._hanging(node, new, column) + after)]
        column = slot.key.start_mark.column
        colon = self.text.index(":", slot.key.end_mark.index) + 1
        key_line = self._line_end(colon)
        if _is_block(node) and start > key_line:  # what stands behind the colon stays
            gone = (key_line, self._line_end(end))
            if _is_flat(new):
                return [(colon, colon, " " + format_flow(new)), (*gone, "")]
            return [(*gone, self._lines("\n" + format_block(new, column + 2)))]
        if _is_flat(new):
            return [(start, end, self._glue(start, slot) + format_flow(new) + after)]
        return [(colon, end, after), self.lines_after(end, format_block(new, column + 2))]

    def _hanging(self, node: Any, new: Any, column: int) -> str:
        """A value that begins where the old one did, behind a dash or at the top of the text."""
        is_plain = not isinstance(new, Mapping | list | tuple) or not new
        was_plain = not isinstance(node, yaml.CollectionNode)
        if is_plain or (was_plain and _is_flat(new)) or not (was_plain or _is_block(node)):
            return format_flow(new)
        return self._lines(format_block(new, column)).lstrip(" ")

    def _glue(self, start: int, slot: _Slot) -> str:
        """What must stand between the text before a value and the value."""
        if slot.flow and slot.key is not None:
            between = self.text[slot.key.end_mark.index : start]
            if ":" not in between:  # `{a}`: a key alone
                return ": "
        return " " if self.text[start - 1 : start] in (":", "-") else ""

    def _lost_newline(self, node: Any, end: int) -> str:
        """A block scalar that keeps its blank lines ends at the start of the next line."""
        is_kept = end > 0 and self.text[end - 1] == "\n" and isinstance(node, yaml.ScalarNode)
        return self.newline if is_kept else ""

    # Places in the text -------------------------------------------------------------------------

    def lines_after(self, index: int, block: str) -> Splice:
        """Put lines below the one an entry ends on."""
        block = self._lines(block)
        if index > 0 and self.text[index - 1] == "\n":  # it ends with the line break
            return (index, index, block + self.newline)
        at = self._next_line(index)
        if self.text[at - 1 : at] == "\n" or not self.text:
            return (at, at, block + self.newline)
        return (at, at, self.newline + block)

    def _lines(self, block: str) -> str:
        return block.replace("\n", self.newline)

    def _end(self, node: Any) -> int:
        """Where the content of a node ends, without the blank lines and comments behind it."""
        if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
            last = node.value[-1]
            return self._end(last[1] if isinstance(last, tuple) else last)
        start, end = int(node.start_mark.index), int(node.end_mark.index)
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            header = self.text[start : self._line_end(start)].partition("#")[0]
            return end if "+" in header else start + len(self.text[start:end].rstrip(_BLANK))
        return end

    def _dash(self, node: Any) -> int:
        """The dash of a list item: the last one before it that is not inside a text."""
        if self._dashes is None:
            tokens = yaml.scan(self.text, Loader=yaml.SafeLoader)
            dashes = (t for t in tokens if isinstance(t, yaml.BlockEntryToken))
            self._dashes = [t.start_mark.index for t in dashes]
        return self._dashes[bisect_left(self._dashes, node.start_mark.index) - 1]

    def _line_start(self, index: int) -> int:
        return self.text.rfind("\n", 0, index) + 1

    def _line_end(self, index: int) -> int:
        """Where the line break of a line begins."""
        end = self.text.find("\n", index)
        end = len(self.text) if end < 0 else end
        return end - 1 if end > index and self.text[end - 1] == "\r" else end

    def _next_line(self, index: int) -> int:
        if index > 0 and self.text[index - 1] == "\n":
            return index
        return self.text.find("\n", index) + 1 or len(self.text)


def _is_block(node: Any) -> bool:
    return isinstance(node, yaml.CollectionNode) and not node.flow_style


def _is_quoted(node: Any) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.style in ("'", '"')


def _aliases(node: Any) -> Iterable[AliasNode]:
    if isinstance(node, AliasNode):
        yield node
    elif isinstance(node, yaml.CollectionNode):
        for item in node.value:
            for part in item if isinstance(item, tuple) else (item,):
                yield from _aliases(part)


def _common(root: Any, data: Any, uses: Mapping[int, int]) -> set[int]:
    """The shared nodes that say one and the same in the new data, wherever they are used."""
    said: dict[int, list[Any]] = {}
    for node, new in _said(root, data):
        said.setdefault(node, []).append(new)
    return {
        node
        for node, count in uses.items()
        if len(values := said.get(node, [])) == count + 1
        and all(same(values[0], v) for v in values)
    }


def _said(node: Any, new: Any) -> Iterable[tuple[int, Any]]:
    """What the new data says in the place of each node."""
    if isinstance(node, AliasNode):
        yield id(node.target), new
        return
    yield id(node), new
    if isinstance(node, yaml.MappingNode) and isinstance(new, Mapping):
        for key, value in node.value:
            if key.tag != _MERGE and key.value in new:
                yield from _said(value, new[key.value])
    elif isinstance(node, yaml.SequenceNode) and isinstance(new, list | tuple):
        if len(node.value) == len(new):
            for item, value in zip(node.value, new, strict=True):
                yield from _said(item, value)


def _joined(parts: list[Any]) -> Any:
    """New entries of one place: lists strung together, or mappings in one; None for none."""
    if not parts:
        return None
    if isinstance(parts[0], Mapping):
        return {key: value for part in parts for key, value in part.items()}
    return [item for part in parts for item in part]


def _place(key: str, new: Mapping[str, Any], entries: Mapping[str, int], end: int) -> int:
    """Where among the entries a new key goes: behind the one it stands behind in the new data."""
    keys = list(new)
    before = [k for k in keys[: keys.index(key)] if k in entries]
    if before:
        return entries[before[-1]] + 1
    return 0 if any(k in entries for k in keys) else end


def _key(key: str, node: Any) -> str:
    return format_inside_flow(key) if node.flow_style else format_flow(key)


def matched(old: list[Any], new: list[Any]) -> tuple[dict[int, int], _Plan]:
    """Which items of a list live on as which; the rest goes or is new."""
    if len(old) == len(new) and all(number(v) is not None for v in (*old, *new)):
        return {i: i for i in range(len(old))}, _Plan()  # a vector: each number has its own place
    kept: dict[int, int] = {}
    plan = _Plan()
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


def identity(item: Any) -> str:
    """What makes a list item the same one after an edit: its name, else its type, else itself."""
    if isinstance(item, Mapping):
        return str(item.get("name", item.get("type", sorted(item))))
    return repr(item)
