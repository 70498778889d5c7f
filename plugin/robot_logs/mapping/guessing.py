"""A mapping guessed from names, types and ranges; every guess has its reason."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mjrig.errors import RecordingError
from mjrig.names import how_many, listed
from mjrig.robot_logs.containers.container import Stamps
from mjrig.robot_logs.mapping.column_names import meaning, time_column
from mjrig.robot_logs.mapping.log_map import (
    ANGLES,
    QUANTITIES,
    BaseSource,
    LogMap,
    LogSource,
    MappedJoint,
    TimeSource,
)
from mjrig.robot_logs.mapping.motor_order import robot_by_motors, sdk_name
from mjrig.robot_logs.mapping.survey import STAMPS, Survey, Surveyed, ValueRange

#: A commanded position beyond this is a vendor's word for "no position".
NO_POSITION = 1e6
_SLIDES = ("lift", "prismatic", "slide", "linear", "gripper_finger")
_MOTOR = re.compile(r"motor_?(?:state|cmd)\[(\d+)\]\.(?:q|mode)", re.IGNORECASE)
#: Messages about the base.
_NO_JOINTS = {"SportModeState", "Odometry", "Imu", "Pose", "PoseStamped", "Twist", "TFMessage"}
#: Stamps are guessed in units of time by their size: more than so many of them are of 1970.
_BY_SIZE = (("ns", 1e17), ("us", 1e14), ("ms", 1e11))


@dataclass
class _Candidate:
    """Fields of one topic that hold one quantity of some joints."""

    topic: str
    pattern: str
    unit: str
    count: int
    labels: list[str] = field(default_factory=list)
    ranges: list[ValueRange] = field(default_factory=list)


def guessed_map(found: Survey, joints: Sequence[str] = ()) -> LogMap:
    """The likeliest mapping of a log.

    Args:
        found: what is in it.
        joints: their names in the order of the indices, for logs without names.

    Raises:
        RecordingError: no field looks like positions of joints; lists what there is.
    """
    return _Guess(found, joints).made()


class _Guess:
    def __init__(self, found: Survey, joints: Sequence[str]) -> None:
        self._found, self._joints = found, tuple(joints)
        self._reasons: dict[str, str] = {}
        self._robot = "robot"

    def made(self) -> LogMap:
        candidates = self._candidates()
        sources = {q: self._chosen(q, candidates[q]) for q in QUANTITIES if candidates.get(q)}
        sources = {q: chosen for q, chosen in sources.items() if chosen}
        if "position" not in sources:
            raise RecordingError(self._nothing())
        joints = self._named(sources)
        self._units(sources)
        base = dict(self._base())
        topics = {s.topic for chosen in sources.values() for s in chosen}
        topics |= {source.topic for source in base.values()}
        time = {topic: self._time(self._found.topics[topic]) for topic in sorted(topics)}
        rate = self._rate(time)
        made = {
            q: tuple(LogSource(c.topic, c.pattern, c.unit) for c in chosen)
            for q, chosen in sources.items()
        }
        return LogMap(
            robot=self._robot,
            joints=joints,
            sources=made,
            base=base,
            time={t: s for t, s in time.items() if s is not None},
            rate=rate,
            unused=self._unused(sources, base, time),
            reasons=self._reasons,
        )

    def _nothing(self) -> str:
        topics = [f"{t.topic.name} ({t.topic.type})" for t in self._found.topics.values()]
        if all(t.topic.encoding == "table" for t in self._found.topics.values()):
            topics = [path for t in self._found.topics.values() for path in t.ranges]
        return (
            f"{self._found.path}: no field looks like the positions of joints; it has: "
            f"{listed(topics)}. Write a log.yaml for it: docs/robot-logs.md"
        )

    # Fields -------------------------------------------------------------------------------------

    def _candidates(self) -> dict[str, list[_Candidate]]:
        found: dict[tuple[str, str, str], _Candidate] = {}
        for topic in self._found.topics.values():
            if topic.topic.type.rpartition("/")[2] in _NO_JOINTS:
                continue
            used = self._used_motors(topic)
            for path, values in topic.ranges.items():
                said = meaning(topic.topic.name, path)
                if said is None or (used is not None and not _is_used(path, used)):
                    continue
                if path.startswith("points[") and not path.startswith("points[0]"):
                    continue
                key = (said.quantity, topic.topic.name, said.field)
                entry = found.setdefault(
                    key, _Candidate(topic.topic.name, said.field, said.unit, topic.topic.count)
                )
                entry.labels.append(said.label)
                entry.ranges.append(values)
        grouped: dict[str, list[_Candidate]] = {}
        for (quantity, _, _), entry in found.items():
            grouped.setdefault(quantity, []).append(entry)
        return grouped

    def _used_motors(self, topic: Surveyed) -> set[int] | None:
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

    def _chosen(self, quantity: str, candidates: list[_Candidate]) -> list[_Candidate]:
        """The fields with the most joints and messages, and others for joints they lack."""
        order = sorted(candidates, key=lambda c: (-len(c.labels), -c.count, c.topic, c.pattern))
        chosen: list[_Candidate] = []
        for entry in order:
            have = {label for c in chosen for label in c.labels}
            new = [label for label in entry.labels if label not in have]
            if not chosen or (
                new and not entry.labels[0].isdigit() and not have & set(entry.labels)
            ):
                chosen.append(entry)
        first = chosen[0]
        words = f"the name {first.pattern!r} in {first.topic}"
        self._reasons[quantity] = f"by {words}, {how_many(len(first.labels), 'joint')}"
        return chosen

    # Joints -------------------------------------------------------------------------------------

    def _named(self, sources: Mapping[str, list[_Candidate]]) -> dict[str, MappedJoint]:
        labels = list(dict.fromkeys(lb for c in sources["position"] for lb in c.labels))
        names = self._names(labels, sources["position"][0])
        self._drop_strangers(sources, set(labels))
        found: dict[str, MappedJoint] = {}
        for label, name in zip(labels, names, strict=True):
            kind = "slide" if any(word in name.lower() for word in _SLIDES) else "hinge"
            found[name] = MappedJoint(label, kind=kind, unit="m" if kind == "slide" else "")
        slides = [name for name, joint in found.items() if joint.kind == "slide"]
        if slides:
            self._reasons["slides"] = f"{listed(slides)}: slides in metres, by the name"
        return found

    def _names(self, labels: Sequence[str], entry: _Candidate) -> list[str]:
        if not all(label.isdigit() for label in labels):
            names = [sdk_name(label) for label in labels]
            if names != labels:
                self._reasons["joints"] = "FR_0 … RL_2 are hip, thigh and calf of each leg"
            return names
        numbers = [int(label) for label in labels]
        if self._joints:
            if len(self._joints) != len(labels):
                raise RecordingError(
                    f"{self._found.path}: has {len(labels)} joints without names, and "
                    f"{len(self._joints)} names were given"
                )
            self._reasons["joints"] = "names as given, in the order of the indices"
            return list(self._joints)
        topic = self._found.topics[entry.topic].topic
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

    def _drop_strangers(self, sources: Mapping[str, list[_Candidate]], labels: set[str]) -> None:
        """Fields with none of the joints that have positions, such as commands by index."""
        for quantity in [q for q in sources if q != "position"]:
            kept = [c for c in sources[quantity] if set(c.labels) & labels]
            for entry in (c for c in sources[quantity] if c not in kept):
                if entry.labels[0].isdigit():
                    self._reasons[f"unused {entry.topic}"] = (
                        f"{entry.pattern} counts {how_many(len(entry.labels), 'joint')} by index: "
                        f"to use it as {quantity}, say their order (order: [names])"
                    )
            sources[quantity][:] = kept

    # Units --------------------------------------------------------------------------------------

    def _units(self, sources: dict[str, list[_Candidate]]) -> None:
        for quantity in [q for q, chosen in sources.items() if not chosen]:
            del sources[quantity]
            self._reasons.pop(quantity, None)
        for quantity, chosen in sources.items():
            for entry in chosen:
                known = QUANTITIES[quantity]
                if entry.unit in known or f"{entry.unit}/s" in known:
                    entry.unit = entry.unit if entry.unit in known else f"{entry.unit}/s"
                    self._reasons[quantity] += f"; {entry.unit} by the name"
                else:
                    entry.unit = self._by_range(quantity, entry)

    def _by_range(self, quantity: str, entry: _Candidate) -> str:
        usual = {"effort": "N·m", "feedforward": "N·m", "kp": "SI", "kd": "SI"}
        if quantity in usual:
            return usual[quantity]
        speed = "/s" if "velocity" in quantity else ""
        limit = 2.0 * math.pi if not speed else 60.0
        large = [r for r in entry.ranges if limit < r.size < NO_POSITION]
        if len(large) * 4 >= len(entry.ranges) and len(large) > 0:
            worst = max(r.size for r in large)
            if not speed and QUANTITIES[quantity] is ANGLES and _look_like_ticks(entry.ranges):
                self._reasons[quantity] += "; encoder ticks by their range: check 4096 per turn"
                return "4096/turn"
            self._reasons[quantity] += f"; deg{speed} by the range, up to {worst:.4g}"
            return f"deg{speed}"
        self._reasons[quantity] += f"; rad{speed} by the range"
        return f"rad{speed}"

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

    def _time(self, topic: Surveyed) -> TimeSource | None:
        stamps, name = topic.stamps, topic.topic.name
        if topic.topic.encoding == "table":
            return self._time_column(topic)
        choice, why = "log", "the recorder's clock: the messages have none"
        if "tick" in stamps and _advances(stamps["tick"]):
            choice, why = "tick", "the robot's own count of milliseconds: even, shows losses"
        elif "header" in stamps and _advances(stamps["header"]):
            choice, why = "header", "the sender's stamp of the measurement"
        elif "publish" in stamps and not (stamps["publish"] == stamps["log"]).all():
            choice, why = "publish", "the sender's stamp; the recorder's differs"
        self._reasons[f"time {name}"] = why
        return TimeSource(choice, "ms" if choice == "tick" else "ns")

    def _time_column(self, topic: Surveyed) -> TimeSource | None:
        for path, values in topic.ranges.items():
            is_time, unit = time_column(path)
            if is_time:
                why = "by the name"
                if not unit:
                    unit = next((u for u, least in _BY_SIZE if values.high > least), "s")
                    why = "by the name and the size of its numbers"
                if not unit or (unit == "s" and _too_slow(topic, values)):
                    unit, why = "ms", "by the name and its steps"
                self._reasons[f"time {topic.topic.name}"] = why
                return TimeSource(path, unit)
        return None

    def _rate(self, time: Mapping[str, TimeSource | None]) -> float | None:
        """Rows per second of a table without times."""
        if all(source is not None for source in time.values()):
            return None
        fps = self._found.constants.get("fps")
        if isinstance(fps, int | float) and fps > 0:
            self._reasons["rate"] = "the file's fps"
            return float(fps)
        return None

    def _unused(
        self,
        sources: Mapping[str, list[_Candidate]],
        base: Mapping[str, BaseSource],
        time: Mapping[str, TimeSource | None],
    ) -> dict[str, tuple[str, ...]]:
        """Topics that nothing is made of, and fields of the others; indices as […]."""
        used: dict[str, set[str]] = {}
        for entry in (c for chosen in sources.values() for c in chosen):
            used.setdefault(entry.topic, set()).update(
                entry.pattern.replace("{}", label) for label in entry.labels
            )
        for source in base.values():
            used.setdefault(source.topic, set()).update(source.fields)
        for name, stamp in time.items():
            if stamp is not None:
                used.setdefault(name, set()).add(stamp.stamp)
        found: dict[str, tuple[str, ...]] = {}
        for name, topic in self._found.topics.items():
            if topic.topic.problem:
                found[name] = (topic.topic.problem,)
                continue
            left = [p for p in topic.ranges if p not in used.get(name, ()) and p not in STAMPS]
            known = {_short(path) for path in used.get(name, ())}
            short = dict.fromkeys(s for s in map(_short, left) if s not in known)
            if short:
                found[name] = tuple(short)
        return found


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


def _is_used(path: str, motors: set[int]) -> bool:
    hit = re.match(r"motor_?(?:state|cmd)\[(\d+)\]", path, re.IGNORECASE)
    return hit is None or int(hit.group(1)) in motors


def _short(path: str) -> str:
    return re.sub(r"\[\d+\]", "[…]", path)


def _advances(stamps: Stamps) -> bool:
    return len(stamps) > 1 and bool((np.diff(stamps) > 0).mean() > 0.5)


def _look_like_ticks(ranges: Sequence[ValueRange]) -> bool:
    return all(r.whole for r in ranges) and any(r.size > 720.0 for r in ranges)


def _too_slow(topic: Surveyed, values: ValueRange) -> bool:
    """Whether rows would be seconds apart: then they are milliseconds."""
    rows = max(topic.topic.count - 1, 1)
    return values.whole and (values.high - values.low) / rows >= 1.0 and rows > 50
