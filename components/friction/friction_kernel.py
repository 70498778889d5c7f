"""Kernel: the dry friction of all joints of a component in one call (extra `fast`)."""

from typing import Any

import mujoco
import numba

from mjrig.components.friction.budget import dry_friction

_numba: Any = numba  # its types are incomplete
#: Type of a friction constraint of a joint: mjCNSTR_FRICTION_DOF.
OF_JOINTS = int(mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF)
_budget = _numba.njit(error_model="numpy")(dry_friction)


@_numba.njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def read_loads(
    dofs: Any, actuator: Any, constraint: Any, bias: Any, kinds: Any, ids: Any, forces: Any,
    loads: Any,
) -> None:  # fmt: skip
    """Torques of the last step on every joint: of motors, and of all but motors and friction.

    Args:
        kinds, ids, forces: of the friction constraints.
    """
    for i in range(dofs.shape[0]):
        dof = dofs[i]
        friction = 0.0
        for row in range(kinds.shape[0]):
            if kinds[row] == OF_JOINTS and ids[row] == dof:
                friction = forces[row]
        loads[0, i] = actuator[dof]
        loads[1, i] = (constraint[dof] - friction) - bias[dof]


@_numba.njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def write_friction(
    rows: Any, dofs: Any, velocities: Any, motor: Any, external: Any, frictionloss: Any
) -> None:
    """Write the friction of every joint, given the torques of the last step."""
    for i in range(dofs.shape[0]):
        dof = dofs[i]
        frictionloss[dof] = _budget(rows[i], velocities[dof], motor[i], external[i])
