"""Opening a log: the format is told by its first bytes, not by its ending."""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from mjrig.errors import RecordingError
from mjrig.files.decoding import decoding
from mjrig.robot_logs.containers import bag1, bag1_records, mcap_file, mcap_records, rosbag2
from mjrig.robot_logs.containers.container import LogFile, LogSamples, Topic, Wanted
from mjrig.robot_logs.containers.csv_layout import encoding_of, layout_of, opened
from mjrig.robot_logs.containers.csv_table import SUFFIXES, CsvTable
from mjrig.robot_logs.containers.npz_table import NpzTable
from mjrig.robot_logs.containers.parquet_table import PARQUET, ParquetTable

_ZIP = b"PK\x03\x04"
BINARY: dict[bytes, Callable[[Path], LogFile]] = {
    mcap_records.MAGIC: mcap_file.McapFile,
    rosbag2.SQLITE: rosbag2.SqliteBag,
    bag1_records.MAGIC: bag1.Bag1,
}


def open_log(path: Path, episode: object = None) -> LogFile | None:
    """The log; None: it is none of the known kinds.

    Raises:
        RecordingError: it is one, but cannot be read.
        MissingExtraError: a package is not installed.
    """
    if path.is_dir():
        return _folder(path, episode)
    with path.open("rb") as stream:
        start = stream.read(64)
    for magic, kind in BINARY.items():
        if start.startswith(magic):
            return kind(path)
    if start.startswith(PARQUET):
        return ParquetTable(path, episode)
    if start.startswith(_ZIP):
        return NpzTable(path) if path.suffix.lower() == ".npz" else None
    is_text = path.suffix.lower() in SUFFIXES and encoding_of(start)
    return CsvTable(path) if is_text and _has_header(path) else None


def _has_header(path: Path) -> bool:
    """Whether a text begins with names of columns, comments aside."""
    with decoding(path), opened(path) as stream:
        return layout_of(stream) is not None


def is_log_folder(path: Path) -> bool:
    """Whether a folder is one log: a rosbag2 or a data set, not a folder of recordings."""
    return (path / rosbag2.METADATA).is_file() or (path / "meta" / "info.json").is_file()


def _folder(path: Path, episode: object) -> LogFile | None:
    if (path / rosbag2.METADATA).is_file():
        return rosbag2.BagFolder(path)
    if (path / "meta" / "info.json").is_file():
        return ParquetTable(path, episode)
    tables = [p for p in sorted(path.glob("*.csv")) if _has_header(p)]
    return CsvFolder(path, tables) if tables else None


class CsvFolder(LogFile):
    """A folder of CSV tables, each with its own times: positions, velocities, …"""

    def __init__(self, path: Path, files: list[Path]) -> None:
        super().__init__(path, "folder of CSV tables")
        self._tables = {file.stem: CsvTable(file) for file in files}
        if len(self._tables) != len(files):
            raise RecordingError(f"{path}: two tables have the same name")
        self.topics: tuple[Topic, ...] = tuple(t.topics[0] for t in self._tables.values())

    def read(self, topics: Collection[str], wanted: Wanted) -> Iterator[LogSamples]:
        """The numbers that are wanted of some tables."""
        for name in topics:
            yield from self._tables[name].read([name], wanted)
            self.note(*self._tables[name].notes)
