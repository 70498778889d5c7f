"""Positions in a YAML text: where lines, values and the dashes of list items begin and end."""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

import yaml

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
