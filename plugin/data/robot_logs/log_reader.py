"""Reading a log as a recording: format by its first bytes, fields by log.yaml or by guesses."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mjrig.core.errors import RecordingError
from mjrig.core.files.decoding import decoding
from mjrig.core.names import listed
from mjrig.data.recording.recording import Recording
from mjrig.data.robot_logs.containers import mcap_file, ros1_bag, rosbag2
from mjrig.data.robot_logs.containers import mcap_file as mcap_records
from mjrig.data.robot_logs.containers import ros1_bag as bag1_records
from mjrig.data.robot_logs.containers.container import LogFile, LogSamples, Topic, Wanted
from mjrig.data.robot_logs.containers.csv_table import (
    SUFFIXES,
    CsvTable,
    encoding_of,
    layout_of,
    opened,
)
from mjrig.data.robot_logs.containers.npz_table import NpzTable
from mjrig.data.robot_logs.containers.parquet_table import PARQUET, ParquetTable
from mjrig.data.robot_logs.log_map import LogMap, read_map
from mjrig.data.robot_logs.log_recording import LogOptions, log_recording
from mjrig.data.robot_logs.map_guess import guessed_map
from mjrig.data.robot_logs.survey import Survey, survey

# Opening ------------------------------------------------------------------------------------------


_ZIP = b"PK\x03\x04"
BINARY: dict[bytes, Callable[[Path], LogFile]] = {
    mcap_records.MAGIC: mcap_file.McapFile,
    rosbag2.SQLITE: rosbag2.SqliteBag,
    bag1_records.MAGIC: ros1_bag.Bag1,
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


# Reader -------------------------------------------------------------------------------------------
# Reading a log as a recording: by its log.yaml if there is one, else by guesses that are said.


Hints = Mapping[str, object]
#: What the mapping of a log is called beside it.
SUFFIX = ".log.yaml"


def read(path: Path, hints: Hints) -> Recording | None:
    """A log of a robot; None: it is none of the known containers.

    Raises:
        RecordingError: it is one, but damaged, or its mapping does not fit.
        MissingExtraError: a package is not installed.
    """
    if "columns" in hints:  # a table that is described by a hint has its own reader
        return None
    log = open_log(path, hints.get("episode"))
    if log is None:
        return None
    mapping = mapping_of(log, hints)
    return log_recording(log, mapping, options_of(path, hints))


def beside(path: Path) -> Path:
    """Where the mapping of a log is looked for, and written: `run.mcap` → `run.mcap.log.yaml`.

    With its ending, as run.csv and run.mcap in one folder are mapped in different ways.
    """
    return path.with_name(f"{path.name}{SUFFIX}")


def mapping_of(log: LogFile, hints: Hints, found: Survey | None = None) -> LogMap:
    """The mapping that a hint names, the one beside the log, or a guess by what was found.

    Raises:
        RecordingError: it cannot be read, or nothing can be guessed.
    """
    said = hints.get("map")
    if said is not None:
        return read_map(Path(str(said)))
    own = beside(log.path)
    if own.is_file():
        log.notes.append(f"read by {own.name}")
        return read_map(own)
    short = log.path.with_name(f"{log.path.stem}{SUFFIX}")
    if short != own and short.is_file():
        log.notes.append(
            f"{short.name} is not read: the mapping of {log.path.name} is {own.name}, or that of "
            f"--hint map={short.name}"
        )
    guess = guessed_map(found or survey(log), joints_of(hints))
    fps = hints.get("fps")
    if fps is not None and guess.rate is None:
        guess = replace(guess, rate=_number("fps", fps))
    log.notes.append(
        "what its fields are was guessed; `mjrig convert LOG --map` writes the guesses, to correct"
    )
    guesses = [f"{what} {why}" for what, why in guess.reasons.items() if " " not in what]
    log.notes += guesses
    return guess


def joints_of(hints: Hints) -> Sequence[str]:
    """Names of joints for a log that has indices only.

    Raises:
        RecordingError: they are no names.
    """
    given = hints.get("joints", ())
    if isinstance(given, str):
        given = [name.strip() for name in given.split(",")]
    if not isinstance(given, Sequence):
        raise RecordingError(f"the hint joints must be a list of names, got {given!r:.60}")
    return [str(name) for name in given]


def options_of(path: Path, hints: Hints) -> LogOptions:
    """What a user says beside the mapping.

    Raises:
        RecordingError: a hint is of another type.
    """
    step = hints.get("timestep", hints.get("physics_timestep"))
    offset, span = hints.get("offset"), hints.get("span")
    both: tuple[float, float] | None = None
    if span is not None:
        if not isinstance(span, list | tuple) or len(span) != 2:
            raise RecordingError(
                f"{path}: the hint span must be [first, last] seconds, got {span!r}"
            )
        both = _number("span", span[0]), _number("span", span[1])
        if not both[0] < both[1]:
            raise RecordingError(f"{path}: the hint span must ascend, got {listed(map(str, both))}")
    timestep = None if step is None else _number("timestep", step)
    if timestep is not None and not timestep > 0.0:
        raise RecordingError(f"{path}: the hint timestep must be > 0, got {timestep:g}")
    return LogOptions(
        timestep=timestep,
        offset=None if offset is None else _number("offset", offset),
        span=both,
    )


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordingError(f"the hint {name} must be a number, got {value!r:.60}")
    return float(value)
