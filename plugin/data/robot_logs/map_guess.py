"""A mapping guessed from names, types and ranges; every guess has its reason."""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from mjrig.core.errors import RecordingError
from mjrig.core.names import how_many, listed
from mjrig.data.robot_logs.containers.container import Stamps
from mjrig.data.robot_logs.field_names import (
    NO_POSITION,
    ONLY,
    Candidate,
    candidates,
    meaning,
    time_column,
)
from mjrig.data.robot_logs.log_map import BaseSource, LogMap, LogSource, MappedJoint, TimeSource
from mjrig.data.robot_logs.survey import Survey, Surveyed, ValueRange
from mjrig.data.robot_logs.units import (
    ANGLES,
    CURRENTS,
    LENGTHS,
    PERCENT,
    QUANTITIES,
    SPEEDS,
    constant_unit,
    known_kind,
)

# Order of motors ----------------------------------------------------------------------------------

_LEGS = ("hip", "thigh", "calf")
_QUADRUPED = tuple(f"{leg}_{part}_joint" for leg in ("FR", "FL", "RR", "RL") for part in _LEGS)
_WHEELED = (*_QUADRUPED, *(f"{leg}_foot_joint" for leg in ("FR", "FL", "RR", "RL")))


def _sides(parts: Collection[str]) -> list[str]:
    return [f"{side}_{part}_joint" for side in ("left", "right") for part in parts]


_LEG = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
_ARM = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll", "wrist_pitch",
        "wrist_yaw")  # fmt: skip
_WAIST = ("waist_yaw_joint", "waist_roll_joint", "waist_pitch_joint")
_H1_ARM = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow")
_H1_2_LEG = ("hip_yaw", "hip_pitch", "hip_roll", "knee", "ankle_pitch", "ankle_roll")

#: Robot → joint of each motor index, empty for an unused one.
ORDERS: dict[str, tuple[str, ...]] = {
    "go2": _QUADRUPED,
    "go2w": _WHEELED,
    "h1": (
        "right_hip_roll_joint", "right_hip_pitch_joint", "right_knee_joint",
        "left_hip_roll_joint", "left_hip_pitch_joint", "left_knee_joint",
        "torso_joint", "left_hip_yaw_joint", "right_hip_yaw_joint", "",
        "left_ankle_joint", "right_ankle_joint",
        *(f"right_{part}_joint" for part in _H1_ARM), *(f"left_{part}_joint" for part in _H1_ARM),
    ),
    "g1": (*_sides(_LEG), *_WAIST, *_sides(_ARM)),
    "h1_2": (*_sides(_H1_2_LEG), "torso_joint", *_sides(_ARM)),
}  # fmt: skip
#: Motors that the 23-joint G1 lacks.
_G1_23 = {13, 14, 20, 21, 27, 28}


def robot_by_motors(family: str, used: Collection[int]) -> tuple[str, tuple[str, ...], str]:
    """Robot, joint of each motor, and the reason; an empty robot: no known one fits."""
    motors = set(used)
    count = len(motors)
    go = {12: "go2", 16: "go2w"}
    name = ""
    if family == "unitree_go":
        name = go.get(count, "")
        if count >= 19 and 9 not in motors:
            name = "h1"
    elif motors == set(range(27)):
        name = "h1_2"
    elif motors in (set(range(29)), set(range(29)) - _G1_23):
        name = "g1"
    if not name or not motors <= set(range(len(ORDERS[name]))):
        return "", (), f"{count} motors are used, as in no robot that is known"
    same = " or B2" if name == "go2" else " or B2W" if name == "go2w" else ""
    return name, ORDERS[name], f"{count} motors are used: {name}{same}, in the order of its SDK"


def sdk_name(label: str) -> str:
    """`FR_0` → `FR_hip_joint`; other labels stay."""
    leg, _, number = label.partition("_")
    if leg in ("FR", "FL", "RR", "RL") and number in ("0", "1", "2"):
        return f"{leg}_{_LEGS[int(number)]}_joint"
    return label


# Guessed times ------------------------------------------------------------------------------------


#: Stamps are guessed in units of time by their size: more than so many of them are of 1970.
_BY_SIZE = (("ns", 1e17), ("us", 1e14), ("ms", 1e11))
#: Columns that count rows.
_COUNTERS = re.compile(r"(?i)[\W_]*(?:index|idx|row|frame|seq|sequence|count|counter|sample|n|i|id|"
                       r"step|tick|episode|unnamed|line|no|nr|number)?(?:[\W_]*(?:index|no|nr|id|"
                       r"number|\d+))?[\W_]*")  # fmt: skip


def guessed_time(topic: Surveyed) -> tuple[TimeSource | None, str]:
    """The stamps of a topic and the reason; None: it has no times."""
    if topic.topic.encoding == "table":
        return _column(topic)
    stamps = topic.stamps
    if "tick" in stamps and _advances(stamps["tick"]):
        return TimeSource("tick", "ms"), "the robot's own count of milliseconds: even, shows losses"
    if "header" in stamps and _advances(stamps["header"]):
        return TimeSource("header", "ns"), "the sender's stamp of the measurement"
    if "publish" in stamps and not (stamps["publish"] == stamps["log"]).all():
        return TimeSource("publish", "ns"), "the sender's stamp; the recorder's differs"
    return TimeSource("log", "ns"), "the recorder's clock: the messages have none"


def _column(topic: Surveyed) -> tuple[TimeSource | None, str]:
    named = [(path, *time_column(path)) for path in topic.ranges]
    for path, is_time, unit in named:
        if is_time and topic.ranges[path].high > topic.ranges[path].low:
            return _with_unit(topic, path, unit, "by the name")
    for path, values in topic.ranges.items():
        is_counter = values.whole and _COUNTERS.fullmatch(path) is not None
        is_motion = meaning("", path) is not None  # a joint may rise all the time, too
        if values.rises and not is_counter and not is_motion and topic.topic.count > 2:
            return _with_unit(topic, path, "", "it rises in every row")
    return None, ""


def _with_unit(topic: Surveyed, path: str, unit: str, why: str) -> tuple[TimeSource, str]:
    values = topic.ranges[path]
    if unit:
        return TimeSource(path, unit), why
    unit = next((u for u, least in _BY_SIZE if values.high > least), "s")
    if unit == "s":
        unit = _by_steps(topic, values)
        if unit != "s":
            return TimeSource(path, unit), f"{why}, {unit} by its steps"
    return TimeSource(path, unit), f"{why}, {unit} by the size of its numbers"


def _by_steps(topic: Surveyed, values: ValueRange) -> str:
    """Whole numbers that would be seconds apart are milliseconds, or microseconds."""
    rows = max(topic.topic.count - 1, 1)
    step = (values.high - values.low) / rows
    if not values.whole or step < 1.0 or rows <= 50:
        return "s"
    return "ms" if step < 500.0 else "us" if step < 500_000.0 else "ns"


def _advances(stamps: Stamps) -> bool:
    """Whether stamps tell times; those of a publisher that leaves them 0 beside others do not."""
    if len(stamps) < 2 or ((stamps[1:] == 0) & (stamps[:-1] > 0)).any():
        return False
    return bool((np.diff(stamps) > 0).mean() > 0.5)


# Guessed units ------------------------------------------------------------------------------------


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


# Guessing -----------------------------------------------------------------------------------------


#: Words in names of slides; a shoulder's lift is a hinge.
_SLIDES = ("lift", "prismatic", "slide", "linear", "gripper_finger")


def guessed_map(found: Survey, joints: Sequence[str] = ()) -> LogMap:
    """The likeliest mapping of a log.

    Args:
        found: what is in it.
        joints: their names in the order of the indices, for logs without names.

    Raises:
        RecordingError: no field looks like positions of joints; lists what there is.
    """
    made = drafted_map(found, joints)
    if "position" not in made.sources:
        raise RecordingError(_nothing(found))
    return made


def drafted_map(found: Survey, joints: Sequence[str] = ()) -> LogMap:
    """The same, as far as anything can be guessed; `lacking` says what a user must fill in.

    Raises:
        RecordingError: there are more or fewer joints than names were given.
    """
    return _Guess(found, joints).made()


def _nothing(found: Survey) -> str:
    topics = [f"{t.topic.name} ({t.topic.type})" for t in found.topics.values()]
    if all(t.topic.encoding == "table" for t in found.topics.values()):
        topics = [path for t in found.topics.values() for path in (*t.ranges, *t.empty)]
    return (
        f"{found.path}: no field looks like the positions of joints; it has: {listed(topics)}. "
        "`mjrig convert LOG --map` writes a log.yaml to fill in"
    )


class _Guess:
    def __init__(self, found: Survey, joints: Sequence[str]) -> None:
        self._found, self._joints = found, tuple(joints)
        self._reasons: dict[str, str] = {}
        self._robot = "robot"

    def made(self) -> LogMap:
        found = candidates(self._found)
        order = ["position", *(q for q in QUANTITIES if q != "position")]
        sources = {q: _chosen(found[q]) for q in order if found.get(q)}
        placed = sources.get("position") or [c for own in sources.values() for c in own]
        labels = list(dict.fromkeys(label for c in placed for label in c.labels))
        for quantity in [q for q in sources if q != "position"]:
            sources[quantity] = self._fitting(quantity, found[quantity], labels)
        sources = {q: own for q, own in sources.items() if own}
        for entry in chain.from_iterable(sources.values()):
            many = "" if entry.fixed else f", {how_many(len(entry.labels), 'joint')}"
            entry.why = f"by '{entry.by}' in {entry.pattern!r}{many}"
        set_units(sources)
        names = dict(zip(labels, self._names(labels, placed), strict=True))
        joints = self._mapped(names, sources)
        base = dict(self._base())
        topics = {s.topic for chosen in sources.values() for s in chosen}
        topics |= {source.topic for source in base.values()}
        if not topics:
            tables = [t.topic for t in self._found.topics.values() if t.topic.encoding == "table"]
            topics = {table.name for table in tables}
        time = {topic: self._time(topic) for topic in sorted(topics)}
        rate = self._rate(time)
        self._say_empty()
        return LogMap(
            robot=self._robot,
            joints=joints,
            sources={q: self._sources(q, own, names) for q, own in sources.items()},
            base=base,
            time={t: s for t, s in time.items() if s is not None},
            rate=rate,
            reasons=self._reasons,
            lacking=tuple(self._lacking(sources, names, joints, time, rate)),
        )

    # Fields -------------------------------------------------------------------------------------

    def _fitting(
        self, quantity: str, found: Sequence[Candidate], labels: Sequence[str]
    ) -> list[Candidate]:
        """Fields of joints that have positions, whichever way they write the joints' names."""
        known = {_plain(label): label for label in labels}
        patterns, single = [], []
        for entry in found:
            same = [k for k, label in enumerate(entry.labels) if label in labels]
            if same:
                patterns.append(entry.of(same))
            for k, label in enumerate(entry.labels):
                if k not in same and _plain(label) in known and not label.isdigit():
                    single.append(entry.alone(k, known[_plain(label)]))
            if not same and entry.labels[0].isdigit():
                self._reasons[f"unused {entry.topic}"] = (
                    f"{entry.pattern} counts {how_many(len(entry.labels), 'joint')} by index: "
                    f"to use it as {quantity}, say their order (order: [names])"
                )
        return _chosen([*patterns, *single])

    def _sources(
        self, quantity: str, chosen: Sequence[Candidate], names: Mapping[str, str]
    ) -> tuple[LogSource, ...]:
        found = []
        for entry in chosen:
            joint = names[entry.labels[0]] if entry.fixed else ""
            found.append(LogSource(entry.topic, entry.pattern, entry.unit, joint=joint))
            self._reasons[f"{quantity} {entry.topic} {entry.pattern}"] = entry.why
        self._reasons[quantity] = chosen[0].why
        if len(chosen) > 1:
            self._reasons[quantity] += f", and {how_many(len(chosen) - 1, 'other field')}"
        return tuple(found)

    def _lacking(
        self,
        sources: Mapping[str, Sequence[Candidate]],
        names: Mapping[str, str],
        joints: Mapping[str, MappedJoint],
        time: Mapping[str, TimeSource | None],
        rate: float | None,
    ) -> Iterator[str]:
        """What must be filled in before the log can be read."""
        units = {names[n]: c.unit for c in sources.get("position", ()) for n in c.labels}
        if not names:
            yield "joints: their names in the scene, and their names or indices in the log"
        if "position" not in sources:
            yield "position: the fields that hold the joints' positions, and their unit"
        for quantity, own in sources.items():
            for entry in own:
                if entry.unit in CURRENTS:
                    whose = self._constants([names[label] for label in entry.labels], joints, units)
                    yield (
                        f"torque_constant {whose}: {entry.pattern} is a current in {entry.unit}; "
                        f"or delete that line of {quantity}"
                    )
                elif entry.unit == PERCENT:
                    yield (
                        f"unit of {entry.pattern}: what 1 % is, in N·m, rad, …; or delete that "
                        f"line of {quantity}"
                    )
        untimed = [topic for topic, source in time.items() if source is None]
        if untimed and rate is None:
            yield f"rate: rows per second of {listed(untimed)}, or its column of times in time"

    @staticmethod
    def _constants(
        names: Sequence[str], joints: Mapping[str, MappedJoint], units: Mapping[str, str]
    ) -> str:
        """The unit of the torque constants of some joints, and which have it: `[N·m/A] of yaw`."""
        found: dict[str, list[str]] = {}
        for name in names:
            kind = known_kind(joints[name].kind, units.get(name, ""))
            found.setdefault(constant_unit([kind]), []).append(name)
        return ", ".join(f"[{unit}] of {listed(own)}" for unit, own in found.items())

    # Joints -------------------------------------------------------------------------------------

    def _mapped(
        self, names: Mapping[str, str], sources: Mapping[str, list[Candidate]]
    ) -> dict[str, MappedJoint]:
        slides = in_their_units(sources, slides_of(sources, _SLIDES))
        found: dict[str, MappedJoint] = {}
        for label, name in names.items():
            if label in slides:
                unit, why = slides[label]
                found[name] = MappedJoint(label, kind="slide", unit=unit)
                self._reasons[f"joint {name}"] = why
            else:
                found[name] = MappedJoint(label)
        return found

    def _names(self, labels: Sequence[str], placed: Sequence[Candidate]) -> list[str]:
        if labels == [ONLY] and placed[0].fixed:
            self._reasons["joints"] = "no column names a joint: put the scene's name here"
            return [ONLY]
        if not all(label.isdigit() for label in labels):
            names = [sdk_name(label) for label in labels]
            if names != labels:
                self._reasons["joints"] = "FR_0 … RL_2 are hip, thigh and calf of each leg"
            return names
        if not labels:
            return []
        numbers = [int(label) for label in labels]
        if self._joints:
            if len(self._joints) != len(labels):
                raise RecordingError(
                    f"{self._found.path}: has {len(labels)} joints without names, and "
                    f"{len(self._joints)} names were given"
                )
            self._reasons["joints"] = "names as given, in the order of the indices"
            return list(self._joints)
        topic = self._found.topics[placed[0].topic].topic
        family = topic.type.partition("/")[0]
        if family.startswith("unitree"):
            kind = "unitree_hg" if family == "unitree_hg" else "unitree_go"
            robot, order, why = robot_by_motors(kind, numbers)
            self._reasons["joints"] = why
            if robot:
                self._robot = robot
                return [order[n] for n in numbers]
        else:
            self._reasons["joints"] = "the log has indices only: put the scene's names here"
        return [f"joint_{n}" for n in numbers]

    # Base ---------------------------------------------------------------------------------------

    def _base(self) -> Iterator[tuple[str, BaseSource]]:
        """The floating base, where its position is known."""
        found: dict[str, BaseSource] = {}
        for name, topic in self._found.topics.items():
            paths = topic.ranges
            for what, fields, order in _BASES:
                if all(f in paths for f in fields) and what not in found:
                    found[what] = BaseSource(name, fields, order)
        fast = [n for n, t in self._found.topics.items() if "imu_state.quaternion[0]" in t.ranges]
        if fast and "orientation" in found:
            best = max(fast, key=lambda n: self._found.topics[n].topic.count)
            for what in ("orientation", "angular_velocity"):
                if what in found and found[what].fields[0].startswith("imu_state"):
                    found[what] = BaseSource(best, found[what].fields, found[what].order)
        if "position" in found and "orientation" in found:
            self._reasons["base"] = f"its position is in {found['position'].topic}"
            yield from found.items()
        elif "orientation" in found:
            self._reasons["base"] = "the base's orientation is known, but not its position"

    # Time ---------------------------------------------------------------------------------------

    def _time(self, topic: str) -> TimeSource | None:
        source, why = guessed_time(self._found.topics[topic])
        if why:
            self._reasons[f"time {topic}"] = why
        return source

    def _rate(self, time: Mapping[str, TimeSource | None]) -> float | None:
        """Rows per second of a table without times."""
        if all(source is not None for source in time.values()):
            return None
        fps = self._found.constants.get("fps")
        if isinstance(fps, int | float) and fps > 0:
            self._reasons["rate"] = "the file's fps"
            return float(fps)
        return None

    def _say_empty(self) -> None:
        """Columns that would be used by their names, and hold no number."""
        empty = [
            path
            for name, topic in self._found.topics.items()
            for path in topic.empty
            if meaning(name, path) is not None
        ]
        if empty:
            self._reasons["columns"] = f"without a single number are not used: {listed(empty)}"


_BASES = (
    ("position", ("pose.pose.position.x", "pose.pose.position.y", "pose.pose.position.z"), "wxyz"),
    ("position", ("position[0]", "position[1]", "position[2]"), "wxyz"),
    ("orientation", tuple(f"imu_state.quaternion[{k}]" for k in range(4)), "wxyz"),
    ("orientation", tuple(f"pose.pose.orientation.{k}" for k in "xyzw"), "xyzw"),
    ("orientation", tuple(f"orientation.{k}" for k in "xyzw"), "xyzw"),
    ("linear_velocity", tuple(f"velocity[{k}]" for k in range(3)), "wxyz"),
    ("angular_velocity", tuple(f"imu_state.gyroscope[{k}]" for k in range(3)), "wxyz"),
    ("angular_velocity", tuple(f"twist.twist.angular.{k}" for k in "xyz"), "wxyz"),
    ("angular_velocity", tuple(f"angular_velocity.{k}" for k in "xyz"), "wxyz"),
)


def _chosen(found: Sequence[Candidate]) -> list[Candidate]:
    """The fields with the most joints and messages, and others for joints they lack."""
    order = sorted(found, key=lambda c: (-len(c.labels), c.fixed, -c.count, c.topic, c.pattern))
    chosen: list[Candidate] = []
    for entry in order:
        have = {label for c in chosen for label in c.labels}
        new = [k for k, label in enumerate(entry.labels) if label not in have]
        if not chosen or (new and len(new) == len(entry.labels) and not _counts(entry)):
            chosen.append(entry)
        elif new and not _counts(entry):
            chosen += [entry.alone(k, entry.labels[k]) for k in new]
    return chosen


def _counts(entry: Candidate) -> bool:
    return entry.labels[0].isdigit() and not entry.fixed


def _plain(label: str) -> str:
    """A joint's name without its separators, capitals and words that all joints have."""
    text = re.sub(r"[\W_]+", "", label.lower())
    return re.sub("joint|axis|achse|gelenk", "", text) or text
