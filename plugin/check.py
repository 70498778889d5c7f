"""Pre-flight: the binding table of a world, and what looks wrong in it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from mjrig.articulation import Articulation
from mjrig.binding import ActuatorBinding
from mjrig.controller import ArticulationController
from mjrig.names import listed
from mjrig.property_kinds import FloatArray
from mjrig.table import format_table
from mjrig.world import World

#: Share of a stability bound at which a gain is called close to it.
CLOSE = 0.5
HEADER = ("actuator", "joint", "kind", "gear", "kp", "kv", "limit", "driven by", "execution")


@dataclass(frozen=True)
class Finding:
    """One warning, and what it is about: `dog.FL_hip`."""

    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


@dataclass(frozen=True)
class Row:
    """One line of the binding table; `reason` is given where no law is bound."""

    actuator: str
    joint: str
    kind: str
    gear: float
    gains: dict[str, float]
    owner: str
    execution: str
    reason: str


def rows(robot: Articulation) -> list[Row]:
    """The binding table: every actuator, in id order."""
    owners = {b.actuator_id: (c, i) for c in robot.controllers for i, b in enumerate(c.bindings)}
    found = []
    for binding in robot.actuators:
        controller, index = owners.get(binding.actuator_id, (None, -1))
        driven = controller is not None and controller.enabled
        gains = {n: float(v[index]) for n, v in controller.gains().items()} if controller else {}
        found.append(
            Row(
                binding.actuator,
                binding.joint or f"{binding.transmission} {binding.target}",
                binding.kind,
                binding.gear,
                gains,
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


def findings(world: World) -> list[Finding]:
    """Everything that deserves a warning."""
    inertia = joint_inertia(world.model, world.data)
    found: list[Finding] = []
    for robot in world.articulations.values():
        found += _about_controllers(robot)
        found += _about_joints(robot)
        for controller in robot.controllers:
            for index, binding in enumerate(controller.bindings):
                gains = {n: float(v[index]) for n, v in controller.gains().items()}
                where = f"{robot.name}.{binding.actuator}"
                found += [Finding(where, t) for t in _about_limit(binding, gains)]
                if binding.on_joint:
                    step = world.timestep
                    dof_inertia = float(inertia[binding.dof_address])
                    texts = _about_stability(gains, step, dof_inertia)
                    found += [Finding(where, t) for t in texts]
    return found


def joint_inertia(model: Any, data: Any) -> FloatArray:
    """Effective inertia of each dof when the others are free, 1 / (M⁻¹)ᵢᵢ."""
    unit, solved = np.eye(model.nv), np.zeros((model.nv, model.nv))
    mujoco.mj_solveM(model, data, solved, unit)
    inertia: FloatArray = 1.0 / np.maximum(np.diag(solved), mujoco.mjMINVAL)
    return inertia


def _about_controllers(robot: Articulation) -> Iterator[Finding]:
    for controller in robot.controllers:
        where = f"{robot.name}.{controller._role}"
        if not controller.is_bound:
            yield Finding(where, "owns no actuator: nothing its patterns match can be bound")
        elif not controller.enabled and controller.follows_pose:
            motors = [b.actuator for b in controller.bindings if b.kind == "motor"]
            if motors:
                yield Finding(
                    where,
                    f"is disabled: position setpoints in rad go as torque to {listed(motors)}",
                )


def _about_joints(robot: Articulation) -> Iterator[Finding]:
    by_joint: dict[int, list[str]] = {}
    for controller in robot.controllers:
        for binding in controller.bindings:
            if binding.on_joint:
                by_joint.setdefault(binding.joint_id, []).append(binding.actuator)
    for joint_id, names in by_joint.items():
        if len(names) > 1:
            joint = next(b.joint for b in robot.actuators if b.joint_id == joint_id)
            yield Finding(
                f"{robot.name}.{joint}",
                f"two or more owned actuators act on this joint: {listed(names)}; "
                "each applies its full effort",
            )


def _about_limit(binding: ActuatorBinding, gains: dict[str, float]) -> Iterator[str]:
    limit = gains.get("torque_limit")
    if limit is None:
        return
    ranges = {
        "ctrlrange": _scaled(binding.ctrl_range, binding.factor),
        "forcerange": _scaled(binding.force_range, binding.gear),
        "actuatorfrcrange": binding.joint_force_range,
    }
    known = {name: r for name, r in ranges.items() if r is not None}
    unit = binding.effort_unit
    if math.isinf(limit) and not known:
        yield "has no effort limit, neither here nor in the model"
    for name, (low, high) in known.items():
        bound = min(abs(low), abs(high)) if low <= 0.0 <= high else 0.0
        if limit > bound and not math.isinf(limit):
            yield (
                f"torque limit {limit:g} {unit} is above the model's {name} "
                f"({bound:g} {unit}), which wins"
            )


def _scaled(limits: tuple[float, float] | None, factor: float) -> tuple[float, float] | None:
    if limits is None:
        return None
    low, high = sorted((limits[0] * factor, limits[1] * factor))
    return low, high


def _about_stability(gains: dict[str, float], step: float, inertia: float) -> Iterator[str]:
    """Explicit PD under semi-implicit Euler is stable iff both numbers stay below their bound."""
    kp, kv = gains.get("kp"), gains.get("kv")
    if kp is None or kv is None:
        return
    damping = kv * step / inertia
    stiffness = kp * step * step / inertia + 2.0 * damping
    share, text = max(
        (damping / 2.0, f"kv·dt/I = {damping:.2g}, bound 2"),
        (stiffness / 4.0, f"kp·dt²/I + 2·kv·dt/I = {stiffness:.2g}, bound 4"),
    )
    if share >= 1.0:
        yield f"explicit PD is unstable: {text}; lower the gain or the timestep"
    elif share >= CLOSE:
        yield f"explicit PD is close to its stability bound: {text}"


def report(world: World) -> str:
    """The tables and warnings of a world, as text."""
    lines: list[str] = []
    for robot in world.articulations.values():
        table = rows(robot)
        bound = sum(1 for r in table if not r.reason)
        lines.append(f"{robot.name}: {len(table)} actuators, {bound} bound to a law")
        lines += ["  " + line for line in format_table(HEADER, [_cells(r) for r in table])]
        direct = [r for r in table if r.reason]
        if direct:
            lines.append("  driven directly:")
            lines += [f"    {r.actuator}: {r.reason}" for r in direct]
        lines.append("")
    for robot in world.articulations.values():
        for c in robot.controllers:
            if c.is_bound:
                lines.append(f"{c.label} runs as {c.execution.name}: {c.execution.reason}")
    found = findings(world)
    lines.append(f"warnings: {len(found) or 'none'}")
    lines += [f"  {f}" for f in found]
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    gains = [f"{row.gains[n]:g}" if n in row.gains else "" for n in ("kp", "kv", "torque_limit")]
    return (
        row.actuator, row.joint, row.kind, f"{row.gear:g}", *gains, row.owner, row.execution
    )  # fmt: skip
