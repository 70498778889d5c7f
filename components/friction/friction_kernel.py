"""Kernel: the dry friction of all joints of a component in one call (extra `fast`)."""

from typing import Any

import numba

from mjrig.components.friction.budget import dry_friction

_numba: Any = numba  # its types are incomplete
_budget = _numba.njit(error_model="numpy")(dry_friction)


@_numba.njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def write_friction(
    rows: Any, dofs: Any, velocities: Any, motor: Any, external: Any, frictionloss: Any
) -> None:
    """Write the friction of every joint, given the torques of the last step."""
    for i in range(dofs.shape[0]):
        dof = dofs[i]
        frictionloss[dof] = _budget(rows[i], velocities[dof], motor[i], external[i])
