"""Units of a log's quantities, as log.yaml and column names (`shoulder [deg]`) write them."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from mjrig.core.errors import RecordingError
from mjrig.core.names import listed

# Column units -------------------------------------------------------------------------------------


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
_UNIT_PATTERNS = {
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
    (unit, kind, _compiled(text))
    for kind, units in _UNIT_PATTERNS.items()
    for unit, text in units.items()
]
_WHOLE = [
    (unit, kind, re.compile(rf"(?:{text})", re.IGNORECASE))
    for kind, units in _UNIT_PATTERNS.items()
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


# Log units ----------------------------------------------------------------------------------------


_DEGREE, _TURN = math.pi / 180.0, 2.0 * math.pi
#: Units of each kind of quantity → how many of the SI unit one is.
ANGLES = {
    "rad": 1.0, "mrad": 1e-3, "deg": _DEGREE, "turn": _TURN, "m": 1.0, "cm": 1e-2, "mm": 1e-3,
    "%": math.nan,
}  # fmt: skip
SPEEDS = {
    "rad/s": 1.0, "mrad/s": 1e-3, "deg/s": _DEGREE, "turn/s": _TURN, "rpm": _TURN / 60.0,
    "m/s": 1.0, "cm/s": 1e-2, "mm/s": 1e-3, "%": math.nan,
}  # fmt: skip
EFFORTS = {
    "N·m": 1.0, "mN·m": 1e-3, "N·cm": 1e-2, "N": 1.0, "A": 1.0, "mA": 1e-3, "%": math.nan,
}  # fmt: skip
GAINS = {"SI": 1.0}
TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
#: Units of slides.
LENGTHS = ("m", "cm", "mm")
CURRENTS = ("A", "mA")
#: What it is a percentage of, a log does not say.
PERCENT = "%"
#: What is measured in units that are not SI's.
_JOINT_KINDS = {"mrad": "hinge", "deg": "hinge", "turn": "hinge", "cm": "slide", "mm": "slide"}
QUANTITIES: dict[str, dict[str, float]] = {
    "position": ANGLES,
    "velocity": SPEEDS,
    "effort": EFFORTS,
    "command": ANGLES,
    "command_velocity": SPEEDS,
    "feedforward": EFFORTS,
    "kp": GAINS,
    "kd": GAINS,
}
_TICKS = re.compile(r"(\d+(?:\.\d+)?)/turn(/s)?")


def kind_by_unit(unit: str) -> str:
    """Whether positions in a unit are of a `hinge` or a `slide`; empty: they may be of either.

    rad and m are said of either: they are what logs without a word about units are read in, and
    numbers stay as they are.
    """
    return "hinge" if _TICKS.fullmatch(unit) else _JOINT_KINDS.get(unit, "")


def known_kind(said: str, unit: str = "") -> str:
    """`hinge` or `slide`, by what is said of a joint and the unit of its positions; empty: unknown.

    What nothing is said of is called a hinge, and may be a slide.
    """
    return said if said == "slide" else kind_by_unit(unit)


def constant_unit(kinds: Iterable[str]) -> str:
    """The unit of torque constants of joints of some kinds; an empty kind may be either."""
    known = {*kinds}
    if known == {"slide"}:
        return "N/A"
    return "N·m/A" if known == {"hinge"} else "N·m/A (N/A of a slide)"


def unit_factor(quantity: str, unit: str) -> float:
    """How many of the SI unit one is; not a number for a percentage.

    Raises:
        RecordingError: it is no unit of this quantity.
    """
    known = QUANTITIES[quantity]
    if not unit:
        return 1.0
    if unit in known:
        return known[unit]
    ticks = _TICKS.fullmatch(unit)
    fits = ticks and known is (SPEEDS if ticks.group(2) else ANGLES)
    if ticks and fits and float(ticks.group(1)) > 0.0:
        return _TURN / float(ticks.group(1))
    try:
        return float(unit)
    except ValueError:
        extra = {id(ANGLES): ["4096/turn"], id(SPEEDS): ["4096/turn/s"]}.get(id(known), [])
        raise RecordingError(
            f"{quantity}: {unit!r} is no unit of it; known are "
            f"{listed([*known, *extra, 'a number'])}"
        ) from None
