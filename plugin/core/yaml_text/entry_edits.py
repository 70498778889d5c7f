"""Edits of entries: removing and inserting items of YAML lists and mappings in the text."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import yaml

from mjrig.core.yaml_text.comparison import MovedEntry, Plan
from mjrig.core.yaml_text.formatting import format_block, format_flow, format_inside_flow

# Text places --------------------------------------------------------------------------------------
# Positions in a YAML text: where lines, values and the dashes of list items begin and end.


#: Replace the text between two indices.
Splice = tuple[int, int, str]
BLANK = " \t\r\n"


class TextPlaces:
    """A text and the places in it that edits need."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self._dashes: list[int] | None = None

    def lines_after(self, index: int, block: str) -> Splice:
        """Put lines below the one an entry ends on."""
        block = self.lines(block)
        if index > 0 and self.text[index - 1] == "\n":  # it ends with the line break
            return (index, index, block + self.newline)
        at = self.next_line(index)
        if self.text[at - 1 : at] == "\n" or not self.text:
            return (at, at, block + self.newline)
        return (at, at, self.newline + block)

    def lines(self, block: str) -> str:
        """A block with the line breaks of this text."""
        return block.replace("\n", self.newline)

    def end_of(self, node: Any) -> int:
        """Where the content of a node ends, without the blank lines and comments after it."""
        if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
            last = node.value[-1]
            return self.end_of(last[1] if isinstance(last, tuple) else last)
        start, end = int(node.start_mark.index), int(node.end_mark.index)
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            header = self.text[start : self.line_end(start)].partition("#")[0]
            return end if "+" in header else start + len(self.text[start:end].rstrip(BLANK))
        return end

    def dash_of(self, node: Any) -> int:
        """The dash of a list item: the last one before it that is not inside a text."""
        if self._dashes is None:
            tokens = yaml.scan(self.text, Loader=yaml.SafeLoader)
            dashes = (t for t in tokens if isinstance(t, yaml.BlockEntryToken))
            self._dashes = [t.start_mark.index for t in dashes]
        return self._dashes[bisect_left(self._dashes, node.start_mark.index) - 1]

    def line_start(self, index: int) -> int:
        """Where the line of an index begins."""
        return self.text.rfind("\n", 0, index) + 1

    def line_end(self, index: int) -> int:
        """Where the line break of a line begins."""
        end = self.text.find("\n", index)
        end = len(self.text) if end < 0 else end
        return end - 1 if end > index and self.text[end - 1] == "\r" else end

    def next_line(self, index: int) -> int:
        """Where the line below an index begins."""
        if index > 0 and self.text[index - 1] == "\n":
            return index
        return self.text.find("\n", index) + 1 or len(self.text)

    def without_word(self, start: int, word: str) -> Splice:
        """Remove a word that a value begins with, and the blanks between them."""
        end = start + len(word)
        while self.text[end : end + 1] in (" ", "\t"):
            end += 1
        is_alone = self.text[end : end + 1] in ("", "\n", "\r", "#")
        if is_alone and self.text[start - 1 : start] == " ":
            return (start - 1, start + len(word), "")
        return (start, end, "")


def spliced(text: str, splices: Iterable[Splice]) -> str:
    """A text with splices made; of several at one place the first listed comes first."""
    for start, end, new in reversed(sorted(splices, key=lambda s: s[:2])):
        text = text[:start] + new + text[end:]
    return text


# Entry edits --------------------------------------------------------------------------------------


#: A comma between brackets, with blanks in front of it.
_COMMA = re.compile(r"\s*,")


@dataclass(frozen=True)
class Entry:
    """One item of a list, or one key with its value: from its dash, key or bracket to its end."""

    start: int
    end: int


class EntryEdits:
    """Removes and adds whole entries of one text; every method returns splices."""

    def __init__(self, places: TextPlaces) -> None:
        self._places, self._text = places, places.text

    def rearranged(
        self,
        node: Any,
        entries: list[Entry],
        plan: Plan,
        moving: Mapping[int, Sequence[Splice]] | None = None,
    ) -> list[Splice]:
        """The entries of a list or mapping as planned: some gone, some new, some moved.

        Args:
            node: the list or mapping.
            entries: where its entries are.
            plan: what becomes of them.
            moving: the splices inside of those that move.
        """
        if node.flow_style:
            moved = {i: self._flow_chunk(entries[i], m) for i, m in (moving or {}).items()}
            added = self._flow_added(entries, plan, moved)
            return [*self._flow_removed(entries, plan), *added]
        start = entries[0].start
        column = start - self._places.line_start(start)
        if self.begins_line(start):
            return self._block_changed(entries, plan, column, 0, moving or {})
        # `- name: x`: the first entry shares its line with the dash, which stays.
        first = next(i for i in range(len(entries)) if i not in plan.gone)
        fresh = _joined([plan.fresh.pop(i) for i in range(first + 1) if i in plan.fresh])
        splices = self._block_changed(entries, plan, column, first)
        if fresh is not None:
            new = self._places.lines(format_block(fresh, column)).lstrip(" ")
            if first:
                splices.append((start, self._places.line_end(entries[first - 1].end), new))
            else:
                splices.append((start, start, new + self._places.newline + " " * column))
        elif first:
            splices.append(self._moved_up(entries, first))
        return splices

    def replaced(self, node: Any, entries: list[Entry], new: Sequence[Any]) -> list[Splice]:
        """Other items in the place of all items of a list; comments in front of them stay."""
        start, end = entries[0].start, entries[-1].end
        if node.flow_style:
            return [(start, end, ", ".join(map(format_inside_flow, new)))]
        plan = Plan(set(range(len(entries))), {0: list(new)})
        return self._block_changed(entries, plan, start - self._places.line_start(start), 0)

    def _moved_up(self, entries: list[Entry], first: int) -> Splice:
        """The entries before `first` are removed; it takes their place after the dash."""
        start, end = entries[0].start, self._places.line_end(entries[first - 1].end)
        if self._text[end : entries[first].start].strip(BLANK):  # a comment: the dash stays alone
            return (len(self._text[:start].rstrip(" ")), end, "")
        return (start, entries[first].start, "")

    def begins_line(self, start: int) -> bool:
        """Whether only blanks are in front of an entry."""
        return not self._text[self._places.line_start(start) : start].strip(BLANK)

    def _block_changed(
        self,
        entries: list[Entry],
        plan: Plan,
        column: int,
        first: int,
        moving: Mapping[int, Sequence[Splice]] = MappingProxyType({}),
    ) -> list[Splice]:
        """Whole lines removed, moved and inserted, from the entry `first` on."""
        splices: list[Splice] = []
        chunks = {i: self._chunk(entries, i) for i in moving}
        for i in sorted(plan.gone):
            if i in chunks:
                splices.append((*chunks[i], ""))
            elif i >= first:
                start = self._places.line_start(entries[i].start)
                splices.append((start, self._places.next_line(entries[i].end), ""))
        moved = {i: self._changed(chunks[i], inner) for i, inner in moving.items()}
        for place, fresh in plan.fresh.items():
            block = self._block(fresh, column, moved)
            before = max(place - 1, 0)
            if place and before not in plan.gone:
                splices.append(self._places.lines_after(self._chunk(entries, before)[1], block))
            else:
                at = self._places.line_start(entries[before].start)
                is_moved = any(isinstance(f, MovedEntry) for f in fresh)
                if before in chunks or (is_moved and before not in plan.gone):
                    at = self._chunk(entries, before)[0]  # above its comments
                splices.append((at, at, self._places.lines(block) + self._places.newline))
        return splices

    def _block(self, fresh: Any, column: int, moved: Mapping[int, str]) -> str:
        """The lines of new and moved entries."""
        if isinstance(fresh, Mapping) or not moved:
            return format_block(fresh, column)
        items = (
            moved[f.index] if isinstance(f, MovedEntry) else format_block([f], column)
            for f in fresh
        )
        return "\n".join(items)

    def _changed(self, chunk: tuple[int, int], splices: Sequence[Splice]) -> str:
        """The text of a chunk after splices in it, with plain line breaks and none at its end."""
        start, end = chunk
        inner = [(a - start, b - start, new) for a, b, new in splices]
        text = spliced(self._text[start:end], inner)
        return text.replace("\r\n", "\n").removesuffix("\n")

    def _chunk(self, entries: list[Entry], index: int) -> tuple[int, int]:
        """The lines of an entry: with comments right above it, and deeper ones below it."""
        entry = entries[index]
        start = self._places.line_start(entry.start)
        column = entry.start - start
        limit = self._places.next_line(entries[index - 1].end) if index else 0
        while start > limit:
            above = self._places.line_start(start - 1)
            if above < limit or self._comment_column(above) != column:
                break
            start = above
        end = self._places.next_line(entry.end)
        limit = entries[index + 1].start if index + 1 < len(entries) else len(self._text)
        while end < limit and self._comment_column(end) > column:
            end = self._places.next_line(end + 1)
        return start, end

    def _comment_column(self, start: int) -> int:
        """The column of the comment that a line consists of; -1: it is another line."""
        line = self._text[start : self._places.line_end(start)]
        column = len(line) - len(line.lstrip(" "))
        return column if line[column : column + 1] == "#" else -1

    # Between brackets ---------------------------------------------------------------------------

    def _flow_chunk(self, entry: Entry, splices: Sequence[Splice]) -> str:
        return self._changed((entry.start, entry.end), splices)

    def _flow_removed(self, entries: list[Entry], plan: Plan) -> list[Splice]:
        last = max(i for i in range(len(entries)) if i not in plan.gone)
        ranges: list[tuple[int, int]] = []
        trailing = entries[last].end, entries[-1].end
        if "#" not in self._text[slice(*trailing)]:
            ranges.append(trailing)  # with the comma in front of them
        for i in sorted(plan.gone):
            if i < last and "#" not in self._text[entries[i].end : entries[i + 1].start]:
                ranges.append((entries[i].start, entries[i + 1].start))
            elif i < last or trailing not in ranges:
                ranges.append(self._flow_entry_range(entries[i], comment=i not in plan.moved))
        return [(start, end, "") for start, end in _united(ranges)]

    def _flow_entry_range(self, entry: Entry, *, comment: bool) -> tuple[int, int]:
        """An entry and the comma after it; if it has lines to itself, all of them.

        A comma that remains in front of a closing bracket is valid.
        """
        comma = _COMMA.match(self._text, entry.end)
        end = comma.end() if comma else entry.end
        line_end = self._places.line_end(end)
        rest = self._text[end:line_end].strip(BLANK)
        begins_line = self.begins_line(entry.start)
        if comment and begins_line and rest.startswith("#"):
            end, rest = line_end, ""
        if not rest and begins_line:
            return self._places.line_start(entry.start), self._places.next_line(end)
        while self._text[end : end + 1] == " ":
            end += 1
        return entry.start, end

    def _flow_added(
        self, entries: list[Entry], plan: Plan, moved: Mapping[int, str]
    ) -> Iterable[Splice]:
        first = next(i for i in range(len(entries)) if i not in plan.gone)
        for place, fresh in plan.fresh.items():
            if isinstance(fresh, Mapping):
                text = format_flow(fresh)[1:-1]
            else:
                items = (
                    moved[f.index] if isinstance(f, MovedEntry) else format_inside_flow(f)
                    for f in fresh
                )
                text = ", ".join(items)
            if place <= first:
                yield (entries[first].start, entries[first].start, text + ", ")
            else:
                last = max(i for i in range(place) if i not in plan.gone)
                yield (entries[last].end, entries[last].end, ", " + text)


def _joined(parts: list[Any]) -> Any:
    """New entries for one place: lists concatenated, or mappings merged; None for none."""
    if not parts:
        return None
    if isinstance(parts[0], Mapping):
        return {key: value for part in parts for key, value in part.items()}
    return [item for part in parts for item in part]


def _united(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same places as ranges that do not overlap."""
    united: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if united and start <= united[-1][1]:
            united[-1] = (united[-1][0], max(end, united[-1][1]))
        else:
            united.append((start, end))
    return united
