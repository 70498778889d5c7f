"""The plant a running world has."""

import mujoco
import numpy as np

from mjrig.articulation import Articulation
from mjrig.execution import integrator_name
from mjrig.sim2sim.plant import Plant
from mjrig.world import World


def plant_of(world: World, robot: Articulation) -> Plant:
    """What decides how a robot moves in this world, as far as its controllers and model say it."""
    model = world.model
    joints: dict[str, dict[str, float]] = {}
    for controller in robot.controllers:
        for name in ("kp", "kv", "torque_limit"):
            values = controller.gains().get(name)
            if values is not None and controller.enabled:
                for binding, value in zip(controller.bindings, values, strict=True):
                    joints.setdefault(name, {})[binding.joint] = float(value)
    for name, i in zip(robot.joint_names, robot.model_map.joint_ids, strict=True):
        if model.jnt_type[i] >= int(mujoco.mjtJoint.mjJNT_SLIDE):
            dof = int(model.jnt_dofadr[i])
            for key in ("armature", "damping", "frictionloss"):
                value = np.ravel(getattr(model, f"dof_{key}")[dof])[0]
                joints.setdefault(key, {})[name] = float(value)
    overall = {
        "timestep": world.timestep,
        "integrator": integrator_name(model),
        "iterations": int(model.opt.iterations),
        "mujoco": str(mujoco.__version__),
    }
    return Plant(overall, joints)
