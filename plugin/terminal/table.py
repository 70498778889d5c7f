"""Plain text tables for the terminal."""

from collections.abc import Iterable, Sequence


def format_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table with aligned columns; columns that hold nothing are left out."""
    body = [tuple(row) for row in rows]
    used = [i for i in range(len(header)) if any(row[i] for row in body)]
    lines = [[header[i] for i in used], *([row[i] for i in used] for row in body)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(used))]
    numeric = [all(_is_number(row[i]) for row in body) for i in used]
    return [
        "  ".join(
            cell.rjust(w) if n else cell.ljust(w)
            for cell, w, n in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in lines
    ]


def _is_number(text: str) -> bool:
    try:
        float(text or "0")
    except ValueError:
        return False
    return True
