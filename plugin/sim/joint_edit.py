"""Other armature, damping, friction and springs for the joints of a running robot."""

import copy
from collections.abc import Sequence
from typing import Any

import mujoco

from mjrig.actuators.native_joint import NUMBERS, NativeJoint
from mjrig.control.articulation import Articulation
from mjrig.model.model_edits import override_dynamics
from mjrig.scene.actor import ActorDescription
from mjrig.sim.world import World

#: What follows from the armature, and is computed with the constants of a model.
_CONSTANTS = ("dof_M0", "dof_invweight0", "body_invweight0", "tendon_invweight0", "actuator_acc0")
#: Kinds of gains whose numbers a compiler derives from the constants.
_DERIVED = (int(mujoco.mjtGain.mjGAIN_MUSCLE), int(mujoco.mjtGain.mjGAIN_SO3))


def rejoint(world: World, robots: Sequence[Articulation], described: ActorDescription) -> bool:
    """Give the joints of an actor and its copies in a world what a description's `dynamics` say.

    The model's arrays are then, bit for bit, those that a new world would compile.

    Returns:
        Whether it was done; if not, nothing was changed and a new world is needed.

    Raises:
        PropertyError, BindingError: a pattern matches no joint; nothing was changed.
    """
    todo: list[tuple[Articulation, NativeJoint]] = []
    changed: set[str] = set()
    for robot in robots:
        known = robot.model_map.joints
        for joint in override_dynamics(list(known.model.values()), described):
            differs = joint.differs_in(known.now[joint.name])
            if differs and (joint.springdamper or differs - set(NUMBERS)):
                return False
            changed |= differs
            todo += [(robot, joint)] if differs else []
    if "armature" not in changed:
        for robot, joint in todo:
            _write(robot, joint)
        return True
    return _make_heavier(world, todo)


def _make_heavier(world: World, todo: Sequence[tuple[Articulation, NativeJoint]]) -> bool:
    """Write joints whose armature changes, and the constants that follow from it."""
    if _derives_from_inertias(world):
        return False
    for robot, joint in todo:
        _write(robot, joint)
    _set_constants(world.model)
    return True


def _write(robot: Articulation, joint: NativeJoint) -> None:
    model, index = robot.model, robot.joint_names.index(joint.name)
    i = int(robot.model_map.joint_ids[index])
    first = int(model.jnt_dofadr[i])
    last = int(model.jnt_dofadr[i + 1]) if i + 1 < model.njnt else model.nv
    model.dof_armature[first:last] = joint.armature
    model.dof_frictionloss[first:last] = joint.frictionloss
    model.dof_damping[first:last] = joint.damping[0]
    model.dof_dampingpoly[first:last] = joint.damping[1:]
    model.jnt_stiffness[i] = joint.stiffness[0]
    model.jnt_stiffnesspoly[i] = joint.stiffness[1:]
    robot.model_map.joints.now[joint.name] = joint


def _derives_from_inertias(world: World) -> bool:
    """Whether compiling makes other numbers of an actuator or a joint from inertias."""
    maps = [robot.model_map for robot in world.articulations.values()]
    return (
        any(int(kind) in _DERIVED for kind in world.model.actuator_gaintype)
        or any(law.has_dampratio for where in maps for law in where.natives.now.values())
        or any(joint.springdamper for where in maps for joint in where.joints.now.values())
    )


def _set_constants(model: Any) -> None:
    """Compute what follows from the inertias in qpos0."""
    scratch = copy.copy(model)  # it also sets statistics, which a file may give
    mujoco.mj_setConst(scratch, mujoco.MjData(scratch))
    for name in _CONSTANTS:
        getattr(model, name)[:] = getattr(scratch, name)
