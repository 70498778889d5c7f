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
from mjrig.files.decoding import decoding
from mjrig.names import how_many
from mjrig.robot_logs.containers.container import BATCH, LogFile, LogSamples, Topic, Wanted
from mjrig.robot_logs.containers.csv_layout import is_comment, layout_of, number_of, opened

#: Fraction of rows that may be damaged and are skipped; a table with more has another header.
MAX_BAD_ROWS = 0.1
SUFFIXES = (".csv", ".tsv", ".txt")
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_STAMPS = np.zeros(0, dtype=np.int64)


class CsvTable(LogFile):
    """A table with a header; rows may have empty cells, as exports of several topics do."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "CSV table")
        with decoding(path), opened(path) as stream:
            layout = layout_of(stream)
        if layout is None:
            raise RecordingError(f"{path}: has no header that names its columns")
        self._layout, self.header = layout, layout.header
        twice = [name for name in self.header if name and self.header.count(name) > 1]
        if twice:
            raise RecordingError(f"{path}: the column {twice[0]!r} is there twice")
        with decoding(path), opened(path) as stream:
            widths = array("q", map(self._width, self._rows(stream)))
        width = len(self.header)
        is_cut = len(widths) > 1 and widths[-1] < width
        if is_cut:
            self.note("the last row is cut off and left out")
            widths.pop()
        bad = [row for row, cells in enumerate(widths, 1) if cells != width]
        if bad:
            first = f"row {bad[0]} has {widths[bad[0] - 1]} columns, the header {width}"
            if len(bad) > MAX_BAD_ROWS * len(widths):
                raise RecordingError(f"{path}: {first}")
            self.note(f"{len(bad)} of {how_many(len(widths), 'row')} skipped: {first}")
        self._end = len(widths)
        self.topics = (Topic(path.stem, "table", "table", len(widths) - len(bad)),)

    def _width(self, row: Sequence[str]) -> int:
        """Cells of a row; empty ones behind the last column do not count."""
        width = len(self.header)
        return len(row) if len(row) <= width or any(c.strip() for c in row[width:]) else width

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
        with decoding(self.path), opened(self.path) as stream:
            width = len(self.header)
            every = islice(self._rows(stream), self._end)
            rows = (row for row in every if self._width(row) == width)
            while batch := list(islice(rows, BATCH)):
                chosen = [k for k, n in enumerate(self.header) if n and wanted(topic, n)]
                if not chosen:
                    return
                yield self._samples(batch, chosen)

    def _samples(self, batch: list[list[str]], chosen: Sequence[int]) -> LogSamples:
        columns: dict[str, Any] = {}
        for k in chosen:
            name = self.header[k]
            cells = [row[k] for row in batch]
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
    try:
        passed = [(d if d.tzinfo else d.replace(tzinfo=UTC)) - _EPOCH for d in found]
    except OverflowError:  # a year and a zone that no date has
        return None
    return np.array([d // timedelta(microseconds=1) * 1000 for d in passed], dtype=np.int64)


def _number(cell: str) -> float:
    """A number; not a number for an empty cell and for text."""
    found = number_of(cell)
    return float("nan") if found is None else found
