"""Parquet files and folders of them; the footer bounds what their columns unpack to.

The footer is parsed first, because pyarrow ends the process if it is asked for the description of
a damaged column.
"""

import json
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.errors import RecordingError, hint
from mjrig.core.files.decoding import decoding, reason
from mjrig.core.files.paths import read_limited
from mjrig.core.names import how_many
from mjrig.data.recording.file_limits import NUMBER, check_size
from mjrig.data.robot_logs.containers.container import BATCH, LogFile, LogSamples, Topic, Wanted
from mjrig.data.robot_logs.containers.decompression import package

# Parquet footer -----------------------------------------------------------------------------------
# The description at the end of a Parquet file, as far as it bounds what its columns unpack to.


#: Bytes of the longest description that is looked at; files with more are large themselves.
_MAX_FOOTER = 1 << 20
#: Field numbers: row groups of a file, columns of a group, description of a column, its values.
_GROUPS, _COLUMNS, _META, _VALUES = 4, 1, 3, 5


def most_values(path: Path) -> int:
    """Values of the longest column, items of lists counted; 0: it cannot be known."""
    with path.open("rb") as stream:
        stream.seek(-8, 2)
        end, mark = struct.unpack("<I4s", stream.read(8))
        if mark != b"PAR1" or end > min(_MAX_FOOTER, path.stat().st_size - 8):
            return 0
        stream.seek(-8 - end, 2)
        content = stream.read(end)
    counts: dict[int, int] = {}
    try:
        for group in _Compact(content).struct()[_GROUPS]:
            for k, column in enumerate(group[_COLUMNS]):
                counts[k] = counts.get(k, 0) + int(column[_META][_VALUES])
    except (IndexError, KeyError, TypeError, AttributeError, RecursionError, struct.error):
        return 0  # it is damaged, or encrypted: pyarrow reports that
    return max(counts.values(), default=0)


class _Compact:
    """Reads Thrift's compact protocol: a struct is a dictionary by field number."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def struct(self) -> dict[int, Any]:
        """Fields until the one that ends it."""
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._signed()
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind)
        return fields

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)

    def _value(self, kind: int) -> Any:
        if kind in (1, 2, 3):  # flags and bytes in a list
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind in (7, 8):
            size = 8 if kind == 7 else self._unsigned()
            if self._at + size > len(self._content):
                raise IndexError(self._at)
            self._at += size
            return None
        if kind in (9, 10):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._unsigned()
            return [self._value(head & 15) for _ in range(size)]
        if kind == 12:
            return self.struct()
        raise KeyError(kind)  # maps are not used in such descriptions


# Parquet table ------------------------------------------------------------------------------------


_NO_STAMPS = np.zeros(0, dtype=np.int64)
PARQUET = b"PAR1"
#: Which episode a row of a data set is of.
_EPISODE = "episode_index"
#: Bytes of a column that are read at once.
_BUFFER = 1 << 16
_INFO = Path("meta", "info.json")
#: Bytes of that file; it describes columns, and has some thousand.
_MAX_INFO = 16_000_000
CUT = "is cut off or damaged"


class ParquetTable(LogFile):
    """A Parquet file, or a data set in the layout of LeRobot: `meta/info.json` and `data/`."""

    def __init__(self, path: Path, episode: object = None) -> None:
        super().__init__(path, "Parquet table")
        self._parquet = package("pyarrow.parquet", "a Parquet file")
        self._files = [path] if path.is_file() else sorted((path / "data").rglob("*.parquet"))
        if not self._files:
            raise RecordingError(f"{path}: has no Parquet files in data/")
        info = self._info(path)
        self._names = {
            str(name): about["names"]
            for name, about in _mapping(info.get("features")).items()
            if isinstance(about, dict) and isinstance(about.get("names"), list)
        }
        self.constants = {"fps": info["fps"]} if isinstance(info.get("fps"), int | float) else {}
        self._files = [file for file in self._files if self._is_readable(file)]
        if not self._files:
            raise RecordingError(f"{path}: no file can be read: {self.notes[-1]}")
        self._episode = self._chosen(episode)
        self.topics = (Topic(path.stem, "table", "table", sum(map(self._rows, self._files))),)

    def _info(self, path: Path) -> Mapping[str, Any]:
        """`meta/info.json` of the data set that a file is in; empty: none."""
        for folder in (path, *path.parents)[:4]:
            if (folder / _INFO).is_file():
                try:
                    with decoding(folder / _INFO):
                        return _mapping(json.loads(read_limited(folder / _INFO, _MAX_INFO)))
                except RecordingError as error:
                    self.note(f"{error}; names and rate are not known")
                    return {}
        return {}

    def _is_readable(self, file: Path) -> bool:
        """Whether a file has a description; one of several that has none is skipped."""
        try:
            self._rows(file)
        except RecordingError as error:
            if len(self._files) == 1:
                raise
            self.note(f"skipped: {error}")
            return False
        return True

    def _rows(self, file: Path) -> int:
        with decoding(file, problem=CUT):
            about = self._parquet.read_metadata(file)
            rows = int(about.num_rows)
            # A list has many values in one row, and a run of equal ones takes a few bytes.
            check_size(file, max(rows, most_values(file)) * NUMBER)
            return rows

    def _chosen(self, episode: object) -> int | None:
        known: set[int] = set()
        for file in self._files:
            with decoding(file, problem=CUT):
                if _EPISODE not in self._parquet.read_schema(file).names:
                    continue
            for batch in self._batches(file, [_EPISODE]):
                with decoding(file, f"the column {_EPISODE!r}"):
                    known |= {int(v) for v in batch.column(0).unique().to_pylist() if v is not None}
        if not known:
            return None
        if episode is None and len(known) > 1:
            raise RecordingError(
                f"{self.path}: has {len(known)} episodes ({min(known)} to {max(known)}); choose "
                "one: " + hint("episode", min(known))
            )
        chosen = min(known) if episode is None else episode
        if chosen not in known:
            raise RecordingError(
                f"{self.path}: has no episode {chosen!r}; it has {min(known)} to {max(known)}"
            )
        return int(str(chosen))

    def read(self, topics: Collection[str], wanted: Wanted) -> Iterator[LogSamples]:
        """The columns that are wanted, some thousand rows at a time."""
        del topics  # there is one
        names: list[str] = []
        for file in self._files:
            for batch in self._batches(file, names):
                samples, names[:] = self._samples(batch, wanted)
                if not names:
                    return
                yield samples

    def _batches(self, file: Path, names: Sequence[str]) -> Iterator[Any]:
        """Some thousand rows at a time; groups of rows that are damaged are skipped.

        `names` are the columns to read, which may change in between; empty: all.
        """
        bad: dict[int, str] = {}
        count = 0
        # Without a buffer a column's part of a group of rows, which may be the whole file, is in
        # memory as one.
        with decoding(file), self._parquet.ParquetFile(file, buffer_size=_BUFFER) as opened:
            groups = int(opened.num_row_groups)
            for group in range(groups):
                batches = opened.iter_batches(BATCH, row_groups=[group], columns=[*names] or None)
                while True:
                    try:
                        batch = next(batches, None)
                    except Exception as error:  # pyarrow has no common base class
                        bad[group] = reason(error)
                        break
                    if batch is None:
                        break
                    count += 1
                    yield batch
        if not bad:
            return
        group, why = next(iter(bad.items()))
        first = f"the first is group {group}: {why}"
        lost = f"{len(bad)} of {how_many(groups, 'group')} of rows damaged"
        if not count:
            raise RecordingError(f"{file}: no row can be read: {lost}; {first}")
        self.note(f"{file.name}: {lost} and skipped from the damage on; {first}")

    def _samples(self, batch: Any, wanted: Wanted) -> tuple[LogSamples, list[str]]:
        """Numbers of some rows, and the columns of the file that they are from."""
        columns: dict[str, Any] = {}
        used: list[str] = []
        topic, episode = self.topics[0].name, None
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            found = {p: v for p, v in self._numbers(name, column) if wanted(topic, p)}
            if name == _EPISODE and self._episode is not None:
                episode = np.asarray(column.to_numpy(zero_copy_only=False)) == self._episode
            elif not found:
                continue
            used.append(name)
            columns |= found
        if episode is not None:
            columns = {path: values[episode] for path, values in columns.items()}
        used = used if columns else []
        return LogSamples(topic, _NO_STAMPS, _NO_STAMPS, columns), used

    def _numbers(self, name: str, column: Any) -> Iterator[tuple[str, Any]]:
        kind = str(column.type)
        if "list" in kind:
            try:
                table = np.array(column.to_pylist(), dtype=np.float64)
            except (TypeError, ValueError, OverflowError):
                return  # texts, or lists of different lengths
            if table.ndim == 2:
                names = self._names.get(name, ())
                labels = names if len(names) == table.shape[1] else range(table.shape[1])
                for k, label in enumerate(labels):
                    yield f"{name}[{label}]", table[:, k]
            return
        with decoding(self.path, f"the column {name!r}"):
            values = column.to_numpy(zero_copy_only=False)
        if values.dtype.kind == "M":
            values = values.astype("datetime64[ns]").astype(np.int64)
        if values.dtype.kind in "fiub":
            yield name, values


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
