"""`log.yaml` as text: one line per entry that may need correction, with the reason for it."""

import json
from collections.abc import Iterator, Mapping
from itertools import islice

from mjrig.data.robot_logs.log_map import FORMAT, KEY, LogMap, LogSource, MappedJoint
from mjrig.data.robot_logs.survey import Survey, unused_fields

#: So many fields of a topic are listed where nothing could be guessed.
MOST_LISTED = 200


def map_text(mapping: LogMap, found: Survey) -> str:
    """The mapping of a log as a file; one that must be completed lists the log's fields."""
    return "\n".join(_lines(mapping, found)) + "\n"


def _lines(mapping: LogMap, found: Survey) -> Iterator[str]:
    why, log = mapping.reasons, found.path.name
    yield f"# How {log} is read. Guesses have their reason beside them; correct what is wrong."
    yield from (f"# Fill in: {what}." for what in mapping.lacking)
    yield f"{KEY}: {FORMAT}"
    yield f"robot: {_text(mapping.robot)}"
    yield f"joints: # name in the scene: name or index in the log{_said(why, 'joints', '; ')}"
    for name, joint in mapping.joints.items():
        yield f"  {_text(name)}: {_joint(joint)}{_said(why, f'joint {name}', ' # ')}"
    if not mapping.joints:
        yield "#  shoulder: {id: shoulder}"
    yield "# Where each quantity is; {} stands for the joint. A field of one joint: joint: NAME."
    if "position" not in mapping.sources:
        yield from _without_positions(found)
    yield from _sources(mapping)
    if mapping.base:
        yield f"base:{_said(why, 'base', ' # ')}"
        for what, part in mapping.base.items():
            order = f", order: {part.order}" if what == "orientation" else ""
            fields = ", ".join(map(_text, part.fields))
            yield f"  {what}: {{from: {_text(part.topic)}, fields: [{fields}]{order}}}"
    yield "time: # log, publish, header, tick, or a column"
    for topic, stamp in mapping.time.items():
        note = _said(why, f"time {topic}", " # ")
        yield f"  {_text(topic)}: {{stamp: {_text(stamp.stamp)}, unit: {stamp.unit}}}{note}"
    if mapping.rate is not None:
        yield f"rate: {mapping.rate:g} # rows per second{_said(why, 'rate', ': ')}"
    elif any("rate:" in what for what in mapping.lacking):
        yield "# rate: 100 # rows per second"
    if mapping.offset is not None:
        yield f"offset: {mapping.offset!r} # added to the stamps of commands [s]"
    unused = unused_fields(mapping, found)
    if unused:
        empty = _said(why, "columns", "; columns ")
        yield f"unused: # nothing is made of these; the list itself has no effect{empty}"
        for topic, paths in unused.items():
            note = _said(why, f"unused {topic}", " # ")
            yield f"  {_text(topic)}: [{', '.join(map(_text, paths))}]{note}"


def _without_positions(found: Survey) -> Iterator[str]:
    """Lines to uncomment, and what there is to put into them."""
    topics = [t for t in found.topics.values() if t.ranges]
    example = _text(topics[0].topic.name) if topics else "TOPIC"
    yield f'# position: {{from: {example}, field: "{{}}_pos", unit: rad}}'
    yield "# or a line for each joint:"
    yield "# position:"
    yield f"#   - {{from: {example}, field: COLUMN, joint: shoulder, unit: rad}}"
    for topic in topics:
        yield f"# What {topic.topic.name} holds:"
        for path, values in islice(topic.ranges.items(), MOST_LISTED):
            yield f"#   {_text(path)}: {values.low:.4g} to {values.high:.4g}"
        if len(topic.ranges) > MOST_LISTED:
            yield f"#   and {len(topic.ranges) - MOST_LISTED} more"


def _sources(mapping: LogMap) -> Iterator[str]:
    why = mapping.reasons
    for quantity, sources in mapping.sources.items():
        entries = [
            _source(s) + _said(why, f"{quantity} {s.topic} {s.field}", " # ") for s in sources
        ]
        if len(entries) == 1:
            yield f"{quantity}: {entries[0]}"
        else:
            yield f"{quantity}:"
            yield from (f"  - {entry}" for entry in entries)


def _source(source: LogSource) -> str:
    entry = f"from: {_text(source.topic)}, field: {_text(source.field)}"
    entry += f", joint: {_text(source.joint)}" if source.joint else ""
    entry += f", unit: {_text(source.unit)}" if source.unit else ""
    if source.order:
        entry += f", order: [{', '.join(map(_text, source.order))}]"
    return f"{{{entry}}}"


def _said(reasons: Mapping[str, str], key: str, before: str) -> str:
    reason = reasons.get(key, "")
    return f"{before}{reason}" if reason else ""


def _joint(joint: MappedJoint) -> str:
    parts = [f"id: {_text(joint.id)}"]
    parts += [f"sign: {joint.sign}"] if joint.sign != 1 else []
    parts += [f"offset: {joint.offset!r}"] if joint.offset else []
    if joint.torque_constant is not None:
        parts.append(f"torque_constant: {joint.torque_constant!r}")
    parts += [f"kind: {joint.kind}"] if joint.kind != "hinge" else []
    parts += [f"unit: {_text(joint.unit)}"] if joint.unit else []
    return f"{{{', '.join(parts)}}}"


def _text(value: str) -> str:
    """A text as YAML reads it back."""
    plain = value.replace("_", "").replace("/", "").isalnum() and not value[:1].isdigit()
    words = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
    if value.isdigit() or (plain and value.lower() not in words):
        return value
    return json.dumps(value, ensure_ascii=False)
