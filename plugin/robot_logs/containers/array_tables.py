"""Tables as arrays: npz of any content, Parquet files and folders of them."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.errors import RecordingError
from mjrig.recording.integrity.npz_arrays import npz_arrays
from mjrig.robot_logs.containers.container import BATCH, LogFile, LogSamples, Topic, Wanted
from mjrig.robot_logs.containers.mcap_file import package

_NO_STAMPS = np.zeros(0, dtype=np.int64)
PARQUET = b"PAR1"
_INFO = Path("meta", "info.json")


class NpzTable(LogFile):
    """Arrays of one length: columns, or tables whose columns a list of names labels."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "npz table")
        arrays = npz_arrays(path)
        if arrays is None:
            raise RecordingError(f"{path}: is no npz file")
        texts = {k: a for k, a in arrays.items() if a.dtype.kind in "US"}
        numbers = {k: a for k, a in arrays.items() if a.dtype.kind in "fiub"}
        self.constants = {k: a.reshape(-1)[0].item() for k, a in numbers.items() if a.size == 1}
        lengths = [len(a) for a in numbers.values() if a.ndim in (1, 2) and a.size > 1]
        rows = max(set(lengths), key=lengths.count, default=0)
        self._columns: dict[str, Any] = {}
        for name, values in numbers.items():
            if values.ndim == 1 and len(values) == rows:
                self._columns[name] = values
            elif values.ndim == 2 and len(values) == rows:
                labels = _labels(name, values.shape[1], texts)
                self._columns |= {f"{name}[{n}]": values[:, k] for k, n in enumerate(labels)}
        self.topics = (Topic(path.stem, "table", "table", rows),)

    def read(self, topics: Collection[str], wanted: Wanted) -> Iterator[LogSamples]:
        """The columns that are wanted."""
        del topics  # there is one
        topic = self.topics[0].name
        chosen = {name: values for name, values in self._columns.items() if wanted(topic, name)}
        yield LogSamples(topic, _NO_STAMPS, _NO_STAMPS, chosen)


def _labels(name: str, width: int, texts: Mapping[str, Any]) -> Sequence[object]:
    """Names of a table's columns: a list of texts of that length, by the most similar name."""
    fitting = {k: a for k, a in texts.items() if a.shape == (width,)}
    if not fitting:
        return range(width)
    best = max(fitting, key=lambda k: (len(_common(k, name)), k))
    return [v.decode() if isinstance(v, bytes) else str(v) for v in fitting[best]]


def _common(one: str, two: str) -> str:
    size = next((k for k, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), None)
    return one[:size]


class ParquetTable(LogFile):
    """A Parquet file, or a data set in the layout of LeRobot: `meta/info.json` and `data/`."""

    def __init__(self, path: Path, episode: object = None) -> None:
        super().__init__(path, "Parquet table")
        self._parquet = package("pyarrow.parquet", "a Parquet file")
        self._files = [path] if path.is_file() else sorted((path / "data").rglob("*.parquet"))
        if not self._files:
            raise RecordingError(f"{path}: has no Parquet files in data/")
        info = _info(path)
        self._names = {
            str(name): about["names"]
            for name, about in dict(info.get("features", {})).items()
            if isinstance(about, dict) and isinstance(about.get("names"), list)
        }
        self.constants = {"fps": info["fps"]} if isinstance(info.get("fps"), int | float) else {}
        try:
            counts = [self._parquet.read_metadata(f).num_rows for f in self._files]
        except Exception as error:
            raise RecordingError(f"{path}: is cut off or damaged: {error}") from error
        self._episode = self._chosen(episode)
        self.topics = (Topic(path.stem, "table", "table", sum(counts)),)

    def _chosen(self, episode: object) -> int | None:
        schema = self._parquet.read_schema(self._files[0])
        if "episode_index" not in schema.names:
            return None
        known: set[int] = set()
        for file in self._files:
            column = self._parquet.read_table(file, columns=["episode_index"])[0]
            known |= {int(v) for v in column.unique().to_pylist()}
        if episode is None and len(known) > 1:
            raise RecordingError(
                f"{self.path}: has {len(known)} episodes ({min(known)} to {max(known)}); choose "
                f"one: --hint episode={min(known)}"
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
        for file in self._files:
            with self._parquet.ParquetFile(file) as opened:
                for batch in opened.iter_batches(batch_size=BATCH):
                    yield self._samples(batch, wanted)

    def _samples(self, batch: Any, wanted: Wanted) -> LogSamples:
        columns: dict[str, Any] = {}
        topic = self.topics[0].name
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            for path, values in self._numbers(name, column):
                if wanted(topic, path) or path == "episode_index":
                    columns[path] = values
        if self._episode is not None and "episode_index" in columns:
            own = columns["episode_index"] == self._episode
            columns = {path: values[own] for path, values in columns.items() if wanted(topic, path)}
        return LogSamples(topic, _NO_STAMPS, _NO_STAMPS, columns)

    def _numbers(self, name: str, column: Any) -> Iterator[tuple[str, Any]]:
        kind = str(column.type)
        if "list" in kind:
            rows = column.to_pylist()
            try:
                table = np.array(rows, dtype=np.float64)
            except (TypeError, ValueError):
                return  # texts, or lists of different lengths
            if table.ndim == 2:
                names = self._names.get(name, ())
                labels = names if len(names) == table.shape[1] else range(table.shape[1])
                for k, label in enumerate(labels):
                    yield f"{name}[{label}]", table[:, k]
            return
        values = column.to_numpy(zero_copy_only=False)
        if values.dtype.kind == "M":
            values = values.astype("datetime64[ns]").astype(np.int64)
        if values.dtype.kind in "fiub":
            yield name, values


def _info(path: Path) -> dict[str, Any]:
    """`meta/info.json` of the data set that a file is in; empty: none."""
    for folder in (path, *path.parents)[:4]:
        if (folder / _INFO).is_file():
            try:
                found = json.loads((folder / _INFO).read_text(encoding="utf-8"))
            except (OSError, ValueError, RecursionError):
                return {}
            return found if isinstance(found, dict) else {}
    return {}
