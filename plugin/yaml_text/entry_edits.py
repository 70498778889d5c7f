"""Removing and inserting entries of YAML lists and mappings, as splices of the text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mjrig.yaml_text.comparison import Plan
from mjrig.yaml_text.formatting import format_block, format_flow
from mjrig.yaml_text.text_places import BLANK, Splice, TextPlaces


@dataclass(frozen=True)
class Entry:
    """One item of a list, or one key with its value: from its dash, key or bracket to its end."""

    start: int
    end: int


class EntryEdits:
    """Removes and adds whole entries of one text; every method returns splices."""

    def __init__(self, places: TextPlaces) -> None:
        self._places, self._text = places, places.text

    def rearranged(self, node: Any, entries: list[Entry], plan: Plan) -> list[Splice]:
        """The entries of a list or mapping as planned: some gone, some new."""
        if node.flow_style:
            return [*self._flow_removed(entries, plan), *self._flow_added(entries, plan)]
        start = entries[0].start
        column = start - self._places.line_start(start)
        if not self._text[self._places.line_start(start) : start].strip(BLANK):
            return self._block_changed(entries, plan, column, 0)
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

    def _moved_up(self, entries: list[Entry], first: int) -> Splice:
        """The entries before `first` are removed; it takes their place after the dash."""
        start, end = entries[0].start, self._places.line_end(entries[first - 1].end)
        if self._text[end : entries[first].start].strip(BLANK):  # a comment: the dash stays alone
            return (len(self._text[:start].rstrip(" ")), end, "")
        return (start, entries[first].start, "")

    def _block_changed(
        self, entries: list[Entry], plan: Plan, column: int, first: int
    ) -> list[Splice]:
        """Whole lines removed and inserted, from the entry `first` on."""
        splices: list[Splice] = []
        for i in sorted(plan.gone):
            if i >= first:
                start = self._places.line_start(entries[i].start)
                splices.append((start, self._places.next_line(entries[i].end), ""))
        for place, fresh in plan.fresh.items():
            block = format_block(fresh, column)
            before = max(place - 1, 0)
            if place and before not in plan.gone:
                splices.append(self._places.lines_after(entries[before].end, block))
            else:
                at = self._places.line_start(entries[before].start)
                splices.append((at, at, self._places.lines(block) + self._places.newline))
        return splices

    def _flow_removed(self, entries: list[Entry], plan: Plan) -> Iterable[Splice]:
        kept = [i for i in range(len(entries)) if i not in plan.gone]
        for i in sorted(plan.gone):
            if i < kept[-1]:
                yield (entries[i].start, entries[i + 1].start, "")
            else:
                yield (entries[i - 1].end, entries[i].end, "")

    def _flow_added(self, entries: list[Entry], plan: Plan) -> Iterable[Splice]:
        first = next(i for i in range(len(entries)) if i not in plan.gone)
        for place, fresh in plan.fresh.items():
            text = format_flow(fresh)[1:-1]
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
