"""Tables as text: any header and usual separator, a row of units, comments before the header."""

import csv
import re
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from mjrig.core.errors import RecordingError
from mjrig.core.files.decoding import decoding
from mjrig.core.names import how_many
from mjrig.data.robot_logs.containers.container import BATCH, LogFile, LogSamples, Topic, Wanted
from mjrig.data.robot_logs.units import unit_of, unit_text

# Csv layout ---------------------------------------------------------------------------------------


#: What a text may begin with, the longer first → how it is written; spreadsheets write "Unicode
#: text" in UTF-16.
_MARKS = {
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
#: Lines without white space alone that are looked at.
LOOKED_AT = 60
_SEPARATORS = ",;\t"
_COMMENTS = ("#", "%", "//")


@dataclass(frozen=True)
class CsvLayout:
    """Names of columns, with units of a row below them, and so many lines before the first row."""

    separator: str
    header: tuple[str, ...]
    skipped: int


def encoding_of(start: bytes) -> str:
    """How a text is written, by its first bytes; empty: it is no text."""
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return encoding
    if b"\0" not in start:
        return "utf-8-sig"
    # Without a mark: every second byte of Latin letters is 0.
    even = start[: len(start) // 2 * 2]
    if not any(even[1::2]) and all(even[::2]):
        return "utf-16-le"
    return "utf-16-be" if not any(even[::2]) and all(even[1::2]) else ""


def opened(path: Path) -> IO[str]:
    """A text, whatever it is written in; letters that it cannot hold are replaced."""
    with path.open("rb") as stream:
        encoding = encoding_of(stream.read(64))
    return path.open(encoding=encoding or "utf-8-sig", errors="replace", newline="")


def is_comment(line: str) -> bool:
    """A line that is no row."""
    return line.startswith(_COMMENTS)


def cells_of(line: str, separator: str) -> list[str]:
    """The cells of a line."""
    return next(csv.reader([line.strip("\r\n")], delimiter=separator, skipinitialspace=True), [])


def layout_of(lines: Iterable[str]) -> CsvLayout | None:
    """The layout of a table, by its first lines; None: no line names columns of rows below it."""
    first = list(islice((line for line in lines if line.strip()), LOOKED_AT))
    for k, line in enumerate(first):
        text = line.lstrip("#%").strip() if is_comment(line) else line
        separator = max(_SEPARATORS, key=text.count)
        separator = separator if separator in text else " "
        names = [name.strip() for name in cells_of(text.strip(" \r\n"), separator)]
        if not is_header(names):
            continue
        below = [n for n in range(k + 1, len(first)) if not is_comment(first[n])][:2]
        rows = [cells_of(first[n].strip(" \r\n"), separator) for n in below]
        if rows and _fits(names, rows[0]) and len(names) > 1:
            return CsvLayout(separator, tuple(names), k + 1)
        if len(rows) > 1 and _fits(names, rows[1]) and _are_units(names, rows[0]):
            return CsvLayout(separator, tuple(map(_with_unit, names, rows[0])), below[0] + 1)
    return None


def is_header(row: Sequence[str]) -> bool:
    """Names, not numbers."""
    names = [name for name in row if name.strip()]
    return bool(names) and not any(number_of(name) is not None for name in names)


def number_of(cell: str) -> float | None:
    """A number, also with a decimal comma; None: it is text, or empty."""
    try:
        return float(cell)
    except ValueError:
        pass
    try:
        return float(cell.replace(",", ".", 1))
    except ValueError:
        return None


def _fits(names: Sequence[str], row: Sequence[str]) -> bool:
    """Whether a row may be one of these columns: most of its cells are numbers, or empty."""
    cells = list(row)
    while len(cells) > len(names) and not cells[-1].strip():
        cells.pop()
    plain = [c for c in cells if number_of(c) is not None or not c.strip()]
    return len(cells) == len(names) and 2 * len(plain) >= len(cells)


def _are_units(names: Sequence[str], row: Sequence[str]) -> bool:
    filled = [cell for cell in row if cell.strip(" []()-")]
    known = [cell for cell in filled if unit_text(cell)]
    return len(row) == len(names) and len(known) * 2 >= len(filled) > 0


def _with_unit(name: str, cell: str) -> str:
    unit = unit_text(cell)
    return f"{name} [{unit}]" if unit and unit_of(name) is None else name


# Csv table ----------------------------------------------------------------------------------------


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
