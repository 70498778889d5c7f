"""Gains of controllers as table rows, and their changes as small edits of the scene."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mjrig.control.articulation import Articulation
from mjrig.control.controller import ArticulationController
from mjrig.errors import BindingError
from mjrig.gains.gain_origins import sources
from mjrig.names import Slots, literal
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.per_actuator import DEFAULT, PerActuator
from mjrig.scene.included import Placed
from mjrig.scene.scene_path import find
from mjrig.scene_edit.scene import Scene
from mjrig.sim.world import World

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

    @property
    def key(self) -> str:
        """A stable name, independent of the values."""
        return f"{self.actor}.{self.component}.{self.actuator}"

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
    return tuple(
        array
        for robot in world.articulations.values()
        for controller in robot.controllers
        for array in controller.gains().values()
    )


def gain_rows(world: World, scene: Scene, actor: str | None = None) -> list[GainRow]:
    """One row per actuator that a controller with gains owns; of one actor or of all."""
    found: list[GainRow] = []
    placed = world.placements.actors
    for where, robot in zip(placed, world.articulations.values(), strict=True):
        if actor is not None and actor not in (robot.name, where.original.name):
            continue
        for position, component in enumerate(robot.components):
            if isinstance(component, ArticulationController) and component.gains():
                found += _controller_rows(scene, where, robot, component, position)
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
        )


def _authored_at(
    scene: Scene,
    where: Placed,
    position: int,
    controller: ArticulationController,
    names: Sequence[str],
) -> tuple[str, dict[str, str]]:
    """Why the gains cannot be edited here, or the paths of their properties in the scene."""
    if where.scene is not scene:
        file = where.scene.path.name if where.scene.path else "another scene"
        return f"it is described in {file}, which this scene includes; edit that file", {}
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
    patches: dict[str, tuple[Slots, dict[str, float]]] = {}
    for row, gains in changes:
        if row.locked:
            raise BindingError(f"{row.key}: {row.locked}")
        for name, value in gains.items():
            _, patch = patches.setdefault(row.paths[name], (row.slots, {}))
            patch[row.actuator] = value
    with scene.changes():
        for path, (slots, patch) in patches.items():
            for alike in _by_value(patch):
                holder, name = find(scene, path)
                scene.set(path, merged(holder, name, alike, slots, group))


def _by_value(patch: Mapping[str, float]) -> list[dict[str, float]]:
    """A patch split by value: a pattern may match exactly one part."""
    return [{a: v for a, v in patch.items() if v == one} for one in dict.fromkeys(patch.values())]


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


def shortest(patch: Mapping[str, float], slots: Slots, patterns: Sequence[str]) -> dict[str, float]:
    """A patch by the first pattern that matches exactly its actuators; else by their names."""
    values = set(patch.values())
    if len(patch) > 1 and len(values) == 1:
        for pattern in patterns:
            if pattern != DEFAULT and _meant(slots, pattern) == set(patch):
                return {pattern: values.pop()}
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
