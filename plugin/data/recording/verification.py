"""Verification of a recording: reads everything and lists damaged columns and rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mjrig.core.errors import RecordingError
from mjrig.core.names import how_many
from mjrig.data.recording.csv_file import MARK, checksum_fits, has_checksum
from mjrig.data.recording.file_limits import check_regular
from mjrig.data.recording.h5_columns import H5Columns, said_rows
from mjrig.data.recording.h5_reader import opened
from mjrig.data.recording.npz_arrays import damaged_arrays, npz_names
from mjrig.data.recording.readers import read_recording


@dataclass(frozen=True)
class Verification:
    """What was found in a recording.

    Attributes:
        checked: what has checksums, in words; empty: it has none.
        damage: what is damaged, a line each; empty: nothing, as far as anybody can tell.
    """

    path: Path
    checked: str
    damage: tuple[str, ...] = ()

    def text(self) -> str:
        """The result for a terminal."""
        if self.damage:
            return "\n".join([f"{self.path}: is damaged", *(f"  {line}" for line in self.damage)])
        if self.checked:
            return f"{self.path}: whole: {self.checked}"
        return f"{self.path}: can be read; it has no checksums, so changed numbers go unnoticed"


def verify(path: str | Path, hints: Mapping[str, object] | None = None) -> Verification:
    """Read all of a recording, damaged or not.

    Raises:
        RecordingError: it cannot be read for another reason than damage that has a place.
    """
    path = Path(path)
    check_regular(path)
    checked, damage = _checksums(path)
    if not damage:
        try:
            read_recording(path, hints)
        except RecordingError as error:
            if not checked:
                raise
            damage = [str(error).removeprefix(f"{path}: ").removeprefix("is damaged: ")]
    return Verification(path, checked, tuple(damage))


def _checksums(path: Path) -> tuple[str, list[str]]:
    """What has checksums, and what does not fit its own."""
    if not path.is_file():
        return "", []
    with opened(path) as file:
        if file is not None:
            return _columns(H5Columns(path, file))
    names = npz_names(path)
    if names is not None:
        bad = damaged_arrays(path)
        return how_many(len(names), "array"), [f"{name}: {what}" for name, what in bad.items()]
    with path.open("rb") as stream:
        is_csv = stream.read(len(MARK)) == MARK.encode()
    if is_csv and has_checksum(path):
        whole = checksum_fits(path)
        return "the table", [] if whole else ["the table: its content is not what was written"]
    return "", []


def _columns(columns: H5Columns) -> tuple[str, list[str]]:
    damage = [f"attributes of {name or 'the file'}" for name in columns.damaged_groups()]
    for name, column in columns.items():
        if bad := column.damaged_rows():
            damage.append(f"{name}: {said_rows(bad)}")
    safe = sum(column.has_checksums for column in columns.values())
    some = "" if safe == len(columns) else f" of {len(columns)}"
    return f"{how_many(safe, 'column')}{some}" if safe else "", damage
