"""The gains of running controllers as rows, and edits of them as patches of what was authored."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mjrig.articulation import Articulation
from mjrig.controller import ArticulationController
from mjrig.editor.gain_origins import sources
from mjrig.editor.session import Session
from mjrig.errors import BindingError
from mjrig.names import Slots, literal
from mjrig.per_actuator import DEFAULT, PerActuator
from mjrig.placement import Placed
from mjrig.properties import HasProperties
from mjrig.scene import Scene, find
from mjrig.world import World

#: The columns everybody wants, in this order; others follow by name.
FIRST = ("kp", "kv", "ki", "torque_limit")
LIMIT = "torque_limit"
#: Digits an edited gain is written with.
DIGITS = 5


@dataclass(frozen=True)
class GainRow:
    """One bound actuator: its gains in force, where they come from, and where they are authored.

    `paths` lead from the scene to the property of each gain; `locked` says why there are none.
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
        """A name that stays the same while values change."""
        return f"{self.actor}.{self.component}.{self.actuator}"

    @property
    def is_on(self) -> bool:
        """Whether it may give any effort."""
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
    if position >= len(described.components):
        return "a script put it there; the scene does not know it", {}
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


def filtered(rows: Sequence[GainRow], text: str) -> list[GainRow]:
    """The rows whose actor, controller, actuator or joint name the text is found in.

    Raises:
        re.error: it is not a regular expression.
    """
    search = re.compile(text, re.IGNORECASE).search
    return [r for r in rows if search(r.key) or search(r.joint)]


# ω and ζ ----------------------------------------------------------------------------------------


def frequency(kp: float, inertia: float) -> float:
    """Natural frequency of a joint under kp [Hz]."""
    return math.sqrt(kp / inertia) / (2.0 * math.pi)


def damping_ratio(kp: float, kv: float, inertia: float) -> float:
    """1: critically damped; infinite without stiffness."""
    return kv / (2.0 * math.sqrt(kp * inertia)) if kp > 0.0 else math.inf


def stiffness_for(hertz: float, inertia: float) -> float:
    """The kp that gives a natural frequency."""
    return inertia * (2.0 * math.pi * hertz) ** 2


def damping_for(ratio: float, kp: float, inertia: float) -> float:
    """The kv that gives a damping ratio."""
    return 2.0 * ratio * math.sqrt(kp * inertia)


def with_frequency(row: GainRow, hertz: float, inertia: float) -> dict[str, float]:
    """Gains with another natural frequency; the damping ratio stays where there is one."""
    kp, kv = row.values["kp"], row.values["kv"]
    new = stiffness_for(hertz, inertia)
    ratio = damping_ratio(kp, kv, inertia)
    return {"kp": new} | ({"kv": damping_for(ratio, new, inertia)} if math.isfinite(ratio) else {})


def with_damping(row: GainRow, ratio: float, inertia: float) -> dict[str, float]:
    """Gains with another damping ratio; the stiffness stays."""
    return {"kv": damping_for(ratio, row.values["kp"], inertia)}


# Left and right ---------------------------------------------------------------------------------

_SWAPS = (
    *("left right", "l r", "fl fr", "rl rr", "bl br", "hl hr", "ml mr"),
    *("lf rf", "lh rh", "lr rr", "lb rb", "lm rm"),
)
_PAIRS = [tuple(pair.split()) for pair in _SWAPS]
_TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]*|[a-z]+|[0-9]+|[^A-Za-z0-9]+")


def mirrored(name: str, names: Sequence[str]) -> str | None:
    """The same thing on the other side: `FL_hip` → `FR_hip`, `left_knee` → `right_knee`.

    Only one of `names` is ever given; None where there is none.
    """
    tokens = _TOKEN.findall(name)
    for i, token in enumerate(tokens):
        for other in _other_side(token):
            candidate = "".join([*tokens[:i], other, *tokens[i + 1 :]])
            if candidate in names and candidate != name:
                return candidate
    return None


def _other_side(token: str) -> Iterator[str]:
    low = token.lower()
    for other in [b for a, b in _PAIRS if a == low] + [a for a, b in _PAIRS if b == low]:
        yield other.upper() if token.isupper() else other.title() if token.istitle() else other
    if token[:1] in "LR" and token[1:].isupper():  # LHipPitch is read as L + Hip; LKP stays whole
        yield {"L": "R", "R": "L"}[token[0]] + token[1:]


def mirror_row(row: GainRow, rows: Sequence[GainRow]) -> GainRow | None:
    """The row of the same actuator on the other side of the same actor."""
    others = {r.actuator: r for r in rows if r.actor == row.actor}
    name = mirrored(row.actuator, list(others))
    return others[name] if name else None


# Edits ------------------------------------------------------------------------------------------


def rounded(value: float) -> float:
    """A gain with as many digits as a file should have, and no point where none is needed."""
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() else short


def changes_for(
    row: GainRow,
    rows: Sequence[GainRow],
    gains: Callable[[GainRow], Mapping[str, float] | None],
    *,
    mirror: bool = False,
    every: bool = False,
) -> list[Change]:
    """What an edit of one row changes: it, its mirror image too, or every row.

    Args:
        row: the edited one.
        rows: all that could change.
        gains: the new gains of a row; None: it cannot have them.
        mirror: the other side follows.
        every: all rows follow.
    """
    targets = list(rows) if every else [row]
    if mirror:
        others = [mirror_row(r, rows) for r in targets]
        targets += [o for o in others if o is not None]
    found: dict[str, Change] = {}
    for target in targets:
        values = None if target.locked else gains(target)
        own = {n: rounded(v) for n, v in (values or {}).items() if n in target.paths}
        if own:
            found[target.key] = (target, own)
    return list(found.values())


def set_gains(
    session: Session,
    changes: Sequence[Change],
    *,
    title: str = "",
    group: str = "",
    merge: str | None = None,
) -> None:
    """Write gains into the scene, as small changes of what it says; one undo entry.

    Args:
        session: whose scene it is.
        changes: the new gains by row.
        title: what undo calls it.
        group: what the rows were found by; written as a pattern where it means just them.
        merge: see `Session.edit`.

    Raises:
        MjrigError: a value was refused; nothing was changed.
    """
    patches: dict[str, tuple[Slots, dict[str, float]]] = {}
    for row, gains in changes:
        for name, value in gains.items():
            _, patch = patches.setdefault(row.paths[name], (row.slots, {}))
            patch[row.actuator] = value
    with session.edit(title or _title(changes), merge=merge) as scene:
        for path, (slots, patch) in patches.items():
            holder, name = find(scene, path)
            scene.set(path, merged(holder, name, patch, slots, group))


def merged(
    holder: HasProperties, name: str, patch: Mapping[str, float], slots: Slots, group: str = ""
) -> object:
    """What a described component should say of a gain after a patch by actuator."""
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
    """A patch by the first pattern that means just its actuators; else by their names."""
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
    """What a search text is as a pattern of whole names."""
    if not found_by:
        return []
    return [found_by, f".*{found_by}", f"{found_by}.*", f".*{found_by}.*"]


def _title(changes: Sequence[Change]) -> str:
    row = changes[0][0]
    names = ", ".join(dict.fromkeys(n for _, g in changes for n in g))
    if len(changes) == 1:
        return f"Set {row.key} {names}"
    return f"Set {names} of {len(changes)} actuators"


class Switches:
    """Actuators on and off: off is an effort limit of 0, so that gains stay as they are."""

    def __init__(self) -> None:
        self._limits: dict[str, float] = {}

    def limit_before(self, row: GainRow, live: HasProperties | None = None) -> float:
        """The limit that switching on brings back: the one before, else what is the default."""
        if row.key in self._limits:
            return self._limits[row.key]
        default = getattr(live, f"default_{LIMIT}", 0.0)
        return float(default) or math.inf

    def change(self, row: GainRow, live: HasProperties | None = None) -> dict[str, float]:
        """The gains that switch a row to the other state."""
        if row.is_on:
            self._limits[row.key] = row.values[LIMIT]
            return {LIMIT: 0.0}
        return {LIMIT: self.limit_before(row, live)}
