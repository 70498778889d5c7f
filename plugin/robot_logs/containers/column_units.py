"""The unit at the end of a column's name: `shoulder [deg]`, `shoulder_vel_deg_s`, `elbowMm`."""

import re
from dataclasses import dataclass

_PER_S = r"(?:\s*/\s*s(?:ec)?|_?p(?:er_?)?s(?:ec)?|_s|\.s-1|·s-1)"
#: Unit of log.yaml → how names write it. Those of one letter, and A, N: only as they are.
_SPEEDS = {
    "rad/s": rf"(?:rad(?:ian)?s?{_PER_S}|rads)",
    "mrad/s": rf"mrad{_PER_S}",
    "deg/s": rf"(?:deg(?:ree)?s?{_PER_S}|dps|°\s*/\s*s)",
    "turn/s": rf"(?:rev(?:olution)?s?|turns?){_PER_S}|rps",
    "rpm": r"(?:rpm|rev/min|1/min)",
    "mm/s": rf"mm{_PER_S}",
    "cm/s": rf"cm{_PER_S}",
    "m/s": rf"m{_PER_S}",
}
_PLACES = {
    "mrad": r"mrad",
    "rad": r"rad(?:ian)?s?",
    "deg": r"(?:deg(?:ree)?s?|°)",
    "turn": r"(?:rev(?:olution)?s?|turns?)",
    "mm": r"mm",
    "cm": r"cm",
    "m": r"(?-i:m|meters?|metres?)",
    "ticks": r"(?:ticks?|counts?|cnts?|increments?|incr?|steps?)",
}
_EFFORTS = {
    "mN·m": r"(?-i:mN[·.*_ ]?m)",
    "N·cm": r"(?-i:N[·.*_ ]?cm)",
    "N·m": r"(?-i:N[·.*_ ]?m|nm|NM)",
    "N": r"(?-i:N|newtons?)",
    "mA": r"(?-i:mA|milliamp(?:ere)?s?)",
    "A": r"(?-i:A|amps?|amperes?)",
}
_TIMES = {
    "ns": r"(?:ns|nsecs?|nanos(?:ec(?:ond)?s?)?)",
    "us": r"(?:us|µs|μs|usecs?|micros(?:ec(?:ond)?s?)?)",
    "ms": r"(?:ms|msecs?|millis(?:ec(?:ond)?s?)?)",
    "s": r"(?:s|secs?|seconds?)",
}
_KINDS = {
    "speed": _SPEEDS,
    "effort": _EFFORTS,
    "place": _PLACES,
    "share": {"%": r"(?:%|pct|percent(?:age)?)"},
    "time": _TIMES,
}
_OPEN, _CLOSE = r"[\[({<]\s*", r"\s*[\])}>]"


@dataclass(frozen=True)
class NamedUnit:
    """A unit that a name ends with.

    Attributes:
        unit: as log.yaml writes it; `ticks`: how many make a turn is not said.
        kind: `place`, `speed`, `effort`, `share` (a percentage), `time`.
        start: where the name ends and the unit begins.
        length: letters of it, with what parts it from the name.
    """

    unit: str
    kind: str
    start: int
    length: int


#: Letters at the end of a name among which a unit is: the time of a search grows as their square.
MAX_UNIT = 200


def _compiled(text: str) -> re.Pattern[str]:
    """A unit in brackets, after a separator, or with a capital after a small letter."""
    bare = rf"(?:[\s_\-./:,]+)(?:{text})$"
    camel = rf"(?-i:(?<=[a-z0-9])(?=[A-Z]))(?:{text})$"
    return re.compile(rf"[\s_]*{_OPEN}(?:{text}){_CLOSE}\s*$|{bare}|{camel}", re.IGNORECASE)


_KNOWN = [
    (unit, kind, _compiled(text)) for kind, units in _KINDS.items() for unit, text in units.items()
]
_WHOLE = [
    (unit, kind, re.compile(rf"(?:{text})", re.IGNORECASE))
    for kind, units in _KINDS.items()
    for unit, text in units.items()
]


def unit_of(name: str) -> NamedUnit | None:
    """The unit at the end of a name, the longest that fits; None: it has none."""
    skipped = max(0, len(name) - MAX_UNIT)
    end = name[skipped:]
    hits = [(hit, u, k) for u, k, pattern in _KNOWN if (hit := pattern.search(end)) is not None]
    if not hits:
        return None
    hit, unit, kind = min(hits, key=lambda found: found[0].start())
    return NamedUnit(unit, kind, skipped + hit.start(), len(hit.group()))


def unit_text(text: str) -> str:
    """The unit that a text is, as in a row of units below a header; empty: it is none."""
    stripped = text.strip().strip("[](){}<>").strip()
    fits = [unit for unit, _, pattern in _WHOLE if pattern.fullmatch(stripped)]
    return fits[0] if fits else ""
