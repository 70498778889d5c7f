"""Feedback loops of a world: the controllers and actuators behind them, linearised."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.execution import integrator_name
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.sim.world import World
from mjrig.lab.check.closed_loop import Carrier, LinearPlant, Loop

Indices = npt.NDArray[np.intp]
#: Actuators of the model that feed position or velocity back themselves.
SERVOS = ("position", "velocity", "intvelocity", "pid")


@dataclass(frozen=True, eq=False)
class Drive:
    """One actuator with feedback on position or velocity; gains in units of its Jacobian row."""

    actor: str
    actuator: str
    controller: ArticulationController | None
    row: FloatArray
    kp: float
    kv: float
    ki: float
    every: int
    carrier: Carrier


class _Members(NamedTuple):
    """Places in a group, and the rows of the drives there."""

    places: list[int]
    rows: FloatArray


@dataclass(frozen=True, eq=False)
class Group:
    """Dynamically coupled joints and the drives on them; rows are over `dofs`."""

    dofs: Indices
    plant: LinearPlant
    drives: tuple[Drive, ...]

    def loops(
        self,
        kp: FloatArray | float = 1.0,
        kv: FloatArray | float = 1.0,
        ki: FloatArray | float = 1.0,
        *,
        carrier: Carrier | None = None,
        every: int | None = None,
    ) -> list[Loop]:
        """One loop per controller, and one for the model's own actuators.

        Args:
            kp: factor on kp, for all or per drive.
            kv: factor on kv.
            ki: factor on ki.
            carrier: execution of the controllers to assume; None: the present one.
            every: their longest tick [steps]; None: the present one.
        """
        size = len(self.drives)
        gains = tuple(np.broadcast_to(factor, size) for factor in (kp, kv, ki))
        found = [self._loop(part, *gains) for part in self._parts]
        ours = [part[0].controller is not None for part, _ in self._parts]
        return [
            replace(
                loop,
                carrier=carrier if carrier is not None and mine else loop.carrier,
                every=loop.every if every is None else min(loop.every, every),
            )
            for loop, mine in zip(found, ours, strict=True)
        ]

    @cached_property
    def _parts(self) -> list[tuple[list[Drive], _Members]]:
        """The drives of each loop, with their places and rows."""
        parts: dict[object, list[int]] = {}
        for i, drive in enumerate(self.drives):
            parts.setdefault((id(drive.controller), drive.every, drive.carrier), []).append(i)
        found = []
        for members in parts.values():
            drives = [self.drives[i] for i in members]
            rows = np.array([d.row[self.dofs] for d in drives])
            found.append((drives, _Members(members, rows)))
        return found

    def _loop(
        self,
        part: tuple[list[Drive], _Members],
        kp: FloatArray,
        kv: FloatArray,
        ki: FloatArray,
    ) -> Loop:
        drives, (members, rows) = part
        return Loop(
            rows=rows,
            kp=np.array([d.kp for d in drives]) * kp[members],
            kv=np.array([d.kv for d in drives]) * kv[members],
            ki=np.array([d.ki for d in drives]) * ki[members],
            every=drives[0].every,
            carrier=drives[0].carrier,
        )


def inverse_mass(model: Any, data: Any) -> FloatArray:
    """M⁻¹ at the current pose, armature included."""
    solved = np.zeros((model.nv, model.nv))
    if model.nv:
        mujoco.mj_solveM(model, data, solved, np.eye(model.nv))
    return solved


def _is_invertible(matrix: FloatArray) -> bool:
    return bool(np.isfinite(matrix).all() and np.linalg.slogdet(matrix)[0] > 0.0)


def moments(model: Any, data: Any) -> FloatArray:
    """∂length/∂q of every actuator output, gear included."""
    dense = np.zeros((model.nout, model.nv))
    if dense.size:
        mujoco.mju_sparse2dense(
            dense,
            data.actuator_moment,
            data.moment_rownnz,
            data.moment_rowadr,
            data.moment_colind,
        )
    return dense


def groups(world: World) -> list[Group]:
    """The world's joints under feedback, in dynamically uncoupled groups."""
    model, data = world.model, world.data
    rows = moments(model, data)
    drives = [d for robot in world.articulations.values() for d in _drives(robot, model, rows)]
    compliance = inverse_mass(model, data)
    damping, stiffness = passive(model, rows)
    found = []
    for members, dofs in _coupled(model, drives):
        felt = np.array([d.row[dofs] for d in members]).any(axis=0)
        felt |= damping[np.ix_(dofs, dofs)].any(axis=0) | (stiffness[dofs] > 0.0)
        mine = dofs[felt]
        block = np.ix_(mine, mine)
        if not _is_invertible(compliance[block]):
            continue  # no state to be stable in: masses or positions that overflow
        plant = LinearPlant(
            # No force acts on the joints left out: they only lower the effective inertia of these.
            mass=np.asarray(np.linalg.inv(compliance[block]), float),
            damping=damping[block],
            stiffness=np.diag(stiffness[mine]),
            step=world.timestep,
            integrator=integrator_name(model.opt),
            damped_ahead=not model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP),
        )
        found.append(Group(mine, plant, tuple(members)))
    return found


def passive(model: Any, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Damping (nv, nv), actuator damping included, and spring stiffness (nv,)."""
    damping = np.diag(model.dof_damping).astype(float)
    for i in np.flatnonzero(model.actuator_damping):
        row = rows[int(model.actuator_outadr[i])]
        damping += model.actuator_damping[i] * np.outer(row, row)
    stiffness = np.zeros(model.nv)
    scalar = model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE)
    stiffness[model.jnt_dofadr[scalar]] = model.jnt_stiffness[scalar]
    return damping, stiffness


def _coupled(model: Any, drives: Sequence[Drive]) -> Iterator[tuple[list[Drive], Indices]]:
    """Drives on coupled kinematic trees, with the dofs of those trees."""
    parts: list[tuple[set[int], list[Drive]]] = []
    for drive in drives:
        trees = set(model.dof_treeid[np.flatnonzero(drive.row)].tolist())
        touched = [p for p in parts if p[0] & trees]
        parts = [p for p in parts if p not in touched]
        trees = trees.union(*(p[0] for p in touched))
        parts.append((trees, [*(d for p in touched for d in p[1]), drive]))
    for trees, members in parts:
        yield members, np.flatnonzero(np.isin(model.dof_treeid, list(trees)))


def _drives(robot: Articulation, model: Any, rows: FloatArray) -> Iterator[Drive]:
    driven: set[int] = set()
    for controller in robot.controllers:
        if controller.enabled:
            driven |= {b.actuator_id for b in controller.bindings}
            yield from _of_controller(robot, controller, model, rows)
    for binding in robot.actuators:
        if binding.actuator_id not in driven and binding.kind in SERVOS:
            bias = model.actuator_biasprm[binding.actuator_id]
            ki = model.actuator_gainprm[binding.actuator_id][0] if binding.kind == "pid" else 0.0
            row = rows[binding.output_address]
            gains = (-float(bias[1]), -float(bias[2]), float(ki))
            if row.any() and any(gains):
                yield Drive(robot.name, binding.actuator, None, row, *gains, 1, Carrier.ENGINE)


def _of_controller(
    robot: Articulation, controller: ArticulationController, model: Any, rows: FloatArray
) -> Iterator[Drive]:
    gains = controller.gains()
    if "kp" not in gains or "kv" not in gains:
        return
    nothing = np.zeros(controller.num_bindings)
    table = zip(gains["kp"], gains["kv"], gains.get("ki", nothing), strict=True)
    for binding, (kp, kv, ki) in zip(controller.bindings, table, strict=True):
        row = _row(binding, model, rows)
        if binding.kind == "motor" and row.any() and (kp or kv or ki):
            yield Drive(
                robot.name,
                binding.actuator,
                controller,
                row,
                float(kp),
                float(kv),
                float(ki),
                int(getattr(controller, "decimation", 1)),
                carrier_of(controller),
            )


def carrier_of(controller: ArticulationController) -> Carrier:
    """What computes a controller's effort."""
    if controller.lowered is not None:
        return Carrier.ENGINE
    solved = getattr(controller, "effort", "explicit") == "implicit"
    return Carrier.SOLVED if solved else Carrier.HELD


def _row(binding: ActuatorBinding, model: Any, rows: FloatArray) -> FloatArray:
    """∂(measured length)/∂q: gains of a law on a joint are in joint units."""
    row = np.zeros(model.nv)
    if binding.on_joint:
        row[binding.dof_address] = 1.0
    else:
        row[:] = rows[binding.output_address]
    return row
