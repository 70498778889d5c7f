"""Reports on disk: report.json for programs, report.html for people."""

import json
import math
import os
from pathlib import Path

import numpy as np

from mjrig.errors import MjrigError
from mjrig.files.replacing import whole_file
from mjrig.sim2sim.compare.result import Replay
from mjrig.sim2sim.report.html import page


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


def write_report(replay: Replay, folder: Path) -> None:
    """Write `report.json` and `report.html` into a folder; it is made if need be.

    Raises:
        MjrigError: it cannot be written there.
    """
    prepare_folder(folder)
    text = json.dumps(plain(replay.to_data()), indent=2, ensure_ascii=False, allow_nan=False)
    with whole_file(folder / "report.json") as data, whole_file(folder / "report.html") as shown:
        data.write_text(f"{text}\n", encoding="utf-8")
        shown.write_text(page(replay), encoding="utf-8")


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
