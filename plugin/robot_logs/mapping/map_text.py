"""`log.yaml` as text: one line per thing that may need correction, with the reason for it."""

import json
from collections.abc import Iterator, Mapping

from mjrig.robot_logs.mapping.log_map import FORMAT, KEY, LogMap, LogSource, MappedJoint


def map_text(mapping: LogMap, log: str) -> str:
    """The mapping of a log as a file."""
    return "\n".join(_lines(mapping, log)) + "\n"


def _lines(mapping: LogMap, log: str) -> Iterator[str]:
    why = mapping.reasons
    yield f"# How {log} is read. Guesses have their reason beside them; correct what is wrong."
    yield f"{KEY}: {FORMAT}"
    yield f"robot: {_text(mapping.robot)}"
    yield f"joints: # name in the scene: name or index in the log{_said(why, 'joints', '; ')}"
    for name, joint in mapping.joints.items():
        yield f"  {_text(name)}: {_joint(joint)}"
    yield "# Where each quantity is; {} stands for the joint."
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
    if mapping.offset is not None:
        yield f"offset: {mapping.offset!r} # added to the stamps of commands [s]"
    if mapping.unused:
        yield "unused: # nothing is made of these; the list itself has no effect"
        for topic, paths in mapping.unused.items():
            note = _said(why, f"unused {topic}", " # ")
            yield f"  {_text(topic)}: [{', '.join(map(_text, paths))}]{note}"


def _sources(mapping: LogMap) -> Iterator[str]:
    for quantity, sources in mapping.sources.items():
        note = _said(mapping.reasons, quantity, " # ")
        entries = [_source(source) for source in sources]
        if len(entries) == 1:
            yield f"{quantity}: {entries[0]}{note}"
        else:
            yield f"{quantity}:{note}"
            yield from (f"  - {entry}" for entry in entries)


def _source(source: LogSource) -> str:
    entry = f"from: {_text(source.topic)}, field: {_text(source.field)}"
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
