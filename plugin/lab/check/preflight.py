"""Pre-flight: the binding table of a world, findings about it, and remedies the scene accepts."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from mjrig.core.control.articulation import Articulation
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.effort_limits import effort_limit
from mjrig.core.control.execution import PlantComponent
from mjrig.core.errors import MjrigError
from mjrig.core.findings import (
    Finding,
    Level,
    Remedy,
    RepairEdit,
    combined,
    note,
)
from mjrig.core.model.binding import ActuatorBinding, NamedIds
from mjrig.core.model.build import IN_ONE_MODEL
from mjrig.core.names import how_many
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.lab.check.actuators import about_drives, about_limits
from mjrig.lab.check.contacts import about_physics, about_surroundings, touching_always
from mjrig.lab.check.masses import about_masses
from mjrig.lab.check.motors import about_motors
from mjrig.lab.check.stability import about_stability
from mjrig.lab.check.start_pose import about_start, holding_efforts
from mjrig.lab.findings.ranking import arrange
from mjrig.lab.report.content import Report, ReportColumn, ReportTable, ReportText, words
from mjrig.lab.report.finding_section import finding_section, finding_verdict
from mjrig.lab.report.text import to_text

# Merged -------------------------------------------------------------------------------------------
# Pre-flight: what models say about the whole world, of which a world has one.


#: How many models are named.
_SHOWN = 3


def about_merged(world: World) -> Iterator[Finding]:
    """Visual and statistic attributes that models give differently."""
    differing = [_differing(name, given) for name, given in world.differing.items()]
    if differing:
        yield note("one-for-all", "", here=differing)


def _differing(name: str, given: Mapping[str, Any]) -> str:
    values = [f"{_text(value)} in {actor!r}" for actor, value in given.items()]
    more = f" … {len(values)} in all" if len(values) > _SHOWN else ""
    unused = " (not used: it counts the cameras of one model)" if name == IN_ONE_MODEL else ""
    return f"{name} {', '.join(values[:_SHOWN])}{more}{unused}"


def _text(value: Any) -> str:
    return " ".join(f"{v:g}" for v in np.atleast_1d(np.asarray(value, float)))


# Applicable ---------------------------------------------------------------------------------------
# Remedies that the scene takes: by its own names of actors, each tried on a copy.


def applicable(world: World, found: Sequence[Finding]) -> list[Finding]:
    """The findings with those remedies that can be made; if none can, with the reason."""
    if not any(finding.remedies for finding in found):
        return list(found)
    scene, reading = world.scene, world.scene.reading
    try:
        copy = Scene.parse(
            scene.to_text(),
            scene.base,
            vars=dict(reading.vars),
            sandbox=reading.sandbox.root if reading.sandbox is not None else False,
            trust=reading.trusted,
        )
    except MjrigError:  # made by a program of parts that no file can name
        return list(found)
    names = dict(_names(world))
    return [_kept(finding, copy, names) for finding in found]


def _names(world: World) -> Iterator[tuple[str, str]]:
    """Names of actors in the world, and in the scene: copies have the name of their original."""
    known = world.scene.actor_names()
    for name, placed in zip(world.articulations, world.placements.actors, strict=True):
        own = placed.scene is world.scene
        described = [placed.original.name] if own else [n for n in known if name.startswith(n)]
        yield name, name if name in known else max(described, key=len, default=name)


def _kept(finding: Finding, copy: Scene, names: dict[str, str]) -> Finding:
    kept: list[Remedy] = []
    obstacle = finding.obstacle
    for remedy in finding.remedies:
        # Copies of one actor are one in the scene: what is said of each is done once.
        here = combined([replace(remedy, edits=tuple(_renamed(e, names) for e in remedy.edits))])
        try:
            _try(here, copy)
            kept.append(here)
        except MjrigError as error:
            obstacle = obstacle or str(error)
    return replace(finding, remedies=tuple(kept), obstacle=obstacle)


def _renamed(edit: RepairEdit, names: dict[str, str]) -> RepairEdit:
    head, dot, rest = edit.path.partition(".")
    return replace(edit, path=f"{names.get(head, head)}{dot}{rest}")


class _Tried(Exception):
    """Takes an edit back that was only tried."""


def _try(remedy: Remedy, scene: Scene) -> None:
    try:
        with scene.changes():
            remedy.apply(scene)
            raise _Tried
    except _Tried:
        pass


# Check --------------------------------------------------------------------------------------------
# Pre-flight: the binding table of a world, and findings about it.


HEADER = ("actuator", "joint", "kind", "gear", "kp", "kv", "limit", "driven by", "execution")
#: Columns of words.
WORDS = ("joint", "kind", "driven by", "execution")


@dataclass(frozen=True)
class ActuatorRow:
    """One line of the binding table; `reason` is given where no law is bound."""

    actuator: str
    joint: str
    kind: str
    gear: float
    gains: dict[str, float]
    #: The largest effort both ways, whatever limits it: the controller or the model.
    limit: float
    owner: str
    execution: str
    reason: str


def rows(robot: Articulation) -> list[ActuatorRow]:
    """The binding table: every actuator, in id order."""
    owners = {b.actuator_id: (c, i) for c in robot.controllers for i, b in enumerate(c.bindings)}
    found = []
    for binding in robot.actuators:
        controller, index = owners.get(binding.actuator_id, (None, -1))
        driven = controller is not None and controller.enabled
        gains = {n: float(v[index]) for n, v in controller.gains().items()} if controller else {}
        found.append(
            ActuatorRow(
                binding.actuator,
                binding.joint or f"{binding.transmission} {binding.target}",
                binding.kind,
                binding.gear,
                gains,
                effort_limit(binding, controller, index),
                controller._role if driven and controller else "setpoint, directly",
                controller.execution.name if driven and controller else "",
                _why_direct(binding, controller),
            )
        )
    return found


def _why_direct(binding: ActuatorBinding, controller: ArticulationController | None) -> str:
    if controller is None:
        return binding.skip_reason or "no controller owns it"
    return "" if controller.enabled else f"{controller._role} is disabled"


def findings(world: World, report: Callable[[str], object] = str) -> list[Finding]:
    """All findings, most severe first; the world must be in its initial state.

    Args:
        world: what to check.
        report: called with what is checked next.
    """
    return applicable(world, arrange(_findings(world, report)))


def _findings(world: World, report: Callable[[str], object]) -> Iterator[Finding]:
    model = world.model
    report("checking drives, limits, masses and the start")
    loads, ids = holding_efforts(model, world.data), NamedIds(model)
    for robot, placed in zip(world.articulations.values(), world.placements.actors, strict=True):
        yield from about_drives(robot, model)
        yield from about_limits(robot, model)
        yield from about_motors(robot, model)
        yield from about_masses(robot, model, ids)
        yield from about_start(robot, model, loads, placed.item)
    report("checking the stability of the feedback loops")
    yield from about_stability(world)
    report("checking contacts and the ground")
    touching = touching_always(world)
    yield from about_surroundings(world, touching)
    yield from about_physics(world, touching)
    yield from about_merged(world)


def exit_code(found: Sequence[Finding], *, strict: bool = False) -> int:
    """1 if there is an error, with `strict` also for a warning; else 0."""
    bad = (Level.ERROR, Level.WARNING) if strict else (Level.ERROR,)
    return int(any(f.severity in bad for f in found))


def report(world: World, found: Sequence[Finding] | None = None) -> str:
    """The tables and findings of a world, as text."""
    return to_text(described(world, found))


def described(world: World, found: Sequence[Finding] | None = None) -> Report:
    """The tables and findings of a world."""
    found = findings(world) if found is None else found
    robots = [robot for robot in world.articulations.values() if robot.actuators]
    things = [name for name in world.articulations if world[name] not in robots]
    path = world.scene.path
    verdict, tone = finding_verdict(found)
    return Report(
        f"Check of {path.name if path is not None else 'the scene'}",
        verdict,
        tone,
        [("without actuators", ", ".join(things))] if things else [],
        [
            *(binding_table(robot) for robot in robots),
            ReportText(
                title="motors",
                lines=[
                    f"{robot.name}: {motor}: {', '.join(joints)}"
                    for robot in robots
                    for motor, joints in _motors(robot).items()
                ],
            ),
            ReportText(
                title="executions",
                lines=[f"{who} runs as {name}: {why}" for who, name, why in _executions(world)],
            ),
            finding_section(found),
        ],
        report_data(world, found),
    )


def binding_table(robot: Articulation) -> ReportTable:
    """What drives every actuator of a robot; remarks are why no law does."""
    table = rows(robot)
    bound = sum(1 for row in table if not row.reason)
    return ReportTable(
        title=f"{robot.name}: {how_many(len(table), 'actuator')}, {bound} bound to a law",
        columns=[
            *words("actuator"),
            *(ReportColumn(name, is_words=name in WORDS) for name in HEADER[1:]),
        ],
        rows=[_cells(row) for row in table],
        remarks=[[row.reason] if row.reason else [] for row in table],
        labels=1,
    )


def _motors(robot: Articulation) -> dict[str, list[str]]:
    """The motors that the scene names, and their joints."""
    found: dict[str, list[str]] = {}
    for joint, on_joint in robot.model_map.motors.items():
        found.setdefault(on_joint.motor.name, []).append(joint)
    return found


def report_data(world: World, found: Sequence[Finding] | None = None) -> dict[str, object]:
    """The same as plain data, for JSON; infinite numbers are written as the text `inf`."""
    found = findings(world) if found is None else found
    return {
        "actors": [
            {
                "name": robot.name,
                "actuators": [_row_data(r) for r in rows(robot)],
                "motors": _motors(robot),
            }
            for robot in world.articulations.values()
        ],
        "executions": [
            {"controller": who, "execution": name, "reason": why}
            for who, name, why in _executions(world)
        ],
        "findings": [f.data() for f in found],
    }


def _executions(world: World) -> Iterator[tuple[str, str, str]]:
    for robot in world.articulations.values():
        for c in robot.components:
            bound = not isinstance(c, ArticulationController) or c.is_bound
            if isinstance(c, PlantComponent | ArticulationController) and bound:
                yield c.label, c.execution.name, c.execution.reason


def _row_data(row: ActuatorRow) -> dict[str, object]:
    gains = {n: v if math.isfinite(v) else str(v) for n, v in row.gains.items()}
    limit = row.limit if math.isfinite(row.limit) else str(row.limit)
    return {**asdict(row), "gains": gains, "limit": limit}


def _cells(row: ActuatorRow) -> tuple[str, ...]:
    gains = [f"{row.gains[n]:g}" if n in row.gains else "" for n in ("kp", "kv")]
    gains.append(f"{row.limit:g}" if row.gains else "")
    return (
        row.actuator, row.joint, row.kind, f"{row.gear:g}", *gains, row.owner, row.execution
    )  # fmt: skip
