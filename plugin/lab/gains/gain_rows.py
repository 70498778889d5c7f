"""Gains of controllers and native servos as table rows: values, origins, changes as scene edits."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from mjrig.core.control.articulation import Articulation
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.effort_limits import acting_limit, symmetric
from mjrig.core.control.native_servo import NativeServo
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.errors import BindingError
from mjrig.core.names import literal
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import Slots
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.per_actuator import DEFAULT, Origin, PerActuator, origins
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.native_elements import GAINS_OF
from mjrig.core.scene.scene_description import Placed, existing, find
from mjrig.core.sim.world import World

# Gain origins -------------------------------------------------------------------------------------
# Where a gain in force comes from: the default, the scene, or the policy it was imported with.


T = TypeVar("T")


def sources(live: HasProperties, name: str) -> list[str]:
    """As text, per actuator for a bound property of a controller or its law; else as `origins`."""
    found = [str(origin) for origin in origins(live, name)]
    controller = _above(live, ArticulationController)
    robot = _above(live, Articulation)
    if controller is None or robot is None:
        return found
    sender = controller.sender_of(name) if live is controller else ""
    if sender:
        return [f"outside from {sender}"] * controller.num_bindings
    origin, trained = _trained(robot, name)
    values = live.__dict__[name]
    for i, binding in enumerate(controller.bindings):
        authored = i < len(found) and found[i] != Origin.DEFAULT
        if authored and trained.get(binding.joint or binding.actuator) == values[i]:
            found[i] = origin
    return found


def _above(obj: HasProperties | None, kind: type[T]) -> T | None:
    while obj is not None:
        if isinstance(obj, kind):
            return obj
        obj = obj._parent
    return None


def _trained(robot: Articulation, name: str) -> tuple[str, Mapping[str, float]]:
    """A gain by joint from the policy on a robot, and the name of that source."""
    for component in robot.components:
        if isinstance(component, PolicyComponent):
            return component.provenance, component.plant().joints.get(name, {})
    return "", {}


# Native gains -------------------------------------------------------------------------------------
# Gains of native servos: what is in force, where it comes from, where the scene has it.


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


# Gain rows ----------------------------------------------------------------------------------------
# Gains of controllers as table rows, and their changes as small edits of the scene.


#: The first columns, in this order; others follow by name.
FIRST = ("kp", "kv", "ki", "torque_limit")
LIMIT = "torque_limit"
#: Digits an edited gain is written with.
DIGITS = 5


@dataclass(frozen=True)
class GainRow:
    """One bound actuator: its gains in force, where they come from, and where they are authored.

    `paths` lead from the scene to the property of each gain; `locked` is why there are none.
    `place` counts in the robot's bindings, `column` in its actuator names, `index` in its
    controller's bindings; `dof` is -1 where the law does not act on a joint.
    """

    actor: str
    component: str
    actuator: str
    joint: str
    unit: str
    index: int
    place: int
    column: int
    dof: int
    values: Mapping[str, float]
    origins: Mapping[str, str]
    paths: Mapping[str, str]
    slots: Slots
    locked: str = ""
    #: The largest effort both ways that law and model allow, and what limits it there:
    #: `torque_limit`, `clamps`, `model forcerange`, …; empty where nothing does.
    limit: float = math.inf
    limited_by: str = ""
    #: Of a native servo: gains at the joint are gear² times its own.
    gear: float = 1.0
    #: Of a native servo: position of the joint per unit of its setpoint.
    scale: float = 1.0
    #: Why it cannot be tested by a motion of its joint; empty: it can, as its controller allows.
    no_response: str = ""

    @property
    def key(self) -> str:
        """A stable name, independent of the values."""
        return f"{self.actor}.{self.component}.{self.actuator}"

    @property
    def is_native(self) -> bool:
        """Whether it is one of MuJoCo's own servos, which no controller owns."""
        return self.component == NATIVE

    @property
    def stiffness(self) -> float | None:
        """kp at the joint."""
        kp = self.values.get("kp")
        return None if kp is None else kp * self.gear**2

    @property
    def damping(self) -> float | None:
        """kv at the joint."""
        kv = self.values.get("kv")
        return None if kv is None else kv * self.gear**2

    @property
    def is_on(self) -> bool:
        """Whether its limit allows any effort."""
        return self.values.get(LIMIT, math.inf) > 0.0


Change = tuple[GainRow, Mapping[str, float]]


# Rows -------------------------------------------------------------------------------------------


def holder_of(controller: Any, gain: str) -> HasProperties:
    """The component whose property a gain is: the controller, or a law put in place of its own."""
    law = getattr(controller, "law", None)
    if isinstance(law, HasProperties) and gain in {p.name for p in law.properties()}:
        return law
    found: HasProperties = controller
    return found


def arrays(world: World) -> tuple[Any, ...]:
    """The arrays in force: as long as they are the same objects, the rows are the same."""
    robots = world.articulations.values()
    gains = [a for r in robots for c in r.controllers for a in c.gains().values()]
    return (*gains, *(s.law for r in robots for s in r.servos))


def gain_rows(world: World, scene: Scene, actor: str | None = None) -> list[GainRow]:
    """One row per actuator with gains, of a controller or its own; of one actor or of all."""
    found: list[GainRow] = []
    placed = world.placements.actors
    for where, robot in zip(placed, world.articulations.values(), strict=True):
        if actor is not None and actor not in (robot.name, where.original.name):
            continue
        for position, component in enumerate(robot.components):
            if isinstance(component, ArticulationController) and component.gains():
                found += _controller_rows(scene, where, robot, component, position)
        found += _native_rows(scene, where, robot)
    return found


def _controller_rows(
    scene: Scene,
    where: Placed,
    robot: Articulation,
    controller: ArticulationController,
    position: int,
) -> Iterator[GainRow]:
    gains = controller.gains()
    named = [n for n in FIRST if n in gains] + [n for n in gains if n not in FIRST]
    locked, paths = _authored_at(scene, where, position, controller, named)
    found = {n: _origins(where, robot, controller, n) for n in named}
    slots = controller.bindings.slots(controller.label)
    places = {b.actuator_id: i for i, b in enumerate(robot.bindings)}
    for i, binding in enumerate(controller.bindings):
        limit, by = acting_limit(binding, controller, i)
        yield GainRow(
            robot.name,
            controller._role,
            binding.actuator,
            binding.joint,
            binding.effort_unit,
            i,
            places[binding.actuator_id],
            robot.actuator_names.index(binding.actuator),
            binding.dof_address,
            {n: float(gains[n][i]) for n in named},
            {n: found[n][i] for n in named},
            paths,
            slots,
            locked,
            limit,
            limit_origin(robot, where.original, binding.actuator, by),
        )


def _native_rows(scene: Scene, where: Placed, robot: Articulation) -> Iterator[GainRow]:
    slots, elsewhere = native_slots(robot), _elsewhere(scene, where)
    for i, servo in enumerate(robot.servos):
        binding, values = servo.binding, native_values(servo)
        named = [n for n in FIRST if n in values] + [n for n in values if n not in FIRST]
        more = [n for n in GAINS_OF[servo.kind] if n not in named]  # what it may be given
        source = source_of(robot, servo, where.original, [*named, *more])
        limit, by = acting_limit(binding, None, 0)
        yield GainRow(
            robot.name,
            NATIVE,
            binding.actuator,
            binding.joint,
            binding.effort_unit,
            i,
            len(robot.bindings) + i,
            robot.actuator_names.index(binding.actuator),
            binding.dof_address,
            {n: values[n] for n in named},
            source.origins,
            {} if elsewhere else source.paths,
            slots,
            elsewhere or source.locked,
            limit,
            limit_origin(robot, where.original, binding.actuator, by),
            servo.gear,
            servo.scale,
            servo.why_no_response,
        )


def _elsewhere(scene: Scene, where: Placed) -> str:
    """Why an actor cannot be edited in a scene; empty: it can."""
    if where.scene is scene:
        return ""
    file = where.scene.path.name if where.scene.path else "another scene"
    return f"it is described in {file}, which this scene includes; edit that file"


def _authored_at(
    scene: Scene,
    where: Placed,
    position: int,
    controller: ArticulationController,
    names: Sequence[str],
) -> tuple[str, dict[str, str]]:
    """Why the gains cannot be edited here, or the paths of their properties in the scene."""
    if elsewhere := _elsewhere(scene, where):
        return elsewhere, {}
    described = scene.actors[where.keys[1]]
    if position >= len(described.components) and described.use_motors:
        return "its gains are the model's own, by use_motors; list a PDController to set them", {}
    if position >= len(described.components):
        return "it was added by a script and is not part of the scene", {}
    base = f"{described.name}.{described.components[position]._role}"
    inside = {n: "" if holder_of(controller, n) is controller else ".law" for n in names}
    return "", {n: f"{base}{inside[n]}.{n}" for n in names}


def _origins(
    where: Placed, robot: Articulation, controller: ArticulationController, name: str
) -> list[str]:
    holder = holder_of(controller, name)
    if any(draw.find(robot) == (holder, name) for draw in where.draws):
        return ["random"] * controller.num_bindings
    return sources(holder, name)


def columns(rows: Sequence[GainRow]) -> list[str]:
    """The gains that any of the rows has."""
    every = dict.fromkeys(n for row in rows for n in row.values)
    return [n for n in FIRST if n in every] + [n for n in every if n not in FIRST]


# Edits ------------------------------------------------------------------------------------------


def rounded(value: float) -> float:
    """A gain rounded for a file, without a trailing decimal point."""
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() else short


def set_gains(scene: Scene, changes: Sequence[Change], *, group: str = "") -> None:
    """Write gains into a scene as small edits, all or nothing.

    Args:
        scene: where the rows are authored.
        changes: the new gains by row.
        group: search text that selected the rows; written as a pattern if it matches exactly them.

    Raises:
        BindingError: a row is authored elsewhere.
        PropertyError: a value was refused; nothing was changed.
    """
    patches: dict[str, tuple[GainRow, dict[str, Any]]] = {}
    for row, gains in changes:
        if row.locked:
            raise BindingError(f"{row.key}: {row.locked}")
        for name, value in gains.items():
            _, patch = patches.setdefault(row.paths[name], (row, {}))
            patch[row.actuator] = as_authored(name, value, row.gear) if row.is_native else value
    with scene.changes():
        for path, (row, patch) in patches.items():
            for alike in _by_value(patch):
                _write(scene, path, row, alike, group)


def _write(scene: Scene, path: str, row: GainRow, patch: Mapping[str, Any], group: str) -> None:
    """Write one value for some actuators."""
    if not row.is_native:
        holder, name = find(scene, path)
        scene.set(path, merged(holder, name, patch, row.slots, group))
    elif f".{NATIVE}." not in path:  # an actuator that the scene adds
        scene.set(path, next(iter(patch.values())))
    else:
        actor, _, name = path.rpartition(f".{NATIVE}.")
        described = scene.part(actor)
        assert isinstance(described, ActorDescription)
        gains = existing(scene, f"{actor}.{NATIVE}")
        known = gains.authored(name) if gains is not None and gains.is_authored(name) else {}
        assert isinstance(known, Mapping)
        put_native(
            described, name, shortest(patch, row.slots, [*known, *_patterns(group)]), row.slots
        )


def _by_value(patch: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A patch split by value: a pattern may match exactly one part."""
    parts: list[dict[str, Any]] = []
    for actuator, value in patch.items():
        alike = next((p for p in parts if next(iter(p.values())) == value), None)
        if alike is None:
            parts.append({actuator: value})
        else:
            alike[actuator] = value
    return parts


def merged(
    holder: HasProperties, name: str, patch: Mapping[str, float], slots: Slots, group: str = ""
) -> object:
    """The value to write for a gain of a described component after a patch by actuator."""
    values = list(patch.values())
    if set(slots.names) <= set(patch) and all(v == values[0] for v in values):
        return values[0]
    twin = holder.copy()
    twin.spread_over(slots)  # a described component does not know its actuators
    prop = twin.property_named(name)
    assert isinstance(prop, PerActuator)
    authored = twin._authored.get(name)
    known = list(authored) if isinstance(authored, dict) else []
    return prop.merged(twin, shortest(patch, slots, [*known, *_patterns(group)]))


def shortest(patch: Mapping[str, Any], slots: Slots, patterns: Sequence[str]) -> dict[str, Any]:
    """A patch by the first pattern that matches exactly its actuators; else by their names."""
    values = list(patch.values())
    if len(patch) > 1 and all(v == values[0] for v in values):
        for pattern in patterns:
            if pattern != DEFAULT and _meant(slots, pattern) == set(patch):
                return {pattern: values[0]}
    return {literal(actuator): value for actuator, value in patch.items()}


def _meant(slots: Slots, pattern: str) -> set[str]:
    try:
        return {slots.names[i] for i in slots.match(pattern)}
    except BindingError:  # no pattern, or nothing matches
        return set()


def _patterns(found_by: str) -> list[str]:
    """A search text as a pattern of whole names."""
    if not found_by:
        return []
    return [found_by, f".*{found_by}", f"{found_by}.*", f".*{found_by}.*"]
