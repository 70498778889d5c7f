"""Summary of a recording or a robot's log: topics, rates, gaps, joints, and their mapping."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.errors import MjrigError
from mjrig.core.names import how_many, listed
from mjrig.data.recording.recording import ActorRecording, Recording
from mjrig.data.robot_logs.containers.container import LogFile
from mjrig.data.robot_logs.log_map import LogMap
from mjrig.data.robot_logs.log_reader import mapping_of, options_of
from mjrig.data.robot_logs.log_recording import log_recording
from mjrig.data.robot_logs.survey import Survey, Surveyed, survey, unused_fields

# Summary ------------------------------------------------------------------------------------------
# `mjrig info`: summary of a recording on one screen.


def summary(recording: Recording) -> str:
    """A few lines about a recording."""
    known = recording.attributes
    lines = [f"{recording.path.name}: {_headline(recording)}"]
    about = {
        "scene": known.get("scene_file"),
        "execution": known.get("execution"),
        "seed": known.get("seed"),
        "model": str(known.get("model_hash", ""))[:12],
        "versions": ", ".join(f"{n} {v}" for n, v in dict(known.get("versions", {})).items()),
    }
    lines += [f"  {name}: {value}" for name, value in about.items() if value not in (None, "")]
    if recording.states is not None:
        lines.append(f"  full states: {len(recording.states.step)}")
    for segment in known.get("segments", ()):
        time = int(segment["step"]) * recording.timestep
        lines.append(f"  {segment['segment']} at step {segment['step']} (after {time:g} s)")
    for actor in recording.actors.values():
        lines += _about(recording, actor)
    for edit in known.get("edits", ()):
        what = f"{edit['path']} = {edit['value']}" if "path" in edit else "components changed"
        lines.append(f"  edit at step {edit['step']}: {what}")
    lines += [f"  note: {note}" for note in recording.notes]
    return "\n".join(lines)


def _headline(recording: Recording) -> str:
    size = _size(recording.path)
    rate = f"{1.0 / recording.timestep:g} Hz" if recording.timestep > 0.0 else "unknown rate"
    state = "" if recording.attributes.get("finished", True) else ", not finished"
    return (
        f"{recording.format} recording, {recording.duration:g} s, "
        f"{how_many(recording.steps, 'step')} at {rate}, {size}{state}"
    )


def _size(path: Path) -> str:
    files = [f for f in path.rglob("*") if f.is_file()] if path.is_dir() else [path]
    count = float(sum(f.stat().st_size for f in files))
    for unit in ("B", "kB"):
        if count < 1000.0:
            return f"{count:.0f} {unit}"
        count /= 1000.0
    return f"{count:.1f} MB"


def _about(recording: Recording, actor: ActorRecording) -> list[str]:
    joints, actuators = how_many(len(actor.joints), "joint"), len(actor.actuators)
    lines = [f"{actor.name}: {joints}, {how_many(actuators, 'actuator')}"]
    if actor.joints:
        lines.append(f"  joints: {listed(j.name for j in actor.joints)}")
    samples = len(actor.step)
    if samples and samples not in (recording.steps, recording.steps + 1):
        lines.append(f"  state: {how_many(samples, 'sample')}")
    if actor.qvel is None:
        lines.append("  no velocities")
    gains = dict(recording.attributes.get("gains", {})).get(actor.name, {})
    known = gains or {n: list(v.values()) for n, v in actor.plant.joints.items()}
    lines += [f"  {name}: {_spread(values)}" for name, values in known.items()]
    for change in actor.gain_changes:
        names = "initial values" if change.gains is None else listed(change.gains)
        lines.append(f"  gains changed at step {change.step}: {names}")
    if (policy := actor.policy) is not None and len(policy.step):
        every = float(np.median(np.diff(policy.step))) if len(policy.step) > 1 else 0.0
        rate = f" at {1.0 / (every * recording.timestep):g} Hz" if every else ""
        lines.append(
            f"  policy: {how_many(len(policy.step), 'tick')}{rate}, "
            f"{policy.observation.shape[1]} observations, {policy.action.shape[1]} actions"
        )
    if actor.commands is None:
        lines.append("  no setpoints")
    if actor.efforts is None:
        lines.append("  no efforts")
    return lines


def _spread(values: Any) -> str:
    """One number where all are equal, else the range."""
    numbers = [float(v) for v in values if v is not None]
    if not numbers:
        return "none"
    low, high = min(numbers), max(numbers)
    return f"{low:g}" if low == high else f"{low:g} … {high:g}"


# Log summary --------------------------------------------------------------------------------------
# `mjrig info LOG`: topics, rates, gaps, joints, and what was made of them.


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
