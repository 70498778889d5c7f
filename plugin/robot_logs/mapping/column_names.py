"""What a column or a field holds, by the words in its name."""

import re
from dataclasses import dataclass

_WORDS = {
    "position": {"q", "pos", "position", "angle", "qpos", "theta"},
    "velocity": {"dq", "qd", "vel", "velocity", "qvel", "speed", "dtheta"},
    "effort": {"tau", "effort", "torque", "est", "current", "cur"},
    "kp": {"kp", "stiffness"},
    "kd": {"kd", "kv"},
}
_COMMAND = {"cmd", "command", "des", "desired", "target", "action", "ref", "reference", "setpoint",
            "goal"}  # fmt: skip
#: Words of fields that are none of these, whatever else is in their name.
_OTHER = {
    "raw", "error", "err", "covariance", "acceleration", "ddq", "acc", "temperature", "temp",
    "output", "min", "max", "limit", "foot", "imu", "gyro", "gyroscope", "accelerometer",
    "quaternion", "orientation", "quat", "odom", "header", "layout", "linear", "angular", "twist",
    "pose", "base", "root", "rpy", "contact",
}  # fmt: skip
#: Words that say nothing about which joint it is.
_GENERIC = {"joint", "dof", "motor", "state", "states", "actuator", "observation", "measured",
            "actual", "feedback", "values", "value", "data", "points", "interface"}  # fmt: skip
_UNITS = {
    "deg": "deg", "rad": "rad", "mm": "mm", "A": "A", "mA": "mA", "Nm": "N·m", "rpm": "rpm",
    "s": "s", "ms": "ms", "us": "us", "ns": "ns",
}  # fmt: skip
_TIMES = {"time", "t", "timestamp", "stamp", "sec", "seconds"}
_PIECE = re.compile(r"[A-Za-z0-9]+")
_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_PLURALS = {"velocities": "velocity"}


@dataclass(frozen=True)
class Meaning:
    """What a column holds.

    Attributes:
        quantity: `position`, `velocity`, `effort`, `command`, `command_velocity`, `feedforward`,
            `kp`, `kd`.
        field: its name with {} in place of the joint.
        label: the joint, as the log calls it.
        unit: as the name says; empty: it does not.
    """

    quantity: str
    field: str
    label: str
    unit: str = ""


def meaning(topic: str, path: str) -> Meaning | None:
    """What a column is by its name and that of its topic; None: nothing known."""
    field, label, rest = _parts(path)
    if not label:
        return None
    words = [_word(p) for p in _PIECE.findall(rest)]
    unit = _unit(rest)
    said = set(words)
    if said & _OTHER and "joint" not in said:
        return None
    is_command = bool(said & _COMMAND) or bool({_word(p) for p in _PIECE.findall(topic)} & _COMMAND)
    kinds = [kind for kind, known in _WORDS.items() if said & (known - {"est"})]
    left = said - _COMMAND - _GENERIC - {_word(u) for u in _UNITS}
    if not kinds and said & _COMMAND and not {w for w in left if not w.isdigit()}:
        kinds = ["position"]
    if not kinds and words == ["observation", "state"]:
        kinds = ["position"]
    if not kinds:
        return None
    kind = "velocity" if "velocity" in kinds else kinds[-1] if "kp" in kinds else kinds[0]
    if said & {"current", "cur"} and unit not in ("A", "mA"):
        unit = "A"
    if is_command:
        names = {"position": "command", "velocity": "command_velocity", "effort": "feedforward"}
        kind = names.get(kind, kind)
    return Meaning(kind, field, label, unit)


def time_column(path: str) -> tuple[bool, str]:
    """Whether a column holds times, and the unit its name says."""
    words = [p.lower() for p in _PIECE.findall(path)]
    unit = _unit(path)
    if unit in ("s", "ms", "us", "ns") and len(words) > 1:
        words = words[:-1]
    else:
        unit = ""
    return len(words) == 1 and words[0] in _TIMES, unit


def _word(piece: str) -> str:
    word = piece.lower()
    if word in _PLURALS:
        return _PLURALS[word]
    return word[:-1] if len(word) > 3 and word.endswith("s") and word != "states" else word


def _unit(text: str) -> str:
    pieces = _PIECE.findall(text)
    return _UNITS.get(pieces[-1], "") if pieces else ""


def _parts(path: str) -> tuple[str, str, str]:
    """(field with {}, label, the rest of the name) of a path."""
    hits = list(_BRACKET.finditer(path))
    if hits:
        named = [h for h in hits if not h.group(1).isdigit() and not _is_quantity(h.group(1))]
        chosen = named[-1] if named else next((h for h in hits if h.group(1).isdigit()), hits[-1])
        rest = path[: chosen.start()] + " " + path[chosen.end() :]
        label, before, after = chosen.group(1), "", ""
        if "." in label:  # `hip.pos`
            stem, _, tail = label.rpartition(".")
            if _is_quantity(tail):
                label, after, rest = stem, f".{tail}", f"{rest} {tail}"
        where = f"{path[: chosen.start()]}[{before}{{}}{after}]{path[chosen.end() :]}"
        return where, label, rest
    return _named(path)


def _is_quantity(text: str) -> bool:
    words = {_word(p) for p in _PIECE.findall(text)}
    return any(words & known for known in _WORDS.values())


def _named(path: str) -> tuple[str, str, str]:
    """The joint in the name of a column: the longest run of words that are not about quantities."""
    known = set().union(*_WORDS.values()) | _COMMAND
    runs: list[list[re.Match[str]]] = [[]]
    pieces = list(_PIECE.finditer(path))
    for k, piece in enumerate(pieces):
        is_unit = k == len(pieces) - 1 and piece.group() in _UNITS
        if _word(piece.group()) in known or is_unit:
            runs.append([])
        else:
            runs[-1].append(piece)
    runs = [run for run in runs if run]
    telling = [run for run in runs if not all(_word(p.group()) in _GENERIC for p in run)]
    run = max(telling or runs, key=len, default=[])
    if not run:
        return path, "", path
    start, end = run[0].start(), run[-1].end()
    slash = path.rfind("/", start, end)
    start = slash + 1 if slash >= 0 else start
    label = path[start:end]
    return f"{path[:start]}{{}}{path[end:]}", label, f"{path[:start]} {path[end:]}"
