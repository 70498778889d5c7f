"""ConsoleView: lines filtered by level and words, with details opened line by line."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mjrig.editor.session.console import LEVELS, Console, Line
from mjrig.editor.ui.text_filter import matches


@dataclass(frozen=True)
class ConsoleRow:
    """One row of text: a line, or one row of its details."""

    line: Line
    text: str
    is_detail: bool = False


@dataclass
class ConsoleView:
    """The choices of one console panel."""

    console: Console
    levels: set[str] = field(default_factory=lambda: set(LEVELS))
    words: str = ""
    _opened: list[Line] = field(default_factory=list)

    def toggle_level(self, level: str) -> None:
        """Show a level, or hide it."""
        self.levels ^= {level}

    def is_open(self, line: Line) -> bool:
        """Whether the details of a line are seen."""
        return any(opened is line for opened in self._opened)

    def toggle(self, line: Line) -> None:
        """Open the details of a line, or close them."""
        if self.is_open(line):
            self._opened = [opened for opened in self._opened if opened is not line]
        else:
            self._opened.append(line)

    def counts(self) -> dict[str, int]:
        """How many lines there are of each level."""
        lines = tuple(self.console.lines)  # other threads may write
        return {level: sum(line.level == level for line in lines) for level in LEVELS}

    def lines(self) -> list[Line]:
        """The lines that are seen."""
        return [
            line
            for line in tuple(self.console.lines)
            if line.level in self.levels and matches(self.words, f"{line.text} {line.detail}")
        ]

    def rows(self) -> list[ConsoleRow]:
        """The rows that are seen, each one row of text high."""
        return [row for line in self.lines() for row in self._rows(line)]

    def _rows(self, line: Line) -> Iterable[ConsoleRow]:
        first, *rest = line.text.splitlines() or [""]
        yield ConsoleRow(line, first)
        if self.is_open(line):
            rest += line.detail.rstrip().splitlines()
            yield from (ConsoleRow(line, text, is_detail=True) for text in rest)

    def clear(self) -> None:
        """Forget all lines."""
        self.console.lines.clear()
        self._opened.clear()


def has_more(line: Line) -> bool:
    """Whether there is something to open."""
    return bool(line.detail) or len(line.text.splitlines()) > 1


def clock(line: Line) -> str:
    """Local time at which a line was written."""
    return time.strftime("%H:%M:%S", time.localtime(time.time() - (time.monotonic() - line.at)))


def as_text(lines: Sequence[Line]) -> str:
    """Lines with their details, for the clipboard."""
    parts = (f"{clock(n)} {n.level}: {n.text}\n{n.detail}".rstrip() for n in lines)
    return "\n".join(parts)
