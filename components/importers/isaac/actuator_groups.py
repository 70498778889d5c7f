"""Actuator groups of `scene.robot.actuators`: which law drives which joints, with its numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from mjrig.components.importers.isaac.patterns import Values, matching, per_name, python_name
from mjrig.components.importers.sources.vendor_file import VendorEntry
from mjrig.core.errors import SceneError, option
from mjrig.core.names import suggestion


class GroupKind(StrEnum):
    """Law of an actuator group."""

    #: The solver integrates kp and kd implicitly.
    IMPLICIT = "implicit"
    PD = "pd"
    DC = "dc"
    DELAYED = "delayed"
    REMOTIZED = "remotized"
    #: A geared motor with separate limits for driving and braking (`UnitreeActuator`).
    CURVE = "curve"
    MLP = "mlp"
    LSTM = "lstm"


_CLASSES = {
    "ImplicitActuator": GroupKind.IMPLICIT,
    "IdealPDActuator": GroupKind.PD,
    "DCMotor": GroupKind.DC,
    "DelayedPDActuator": GroupKind.DELAYED,
    "RemotizedPDActuator": GroupKind.REMOTIZED,
    "ActuatorNetMLP": GroupKind.MLP,
    "ActuatorNetLSTM": GroupKind.LSTM,
}
#: What `--actuators` may take unknown classes for.
SUBSTITUTES = (GroupKind.IMPLICIT, GroupKind.PD, GroupKind.DC)
#: Corners of the torque-speed curve of a geared motor, and its friction; lower case in mjlab.
_CORNERS = ("X1", "X2", "Y1", "Y2")
_STATIC, _VISCOUS, _ACTIVATION = "Fs", "Fd", "Va"
#: Fields of every group, which are read.
_READ = frozenset((
    "class_type", "joint_names_expr", "target_names_expr", "effort_limit", "velocity_limit",
    "effort_limit_sim", "velocity_limit_sim", "stiffness", "damping", "armature", "friction",
    "dynamic_friction", "viscous_friction", "frictionloss", "viscous_damping", "transmission_type",
    "saturation_effort", "min_delay", "max_delay", "joint_parameter_lookup", "network_file",
    "pos_scale", "vel_scale", "torque_scale", "input_order", "input_idx",
    "delay_min_lag", "delay_max_lag", "delay_hold_prob", "delay_update_period",
    "delay_per_env_phase",
))  # fmt: skip


@dataclass(frozen=True)
class ActuatorGroup:
    """One group: a law and the joints it drives; values per joint, None where the file has none.

    Attributes:
        kp, kd: None where the file leaves them to the USD.
        effort: limit of the effort.
        effort_sim: limit of the solver, after that of an explicit law.
        curve: corners x1, x2, y1, y2 of a geared motor.
        sticking: its friction that does not depend on the speed, already part of `dynamic`.
        saturation, speed: of a DC motor.
        viscous, dynamic: friction.
        delay: least and most physics steps that commands are late.
        table: rows [angle, ratio, torque] of a remotized joint.
        network: file of a learned actuator, as the group names it.
        scales: of a learned actuator, as metadata of its file must say them.
        lost: fields that have no place here, with their values.
    """

    name: str
    kind: GroupKind
    entry: VendorEntry
    joints: tuple[str, ...]
    kp: Values
    kd: Values
    effort: Values
    saturation: Values
    speed: Values
    armature: Values
    viscous: Values
    dynamic: Values
    effort_sim: Values = field(default_factory=list)
    curve: dict[str, Values] = field(default_factory=dict)
    sticking: Values = field(default_factory=list)
    delay: tuple[int, int] = (0, 0)
    table: Sequence[Sequence[float]] = ()
    network: str = ""
    scales: dict[str, Any] = field(default_factory=dict)
    lost: tuple[str, ...] = ()


def read_groups(
    groups: Sequence[tuple[str, VendorEntry]],
    joints: Sequence[str],
    substitute: str,
    unmatched: list[str],
) -> list[ActuatorGroup]:
    """The groups of a file.

    Args:
        groups: name and entry of each.
        joints: of the training.
        substitute: what classes that are not known are taken for; empty: they are refused.
        unmatched: gets patterns that match no joint.

    Raises:
        SceneError: a value is wrong, a class is not known, or two groups drive one joint.
    """
    if substitute and substitute not in SUBSTITUTES:
        raise SceneError(
            option("actuators", substitute) + f": {suggestion(substitute, list(SUBSTITUTES))}"
        )
    found: list[ActuatorGroup] = []
    unknown: list[str] = []
    for name, entry in groups:
        if entry.data is None:
            continue
        kind = kind_of(entry) or (GroupKind(substitute) if substitute else None)
        if kind is None:
            unknown.append(f"{name!r} is {_class(entry)[1]} ({_fields(entry)})")
        else:
            found.append(_group(name, entry, kind, joints, unmatched))
    if unknown:
        refused = groups[0][1].error(
            f"actuators of unknown classes are not imported: {'; '.join(unknown)}"
        )
        way = option("actuators", "dc, pd or implicit")
        raise SceneError(f"{refused}; " + way + " imports them as such, and lists dropped fields")
    for i, group in enumerate(found):
        for other in found[:i]:
            both = set(group.joints) & set(other.joints)
            if both:
                text = f"the groups {other.name!r} and {group.name!r} both drive {min(both)!r}"
                raise group.entry.error(text)
    return found


def kind_of(entry: VendorEntry) -> GroupKind | None:
    """The law of a group, by its class, or by its fields where the dump lost the class (mjlab)."""
    known = _CLASSES.get(_class(entry)[1].removesuffix("Cfg")) if "class_type" in entry else None
    if any(_cased(entry, key) in entry for key in _CORNERS):
        return None if known is not None else GroupKind.CURVE
    if "class_type" in entry:
        return known
    if "network_file" in entry:
        return GroupKind.LSTM if "pos_scale" not in entry else GroupKind.MLP
    if "saturation_effort" in entry and "velocity_limit" in entry:
        return GroupKind.DC
    return GroupKind.IMPLICIT if "stiffness" in entry else None


def _cased(entry: VendorEntry, key: str) -> str:
    """A key as the file writes it, in upper or in lower case."""
    return key.lower() if key.lower() in entry else key


def _class(entry: VendorEntry) -> tuple[str, str]:
    return python_name(entry.text("class_type", "a class that is not named"))


def _fields(entry: VendorEntry) -> str:
    """The values of a group, for a message."""
    skipped = ("class_type", "joint_names_expr", "target_names_expr")
    given = {k: v for k, v in entry.mapping().items() if v is not None and k not in skipped}
    return ", ".join(f"{key} {_brief(value)}" for key, value in given.items())


def _brief(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


def _group(
    name: str, entry: VendorEntry, kind: GroupKind, joints: Sequence[str], unmatched: list[str]
) -> ActuatorGroup:
    key = "joint_names_expr" if "joint_names_expr" in entry else "target_names_expr"
    own = tuple(_driven(entry.at(key), joints, unmatched))

    def values(*keys: str, infinite: bool = False) -> Values:
        for wanted in keys:
            if wanted in entry:
                return per_name(entry.at(wanted), own, unmatched, infinite=infinite)
        return [None] * len(own)

    effort = values("effort_limit", infinite=True)
    effort_sim = values("effort_limit_sim", infinite=True)
    if kind is GroupKind.IMPLICIT:
        effort = _same_limits(entry, own, effort, effort_sim)
    sticking: Values = [None] * len(own)
    viscous = sticking
    if kind is GroupKind.CURVE:
        sticking, viscous = values(_cased(entry, _STATIC)), values(_cased(entry, _VISCOUS))
    lags = (
        ("min_delay", "max_delay") if "max_delay" in entry else ("delay_min_lag", "delay_max_lag")
    )
    return ActuatorGroup(
        name=name,
        kind=kind,
        entry=entry,
        joints=own,
        kp=values("stiffness"),
        kd=values("damping"),
        effort=effort,
        effort_sim=effort_sim,
        saturation=values("saturation_effort", infinite=True),
        speed=values("velocity_limit", infinite=True),
        curve={key.lower(): values(_cased(entry, key), infinite=True) for key in _CORNERS},
        sticking=sticking,
        armature=values("armature"),
        viscous=_sum(values("viscous_friction", "viscous_damping"), viscous),
        dynamic=_sum(values("dynamic_friction", "frictionloss"), sticking),
        delay=_delay(entry, *lags),
        table=_table(entry) if kind is GroupKind.REMOTIZED else (),
        network=entry.text("network_file"),
        scales={k: entry.at(k).data for k in _SCALES if k in entry},
        lost=tuple(_lost(entry, kind)),
    )


def _same_limits(entry: VendorEntry, joints: Sequence[str], one: Values, two: Values) -> Values:
    """Limits of an implicit group, for which both fields mean the same.

    Raises:
        SceneError: they differ.
    """
    found: Values = []
    for joint, old, new in zip(joints, one, two, strict=True):
        if old is not None and new is not None and old != new:
            raise entry.error(
                f"effort_limit is {old:g} and effort_limit_sim {new:g} for {joint!r}; of an "
                "implicit actuator they mean the same"
            )
        found.append(old if new is None else new)
    return found


def _sum(one: Values, two: Values) -> Values:
    """Sums of what is given."""
    pairs = zip(one, two, strict=True)
    return [None if a is None and b is None else (a or 0.0) + (b or 0.0) for a, b in pairs]


_SCALES = ("pos_scale", "vel_scale", "torque_scale", "input_order", "input_idx")


def _driven(entry: VendorEntry, joints: Sequence[str], unmatched: list[str]) -> list[str]:
    """The joints of a group; a pattern may match none where the model lacks some joints."""
    known: list[str] = []
    for item in entry.one_or_more():
        own = matching(entry, item.data, joints)
        if not own:
            unmatched.append(f"{'.'.join(map(str, entry.path))}: {item.data}")
        known += own
    return [joint for joint in joints if joint in known]


def _delay(entry: VendorEntry, least: str, most: str) -> tuple[int, int]:
    steps = []
    for key in (least, most):
        value = entry.number(key, 0.0)
        if value != int(value) or not 0 <= value <= 10_000:
            raise entry.at(key).error(f"must be a whole number of steps, got {value:g}")
        steps.append(int(value))
    if steps[0] > steps[1]:
        raise entry.at(most).error(f"must be at least {least}, {steps[0]}")
    return steps[0], steps[1]


def _table(entry: VendorEntry) -> list[list[float]]:
    rows = [
        [e.as_number() for e in row.items()] for row in entry.at("joint_parameter_lookup").items()
    ]
    if len(rows) < 2 or any(len(row) != 3 for row in rows):
        raise entry.at("joint_parameter_lookup").error("must be rows [angle, ratio, torque]")
    return sorted(rows)


def _lost(entry: VendorEntry, kind: GroupKind) -> Iterator[str]:
    """Fields with a value that has no place here."""
    curve = (*_CORNERS, _STATIC, _VISCOUS, _ACTIVATION) if kind is GroupKind.CURVE else ()
    read = {*_READ, *curve, *(key.lower() for key in curve)}
    for key, value in entry.mapping().items():
        is_neutral = value is None or value is False or (value is not True and value in (0, 1))
        if key in read or is_neutral:
            continue
        yield f"{key} {_brief(value)}"
    friction: Any = entry.at("friction").data if "friction" in entry else 0.0
    values = friction.values() if isinstance(friction, dict) else [friction]
    if any(v not in (0, 0.0, None) for v in values):
        yield f"friction {_brief(friction)} (static; a coefficient or an effort, by version)"
    for key in ("delay_hold_prob", "delay_update_period"):
        if key in entry and entry.number(key, 0.0):
            yield f"{key} {_brief(entry.at(key).data)}"
