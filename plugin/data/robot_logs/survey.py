"""Survey of a log: stamps of topics, ranges of numbers, and the fields that a mapping uses."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.data.robot_logs.containers.container import LogFile, LogSamples, Stamps, Topic
from mjrig.data.robot_logs.log_map import LogMap
from mjrig.data.robot_logs.spikes import spikes

# Survey -------------------------------------------------------------------------------------------


#: Ranges are taken from so many messages of each topic.
ENOUGH = 8192
_NO_STAMPS: Stamps = np.zeros(0, dtype=np.int64)
#: Where messages keep the time of their measurement: seconds, and the rest [ns].
HEADERS = (("header.stamp.sec", "header.stamp.nanosec"), ("stamp.sec", "stamp.nanosec"))
#: Points of trajectories: the first, and where each says when it is due (seconds, the rest [ns]).
POINTS, DUE = "points[0].", ("time_from_start.sec", "time_from_start.nanosec")
TICK = "tick"
STAMPS = {path for pair in HEADERS for path in pair} | {TICK}


@dataclass
class ValueRange:
    """Least and largest value of some numbers, whether all are whole, and each above the last."""

    low: float
    high: float
    whole: bool
    rises: bool = False

    @property
    def size(self) -> float:
        """The larger of the two, without its sign."""
        return max(abs(self.low), abs(self.high))


@dataclass
class Surveyed:
    """One topic: stamps by kind (`log`, `publish`, `header`, `tick`), ranges by path.

    `empty` are fields without a single number, such as texts.
    """

    topic: Topic
    stamps: dict[str, Stamps] = field(default_factory=dict)
    ranges: dict[str, ValueRange] = field(default_factory=dict)
    empty: dict[str, None] = field(default_factory=dict)


@dataclass(frozen=True)
class Survey:
    """All topics of a log."""

    path: Path
    kind: str
    topics: Mapping[str, Surveyed]
    constants: Mapping[str, Any]
    notes: tuple[str, ...]


def survey(log: LogFile) -> Survey:
    """Go through a log once; only stamps are kept.

    Raises:
        RecordingError: it is damaged.
    """
    found = {topic.name: Surveyed(topic) for topic in log.topics}
    readable = [topic.name for topic in log.topics if not topic.problem and topic.count]
    seen = dict.fromkeys(readable, 0)
    parts: dict[str, list[dict[str, Stamps]]] = {name: [] for name in readable}

    def wanted(topic: str, path: str) -> bool:
        return seen[topic] < ENOUGH or path in STAMPS

    for samples in log.read(readable, wanted) if readable else ():
        if seen[samples.topic] < ENOUGH:
            _widen(found[samples.topic], samples)
        seen[samples.topic] += len(samples)
        parts[samples.topic].append(stamps_of(samples))
    for name in readable:
        found[name].stamps = _together(parts[name])
    return Survey(log.path, log.kind, found, log.constants, tuple(log.notes))


def stamps_of(samples: LogSamples) -> dict[str, Stamps]:
    """The stamps of some messages by kind [ns; ticks as they are]."""
    found = {"log": samples.log, "publish": samples.publish}
    columns = samples.columns
    for sec, rest in HEADERS:
        if sec in columns and rest in columns:
            whole = columns[sec].astype(np.int64) * 1_000_000_000
            found["header"] = whole + columns[rest].astype(np.int64)
            break
    if TICK in columns and columns[TICK].dtype.kind in "iu":
        found[TICK] = columns[TICK].astype(np.int64)
    return {kind: stamps for kind, stamps in found.items() if len(stamps)}


def _together(parts: list[dict[str, Stamps]]) -> dict[str, Stamps]:
    """Stamps of all messages in the order they were recorded; kinds that all messages have."""
    if not parts:
        return {}
    kinds = set.intersection(*(set(part) for part in parts))
    found = {kind: np.concatenate([part[kind] for part in parts]) for kind in kinds}
    if "log" in found:
        order = np.argsort(found["log"], kind="stable")
        found = {kind: stamps[order] for kind, stamps in found.items()}
    return found


def _widen(topic: Surveyed, samples: LogSamples) -> None:
    ranges = topic.ranges
    for path, values in samples.columns.items():
        numbers = values[np.isfinite(values)] if values.dtype.kind == "f" else values
        if not len(numbers):
            if path not in ranges:
                topic.empty[path] = None
            continue
        topic.empty.pop(path, None)
        rises = len(numbers) == len(values) and bool((numbers[1:] > numbers[:-1]).all())
        if numbers.dtype.kind == "f":
            numbers = np.delete(numbers, spikes(numbers))  # a wrong number says nothing of a unit
        low, high = float(numbers.min()), float(numbers.max())
        whole = values.dtype.kind in "iub" or bool((numbers == np.round(numbers)).all())
        known = ranges.get(path)
        if known is None:
            ranges[path] = ValueRange(low, high, whole, rises)
        else:
            known.rises = known.rises and rises and low > known.high
            known.low, known.high = min(known.low, low), max(known.high, high)
            known.whole = known.whole and whole


# Used fields --------------------------------------------------------------------------------------


def used_fields(mapping: LogMap) -> dict[str, set[str]]:
    """Topic → the fields that a mapping names."""
    found: dict[str, set[str]] = {}
    for quantity, sources in mapping.sources.items():
        found |= {s.topic: found.get(s.topic, set()) for s in sources}
        for places in mapping.places(quantity).values():
            for source, path in places:
                found[source.topic].add(path)
    for part in mapping.base.values():
        found.setdefault(part.topic, set()).update(part.fields)
    return found


def unused_fields(mapping: LogMap, found: Survey) -> dict[str, tuple[str, ...]]:
    """Topics that a mapping does not use, and fields of the others; indices as […]."""
    used = used_fields(mapping)
    for name, stamp in mapping.time.items():
        used.setdefault(name, set()).add(stamp.stamp)
    for own in used.values():
        if any(path.startswith(POINTS) for path in own):
            own.update(f"{POINTS}{name}" for name in DUE)
    left: dict[str, tuple[str, ...]] = {}
    for name, topic in found.topics.items():
        if topic.topic.problem:
            left[name] = (topic.topic.problem,)
            continue
        own = used.get(name, set())
        known = {_short(path) for path in own} | STAMPS
        every = [path for path in (*topic.ranges, *topic.empty) if path not in own]
        short = dict.fromkeys(s for s in map(_short, every) if s not in known)
        if short:
            left[name] = tuple(short)
    return left


def _short(path: str) -> str:
    return re.sub(r"\[\d+\]", "[…]", path)
