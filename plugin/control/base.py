"""The free base of a robot: its address in qpos."""

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.articulation import Articulation


def base_address(robot: Articulation) -> int | None:
    """qpos address of the free base, or None for a fixed-base robot.

    The base is the model's first body: a free cube on its table is not one.
    """
    model, prefix = robot.model, robot.model_map.prefix
    named = (i for i in range(1, model.nbody) if model.body(i).name.startswith(prefix))
    joint = int(model.body_jntadr[next(named, 0)])
    if joint < 0 or model.jnt_type[joint] != int(mujoco.mjtJoint.mjJNT_FREE):
        return None
    return int(model.jnt_qposadr[joint])


def base_position(robot: Articulation) -> FloatArray | None:
    """Position of the free base, or None for a fixed-base robot."""
    address = base_address(robot)
    return None if address is None else np.array(robot.data.qpos[address : address + 3])
