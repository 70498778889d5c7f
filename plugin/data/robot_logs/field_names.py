"""Which quantity a field may hold, by the words and unit in its name and by message type."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from mjrig.data.robot_logs.survey import STAMPS, Survey, Surveyed, ValueRange
from mjrig.data.robot_logs.units import CURRENTS, NamedUnit, unit_of

# Column names -------------------------------------------------------------------------------------


_WORDS = {
    "position": {"q", "pos", "position", "angle", "ang", "qpos", "theta", "θ", "encoder", "enc",
                 "displacement", "extension", "stroke", "winkel", "weg"},
    "velocity": {"dq", "qd", "vel", "velocity", "qvel", "speed", "dtheta", "qdot", "omega", "ω",
                 "geschwindigkeit", "drehzahl"},
    "effort": {"tau", "τ", "effort", "torque", "trq", "est", "current", "cur", "curr", "iq",
               "force", "load", "strom", "drehmoment", "kraft"},
    "kp": {"kp", "stiffness"},
    "kd": {"kd", "kv"},
}  # fmt: skip
_COMMAND = {
    "cmd", "command", "commanded", "des", "desired", "target", "tgt", "action", "ref", "reference",
    "setpoint", "set", "sp", "goal", "demand", "requested", "soll",
}  # fmt: skip
#: Words of what was measured; most of them alone say that it is a position.
_MEASURED = {"actual", "measured", "meas", "feedback", "fb", "present", "act", "observed", "ist"}
_TELLS_POSITION = _MEASURED - {"act"}
#: Words of fields that are none of these, whatever else is in their name.
_OTHER = {
    "raw", "error", "err", "covariance", "acceleration", "ddq", "qdd", "acc", "accel",
    "temperature", "temp", "output", "min", "max", "limit", "foot", "imu", "gyro", "gyroscope",
    "accelerometer", "quaternion", "orientation", "quat", "odom", "header", "layout", "linear",
    "angular", "twist", "pose", "base", "root", "rpy", "contact", "voltage", "volt", "pwm",
    "ddot", "battery", "gps", "tcp", "mag", "ft", "wrench",
}  # fmt: skip
#: Words that say nothing about which joint it is.
_GENERIC = {"joint", "dof", "motor", "state", "states", "actuator", "observation", "values",
            "value", "data", "points", "interface", "log", "robot"} | _MEASURED  # fmt: skip
#: Directions: a column with such a name alone is of a body, not of a joint.
_AXES = {"x", "y", "z", "roll", "pitch", "yaw", "rx", "ry", "rz"}
_CURRENT = {"current", "cur", "curr", "iq", "strom"}
_FORCE = {"force", "kraft"}
#: The sign of a current before the name of a joint, if the unit is one of currents.
_CURRENT_SIGN = re.compile(r"[Ii](?:[_ .-](?=\w)|$)")
_TIMES = {"time", "t", "timestamp", "stamp", "sec", "seconds", "elapsed", "ts", "epoch", "clock",
          "millis", "micros", "nanos", "walltime", "rostime", "zeit", "uhrzeit",
          "zeitstempel"}  # fmt: skip
_TIME_UNITS = {"sec": "s", "seconds": "s", "millis": "ms", "micros": "us", "nanos": "ns"}
_PIECE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_PLURALS = {"velocities": "velocity"}
#: Quantity → the same one commanded.
_COMMANDED = {"position": "command", "velocity": "command_velocity", "effort": "feedforward"}
_BY_UNIT = {"place": "position", "speed": "velocity", "effort": "effort"}
#: Kinds of units that a quantity may have; `vel_deg` means deg/s.
_FITTING = {
    "position": ("place", "share"),
    "velocity": ("speed", "place", "share"),
    "effort": ("effort", "share"),
}


#: Longest name [letters] that is searched for words: damaged tables have longer ones.
MAX_NAME = 1000


@dataclass(frozen=True)
class Meaning:
    """What a column holds.

    Attributes:
        quantity: `position`, `velocity`, `effort`, `command`, `command_velocity`, `feedforward`,
            `kp`, `kd`.
        field: its name with {} in place of the joint; without, if it names none.
        label: the joint, as the log calls it; empty: it names none.
        unit: as the name says; empty: it does not.
        by: the word or the unit that tells the quantity.
    """

    quantity: str
    field: str
    label: str
    unit: str = ""
    by: str = ""


def meaning(topic: str, path: str) -> Meaning | None:
    """What a column is by its name and that of its topic; None: nothing known."""
    if len(path) > MAX_NAME:
        return None
    stem = path
    if _joint_bracket(path):  # `pos_mm[lift]`, a column of the array `pos_mm`
        stem = re.sub(rf"{_BRACKET.pattern}\s*$", "", path)
    unit = unit_of(stem) or _unit_inside(stem)
    for tried in (unit, None):
        found = _with_unit(topic, path, tried)
        if found is not None or unit is None:
            return found
    return None


def _unit_inside(path: str) -> NamedUnit | None:
    """A unit before the last words of a name: `shoulder_deg_cmd`."""
    end = len(path)
    known = _COMMAND | _MEASURED | set().union(*_WORDS.values())
    for piece in reversed(list(_PIECE.finditer(path))):
        if _word(piece.group()) not in known:
            break
        end = piece.start()
    unit = unit_of(path[:end].rstrip("_-./: "))
    return unit if unit is not None and unit.length > 2 and unit.start > 0 else None


def bare(path: str) -> Meaning:
    """A column that has only the name of a joint, and perhaps a unit."""
    unit = unit_of(path)
    end = len(path) if unit is None else unit.start
    said = unit.unit if unit is not None and unit.kind in ("place", "share") else ""
    return Meaning("position", f"{{}}{path[end:]}", path[:end], said, "name")


def _with_unit(topic: str, path: str, unit: NamedUnit | None) -> Meaning | None:
    """The meaning with this unit taken out of the name; None: it does not fit."""
    end = len(path) if unit is None else unit.start
    length = 0 if unit is None else unit.length
    is_current = unit is not None and unit.unit in CURRENTS
    sign = _CURRENT_SIGN.match(path[:end]) if is_current else None
    start = sign.end() if sign is not None else 0
    first, last, rest = _parts(path[start:end] + path[end + length :])
    first += start + (length if start + first >= end else 0)
    last += start + (length if start + last > end else 0)
    label = path[first:last]
    field = f"{path[:first]}{{}}{path[last:]}" if label else path
    rest = f"current {rest}" if start else rest
    words = [_word(p) for p in _PIECE.findall(rest)]
    said = set(words)
    if said & _OTHER and "joint" not in said:
        return None
    kind, by = _kind(words, unit, label)
    by = path[0] if start else by
    if not kind:
        return None
    text = "" if unit is None else unit.unit
    if unit is not None and unit.kind not in _FITTING.get(kind, ()):
        if not (kind == "position" and unit.kind == "speed" and label):
            return None
        kind, by = "velocity", text  # `q_elbow_rad_s`
    if kind == "effort" and not text:
        text = "A" if said & _CURRENT else "N" if said & _FORCE else ""
    named = {_word(p) for p in _PIECE.findall(topic)} - {"set", "sp"}
    telling = said & _COMMAND or named & _COMMAND
    if telling and kind in _COMMANDED:
        kind, by = _COMMANDED[kind], "' and '".join(dict.fromkeys([min(telling), by]))
    return Meaning(kind, field, label, text, by)


def _kind(words: Sequence[str], unit: NamedUnit | None, label: str) -> tuple[str, str]:
    """The quantity by words, by a word for commands or measurements, or by the unit."""
    said = set(words)
    hits = {kind: said & (known - {"est"}) for kind, known in _WORDS.items()}
    kinds = [kind for kind, found in hits.items() if found]
    if kinds == ["position"] and "dot" in said:
        return "velocity", "dot"
    if kinds:
        kind = "velocity" if "velocity" in kinds else kinds[-1] if "kp" in kinds else kinds[0]
        return kind, min(hits[kind])
    left = said - _COMMAND - _GENERIC
    only = said and not {w for w in left if not w.isdigit()}
    known = unit.kind if unit is not None else ""
    if unit is not None and known in _BY_UNIT:
        about = {_word(p) for p in _PIECE.findall(label)}
        is_joint = bool(label) and not about & _OTHER and not about <= _AXES
        is_told = only and bool(said & (_COMMAND | _TELLS_POSITION)) and not about & _OTHER
        fits = is_told or (is_joint and (only or not said))
        return (_BY_UNIT[known], unit.unit) if fits else ("", "")
    if only and (said & _COMMAND or said & _TELLS_POSITION):
        return "position", min(said & (_COMMAND | _TELLS_POSITION))
    if list(words) == ["observation", "state"]:
        return "position", "state"
    return "", ""


def time_column(path: str) -> tuple[bool, str]:
    """Whether a column holds times, and the unit its name says."""
    unit = unit_of(path)
    is_timed = unit is not None and unit.kind == "time"
    end = unit.start if unit is not None and is_timed else len(path)
    words = [p.lower() for p in _PIECE.findall(path[:end])]
    text = unit.unit if unit is not None and is_timed else ""
    kept = [w for w in words if w not in ("ros", "wall", "boot", "unix", "epoch", "elapsed")]
    words = kept or words[:1]
    is_time = len(words) == 1 and words[0] in _TIMES
    return is_time, text or _TIME_UNITS.get(words[0] if words else "", "")


def _word(piece: str) -> str:
    word = piece.lower()
    if word in _PLURALS:
        return _PLURALS[word]
    return word[:-1] if len(word) > 3 and word.endswith("s") and word != "states" else word


def _joint_bracket(path: str) -> bool:
    """Whether brackets name a joint, or count it, at the end of a path: `position[hip]`."""
    hits = list(_BRACKET.finditer(path))
    if not hits or hits[-1].end() != len(path.rstrip()):
        return bool(hits)
    return unit_of(path) is None or path[: hits[-1].start()].rstrip() == ""


def _parts(path: str) -> tuple[int, int, str]:
    """(where the label begins and ends, the rest of the name) of a path."""
    hits = list(_BRACKET.finditer(path))
    if not hits:
        return _named(path)
    named = [h for h in hits if not h.group(1).isdigit() and not _is_quantity(h.group(1))]
    chosen = named[-1] if named else next((h for h in hits if h.group(1).isdigit()), hits[-1])
    rest = path[: chosen.start()] + " " + path[chosen.end() :]
    stem, _, tail = chosen.group(1).rpartition(".")
    if stem and _is_quantity(tail):  # `hip.pos`
        return chosen.start(1), chosen.start(1) + len(stem), f"{rest} {tail}"
    return chosen.start(1), chosen.end(1), rest


def _is_quantity(text: str) -> bool:
    words = {_word(p) for p in _PIECE.findall(text)}
    return any(words & known for known in _WORDS.values())


def _named(path: str) -> tuple[int, int, str]:
    """The joint in the name of a column: the longest run of words that are not about quantities."""
    known = set().union(*_WORDS.values()) | _COMMAND | _MEASURED | {"dot", "ddot"}
    runs: list[list[re.Match[str]]] = [[]]
    for piece in _PIECE.finditer(path):
        if _word(piece.group()) in known:
            runs.append([])
        else:
            runs[-1].append(piece)
    runs = [run for run in runs if run]
    telling = [run for run in runs if not all(_word(p.group()) in _GENERIC for p in run)]
    run = max(telling or runs, key=len, default=[])
    while len(run) > 1 and _word(run[0].group()) in ("state", "states", "data", "log", "value"):
        run = run[1:]
    if not run:
        return 0, 0, path
    start, end = run[0].start(), run[-1].end()
    slash = path.rfind("/", start, end)
    start = slash + 1 if slash >= 0 else start
    return start, end, f"{path[:start]} {path[end:]}"


# Candidates ---------------------------------------------------------------------------------------
# Fields that may hold a quantity of joints, by their names and the types of their messages.


#: A commanded position beyond this is a vendor's word for "no position".
NO_POSITION = 1e6
#: What a joint is called where no column names one.
ONLY = "joint"
_MOTOR = re.compile(r"motor_?(?:state|cmd)\[(\d+)\]\.(?:q|mode)", re.IGNORECASE)
_MOTORS = re.compile(r"motor_?(?:state|cmd)\[(\d+)\]", re.IGNORECASE)
#: What the fields of a trajectory are, which is to be followed.
_WANTED = {"position": "command", "velocity": "command_velocity", "effort": "feedforward"}
#: Messages about the base.
_NO_JOINTS = {"SportModeState", "Odometry", "Imu", "Pose", "PoseStamped", "Twist", "TFMessage"}


@dataclass
class Candidate:
    """Fields of one topic that hold one quantity of some joints.

    Attributes:
        pattern: their name with {} in place of the label.
        by: the word or unit that tells the quantity.
        labels: the joints, as the log calls them.
        fixed: whether `pattern` is the name of a single field, that of the only label.
    """

    topic: str
    pattern: str
    unit: str
    count: int
    by: str = ""
    labels: list[str] = field(default_factory=list)
    ranges: list[ValueRange] = field(default_factory=list)
    fixed: bool = False
    why: str = ""

    def paths(self) -> list[str]:
        """Its fields."""
        if self.fixed:
            return [self.pattern]
        return [self.pattern.replace("{}", label) for label in self.labels]

    def of(self, places: Collection[int]) -> "Candidate":
        """The same with some of the joints."""
        labels = [self.labels[k] for k in places]
        return replace(self, labels=labels, ranges=[self.ranges[k] for k in places])

    def alone(self, place: int, label: str) -> "Candidate":
        """One of its fields, that of a joint which others call `label`."""
        return replace(
            self,
            pattern=self.paths()[place],
            labels=[label],
            ranges=[self.ranges[place]],
            fixed=True,
        )


def candidates(found: Survey) -> dict[str, list[Candidate]]:
    """Quantity → the fields that may hold it."""
    # A file may be called anything: `target.csv` holds more than commands.
    is_table = len(found.topics) == 1 and _is_table(next(iter(found.topics.values())))
    every: dict[tuple[str, str, str], Candidate] = {}
    nameless: dict[str, Candidate] = {}
    for topic in found.topics.values():
        if topic.topic.type.rpartition("/")[2] in _NO_JOINTS:
            continue
        for path, said in _meanings(topic, "" if is_table else topic.topic.name):
            name = topic.topic.name
            entry = Candidate(name, said.field, said.unit, topic.topic.count, said.by)
            if not said.label:
                if topic.topic.encoding in ("table", "json"):
                    entry.fixed, entry.labels, entry.ranges = True, [ONLY], [topic.ranges[path]]
                    nameless.setdefault(said.quantity, entry)
                continue
            entry = every.setdefault((said.quantity, name, said.field), entry)
            entry.labels.append(said.label)
            entry.ranges.append(topic.ranges[path])
    grouped: dict[str, list[Candidate]] = {}
    for (quantity, _, _), entry in every.items():
        grouped.setdefault(quantity, []).append(entry)
    if "position" in grouped or "position" not in nameless:
        return grouped
    return {quantity: [entry] for quantity, entry in nameless.items()}


def _meanings(topic: Surveyed, called: str) -> Iterable[tuple[str, Meaning]]:
    """Fields of a topic that say what they are, and those of which others say it."""
    used = _used_motors(topic)
    known: list[tuple[str, Meaning]] = []
    rest: list[str] = []
    for path in topic.ranges:
        if path in STAMPS or (_is_table(topic) and time_column(path)[0]):
            continue
        said = meaning(called, path)
        if said is not None and topic.topic.type.endswith("/JointTrajectory"):
            said = replace(said, quantity=_WANTED.get(said.quantity, said.quantity))
        if said is None:
            rest.append(path)
        elif (used is None or _is_used(path, used)) and not _is_later_point(path):
            known.append((path, said))
    labels = {said.label for _, said in known if said.label}
    placed = {said.label for _, said in known if said.quantity == "position"}
    alone = [(path, bare(path)) for path in rest]
    known += [(path, said) for path, said in alone if said.label in labels - placed]
    return known


def _is_table(topic: Surveyed) -> bool:
    return topic.topic.encoding == "table"


def _used_motors(topic: Surveyed) -> set[int] | None:
    """Motors that take part; None: it has no numbered motors."""
    used: set[int] = set()
    has_motors = False
    for path, values in topic.ranges.items():
        hit = _MOTOR.fullmatch(path)
        if hit is None:
            continue
        has_motors = True
        is_command = "cmd" in path.lower()
        if path.endswith(".mode"):
            is_on = not is_command and values.high > 0.0
        else:
            is_on = values.size > 0.0 and values.low < NO_POSITION
        if is_on:
            used.add(int(hit.group(1)))
    return used if has_motors else None


def _is_used(path: str, motors: set[int]) -> bool:
    hit = _MOTORS.match(path)
    return hit is None or int(hit.group(1)) in motors


def _is_later_point(path: str) -> bool:
    """Points of a trajectory follow the first."""
    return path.startswith("points[") and not path.startswith("points[0]")
