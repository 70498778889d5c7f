"""Tables as text: any header, any of the usual separators, comments before the header."""

import csv
import re
from array import array
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.errors import RecordingError
from mjrig.robot_logs.containers.container import BATCH, LogFile, LogSamples, Topic, Wanted
from mjrig.robot_logs.containers.csv_layout import is_comment, layout_of, number_of, opened

SUFFIXES = (".csv", ".tsv", ".txt")
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_STAMPS = np.zeros(0, dtype=np.int64)


class CsvTable(LogFile):
    """A table with a header; rows may have empty cells, as exports of several topics do."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "CSV table")
        with opened(path) as stream:
            layout = layout_of(stream)
        if layout is None:
            raise RecordingError(f"{path}: has no header that names its columns")
        self._layout, self.header = layout, layout.header
        twice = [name for name in self.header if name and self.header.count(name) > 1]
        if twice:
            raise RecordingError(f"{path}: the column {twice[0]!r} is there twice")
        with opened(path) as stream:
            widths = array("q", (len(row) for row in self._rows(stream)))
        is_cut = len(widths) > 1 and widths[-1] < len(self.header)
        if is_cut:
            self.notes.append("the last row is cut off and left out")
        self._count = len(widths) - is_cut
        self.topics = (Topic(path.stem, "table", "table", self._count),)

    def _rows(self, stream: Any) -> Iterator[list[str]]:
        """The rows, without comments and empty lines."""
        lines = (line for line in stream if line.strip())
        rest = (line for line in islice(lines, self._layout.skipped, None) if not is_comment(line))
        separator = self._layout.separator
        if separator == " ":
            rest = (line.strip(" ") for line in rest)
        return csv.reader(rest, delimiter=separator, skipinitialspace=True)

    def read(self, topics: Collection[str], wanted: Wanted) -> Iterator[LogSamples]:
        """The columns that are wanted, some thousand rows at a time."""
        del topics  # there is one
        topic = self.topics[0].name
        with opened(self.path) as stream:
            rows = enumerate(islice(self._rows(stream), self._count), 1)
            while batch := list(islice(rows, BATCH)):
                chosen = [k for k, n in enumerate(self.header) if n and wanted(topic, n)]
                if not chosen:
                    return
                yield self._samples(batch, chosen)

    def _samples(self, batch: list[tuple[int, list[str]]], chosen: Sequence[int]) -> LogSamples:
        columns: dict[str, Any] = {}
        width = len(self.header)
        for number, row in batch:
            if len(row) != width and (len(row) < width or any(c.strip() for c in row[width:])):
                what = f"row {number} has {len(row)} columns, the header {width}"
                raise RecordingError(f"{self.path}: {what}")
        for k in chosen:
            name = self.header[k]
            cells = [row[k] for _, row in batch]
            columns[name] = _exact(cells)
            if columns[name] is None:
                columns[name] = np.frombuffer(array("d", map(_number, cells)), dtype=np.float64)
        return LogSamples(self.topics[0].name, _NO_STAMPS, _NO_STAMPS, columns)


def _exact(cells: Sequence[str]) -> Any:
    """Whole numbers that a float would round, such as nanoseconds since 1970; None: not these.

    Dates with a time (`2026-01-02T03:04:05.678`) become such nanoseconds.
    """
    if _DATE.match(cells[0].strip()):
        return _dates(cells)
    if len(cells[0].strip()) < 16 or not all(cell.strip().lstrip("-").isdigit() for cell in cells):
        return None
    try:
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    except OverflowError:
        return None


def _dates(cells: Sequence[str]) -> Any:
    try:
        found = [datetime.fromisoformat(cell.strip()) for cell in cells]
    except ValueError:
        return None
    passed = [(d if d.tzinfo else d.replace(tzinfo=UTC)) - _EPOCH for d in found]
    return np.array([d // timedelta(microseconds=1) * 1000 for d in passed], dtype=np.int64)


def _number(cell: str) -> float:
    """A number; not a number for an empty cell and for text."""
    found = number_of(cell)
    return float("nan") if found is None else found
