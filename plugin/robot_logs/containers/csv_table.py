"""Tables as text: any header, any of the usual separators, comments before the header."""

import csv
from array import array
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.errors import RecordingError
from mjrig.robot_logs.containers.container import BATCH, LogFile, LogSamples, Topic, Wanted

SUFFIXES = (".csv", ".tsv", ".txt")
_SEPARATORS = ",;\t"
_NO_STAMPS = np.zeros(0, dtype=np.int64)


class CsvTable(LogFile):
    """A table with a header; rows may have empty cells, as exports of several topics do."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "CSV table")
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            rows = self._rows(stream)
            self.header = [name.strip() for name in next(rows, [])]
            count = sum(1 for _ in rows)
        if not is_header(self.header):
            raise RecordingError(f"{path}: has no header that names its columns")
        twice = [name for name in self.header if name and self.header.count(name) > 1]
        if twice:
            raise RecordingError(f"{path}: the column {twice[0]!r} is there twice")
        self.topics = (Topic(path.stem, "table", "table", count),)

    def _rows(self, stream: Any) -> Iterator[list[str]]:
        """The header and what follows, without comments and empty lines."""
        lines = (line for line in stream if line.strip())
        first = next((line for line in lines if not _is_comment(line)), "")
        separator = max(_SEPARATORS, key=first.count)
        rest = (line for line in lines if not line.startswith("#"))
        return csv.reader(chain([first], rest), delimiter=separator)

    def read(self, topics: Collection[str], wanted: Wanted) -> Iterator[LogSamples]:
        """The columns that are wanted, some thousand rows at a time."""
        del topics  # there is one
        topic = self.topics[0].name
        with self.path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            rows = enumerate(self._rows(stream))
            next(rows, None)
            while batch := list(islice(rows, BATCH)):
                chosen = [k for k, n in enumerate(self.header) if n and wanted(topic, n)]
                yield self._samples(batch, chosen)

    def _samples(self, batch: list[tuple[int, list[str]]], chosen: Sequence[int]) -> LogSamples:
        columns: dict[str, Any] = {}
        for number, row in batch:
            if len(row) != len(self.header):
                what = f"row {number} has {len(row)} columns, the header {len(self.header)}"
                raise RecordingError(f"{self.path}: {what}")
        for k in chosen:
            name = self.header[k]
            cells = [row[k] for _, row in batch]
            columns[name] = _exact(cells)
            if columns[name] is None:
                columns[name] = np.frombuffer(array("d", map(_number, cells)), dtype=np.float64)
        return LogSamples(self.topics[0].name, _NO_STAMPS, _NO_STAMPS, columns)


def _is_comment(line: str) -> bool:
    """`# made by …`; not `#time,q`, which is a header."""
    return line.startswith("#") and not any(c in line for c in _SEPARATORS)


def is_header(row: Sequence[str]) -> bool:
    """Names, not numbers."""
    names = [name for name in row if name.strip()]
    return bool(names) and not any(_is_number(name) for name in names)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _exact(cells: Sequence[str]) -> Any:
    """Whole numbers that a float would round, such as nanoseconds since 1970; None: not these."""
    if len(cells[0].strip()) < 16 or not all(cell.strip().lstrip("-").isdigit() for cell in cells):
        return None
    try:
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    except OverflowError:
        return None


def _number(cell: str) -> float:
    """A number; not a number for an empty cell and for text."""
    try:
        return float(cell)
    except ValueError:
        return float("nan")
