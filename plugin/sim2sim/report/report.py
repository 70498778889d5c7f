"""Reports on disk: report.json for programs, report.html for people."""

import json
import os
from pathlib import Path

from mjrig.errors import MjrigError
from mjrig.files.replacing import whole_file
from mjrig.sim2sim.compare.result import Replay
from mjrig.sim2sim.report.html import page
from mjrig.sim2sim.report.plain import plain


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
