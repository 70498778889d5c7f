"""Which fields of a log a mapping uses, and which it does not."""

import re

from mjrig.robot_logs.mapping.log_map import LogMap
from mjrig.robot_logs.mapping.survey import DUE, POINTS, STAMPS, Survey


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
