"""Units of fields: by their names, by the positions', by their ranges."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from mjrig.names import listed
from mjrig.robot_logs.mapping.candidates import NO_POSITION, Candidate
from mjrig.robot_logs.mapping.log_units import ANGLES, LENGTHS, QUANTITIES, SPEEDS
from mjrig.robot_logs.mapping.survey import ValueRange

#: Radians beyond this are degrees; radians per second likewise.
TURN, FAST = 2.0 * math.pi, 60.0
#: Ticks of a turn of usual encoders.
TICKS = (4096, 16384, 65536, 262144, 1048576)
#: Commands whose ranges are within this factor of the positions' have their unit.
ALIKE = 8.0
#: Degrees that a joint which is used hardly stays within; metres that a slide does.
SMALL = 2.0
_DEGREES = 180.0 / math.pi


def set_units(sources: Mapping[str, list[Candidate]]) -> None:
    """Put a unit and its reason into every candidate, those of positions first."""
    places = sources.get("position", [])
    for quantity, chosen in sources.items():
        for entry in chosen:
            entry.unit, why = _unit(quantity, entry, places)
            entry.why += f"; {why}" if why else ""


def _unit(quantity: str, entry: Candidate, places: Sequence[Candidate]) -> tuple[str, str]:
    known = QUANTITIES[quantity]
    if entry.unit == "ticks":
        return _ticks(entry, known is SPEEDS, "ticks by the name")
    for said in (entry.unit, f"{entry.unit}/s"):
        if said in known:
            return said, f"{said} by the name"
    if known is not ANGLES and known is not SPEEDS:
        return ("SI", "") if "SI" in known else ("N·m", "N·m, as nothing says another unit")
    if quantity != "position":
        like = _like(entry, places, known is SPEEDS)
        if like is not None:
            return like
    return _by_range(entry, known is SPEEDS)


def _like(entry: Candidate, places: Sequence[Candidate], is_speed: bool) -> tuple[str, str] | None:
    """The unit of the same joints' positions; None: their ranges do not agree with it."""
    own = dict(zip(entry.labels, entry.ranges, strict=True))
    for place in places:
        both = [
            (own[label].size, r.size)
            for label, r in zip(place.labels, place.ranges, strict=True)
            if label in own and own[label].size < NO_POSITION
        ]
        both = [(mine, other) for mine, other in both if mine > 0.0 and other > 0.0]
        if not both or place.unit not in ANGLES:
            continue
        if is_speed:
            unit = f"{place.unit}/s"
            fast = max(mine for mine, _ in both) > FAST
            return None if fast or unit not in SPEEDS else (unit, f"{unit} like the positions")
        ratio = float(np.median([mine / other for mine, other in both]))
        if 1.0 / ALIKE < ratio < ALIKE:
            return place.unit, f"{place.unit} like the positions, whose range is similar"
        for unit, other, factor in (("rad", "deg", 1.0 / _DEGREES), ("deg", "rad", _DEGREES)):
            if place.unit == other and 1.0 / ALIKE < ratio / factor < ALIKE:
                return unit, f"{unit} by the range, against positions in {other}"
    return None


def _by_range(entry: Candidate, is_speed: bool) -> tuple[str, str]:
    limit, per = (FAST, "/s") if is_speed else (TURN, "")
    large = [r for r in entry.ranges if limit < r.size < NO_POSITION]
    if len(large) * 4 < len(entry.ranges) or not large:
        return f"rad{per}", f"rad{per} by the range"
    if not is_speed and _look_like_ticks(entry.ranges):
        return _ticks(entry, False, "encoder ticks by their range")
    worst = max(r.size for r in large)
    return (
        f"deg{per}",
        f"deg{per} by the range, up to {worst:.4g}{_perhaps_slides(entry, is_speed)}",
    )


def _perhaps_slides(entry: Candidate, is_speed: bool) -> str:
    """Joints that hardly move in degrees: at rest, or slides in metres, which no range tells."""
    small = {
        label: values.size
        for label, values in zip(entry.labels, entry.ranges, strict=True)
        if 0.0 < values.size < SMALL
    }
    if is_speed or not small:
        return ""
    most = max(small.values())
    return f" ({listed(small)} only {most:.3g}: if slides, write kind: slide, unit: m)"


def _ticks(entry: Candidate, is_speed: bool, why: str) -> tuple[str, str]:
    most = max(r.size for r in entry.ranges)
    turn = TICKS[0] if is_speed else next((t for t in TICKS if most < t), TICKS[0])
    return f"{turn}/turn{'/s' if is_speed else ''}", f"{why}: check {turn} per turn"


def slides_of(
    sources: Mapping[str, Sequence[Candidate]], words: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """Label → (unit, reason) of joints that are slides; no unit: that of their field holds."""
    pushed = {label for c in sources.get("effort", ()) if c.unit == "N" for label in c.labels}
    found: dict[str, tuple[str, str]] = {}
    for entry in sources.get("position", ()):
        for label, values in zip(entry.labels, entry.ranges, strict=True):
            name = label.lower().replace("shoulder_lift", "")
            is_named = any(word in name for word in words)
            if entry.unit in LENGTHS:
                found[label] = "", f"a slide by its unit {entry.unit}"
            elif is_named or label in pushed:
                unit = "mm" if values.size > 5.0 else "m"
                found[label] = unit, f"a slide in {unit} by its {'name' if is_named else 'force'}"
    return found


def in_their_units(
    sources: Mapping[str, Sequence[Candidate]], slides: Mapping[str, tuple[str, str]]
) -> dict[str, tuple[str, str]]:
    """Slides whose unit is their own: fields of nothing but slides are put into it instead."""
    units = {label: unit for label, (unit, _) in slides.items() if unit}
    mixed: set[str] = set()
    for quantity, own in sources.items():
        per = {id(ANGLES): "", id(SPEEDS): "/s"}.get(id(QUANTITIES[quantity]))
        for entry in own if per is not None else ():
            wanted = {units.get(label, "") for label in entry.labels}
            (unit, *others) = wanted
            if others:
                mixed |= set(entry.labels)
            elif unit and entry.unit != f"{unit}{per}":
                entry.unit = f"{unit}{per}"
                entry.why = f"{entry.why.partition(';')[0]}; {entry.unit} as it is of a slide"
    return {label: (unit if label in mixed else "", why) for label, (unit, why) in slides.items()}


def _look_like_ticks(ranges: Sequence[ValueRange]) -> bool:
    return all(r.whole for r in ranges) and any(r.size > 720.0 for r in ranges)
