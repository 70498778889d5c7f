"""`mjrig info LOG`: topics, rates, gaps, joints, and what was made of them."""

from collections.abc import Mapping

import numpy as np

from mjrig.errors import MjrigError
from mjrig.names import how_many, listed
from mjrig.recording.recording import Recording
from mjrig.recording.summary import summary
from mjrig.robot_logs.containers.container import LogFile
from mjrig.robot_logs.log_recording import log_recording
from mjrig.robot_logs.mapping.log_map import LogMap
from mjrig.robot_logs.mapping.survey import Survey, Surveyed, survey
from mjrig.robot_logs.mapping.used_fields import unused_fields
from mjrig.robot_logs.reader import mapping_of, options_of


def log_summary(
    log: LogFile, hints: Mapping[str, object], recording: Recording | None = None
) -> str:
    """Some lines about a log; a log that cannot be read as a recording says why.

    `recording` is what was made of it; None: it is read.
    """
    found = survey(log)
    lines = [f"{log.path.name}: {log.kind}, {how_many(len(found.topics), 'topic')}"]
    for topic in found.topics.values():
        lines += _topic(topic)
    try:
        mapping = mapping_of(log, hints, found)
        for topic in found.topics.values():
            topic.stamps.clear()  # they are read again
        if recording is None:
            recording = log_recording(log, mapping, options_of(log.path, hints))
    except MjrigError as error:
        return "\n".join([*lines, f"  cannot be read as a recording: {error}"])
    return "\n".join([*lines, *_mapped(mapping, found), *_made(recording)])


def _topic(found: Surveyed) -> list[str]:
    topic = found.topic
    lines = [f"{topic.name}: {topic.type}, {how_many(topic.count, 'message')}{_rate(found)}"]
    if topic.encoding == "table":
        lines = [f"{topic.name}: table, {how_many(topic.count, 'row')}"]
    if topic.problem:
        lines.append(f"  not read: {topic.problem}")
    stamps = found.stamps.get("log")
    if stamps is not None and len(stamps) > 2:
        steps = np.diff(stamps) * 1e-9
        usual = float(np.median(steps))
        long = np.flatnonzero(steps > 4.5 * usual)
        if len(long):
            worst = float(steps.max())
            lines.append(f"  {how_many(len(long), 'gap')} as recorded, the longest {worst:.3g} s")
    return lines


def _rate(found: Surveyed) -> str:
    stamps = found.stamps.get("log")
    if stamps is None or len(stamps) < 2:
        return ""
    span = float(stamps[-1] - stamps[0]) * 1e-9
    usual = float(np.median(np.diff(stamps))) * 1e-9
    rate = f" at {1.0 / usual:.4g} Hz" if usual > 0.0 else ""
    return f"{rate}, {span:.4g} s"


def _mapped(mapping: LogMap, found: Survey) -> list[str]:
    lines = [f"joints: {listed(mapping.joints)}"]
    for quantity, sources in mapping.sources.items():
        for source in sources:
            unit = f" [{source.unit}]" if source.unit else ""
            lines.append(f"  {quantity}: {source.topic} {source.field}{unit}")
    for topic, paths in unused_fields(mapping, found).items():
        lines.append(f"  unused of {topic}: {listed(paths)}")
    return lines


def _made(recording: Recording) -> list[str]:
    return [f"as a {line}" if not k else line for k, line in enumerate(_lines(recording))]


def _lines(recording: Recording) -> list[str]:
    first, *rest = summary(recording).split("\n")
    return [first.partition(": ")[2], *rest]
