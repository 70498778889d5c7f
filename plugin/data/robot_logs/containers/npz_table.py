"""Tables in an npz file: arrays of one length, some thousand rows of them at a time."""

import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.errors import RecordingError
from mjrig.core.files.decoding import decoding
from mjrig.core.names import listed
from mjrig.data.recording.npz_arrays import NextRows, NpzMember, npz_members
from mjrig.data.robot_logs.containers.container import BATCH, LogFile, LogSamples, Topic, Wanted

_NO_STAMPS = np.zeros(0, dtype=np.int64)
#: Texts of more bytes are no names of columns.
_MOST_TEXT = 1 << 20
_TIMES = ("t", "time", "times", "timestamp", "timestamps", "stamp", "stamps")


class NpzTable(LogFile):
    """Arrays of one length: columns, or tables whose columns a list of names labels.

    Tables with a row per joint instead of a column are turned; it is said.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, "npz table")
        read = npz_members(path)
        if read is None:
            raise RecordingError(f"{path}: is no npz file")
        members, notes = read
        self.note(*notes)
        numbers = [m for m in members if m.dtype.kind in "fiub"]
        texts = [
            m for m in members if m.dtype.kind in "US" and m.size * m.dtype.itemsize < _MOST_TEXT
        ]
        with decoding(path), zipfile.ZipFile(path) as archive:
            labels = {m.name: m.whole(archive) for m in texts}
            single = {m.name: m.whole(archive) for m in numbers if m.size == 1}
        self.constants = {k: a.reshape(-1)[0].item() for k, a in single.items()}
        widths = {len(names) for names in labels.values() if names.ndim == 1}
        tables = [m for m in numbers if len(m.shape) in (1, 2) and m.size > 1]
        self._rows = rows_of(tables, widths)
        #: Array → path of each of its columns.
        self._tables: list[tuple[NpzMember, list[str]]] = []
        turned = []
        for stored in numbers:
            is_turned = stored.shape[:1] != (self._rows,) and stored.shape[1:] == (self._rows,)
            member = stored.turned() if is_turned else stored
            turned += [member.name] if is_turned else []
            if member.shape == (self._rows,):
                self._tables.append((member, [member.name]))
            elif len(member.shape) == 2 and member.shape[0] == self._rows:
                names = _labels(member.name, member.shape[1], labels)
                self._tables.append((member, [f"{member.name}[{n}]" for n in names]))
        if turned:
            self.notes.append(f"rows of {listed(turned)} are taken as columns: they are as long")
        self.topics = (Topic(path.stem, "table", "table", self._rows),)

    def read(self, topics: Collection[str], wanted: Wanted) -> Iterator[LogSamples]:
        """The columns that are wanted, some thousand rows at a time."""
        del topics  # there is one
        topic = self.topics[0].name
        with ExitStack() as stack:
            with decoding(self.path):
                archive = stack.enter_context(zipfile.ZipFile(self.path))
            readers: dict[str, NextRows] = {}
            left = self._tables
            for start in range(0, self._rows, BATCH):
                count = min(BATCH, self._rows - start)
                columns: dict[str, Any] = {}
                for member, paths in left:
                    chosen = [k for k, path in enumerate(paths) if wanted(topic, path)]
                    if not chosen:
                        readers.pop(member.name, None)
                        continue
                    if not start:
                        readers[member.name] = stack.enter_context(member.rows(archive))
                    values = readers[member.name](count).reshape(count, -1)
                    columns |= {paths[k]: values[:, k] for k in chosen}
                left = [table for table in left if table[0].name in readers]
                if not left:
                    return
                yield LogSamples(topic, _NO_STAMPS, _NO_STAMPS, columns)


def rows_of(members: Sequence[NpzMember], widths: Collection[int]) -> int:
    """How many rows the table has: as many as there are times, or as most numbers can be put in.

    A list of a robot's gains is as long as a table is wide, so lengths are weighed by the numbers
    of the arrays. Of the sides of a table the one that no list of names labels is the time, or else
    the longer.

    Args:
        members: columns and tables.
        widths: how long the lists of names are.
    """
    times = [m.shape[0] for m in members if m.name.lower() in _TIMES and len(m.shape) == 1]
    if times:
        return times[0]
    weights: dict[int, int] = {}
    for member in members:
        length = max([n for n in member.shape if n not in widths] or member.shape)
        weights[length] = weights.get(length, 0) + member.size
    return max(weights, key=lambda n: (weights[n], n), default=0)


def _labels(name: str, width: int, texts: Mapping[str, Any]) -> Sequence[object]:
    """Names of a table's columns: a list of texts of that length, by the most similar name."""
    fitting = {k: a for k, a in texts.items() if a.shape == (width,)}
    if not fitting:
        return range(width)
    best = max(fitting, key=lambda k: (len(_common(k, name)), k))
    return [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in fitting[best]]


def _common(one: str, two: str) -> str:
    size = next((k for k, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), None)
    return one[:size]
