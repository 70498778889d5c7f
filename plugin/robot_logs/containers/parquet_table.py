"""Parquet files, and folders of them."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.errors import RecordingError
from mjrig.robot_logs.containers.container import BATCH, LogFile, LogSamples, Topic, Wanted
from mjrig.robot_logs.containers.mcap_file import package

_NO_STAMPS = np.zeros(0, dtype=np.int64)
PARQUET = b"PAR1"
#: Which episode a row of a data set is of.
_EPISODE = "episode_index"
#: Bytes of a column that are read at once.
_BUFFER = 1 << 16
_INFO = Path("meta", "info.json")


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
        if _EPISODE not in schema.names:
            return None
        known: set[int] = set()
        for file in self._files:
            column = self._parquet.read_table(file, columns=[_EPISODE])[0]
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
        names: list[str] | None = None  # those that are read; None: all, as none was looked at
        for file in self._files:
            # Without a buffer a column's part of a group of rows, which may be the whole file, is
            # in memory as one.
            with self._parquet.ParquetFile(file, buffer_size=_BUFFER) as opened:
                for group in range(opened.num_row_groups):
                    batches = opened.iter_batches(BATCH, row_groups=[group], columns=names)
                    for batch in batches:
                        samples, names = self._samples(batch, wanted)
                        if not names:
                            return
                        yield samples

    def _samples(self, batch: Any, wanted: Wanted) -> tuple[LogSamples, list[str]]:
        """Numbers of some rows, and the columns of the file that they are from."""
        columns: dict[str, Any] = {}
        used: list[str] = []
        topic, episode = self.topics[0].name, None
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            found = {p: v for p, v in self._numbers(name, column) if wanted(topic, p)}
            if name == _EPISODE and self._episode is not None:
                episode = np.asarray(column) == self._episode
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
