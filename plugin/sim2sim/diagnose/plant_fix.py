"""The recorded value of a listed property: put into a robot that runs, and as an edit."""

from collections.abc import Mapping

import numpy as np

from mjrig.control.articulation import Articulation
from mjrig.names import Slots
from mjrig.sim.world import World
from mjrig.sim2sim.compare.differences import PlantDifference
from mjrig.sim2sim.compare.finding import RepairEdit
from mjrig.sim2sim.play.plant_edit import JOINT_FIELDS, PlantEdit

#: Options of `sim:` under the names that a recording lists them by.
_OPTIONS = ("timestep", "integrator", "solver", "iterations", "ls_iterations")


def plant_fix(
    world: World, robot: Articulation, difference: PlantDifference
) -> tuple[RepairEdit, ...]:
    """The edits that repair a difference; none: it is in the model's own file."""
    what, recorded = difference.what, difference.recorded
    if not difference.joints:
        return (RepairEdit("scene", f"sim.{what}", recorded),) if what in _OPTIONS else ()
    assert isinstance(recorded, Mapping)
    wanted = {j: float(recorded[j]) for j in difference.joints}
    if what in JOINT_FIELDS:
        return (dynamics_fix(world, robot, what, wanted),)
    if what == "delay":
        return tuple(_delays(world, robot, wanted))
    return (*_gains(robot, what, wanted), *_native_gains(world, robot, what, wanted))


def dynamics_fix(
    world: World, robot: Articulation, what: str, wanted: Mapping[str, float]
) -> RepairEdit:
    """The edit that gives joints another armature, damping or friction; the others keep theirs."""
    slots = Slots([(j,) for j in robot.joint_names], robot.name, "joint")
    return _pattern_edit(world, robot, "dynamics", what, slots, wanted)


def _native_gains(
    world: World, robot: Articulation, what: str, wanted: Mapping[str, float]
) -> list[RepairEdit]:
    """Gains and limits of the model's own servos among these joints."""
    ruled = {b.actuator_id for c in robot.controllers if c.enabled for b in c.bindings}
    servos = [
        b
        for b in robot.actuators
        if b.joint in wanted and b.on_joint and b.kind == "position" and b.actuator_id not in ruled
    ]
    attribute = {"kp": "kp", "kv": "kv", "torque_limit": "forcerange"}.get(what)
    if attribute is None or not servos:
        return []
    values: dict[str, object] = {}
    for servo in servos:
        value, gear = wanted[servo.joint], abs(servo.gear)
        if not np.isfinite(value):
            return []  # a limit of the model can be moved, not removed
        bound = value / gear
        values[servo.actuator] = [-bound, bound] if what == "torque_limit" else value / gear**2
    slots = Slots([b.names for b in robot.actuators], robot.name)
    return [_pattern_edit(world, robot, "native_gains", attribute, slots, values)]


def _pattern_edit(
    world: World, robot: Articulation, part: str, what: str, slots: Slots,
    wanted: Mapping[str, object],
) -> RepairEdit:  # fmt: skip
    """New values in a mapping of patterns: what it says about others stays."""
    actor = next((a for a in world.scene.actors if a.name == robot.name), None)
    said = getattr(getattr(actor, part, None), what, None) or {}
    taken = {i for name in wanted for i in slots.match(name)}
    kept = {k: v for k, v in slots.without(said, taken).items()} if said else {}
    return RepairEdit("scene", f"{robot.name}.{part}.{what}", {**kept, **wanted})


def _gains(robot: Articulation, what: str, wanted: Mapping[str, float]) -> list[RepairEdit]:
    """All values of a gain of the controllers that own these joints."""
    found = []
    for component in robot.controllers:
        gains, joints = (
            component.authored_gains(),
            [b.joint or b.actuator for b in component.bindings],
        )
        if what not in gains or not set(joints) & set(wanted):
            continue
        values = {
            j: wanted.get(j, float(v))
            for j, v in zip(joints, gains[what], strict=True)
            if np.isfinite(wanted.get(j, float(v)))
        }
        found.append(RepairEdit("scene", f"{component.label}.{what}", values))
    return found


def _delays(world: World, robot: Articulation, wanted: Mapping[str, float]) -> list[RepairEdit]:
    """The delay of the controllers that own these joints."""
    found = []
    for component in robot.controllers:
        mine = {b.joint for b in component.bindings} & set(wanted)
        if not mine:
            continue
        tick = world.timestep * int(getattr(component, "decimation", 1))
        steps = round(max(wanted[j] for j in mine) / tick)
        value = {"steps": steps} if steps else None
        found.append(RepairEdit("scene", f"{component.label}.delay", value))
    return found


def apply(edit: PlantEdit, difference: PlantDifference) -> None:
    """Set the recorded value on the robot.

    Raises:
        CannotEdit: it cannot be changed in a running world.
    """
    if difference.joints:
        recorded = difference.recorded
        assert isinstance(recorded, dict)
        edit.set_joints(difference.what, {j: float(recorded[j]) for j in difference.joints})
    else:
        edit.set_option(difference.what, difference.recorded)
