"""Which stamps of a topic are its times, and in which unit."""

import re

import numpy as np

from mjrig.robot_logs.containers.container import Stamps
from mjrig.robot_logs.mapping.column_names import meaning, time_column
from mjrig.robot_logs.mapping.log_map import TimeSource
from mjrig.robot_logs.mapping.survey import Surveyed, ValueRange

#: Stamps are guessed in units of time by their size: more than so many of them are of 1970.
_BY_SIZE = (("ns", 1e17), ("us", 1e14), ("ms", 1e11))
#: Columns that count rows.
_COUNTERS = re.compile(r"(?i)[\W_]*(?:index|idx|row|frame|seq|sequence|count|counter|sample|n|i|id|"
                       r"step|tick|episode|unnamed|line|no|nr|number)?(?:[\W_]*(?:index|no|nr|id|"
                       r"number|\d+))?[\W_]*")  # fmt: skip


def guessed_time(topic: Surveyed) -> tuple[TimeSource | None, str]:
    """The stamps of a topic and the reason; None: it has no times."""
    if topic.topic.encoding == "table":
        return _column(topic)
    stamps = topic.stamps
    if "tick" in stamps and _advances(stamps["tick"]):
        return TimeSource("tick", "ms"), "the robot's own count of milliseconds: even, shows losses"
    if "header" in stamps and _advances(stamps["header"]):
        return TimeSource("header", "ns"), "the sender's stamp of the measurement"
    if "publish" in stamps and not (stamps["publish"] == stamps["log"]).all():
        return TimeSource("publish", "ns"), "the sender's stamp; the recorder's differs"
    return TimeSource("log", "ns"), "the recorder's clock: the messages have none"


def _column(topic: Surveyed) -> tuple[TimeSource | None, str]:
    named = [(path, *time_column(path)) for path in topic.ranges]
    for path, is_time, unit in named:
        if is_time and topic.ranges[path].high > topic.ranges[path].low:
            return _with_unit(topic, path, unit, "by the name")
    for path, values in topic.ranges.items():
        is_counter = values.whole and _COUNTERS.fullmatch(path) is not None
        is_motion = meaning("", path) is not None  # a joint may rise all the time, too
        if values.rises and not is_counter and not is_motion and topic.topic.count > 2:
            return _with_unit(topic, path, "", "it rises in every row")
    return None, ""


def _with_unit(topic: Surveyed, path: str, unit: str, why: str) -> tuple[TimeSource, str]:
    values = topic.ranges[path]
    if unit:
        return TimeSource(path, unit), why
    unit = next((u for u, least in _BY_SIZE if values.high > least), "s")
    if unit == "s":
        unit = _by_steps(topic, values)
        if unit != "s":
            return TimeSource(path, unit), f"{why}, {unit} by its steps"
    return TimeSource(path, unit), f"{why}, {unit} by the size of its numbers"


def _by_steps(topic: Surveyed, values: ValueRange) -> str:
    """Whole numbers that would be seconds apart are milliseconds, or microseconds."""
    rows = max(topic.topic.count - 1, 1)
    step = (values.high - values.low) / rows
    if not values.whole or step < 1.0 or rows <= 50:
        return "s"
    return "ms" if step < 500.0 else "us" if step < 500_000.0 else "ns"


def _advances(stamps: Stamps) -> bool:
    """Whether stamps tell times; those of a publisher that leaves them 0 beside others do not."""
    if len(stamps) < 2 or ((stamps[1:] == 0) & (stamps[:-1] > 0)).any():
        return False
    return bool((np.diff(stamps) > 0).mean() > 0.5)
