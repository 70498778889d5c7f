"""The mapped columns of a log, topic by topic; nothing else is kept in memory."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.errors import RecordingError
from mjrig.names import listed, suggestion
from mjrig.robot_logs.containers.container import LogFile, LogSamples, Stamps
from mjrig.robot_logs.mapping.log_map import STAMPS, LogMap, LogSource, MappedJoint
from mjrig.robot_logs.mapping.survey import HEADERS, TICK, stamps_of

Numbers = npt.NDArray[Any]
#: Points of trajectories follow the first.
POINTS = "points[0]."


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

    parts: dict[str, list[LogSamples]] = {topic: [] for topic in paths}
    for samples in log.read(sorted(paths), wanted):
        parts[samples.topic].append(samples)
    found = {}
    for topic in list(parts):
        found[topic] = _joined(topic, parts.pop(topic), times.get(topic))
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


def _joined(topic: str, parts: list[LogSamples], times: str | None) -> TopicData:
    """All batches one after the other, in the order they were recorded."""
    names = dict.fromkeys(path for part in parts for path in part.columns)
    stamps: dict[str, Stamps] = {}
    every = [stamps_of(part) for part in parts]
    for kind in set.intersection(*map(set, every)) if every else set():
        stamps[kind] = np.concatenate([s[kind] for s in every])
    order = np.argsort(stamps["log"], kind="stable") if "log" in stamps else None
    columns: dict[str, Numbers] = {}
    for path in names:
        if path in STAMPS or path in _HEADER_PATHS:
            continue
        column = np.concatenate(list(_filled(path, parts)))
        columns[path] = column if order is None else column[order]
    if order is not None:
        stamps = {kind: values[order] for kind, values in stamps.items()}
    at = columns.pop(times, None) if times is not None else None
    return TopicData(topic, stamps, columns, at)


_HEADER_PATHS = {path for pair in HEADERS for path in pair}


def _filled(path: str, parts: list[LogSamples]) -> Iterator[Numbers]:
    whole = all(path in part.columns for part in parts)
    for part in parts:
        if path not in part.columns:
            yield np.full(part.count, np.nan, dtype=np.float32)
            continue
        column = part.columns.pop(path)  # the batches are let go as they are joined
        yield column if whole or column.dtype.kind == "f" else column.astype(np.float64)
