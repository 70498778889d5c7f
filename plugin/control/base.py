"""The free base of a robot, and other free bodies of its model: their addresses in qpos."""

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.articulation import Articulation


def base_address(robot: Articulation) -> int | None:
    """qpos address of the free base, or None for a fixed-base robot.

    The base is a free body that the robot's actuators move: a free cube on its table, or in its
    hand, is not one. Of a model without actuators it is the first body, if that is free.
    """
    model, prefix = robot.model, robot.model_map.prefix
    named = [i for i in range(1, model.nbody) if model.body(i).name.startswith(prefix)]
    driven = _driven_roots(robot)
    for body in named[:1] if driven is None else [i for i in named if i in driven]:
        address = _free_address(model, body)
        if address is not None:
            return address
    return None


def _free_address(model: mujoco.MjModel, body: int) -> int | None:
    """qpos address of a free body; None: it is none."""
    joint = int(model.body_jntadr[body])
    is_free = joint >= 0 and model.jnt_type[joint] == int(mujoco.mjtJoint.mjJNT_FREE)
    return int(model.jnt_qposadr[joint]) if is_free else None


def free_addresses(robot: Articulation) -> dict[str, int]:
    """qpos addresses of the free bodies of its model by name; its base is called `base`."""
    model, prefix, base = robot.model, robot.model_map.prefix, base_address(robot)
    found: dict[str, int] = {} if base is None else {"base": base}
    for body in range(1, model.nbody):
        name, address = model.body(body).name, _free_address(model, body)
        if name.startswith(prefix) and address is not None and address != base:
            found[name.removeprefix(prefix)] = address
    return found


def _driven_roots(robot: Articulation) -> set[int] | None:
    """The bodies at the roots of what actuators move; None: there are no actuators."""
    model, data = robot.model, robot.data
    if not robot.actuators:
        return None
    moments = np.zeros((model.nout, model.nv))
    mujoco.mju_sparse2dense(
        moments, data.actuator_moment, data.moment_rownnz, data.moment_rowadr, data.moment_colind
    )
    rows = moments[[b.output_address for b in robot.actuators]]
    bodies = model.dof_bodyid[np.flatnonzero(rows.any(axis=0))]
    return set(model.body_rootid[bodies].tolist())


def base_position(robot: Articulation) -> FloatArray | None:
    """Position of the free base, or None for a fixed-base robot."""
    address = base_address(robot)
    return None if address is None else np.array(robot.data.qpos[address : address + 3])
