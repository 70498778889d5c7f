"""Gains of native servos: what is in force, where it comes from, where the scene has it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mjrig.control.articulation import Articulation
from mjrig.control.effort_limits import symmetric
from mjrig.errors import BindingError
from mjrig.names import Slots, literal
from mjrig.pattern_budget import pattern_budget
from mjrig.readings.native_servo import NativeServo
from mjrig.scene.actor import ActorDescription

#: What native servos are listed under, in the place of a controller.
NATIVE = "native_gains"
#: The property of each gain that has another name.
PROPERTIES = {"torque_limit": "forcerange"}
_EXCLUDES = {"kv": "dampratio", "dampratio": "kv"}


@dataclass(frozen=True)
class NativeSource:
    """Where the gains of a servo are authored.

    `paths` lead to the property of each gain; `locked` is why there are none.
    """

    origins: Mapping[str, str]
    paths: Mapping[str, str]
    locked: str = ""


def native_values(servo: NativeServo) -> dict[str, float]:
    """The gains in force, and the limit of its own, as an effort at the joint."""
    limits = servo.binding.force_range
    limit = math.inf if limits is None else symmetric(limits) * abs(servo.gear)
    return {**servo.gains(), "torque_limit": limit}


def native_slots(robot: Articulation) -> Slots:
    """The actuators that patterns of `native_gains` match."""
    return Slots([a.names for a in robot.model_map.natives.model.values()], robot.name)


def source_of(
    robot: Articulation, servo: NativeServo, actor: ActorDescription, names: Sequence[str]
) -> NativeSource:
    """Where a servo's gains come from and where they can be changed.

    Args:
        robot: the running robot.
        servo: one of its servos.
        actor: its description in the scene.
        names: of the gains.
    """
    name, where = servo.binding.actuator, robot.model_map
    added = next((i for i, made in enumerate(where.authored) if name in made), None)
    if added is not None:
        part = f"{actor.name}.actuators[{added}]"
        count = len(where.authored[added])
        origins = dict.fromkeys(names, "scene")
        if count > 1:
            return NativeSource(origins, {}, f"it is one of {count} that {part} adds; edit that")
        return NativeSource(origins, {n: f"{part}.{PROPERTIES.get(n, n)}" for n in names})
    given = _given(robot, actor, name)
    file = f"model {actor.model.name}" if actor.model is not None else "model"
    origins = {n: "scene" if PROPERTIES.get(n, n) in given else file for n in names}
    if "kv" in names and "dampratio" in given:
        origins["kv"] = origins["dampratio"]
    paths = {n: f"{actor.name}.{NATIVE}.{PROPERTIES.get(n, n)}" for n in names}
    return NativeSource(origins, paths)


def limit_origin(robot: Articulation, actor: ActorDescription, actuator: str, by: str) -> str:
    """Where an effort limit comes from, by what `acting_limit` names: `model forcerange`."""
    if by not in ("forcerange", "ctrlrange", "actuatorfrcrange"):
        return by
    added = any(actuator in made for made in robot.model_map.authored)
    known = actuator in robot.model_map.natives.model and by in _given(robot, actor, actuator)
    whose = "scene" if known or (added and by != "actuatorfrcrange") else "model"
    return f"{whose} {by}{' · gear' if by == 'ctrlrange' else ''}"


@pattern_budget()
def _given(robot: Articulation, actor: ActorDescription, name: str) -> set[str]:
    """What the scene gives to an actuator."""
    gains, slots = actor.native_gains, native_slots(robot)
    if gains is None:
        return set()
    at = slots.names.index(name)
    found = set()
    for prop in gains.properties():
        patterns = getattr(gains, prop.name)
        if any(at in slots.match(p) for p in patterns if _matches(slots, p)):
            found.add(prop.name)
    return found


def _matches(slots: Slots, pattern: str) -> bool:
    try:
        return bool(slots.match(pattern))
    except BindingError:
        return False


# Edits ------------------------------------------------------------------------------------------


def put_native(
    actor: ActorDescription, name: str, patch: Mapping[str, object], slots: Slots
) -> None:
    """Merge values by pattern into one property of an actor's `native_gains`.

    A pattern that shares actuators with the patch is replaced by the names it still covers; kv and
    dampratio exclude each other.
    """
    gains = actor.part(NATIVE)
    taken = {i for pattern in patch for i in slots.match(pattern)}
    other = _EXCLUDES.get(name)
    if other is not None and gains.is_authored(other):
        kept = _without(gains.authored(other), taken, slots)
        if kept:
            gains.assign({other: kept})
        else:
            gains.unset(other)
    before = gains.authored(name) if gains.is_authored(name) else {}
    gains.assign({name: {**_without(before, taken, slots), **patch}})


@pattern_budget()
def _without(authored: object, taken: set[int], slots: Slots) -> dict[str, object]:
    assert isinstance(authored, Mapping)
    kept: dict[str, object] = {}
    for pattern, value in authored.items():
        matched = set(slots.match(pattern)) if _matches(slots, pattern) else set()
        if not matched & taken:
            kept[pattern] = value
        else:
            kept |= {literal(slots.names[i]): value for i in sorted(matched - taken)}
    return kept


def as_authored(name: str, value: float, gear: float) -> object:
    """The value to write for a gain of a servo: a limit at the joint is a range of its force."""
    if name != "torque_limit":
        return value
    limit = float(f"{value / abs(gear):.9g}")  # no digits that only the division made
    limit = int(limit) if limit.is_integer() else limit
    return [-limit, limit]
