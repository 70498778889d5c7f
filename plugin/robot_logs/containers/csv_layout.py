"""How a text holds a table: its separator, its header, a row of units, comments before them."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from mjrig.robot_logs.containers.column_units import unit_of, unit_text

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
