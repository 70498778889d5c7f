"""The columns of a log that its mapping uses, topic by topic; nothing else is kept in memory."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import large_empty, large_rows, let_go
from mjrig.core.errors import RecordingError
from mjrig.core.names import listed, nearest, suggestion
from mjrig.data.robot_logs.containers.container import LogFile, LogSamples, Stamps
from mjrig.data.robot_logs.log_map import STAMPS, LogMap, LogSource
from mjrig.data.robot_logs.survey import HEADERS, POINTS, TICK, stamps_of, used_fields

Numbers = npt.NDArray[Any]
#: Bytes of columns that may be in memory before they are given back.
LET_GO = 64 << 20


@dataclass(frozen=True)
class TopicData:
    """One topic: its stamps by kind, and the mapped columns; NaN where a message lacks one.

    Attributes:
        times: the column of a table that holds its times; None: messages have stamps.
    """

    name: str
    stamps: Mapping[str, Stamps]
    columns: dict[str, Numbers]
    times: Numbers | None = None

    def __len__(self) -> int:
        if self.times is not None:
            return len(self.times)
        return max((len(s) for s in self.stamps.values()), default=_rows(self.columns))


def _rows(columns: Mapping[str, Numbers]) -> int:
    return max((len(c) for c in columns.values()), default=0)


def load(log: LogFile, mapping: LogMap) -> dict[str, TopicData]:
    """Read what a mapping names.

    Raises:
        RecordingError: a topic or a field is not in the log, or its messages cannot be read.
    """
    paths = used_fields(mapping)
    _check_topics(log, mapping, paths)
    stamps = {path for pair in HEADERS for path in pair} | {TICK}
    times = {t: s.stamp for t, s in mapping.time.items() if s.stamp not in STAMPS}
    trajectories = {t for t, own in paths.items() if any(p.startswith(POINTS) for p in own)}

    there: dict[str, set[str]] = {topic: set() for topic in paths}

    def wanted(topic: str, path: str) -> bool:
        there[topic].add(path)
        if path in paths[topic] or path in stamps or path == times.get(topic):
            return True
        return topic in trajectories and path.startswith("points[")

    parts = {t.name: _Gathered(t.count) for t in log.topics if t.name in paths}
    for samples in log.read(sorted(paths), wanted):
        parts[samples.topic].add(samples)
    found = {topic: parts[topic].data(topic, times.get(topic)) for topic in paths}
    _check_fields(log, mapping, found, there)
    return found


def _check_topics(log: LogFile, mapping: LogMap, paths: Mapping[str, set[str]]) -> None:
    where = mapping.path or log.path
    known = {topic.name: topic for topic in log.topics}
    for name in paths:
        if name not in known:
            raise RecordingError(
                f"{where}: {log.path.name} has no topic {name!r}; {suggestion(name, known)}"
            )
        if known[name].problem:
            raise RecordingError(f"{log.path}: {name}: {known[name].problem}")


def _check_fields(
    log: LogFile,
    mapping: LogMap,
    found: Mapping[str, TopicData],
    there: Mapping[str, Collection[str]],
) -> None:
    """Refuse a mapping that names what is not in the log; `there` are the fields of each topic."""
    where = mapping.path or log.path
    positions = mapping.places("position")
    lacking = {n: p for n, p in positions.items() if not _are_there(p, found)}
    if lacking:
        name, places = next(iter(lacking.items()))
        if not places:
            raise RecordingError(f"{where}: no position is mapped for {name}")
        source, path = places[0]
        raise RecordingError(
            f"{where}: {source.topic} of {log.path.name} has no {path!r}, the position of {name}"
            + _others(list(lacking), len(positions), path, there[source.topic])
        )
    for quantity, sources in mapping.sources.items():
        every = [place for places in mapping.places(quantity).values() for place in places]
        for source in sources:
            own = [(s, path) for s, path in every if s is source]
            if not _are_there(own, found):
                raise RecordingError(_unmatched(where, log, quantity, source, own, there))


def _are_there(places: Sequence[tuple[LogSource, str]], found: Mapping[str, TopicData]) -> bool:
    return any(path in found[source.topic].columns for source, path in places)


def _others(lacking: list[str], joints: int, path: str, there: Collection[str]) -> str:
    if len(lacking) == joints and nearest(path, there) is None:
        return ": it is of another robot, or the field is another one"
    more = f"; it lacks {listed(lacking)}" if len(lacking) > 1 else ""
    return f"{more}; {suggestion(path, sorted(there))}"


def _unmatched(
    where: Path,
    log: LogFile,
    quantity: str,
    source: LogSource,
    own: Sequence[tuple[LogSource, str]],
    there: Mapping[str, Collection[str]],
) -> str:
    """A field that no joint has: it was mistyped, or its `order` names none of the joints."""
    if not own:
        return f"{where}: {quantity}: the order of {source.field!r} names none of the joints"
    as_joint = "" if source.joint else f", such as {own[0][1]!r}"
    return (
        f"{where}: {quantity}: {source.topic} of {log.path.name} has no field {source.field!r}"
        f"{as_joint}; {suggestion(own[0][1], sorted(there[source.topic]))}"
    )


class _Gathered:
    """Batches of a topic's messages, put into the columns of all of them as they come."""

    def __init__(self, capacity: int) -> None:
        self._capacity, self._count, self._fresh = capacity, 0, 0
        self._columns: dict[str, Numbers] = {}
        self._stamps: dict[str, Stamps] | None = None

    def add(self, samples: LogSamples) -> None:
        rows = slice(self._count, self._count + samples.count)
        if rows.stop > self._capacity:  # a file may hold more than it says
            self._grow(2 * rows.stop)
        self._add_stamps(stamps_of(samples), rows)
        for path, values in samples.columns.items():
            if path not in STAMPS and path not in _HEADER_PATHS:
                self._column(path, values.dtype)[rows] = values
        for path in self._columns.keys() - samples.columns.keys():
            self._column(path, np.dtype(np.float32))[rows] = np.nan
        self._count = rows.stop
        self._fresh += samples.count * (len(self._columns) + 1) * 8
        if self._fresh > LET_GO:
            let_go()
            self._fresh = 0

    def _column(self, path: str, kind: Any) -> Numbers:
        """The column of a path, that holds numbers of a kind; none before it was first there."""
        known = self._columns.get(path)
        if known is None:
            kind = kind if kind.kind == "f" or not self._count else np.dtype(np.float64)
            made = large_empty(self._capacity, kind)
            made[: self._count] = np.nan if self._count else 0
        elif known.dtype == kind or (known.dtype.kind == "f" and kind == np.float32):
            return known
        else:
            made = large_empty(self._capacity, np.promote_types(np.float64, known.dtype))
            made[: self._count] = known[: self._count]
        self._columns[path] = made
        return made

    def _add_stamps(self, own: Mapping[str, Stamps], rows: slice) -> None:
        """Kinds of stamps that all messages have."""
        if self._stamps is None:
            self._stamps = {kind: large_empty(self._capacity, np.int64) for kind in own}
        self._stamps = {kind: kept for kind, kept in self._stamps.items() if kind in own}
        for kind, kept in self._stamps.items():
            kept[rows] = own[kind]

    def _grow(self, capacity: int) -> None:
        for columns in (self._columns, self._stamps or {}):
            for path, values in columns.items():
                columns[path] = large_empty(capacity, values.dtype)
                columns[path][: self._count] = values[: self._count]
        self._capacity = capacity

    def data(self, topic: str, times: str | None) -> TopicData:
        """All of it, in the order it was recorded."""
        rows = slice(0, self._count)
        stamps = {kind: values[rows] for kind, values in (self._stamps or {}).items()}
        columns = {path: values[rows] for path, values in self._columns.items()}
        log = stamps.get("log")
        if log is not None and (np.diff(log) < 0).any():
            order = np.argsort(log, kind="stable")
            columns = {path: large_rows(values, order) for path, values in columns.items()}
            stamps = {kind: large_rows(values, order) for kind, values in stamps.items()}
        let_go()
        at = columns.pop(times, None) if times is not None else None
        return TopicData(topic, stamps, columns, at)


_HEADER_PATHS = {path for pair in HEADERS for path in pair}
