"""Differences between two plants: found, put into a robot that runs, and written as an edit."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjrig.core.control.articulation import Articulation
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.effort_limits import model_ranges, symmetric
from mjrig.core.control.plant import OVERALL, PER_JOINT, Plant
from mjrig.core.findings import RepairEdit
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.names import how_many, listed
from mjrig.core.patterns import Slots
from mjrig.core.sim.plant_parameters import delay_steps, plant_of
from mjrig.core.sim.world import World
from mjrig.lab.replay.diagnosis.hypothesis import ROUNDING
from mjrig.lab.replay.finding import repair
from mjrig.lab.replay.plant_edit import JOINT_FIELDS, PlantEdit
from mjrig.lab.replay.repairs import edited, values_edit

# Differences --------------------------------------------------------------------------------------
# Differences between two plants.


#: Properties that do not affect how setpoints move a robot.
NOT_COMPARED = ("joint_order", "model_hash", "mujoco")
#: Properties that affect only a policy, never recorded setpoints.
OF_POLICIES = ("default_pose", "action_scale", "decimation", "phase")
#: With more joints than this, or with all, a property is one difference, not one per joint.
ONE_BY_ONE = 4


@dataclass(frozen=True)
class PlantDifference:
    """One property that differs: of one or several joints, or of the whole robot (no joints)."""

    what: str
    recorded: Mapping[str, float] | object
    here: Mapping[str, float] | object
    joints: tuple[str, ...] = ()

    def apply(self, edit: PlantEdit) -> None:
        """Set the recorded value on the robot.

        Raises:
            CannotEdit: it cannot be changed in a running world.
        """
        if not self.joints:
            edit.set_option(self.what, self.recorded)
            return
        assert isinstance(self.recorded, dict)
        edit.set_joints(self.what, {j: float(self.recorded[j]) for j in self.joints})

    @property
    def where(self) -> str:
        """The joint, or how many and which."""
        if not self.joints:
            return ""
        if len(self.joints) == 1:
            return self.joints[0]
        return f"{how_many(len(self.joints), 'joint')}: {listed(self.joints)}"

    def recorded_value(self) -> object:
        """One value, or one per joint."""
        return _value(self.recorded, self.joints)

    def here_value(self) -> object:
        """One value, or one per joint."""
        return _value(self.here, self.joints)


def _value(values: object, joints: tuple[str, ...]) -> object:
    if not joints:
        return values
    assert isinstance(values, Mapping)
    found = {j: values[j] for j in joints}
    different = set(found.values())
    return next(iter(different)) if len(different) == 1 else found


def differences(
    recorded: Plant, here: Plant, names: Mapping[str, str], *, policy: bool = False
) -> list[PlantDifference]:
    """Differences in what both sides state; joints by their names here.

    Args:
        recorded: plant of a recording, or the one a policy was trained for.
        here: plant of the running world.
        names: recorded joint → joint here.
        policy: also compare what only a policy depends on.
    """
    skipped = NOT_COMPARED if policy else (*NOT_COMPARED, *OF_POLICIES)
    found = []
    for what in OVERALL:
        if what in skipped or what not in recorded.overall or what not in here.overall:
            continue
        there, now = recorded.overall[what], here.overall[what]
        if not _same(there, now):
            found.append(PlantDifference(what, there, now))
    for what in PER_JOINT:
        if what in skipped or what not in recorded.joints or what not in here.joints:
            continue
        theirs = {names[j]: v for j, v in recorded.joints[what].items() if j in names}
        ours = here.joints[what]
        off = tuple(j for j in theirs if j in ours and not _same(theirs[j], ours[j]))
        everywhere = len(off) > 1 and len(off) == len(theirs.keys() & ours.keys())
        if len(off) <= ONE_BY_ONE and not everywhere:
            found += [PlantDifference(what, theirs, ours, (j,)) for j in off]
        else:
            found.append(PlantDifference(what, theirs, ours, off))
    return found


def _same(a: object, b: object) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        return bool(a == b or np.isclose(a, b, rtol=ROUNDING, atol=1e-12))
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return a == b


# Plant fix ----------------------------------------------------------------------------------------
# The recorded value of a listed property: put into a robot that runs, and as an edit.


#: Options of `sim:` under the names that a recording lists them by.
_OPTIONS = ("timestep", "integrator", "solver", "iterations", "ls_iterations", "gravity")


def plant_fix(
    world: World, robot: Articulation, difference: PlantDifference
) -> tuple[RepairEdit, ...]:
    """The edits that repair a difference; none: it is in the model's own file."""
    what, recorded = difference.what, difference.recorded
    if not difference.joints:
        return (repair("scene", f"sim.{what}", recorded),) if what in _OPTIONS else ()
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
    names = robot.joint_names
    slots = Slots([(j,) for j in names], robot.name, "joint")
    now = plant_of(world, robot).joints.get(what, {})
    values = {names.index(j): v for j, v in wanted.items()}
    here = {names.index(j): now.get(j) for j in wanted}
    return _pattern_edit(world, robot, "dynamics", what, slots, values, here)


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
    values: dict[int, object] = {}
    here: dict[int, object] = {}
    for place, servo in enumerate(robot.actuators):
        if servo not in servos:
            continue
        value, gear = wanted[servo.joint], abs(servo.gear)
        if not np.isfinite(value):
            return []  # a limit of the model can be moved, not removed
        bound = float(f"{value / gear:.7g}")
        limited = what == "torque_limit"
        values[place] = [-bound, bound] if limited else float(f"{value / gear**2:.7g}")
        here[place] = _of_servo(world, servo, what)
    slots = Slots([b.names for b in robot.actuators], robot.name)
    return [_pattern_edit(world, robot, "native_gains", attribute, slots, values, here)]


def _of_servo(world: World, servo: ActuatorBinding, what: str) -> object:
    """A gain or the limit of a servo of the model, in its own units."""
    if what == "torque_limit":
        return None if servo.force_range is None else list(servo.force_range)
    bias = world.model.actuator_biasprm[servo.actuator_id]
    return -float(bias[1 if what == "kp" else 2]) + 0.0


def _pattern_edit(
    world: World, robot: Articulation, part: str, what: str, slots: Slots,
    wanted: Mapping[int, object], here: Mapping[int, object],
) -> RepairEdit:  # fmt: skip
    """New values in a mapping of patterns: what it says about others stays."""
    actor = next((a for a in world.scene.actors if a.name == robot.name), None)
    said = getattr(getattr(actor, part, None), what, None) or {}
    path = f"{robot.name}.{part}.{what}"
    return values_edit("scene", path, dict(said), slots, wanted, here)


def _gains(robot: Articulation, what: str, wanted: Mapping[str, float]) -> list[RepairEdit]:
    """The gain of the controllers that own these joints, of these joints alone."""
    found = []
    for component in robot.controllers:
        gains = component.authored_gains()
        owner, path = _owner(component, what)
        if what not in gains or owner is None:
            continue
        slots = Slots([b.names for b in component.bindings], robot.name)
        mine = {i: wanted[b.joint] for i, b in enumerate(component.bindings) if b.joint in wanted}
        # The model's own range stays below what the controller allows.
        held = what == "torque_limit" and any(
            _model_limit(component.bindings[i]) < v * (1.0 - ROUNDING) for i, v in mine.items()
        )
        if mine and not held:
            here = {i: float(gains[what][i]) for i in mine}
            found.append(values_edit("scene", path, owner.authored(what), slots, mine, here))
    return found


def _owner(component: ArticulationController, what: str) -> tuple[Any, str]:
    """What states a gain, the controller or its law, and its path; None: neither does."""
    law = component.__dict__.get("law")
    owners = ((component, component.label), (law, f"{component.label}.law"))
    for owner, path in owners:
        if owner is not None and any(p.name == what for p in owner.properties()):
            if owner is component and law is not None and what in _names(law):
                continue  # with a law of its own the controller's gains have no effect
            return owner, f"{path}.{what}"
    return None, ""


def _names(owner: Any) -> list[str]:
    return [p.name for p in owner.properties()]


def _model_limit(binding: ActuatorBinding) -> float:
    return min((symmetric(r) for r in model_ranges(binding).values()), default=math.inf)


def _delays(world: World, robot: Articulation, wanted: Mapping[str, float]) -> list[RepairEdit]:
    """The delay of the controllers that own these joints, of these joints alone."""
    found = []
    for component in robot.controllers:
        tick = world.timestep * int(getattr(component, "decimation", 1))
        bindings = component.bindings
        mine = {
            i: round(wanted[b.joint] / tick) for i, b in enumerate(bindings) if b.joint in wanted
        }
        if not mine:
            continue
        path, delay = f"{component.label}.delay", component.__dict__.get("delay")
        slots = Slots([b.names for b in bindings], robot.name)
        lags = delay_steps(delay, len(bindings), tick)
        here = {i: lags[i] for i in mine}
        if delay is None or len(mine) == len(bindings):
            # There is none yet, or nothing of it is left: it becomes a delay in steps.
            steps = edited(None, slots, mine)
            value = None if not any(mine.values()) else {"steps": steps}
            text = values_edit("scene", path, None, slots, mine, here).changed
            found.append(repair("scene", path, value, text))
        else:
            said = delay.authored("steps") if delay.is_authored("steps") else lags
            found.append(values_edit("scene", f"{path}.steps", said, slots, mine, here))
    return found
