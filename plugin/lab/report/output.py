"""Output of reports: text tables, values for JSON, figures as files."""

import json
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.errors import MjrigError
from mjrig.core.files.atomic_writes import whole_file

# Table --------------------------------------------------------------------------------------------
# Plain text tables for the terminal.


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
        float("0" if text in ("", "-") else text)
    except ValueError:
        return False
    return True


# Plain --------------------------------------------------------------------------------------------
# Values for JSON.


def plain(value: object) -> object:
    """The same for JSON, which has no infinity and no NaN: they become text."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return value.item() if isinstance(value, np.generic) else str(value)


def to_json(value: object) -> str:
    """Values as the JSON that all commands print and write."""
    return json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)


def prepare_folder(folder: Path) -> None:
    """Check that a report can be written, before a long run rather than after it.

    Raises:
        MjrigError: it cannot be written there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MjrigError(f"{folder}: cannot be written: {error.strerror}") from error
    if not os.access(folder, os.W_OK):
        raise MjrigError(f"{folder}: cannot be written: Permission denied")


# Figures ------------------------------------------------------------------------------------------
# Figures of commands, written whole or not at all.


def save_figure(figure: Any, path: Path) -> None:
    """Write a matplotlib figure and close it.

    Raises:
        MjrigError: it cannot be written there, or not in the format the suffix names.
    """
    from matplotlib import pyplot

    try:
        figure.tight_layout()
        with whole_file(path) as file:
            figure.savefig(file, dpi=110)
    except ValueError as error:  # unknown image suffix
        raise MjrigError(f"{path}: cannot be written: {error}") from error
    finally:
        pyplot.close(figure)
