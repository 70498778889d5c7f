"""Units of a log's quantities, as log.yaml writes them."""

import math
import re
from collections.abc import Iterable

from mjrig.errors import RecordingError
from mjrig.names import listed

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
_KINDS = {"mrad": "hinge", "deg": "hinge", "turn": "hinge", "cm": "slide", "mm": "slide"}
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
    return "hinge" if _TICKS.fullmatch(unit) else _KINDS.get(unit, "")


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
