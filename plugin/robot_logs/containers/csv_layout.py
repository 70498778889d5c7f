"""How a text holds a table: its separator, its header, a row of units, comments before them."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from mjrig.robot_logs.containers.column_units import unit_of, unit_text

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
