"""The mapped columns of a log, topic by topic; nothing else is kept in memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.errors import RecordingError
from mjrig.large_arrays import large_empty, large_rows, let_go
from mjrig.names import listed, suggestion
from mjrig.robot_logs.containers.container import LogFile, LogSamples, Stamps
from mjrig.robot_logs.mapping.log_map import STAMPS, LogMap, LogSource, MappedJoint
from mjrig.robot_logs.mapping.survey import HEADERS, TICK, stamps_of

Numbers = npt.NDArray[Any]
#: Points of trajectories follow the first.
POINTS = "points[0]."
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


def label_of(source: LogSource, name: str, joint: MappedJoint) -> str | None:
    """What a source calls a joint; None: it does not have it."""
    if not source.order:
        return joint.id
    for key in (name, joint.id):
        if key in source.order:
            return str(source.order.index(key))
    return None


def paths_of(mapping: LogMap) -> dict[str, set[str]]:
    """Topic → the paths that a mapping names."""
    found: dict[str, set[str]] = {}
    for source in (s for sources in mapping.sources.values() for s in sources):
        own = found.setdefault(source.topic, set())
        for name, joint in mapping.joints.items():
            label = label_of(source, name, joint)
            if label is not None:
                own.add(source.field.replace("{}", label))
    for part in mapping.base.values():
        found.setdefault(part.topic, set()).update(part.fields)
    return found


def load(log: LogFile, mapping: LogMap) -> dict[str, TopicData]:
    """Read what a mapping names.

    Raises:
        RecordingError: a topic or a field is not in the log, or its messages cannot be read.
    """
    paths = paths_of(mapping)
    _check_topics(log, mapping, paths)
    stamps = {path for pair in HEADERS for path in pair} | {TICK}
    times = {t: s.stamp for t, s in mapping.time.items() if s.stamp not in STAMPS}
    trajectories = {t for t, own in paths.items() if any(p.startswith(POINTS) for p in own)}

    def wanted(topic: str, path: str) -> bool:
        if path in paths[topic] or path in stamps or path == times.get(topic):
            return True
        return topic in trajectories and path.startswith("points[")

    parts = {t.name: _Gathered(t.count) for t in log.topics if t.name in paths}
    for samples in log.read(sorted(paths), wanted):
        parts[samples.topic].add(samples)
    found = {topic: parts[topic].data(topic, times.get(topic)) for topic in paths}
    _check_fields(log, mapping, found)
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


def _check_fields(log: LogFile, mapping: LogMap, found: Mapping[str, TopicData]) -> None:
    """Refuse a mapping whose joints are not in the log: it is of another robot."""
    where = mapping.path or log.path
    for source in mapping.sources["position"]:
        have = found[source.topic].columns
        wanted = {
            name: source.field.replace("{}", label)
            for name, joint in mapping.joints.items()
            if (label := label_of(source, name, joint)) is not None
        }
        lacking = [name for name, path in wanted.items() if path not in have]
        if len(mapping.sources["position"]) == 1 and lacking:
            raise RecordingError(
                f"{where}: {source.topic} of {log.path.name} has no {wanted[lacking[0]]!r}, the "
                f"position of {lacking[0]}" + _others(source, lacking, wanted)
            )


def _others(source: LogSource, lacking: list[str], wanted: Mapping[str, str]) -> str:
    if len(lacking) == len(wanted):
        return ": it is of another robot, or the field is another one"
    return f"; it lacks {listed(lacking)}" if len(lacking) > 1 else ""


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
