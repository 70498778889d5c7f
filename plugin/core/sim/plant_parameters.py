"""Plant parameters of a robot, read from a running world."""

import hashlib
import math
from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np

from mjrig.core.control.articulation import Articulation
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.effort_limits import model_ranges, our_limit, symmetric
from mjrig.core.control.plant import Plant
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.sim.world import World

INTEGRATORS = {0: "Euler", 1: "RK4", 2: "implicit", 3: "implicitfast"}
SOLVERS = {0: "PGS", 1: "CG", 2: "Newton"}
#: Fields of a model for appearance, names and initial state: no physics.
_LOOKS = ("name", "mat_", "tex", "light_", "cam_", "skin", "text", "vis", "key_", "bvh",
          "paths", "mesh_normal", "mesh_tex", "mesh_face", "mesh_graph", "mesh_poly", "flex_",
          "tuple_", "numeric_", "oct_")  # fmt: skip
_LOOKS_ENDINGS = ("rgba", "matid", "group", "texid", "user", "adr", "sameframe")
_OPTIONS = ("timestep", "impratio", "tolerance", "ls_tolerance", "gravity", "wind", "magnetic",
            "density", "viscosity", "o_margin", "o_solref", "o_solimp", "o_friction",
            "integrator", "cone", "jacobian", "solver", "iterations", "ls_iterations",
            "noslip_iterations", "ccd_iterations", "disableflags", "enableflags",
            "disableactuator")  # fmt: skip


def plant_of(world: World, robot: Articulation) -> Plant:
    """The plant of one robot as it is now: gains, limits, joints, solver.

    Gains are the authored ones, also while a policy that stands has others in place.
    """
    owners = dict(_owners(robot))
    joints: dict[str, dict[str, float]] = {}
    enforced: dict[str, str] = {}

    def note(what: str, joint: str, value: float) -> None:
        joints.setdefault(what, {})[joint] = float(value)

    for name, joint in _single_joints(world, robot):
        dof = int(world.model.jnt_dofadr[joint])
        for what in ("armature", "damping", "frictionloss"):
            note(what, name, np.ravel(getattr(world.model, f"dof_{what}")[dof])[0])
        note("stiffness", name, np.ravel(world.model.jnt_stiffness[joint])[0])
    for binding in robot.actuators:
        if not binding.joint or not binding.on_joint:
            continue
        name = binding.joint
        controller, index = owners.get(binding.actuator_id, (None, 0))
        gains = _gains(world, binding, controller, index)
        for what, value in gains.items():
            note(what, name, value)
        limit, where = _limit(binding, controller, index)
        note("torque_limit", name, limit)
        if where:
            enforced[name] = where
        note("delay", name, 0.0 if controller is None else _delay(world, controller, index))
        note("default_pose", name, _initial(robot, binding))
    overall = _options(world)
    overall["joint_order"] = [b.joint for b in robot.actuators if b.joint]
    found = Plant(overall=overall, joints=joints, enforced=enforced)
    for component in robot.components:
        if isinstance(component, PolicyComponent) and getattr(component, "enabled", True):
            found = _with_policy(found, component)
    return found


def _with_policy(plant: Plant, policy: PolicyComponent) -> Plant:
    """Add a policy's own rate, pose and scale."""
    made_for = policy.plant()
    overall = {**plant.overall, "decimation": policy.tick_steps}
    if "phase" in made_for.overall:
        overall["phase"] = made_for.overall["phase"]
    joints = {**plant.joints}
    for what in ("default_pose", "action_scale"):
        if what in made_for.joints:
            joints[what] = {**joints.get(what, {}), **made_for.joints[what]}
    return Plant(overall, joints, plant.recovered, plant.enforced)


def model_hash(model: Any) -> str:
    """SHA-256 of everything in a model that affects its motion; not of names and appearance."""
    digest = hashlib.sha256()
    for name in sorted(dir(model)):
        if name.startswith(("_", *_LOOKS)) or name.endswith(_LOOKS_ENDINGS):
            continue
        value = getattr(model, name)
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            digest.update(f"{name}{value.shape}".encode())
            digest.update(np.ascontiguousarray(value).tobytes())
    for name in _OPTIONS:
        value = np.ascontiguousarray(getattr(model.opt, name))
        digest.update(name.encode())
        digest.update(value.tobytes())
    return digest.hexdigest()


def disable_flags(model: Any) -> list[str]:
    """Names of the flags that `<option><flag>` disables."""
    bits = int(model.opt.disableflags)
    flags = [f for f in dir(mujoco.mjtDisableBit) if f.startswith("mjDSBL_")]
    return sorted(
        f.removeprefix("mjDSBL_").lower()
        for f in flags
        if bits & int(getattr(mujoco.mjtDisableBit, f))
    )


def _options(world: World) -> dict[str, object]:
    option = world.model.opt
    return {
        "timestep": float(option.timestep),
        "integrator": INTEGRATORS.get(int(option.integrator), str(int(option.integrator))),
        "solver": SOLVERS.get(int(option.solver), str(int(option.solver))),
        "iterations": int(option.iterations),
        "ls_iterations": int(option.ls_iterations),
        "disable_flags": disable_flags(world.model),
        "gravity": [float(g) + 0.0 for g in option.gravity],
        "model_hash": model_hash(world.model),
        "mujoco": mujoco.__version__,
    }


def _single_joints(world: World, robot: Articulation) -> Iterator[tuple[str, int]]:
    """Local name and id of the hinges and slides."""
    for name, joint in zip(robot.joint_names, robot.model_map.joint_ids, strict=True):
        if int(world.model.jnt_type[joint]) in (2, 3):
            yield name, int(joint)


def _owners(robot: Articulation) -> Iterator[tuple[int, tuple[ArticulationController, int]]]:
    for controller in robot.controllers:
        if controller.enabled and controller.follows_pose:
            for index, binding in enumerate(controller.bindings):
                yield binding.actuator_id, (controller, index)


def _gains(
    world: World, binding: ActuatorBinding, controller: ArticulationController | None, index: int
) -> dict[str, float]:
    """kp and kv at the joint, of a controller or of the model's own servo."""
    if controller is not None:
        gains = controller.authored_gains()
        return {n: float(gains[n][index]) for n in ("kp", "kv") if n in gains}
    if binding.kind in ("position", "velocity", "general"):
        bias = world.model.actuator_biasprm[binding.actuator_id]
        factor = binding.gear**2
        return {"kp": -float(bias[1]) * factor + 0.0, "kv": -float(bias[2]) * factor + 0.0}
    return {}


def _limit(
    binding: ActuatorBinding, controller: ArticulationController | None, index: int
) -> tuple[float, str]:
    """The tightest limit in both directions and what enforces it."""
    bounds = {name: symmetric(r) for name, r in model_ranges(binding).items()}
    if controller is not None:
        bounds["controller"] = our_limit(controller, index)
    where = min(bounds, key=lambda name: bounds[name], default="")
    limit = bounds.get(where, math.inf)
    return limit, where if math.isfinite(limit) else ""


def _delay(world: World, controller: ArticulationController, index: int) -> float:
    """Delay of commands [s]; the mean of a random delay."""
    tick = world.timestep * int(getattr(controller, "decimation", 1))
    delay: Any = getattr(controller, "delay", None)
    if delay is not None and delay.is_authored("random"):
        return float(np.mean(delay.random) * tick)
    return delay_steps(delay, controller.num_bindings, tick)[index] * tick


def delay_steps(delay: Any, count: int, tick: float) -> list[int]:
    """The delay of each actuator in control steps of `tick` seconds; of a random one its mean."""
    if delay is None:
        return [0] * count
    if delay.is_authored("random"):
        return [round(float(np.mean(delay.random)))] * count
    steps = delay.seconds / tick if delay.is_authored("seconds") else delay.steps
    return [round(float(s)) for s in steps]


def _initial(robot: Articulation, binding: ActuatorBinding) -> float:
    places = {int(a): i for i, a in enumerate(robot.model_map.qpos)}
    return float(robot.model_map.initial.qpos[places[binding.qpos_address]])
