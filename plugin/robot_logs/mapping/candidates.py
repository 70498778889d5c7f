"""Fields that may hold a quantity of joints, by their names and the types of their messages."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from mjrig.robot_logs.mapping.column_names import Meaning, bare, meaning, time_column
from mjrig.robot_logs.mapping.survey import STAMPS, Survey, Surveyed, ValueRange

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
