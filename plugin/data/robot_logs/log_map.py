"""LogMap: which field of a log is which quantity of which joint; `log.yaml` and its schema."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from mjrig.core.errors import RecordingError, SceneError
from mjrig.core.names import listed, suggestion
from mjrig.core.yaml_text.yaml_document import Document
from mjrig.data.robot_logs.units import (
    CURRENTS,
    LENGTHS,
    PERCENT,
    QUANTITIES,
    TIMES,
    constant_unit,
    known_kind,
    unit_factor,
)

# Log map ------------------------------------------------------------------------------------------


FORMAT = 1
KEY = "mjrig_log"
BASE = {"position": 3, "orientation": 4, "linear_velocity": 3, "angular_velocity": 3}
ORDERS = ("wxyz", "xyzw")
STAMPS = ("log", "publish", "header", "tick")
KINDS = ("hinge", "slide")


@dataclass(frozen=True)
class LogSource:
    """Where a quantity is: a field of a topic with {} in place of the joint.

    `order` are the joints as the field counts them, where it has indices and others have names.
    `joint` is the only one that a field without {} is of.
    """

    topic: str
    field: str
    unit: str = ""
    order: tuple[str, ...] = ()
    joint: str = ""

    def path(self, name: str, joint: "MappedJoint") -> str | None:
        """The field of a joint; None: it is not in this source."""
        if self.joint:
            return self.field if self.joint == name else None
        label = joint.id
        if self.order:
            known = [key for key in (name, joint.id) if key in self.order]
            if not known:
                return None
            label = str(self.order.index(known[0]))
        return self.field.replace("{}", label)


@dataclass(frozen=True)
class MappedJoint:
    """A joint: its name or index in the log, and what makes the scene's angle of the log's.

    The scene's position is sign · (log's position · unit) + offset.
    """

    id: str
    sign: int = 1
    offset: float = 0.0
    torque_constant: float | None = None
    kind: str = "hinge"
    unit: str = ""


@dataclass(frozen=True)
class BaseSource:
    """Numbers of the floating base: their fields, in order."""

    topic: str
    fields: tuple[str, ...]
    order: str = "wxyz"


@dataclass(frozen=True)
class TimeSource:
    """The stamps of a topic: `log`, `publish`, `header`, `tick`, or a column of a table."""

    stamp: str
    unit: str = "ns"


@dataclass(frozen=True)
class LogMap:
    """The whole mapping.

    `reasons` say why something was guessed, by its key; `lacking` what a user must fill in before
    the log can be read.
    """

    robot: str = "robot"
    joints: Mapping[str, MappedJoint] = field(default_factory=dict)
    sources: Mapping[str, tuple[LogSource, ...]] = field(default_factory=dict)
    base: Mapping[str, BaseSource] = field(default_factory=dict)
    time: Mapping[str, TimeSource] = field(default_factory=dict)
    rate: float | None = None
    offset: float | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    lacking: tuple[str, ...] = ()
    path: Path | None = None

    def places(self, quantity: str) -> dict[str, list[tuple[LogSource, str]]]:
        """Joint → where a quantity of it may be, the likeliest first: its own fields, patterns."""
        found: dict[str, list[tuple[LogSource, str]]] = {name: [] for name in self.joints}
        for source in sorted(self.sources.get(quantity, ()), key=lambda s: not s.joint):
            for name, joint in self.joints.items():
                path = source.path(name, joint)
                if path is not None:
                    found[name].append((source, path))
        return found

    def unit(self, quantity: str, source: LogSource, name: str) -> str:
        """The unit of a joint's number: its own, else that of its field."""
        own = self.joints[name].unit
        if own and quantity in ("position", "command"):
            return own
        if own in LENGTHS and quantity in ("velocity", "command_velocity"):
            return f"{own}/s"
        return source.unit

    def factor(self, quantity: str, source: LogSource, name: str) -> float:
        """How many of the SI unit a joint's number is, signs included.

        Raises:
            RecordingError: it is a current, and the joint has no torque constant; or a percentage.
        """
        joint, unit = self.joints[name], self.unit(quantity, source, name)
        factor = unit_factor(quantity, unit)
        where = f"{source.topic}: {source.path(name, joint)}"
        if unit == PERCENT:
            raise RecordingError(
                f"{where} is a percentage; write what 1 % is (in N·m, rad, …) as the unit of "
                f"{quantity} in log.yaml (unit: 0.02), or leave out {quantity}"
            )
        if unit in CURRENTS:
            if joint.torque_constant is None:
                kinds = (known_kind(j.kind, j.unit) for j in self.joints.values())
                raise RecordingError(
                    f"{where} is a current in {unit}, not an effort; give torque_constant "
                    f"[{constant_unit(kinds)}] of each joint in log.yaml, or leave out {quantity}"
                )
            factor *= joint.torque_constant
        return factor if quantity in ("kp", "kd") else factor * joint.sign


# Reading ----------------------------------------------------------------------------------------


def read_map(path: Path) -> LogMap:
    """A mapping from a file.

    Raises:
        RecordingError: it is not one; names the line of what is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordingError(f"{path}: cannot be read: {error}") from error
    return map_of(text, path)


def map_of(text: str, path: Path | None = None) -> LogMap:
    """A mapping from its text.

    Raises:
        RecordingError: it is not one.
    """
    try:
        document = Document(text, str(path or "log.yaml"))
    except SceneError as error:
        raise RecordingError(str(error)) from error
    return _Parser(document, path).parsed(document.data)


class _Parser:
    def __init__(self, document: Document, path: Path | None) -> None:
        self._document, self._path = document, path

    def _fail(self, where: str, why: str) -> RecordingError:
        first, _, rest = where.partition(".")
        keys = (first, rest) if rest else (first,)
        return RecordingError(str(self._document.error(keys, why)))

    def parsed(self, data: Any) -> LogMap:
        if not isinstance(data, Mapping) or data.get(KEY) != FORMAT:
            raise self._fail(KEY, f"must be {FORMAT}: it marks the mapping of a log")
        known = (KEY, "robot", "joints", "base", "time", "rate", "offset", "unused", *QUANTITIES)
        self._only("", data, known)
        joints = {str(n): self._joint(str(n), e) for n, e in self._map("joints", data).items()}
        self._check_joints(joints)
        sources = {
            q: tuple(self._source(q, entry, joints) for entry in _as_list(data[q]))
            for q in QUANTITIES
            if data.get(q)
        }
        self._check_owners(joints, sources)
        self._check_constants(joints, sources)
        base = {str(n): self._base(str(n), e) for n, e in self._map("base", data).items()}
        time = {str(n): self._time(str(n), e) for n, e in self._map("time", data).items()}
        self._map("unused", data)
        if "position" not in sources:
            raise self._fail("position", "is missing: say where the positions of joints are")
        for name in ("rate", "offset"):
            if data.get(name) is not None:
                self._number(name, data[name])
        rate = data.get("rate")
        return LogMap(
            robot=str(data.get("robot", "robot")),
            joints=joints,
            sources=sources,
            base=base,
            time=time,
            rate=None if rate is None else float(rate),
            offset=None if data.get("offset") is None else float(data["offset"]),
            path=self._path,
        )

    def _only(self, where: str, data: Mapping[Any, Any], known: tuple[str, ...]) -> None:
        for name in data:
            if name not in known:
                full = f"{where}.{name}" if where else str(name)
                raise self._fail(full, f"is not known; {suggestion(str(name), known)}")

    def _map(self, name: str, data: Mapping[str, Any]) -> Mapping[Any, Any]:
        value = data.get(name) or {}
        if not isinstance(value, Mapping):
            raise self._fail(name, f"must be a mapping, got {value!r:.60}")
        return value

    def _number(self, where: str, value: Any) -> float:
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            raise self._fail(where, f"must be a number, got {value!r:.60}")
        return float(value)

    def _joint(self, name: str, entry: Any) -> MappedJoint:
        where = f"joints.{name}"
        if not isinstance(entry, Mapping):
            return MappedJoint(str(entry))
        self._only(where, entry, ("id", "sign", "offset", "torque_constant", "kind", "unit"))
        if "id" not in entry:
            raise self._fail(where, "id is missing: its name or index in the log")
        sign = entry.get("sign", 1)
        if sign not in (1, -1):
            raise self._fail(where, f"sign must be 1 or -1, got {sign!r:.40}")
        kind = str(entry.get("kind", "hinge"))
        if kind not in KINDS:
            raise self._fail(where, f"kind must be hinge or slide, got {kind!r}")
        constant = entry.get("torque_constant")
        unit = str(entry.get("unit", ""))
        if unit:
            self._unit(where, "position", unit)
        return MappedJoint(
            id=str(entry["id"]),
            sign=int(sign),
            offset=self._number(where, entry.get("offset", 0.0)),
            torque_constant=None if constant is None else self._number(where, constant),
            kind=kind,
            unit=unit,
        )

    def _check_joints(self, joints: Mapping[str, MappedJoint]) -> None:
        if not joints:
            raise self._fail("joints", "is missing: the names of joints, and theirs in the log")
        owners: dict[str, str] = {}
        for name, joint in joints.items():
            if joint.id in owners:
                other = owners[joint.id]
                raise self._fail(
                    f"joints.{name}", f"{joint.id} of the log is mapped to {other} already"
                )
            owners[joint.id] = name

    def _unit(self, where: str, quantity: str, unit: str) -> None:
        try:
            unit_factor(quantity, unit)
        except RecordingError as error:
            raise self._fail(where, str(error).partition(": ")[2]) from None

    def _check_owners(
        self, joints: Mapping[str, MappedJoint], sources: Mapping[str, tuple[LogSource, ...]]
    ) -> None:
        """Refuse a field that two joints take their numbers from."""
        owners: dict[tuple[str, str], str] = {}
        for quantity, own in sources.items():
            for source, (name, joint) in product(own, joints.items()):
                path = source.path(name, joint)
                if path is None:
                    continue
                other = owners.setdefault((source.topic, path), name)
                if other != name:
                    raise self._fail(
                        quantity, f"{path} of {source.topic} is mapped to {other} and to {name}"
                    )

    def _check_constants(
        self, joints: Mapping[str, MappedJoint], sources: Mapping[str, tuple[LogSource, ...]]
    ) -> None:
        """Refuse torque constants of joints whose efforts are none of them currents."""
        for name, joint in joints.items():
            own = [s for q in ("effort", "feedforward") for s in sources.get(q, ())]
            own = [s for s in own if s.path(name, joint) is not None]
            if joint.torque_constant is None or not own or {s.unit for s in own} & {*CURRENTS}:
                continue
            usual = "N" if joint.kind == "slide" else "N·m or N"
            raise self._fail(
                f"joints.{name}",
                f"torque_constant is of currents, and its effort is in {own[0].unit or usual}; to "
                f"scale it, give it a line of its own with a number as unit: effort: [{{from: "
                f"{own[0].topic}, field: {own[0].path(name, joint)!r}, joint: {name}, unit: "
                f"{joint.torque_constant:g}}}, …]",
            )

    def _source(self, quantity: str, entry: Any, joints: Mapping[str, MappedJoint]) -> LogSource:
        if not isinstance(entry, Mapping) or not {"from", "field"} <= set(entry):
            raise self._fail(quantity, f"must be {{from: TOPIC, field: …}}, got {entry!r:.60}")
        self._only(quantity, entry, ("from", "field", "unit", "order", "joint"))
        field = str(entry["field"])
        unit = str(entry.get("unit", ""))
        self._unit(quantity, quantity, unit)
        order = entry.get("order") or ()
        if not isinstance(order, list | tuple):
            raise self._fail(quantity, f"order must be a list of joints, got {order!r:.60}")
        owner = self._owner(quantity, field, entry.get("joint"), joints)
        return LogSource(str(entry["from"]), field, unit, tuple(map(str, order)), owner)

    def _owner(
        self, quantity: str, field: str, joint: Any, joints: Mapping[str, MappedJoint]
    ) -> str:
        """The joint that a field without {} is of; empty: it has {}."""
        if "{}" in field:
            if joint is not None:
                why = f"{field!r:.60} has {{}} for any joint: write the name of one, or no joint"
                raise self._fail(quantity, why)
            return ""
        if joint is None and len(joints) == 1:
            return next(iter(joints))
        if joint is None:
            raise self._fail(
                quantity,
                f"whose is {field!r:.60}? Put {{}} where the joint's name is, or add joint: NAME",
            )
        if str(joint) not in joints:
            raise self._fail(
                quantity, f"joint {joint!r:.60} is not in joints; {suggestion(str(joint), joints)}"
            )
        return str(joint)

    def _base(self, name: str, entry: Any) -> BaseSource:
        where = f"base.{name}"
        if name not in BASE:
            raise self._fail(where, f"is not known; {suggestion(name, BASE)}")
        if not isinstance(entry, Mapping) or not {"from", "fields"} <= set(entry):
            raise self._fail(where, f"must be {{from: TOPIC, fields: […]}}, got {entry!r:.60}")
        self._only(where, entry, ("from", "fields", "order"))
        fields = entry["fields"]
        if not isinstance(fields, list) or len(fields) != BASE[name]:
            raise self._fail(where, f"fields must be {BASE[name]} names, got {fields!r:.60}")
        order = str(entry.get("order", "wxyz"))
        if order not in ORDERS:
            raise self._fail(where, f"order must be wxyz or xyzw, got {order!r}")
        return BaseSource(str(entry["from"]), tuple(map(str, fields)), order)

    def _time(self, topic: str, entry: Any) -> TimeSource:
        said = entry if isinstance(entry, Mapping) else {"stamp": entry}
        self._only(f"time.{topic}", said, ("stamp", "unit"))
        stamp = str(said.get("stamp", "log"))
        unit = str(said.get("unit", "ms" if stamp == "tick" else "ns" if stamp in STAMPS else "s"))
        if unit not in TIMES:
            raise self._fail(f"time.{topic}", f"unit must be one of {listed(TIMES)}, got {unit!r}")
        return TimeSource(stamp, unit)


def _as_list(entry: Any) -> list[Any]:
    return list(entry) if isinstance(entry, list) else [entry]


# Map schema ---------------------------------------------------------------------------------------
# JSON Schema of log.yaml, for editors that complete and check it.


Schema = dict[str, Any]


def map_schema() -> Schema:
    """JSON Schema of the mapping of a log."""
    name = {"type": ["string", "integer"]}
    source = _object(
        {
            "from": {"type": "string", "description": "Topic or table."},
            "field": {
                "type": "string",
                "description": "{} stands for the joint; without it, of one joint.",
            },
            "joint": {"type": "string", "description": "Whose a field without {} is."},
            "unit": {"type": ["string", "number"]},
            "order": {"type": "array", "items": {"type": "string"}},
        },
        ["from", "field"],
    )
    joint = _object(
        {
            "id": name,
            "sign": {"enum": [1, -1]},
            "offset": {"type": "number", "description": "Added after the sign [rad or m]."},
            "torque_constant": {
                "type": "number",
                "description": f"{constant_unit(KINDS)}, for currents.",
            },
            "kind": {"enum": list(KINDS)},
            "unit": {"type": "string"},
        },
        ["id"],
    )
    stamp = _object({"stamp": {"type": "string"}, "unit": {"enum": list(TIMES)}}, ["stamp"])
    quantities = {q: {"anyOf": [source, {"type": "array", "items": source}]} for q in QUANTITIES}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mjrig log",
        **_object(
            {
                KEY: {"const": FORMAT, "description": "Format version."},
                "robot": {"type": "string"},
                "joints": {"type": "object", "additionalProperties": {"anyOf": [name, joint]}},
                **quantities,
                "base": _object({part: _base(size) for part, size in BASE.items()}),
                "time": {
                    "type": "object",
                    "additionalProperties": {"anyOf": [{"type": "string"}, stamp]},
                },
                "rate": {"type": "number", "exclusiveMinimum": 0},
                "offset": {"type": "number", "description": "Added to stamps of commands [s]."},
                "unused": {"type": "object"},
            },
            [KEY, "joints", "position"],
        ),
    }


def _base(size: int) -> Schema:
    fields = {"type": "array", "items": {"type": "string"}, "minItems": size, "maxItems": size}
    parts = {"from": {"type": "string"}, "fields": fields, "order": {"enum": list(ORDERS)}}
    return _object(parts, ["from", "fields"])


def _object(properties: Schema, required: list[str] | None = None) -> Schema:
    found = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": required} if required else found
