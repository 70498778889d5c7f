"""Edits of a running robot without a new world: joint dynamics, native gains and limits."""

import copy
import math
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from mjrig.core.control.articulation import Articulation
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.model.model_edits import override_dynamics, override_gains
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.native_elements import NUMBERS, NativeActuator, NativeJoint
from mjrig.core.sim.world import World

# Joint edit ---------------------------------------------------------------------------------------
# Other armature, damping, friction and springs for the joints of a running robot.


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
            _write_joint(robot, joint)
        return True
    return _make_heavier(world, todo)


def _make_heavier(world: World, todo: Sequence[tuple[Articulation, NativeJoint]]) -> bool:
    """Write joints whose armature changes, and the constants that follow from it."""
    if _derives_from_inertias(world):
        return False
    for robot, joint in todo:
        _write_joint(robot, joint)
    _set_constants(world.model)
    return True


def _write_joint(robot: Articulation, joint: NativeJoint) -> None:
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


# Native edit --------------------------------------------------------------------------------------


#: What can be written into a compiled model; the rest decides about its sizes or other fields.
_LIVE = {"gainprm", "biasprm", "forcerange", "forcelimited", "ctrlrange", "ctrllimited", "gear"}
#: What MuJoCo derives from a gear when the constants of a model are computed.
_OF_GEAR = ("actuator_length0", "actuator_acc0")
_AUTO = mujoco.mjtLimited.mjLIMITED_AUTO


def retune(robot: Articulation, described: ActorDescription) -> bool:
    """Give a robot's actuators the gains and limits of a description's `native_gains`.

    The model is then, bit for bit, what a new world would compile.

    Returns:
        Whether it was done; if not, nothing was changed and a new world is needed.

    Raises:
        PropertyError, BindingError: the gains do not fit the actuators; nothing was changed.
    """
    natives = robot.model_map.natives
    wanted = [a.copy() for a in natives.model.values()]
    if described.native_gains is not None:
        override_gains(wanted, described)
    changed = [a for a in wanted if a.name in natives.replaced or a.differs_in(natives.now[a.name])]
    bindings = {b.actuator: b for b in robot.actuators}
    owned = {b.actuator_id for c in robot.controllers for b in c.bindings}
    for law in changed:
        if law.name in natives.replaced or bindings[law.name].actuator_id in owned:
            return False
        now = natives.now[law.name]
        if law.differs_in(now) - _LIVE or _structure(law) != _structure(now):
            return False
    pairs = [(bindings[law.name], law) for law in changed]
    geared = [(b, law) for b, law in pairs if "gear" in law.differs_in(natives.now[law.name])]
    if not all(_takes_gear(robot.model, b, law) for b, law in geared):
        return False
    scratch = _with_gears(robot.model, geared)
    dampings = _dampings(scratch, pairs)
    if dampings is None:
        return False
    for name in _OF_GEAR if geared else ():
        getattr(robot.model, name)[:] = getattr(scratch, name)
    _write_actuator(robot.model, pairs)
    for i, damping in dampings.items():
        robot.model.actuator_biasprm[i, 2] = -damping
    natives.now.update({law.name: law for law in changed})
    robot.describe_again([b.actuator_id for b, _ in pairs])
    return True


def _structure(law: NativeActuator) -> tuple[bool, ...]:
    """Which gains are not 0: by them the compiled kind is told, and a pid has an integral."""
    has_kp = bool(law.biasprm[1])
    has_kv = bool(law.biasprm[2]) and (has_kp or not law.has_dampratio)
    return has_kp, has_kv, law.kind == "pid" and bool(law.gainprm[0])


def _takes_gear(model: Any, binding: ActuatorBinding, law: NativeActuator) -> bool:
    """Whether another gear changes nothing but what is written here."""
    i, out = binding.actuator_id, binding.output_address
    parts = (model.actuator_armature[i], model.actuator_damping[i], model.actuator_dampingpoly[i])
    derived = any(np.any(part) for part in (*parts, model.actuator_lengthrange[out]))
    has_effect = bool(law.gear[0]) if binding.on_joint else bool(law.gear.any())
    return binding.output_count == 1 and not derived and has_effect == binding.has_effect


def _with_gears(model: Any, geared: Sequence[tuple[ActuatorBinding, NativeActuator]]) -> Any:
    """The model; a copy with the constants of other gears where there are any."""
    if not geared:
        return model
    scratch = copy.copy(model)
    for binding, law in geared:
        scratch.actuator_gear[binding.output_address] = law.gear
    mujoco.mj_setConst(scratch, mujoco.MjData(scratch))
    return scratch


def _dampings(
    model: Any, pairs: Sequence[tuple[ActuatorBinding, NativeActuator]]
) -> dict[int, float] | None:
    """By actuator id, what compiling makes of the damping ratios; None: only the compiler knows."""
    ratios = [(b, law) for b, law in pairs if law.has_dampratio]
    if not ratios:
        return {}
    data = mujoco.MjData(model)  # in the pose that damping ratios are about
    mujoco.mj_fwdPosition(model, data)
    found = {}
    for binding, law in ratios:
        mobility = _mobility(model, data, binding.output_address)
        if binding.output_count > 1 or mobility < mujoco.mjMINVAL:
            return None
        ratio, kp = float(law.biasprm[2]), -float(law.biasprm[1])
        found[binding.actuator_id] = ratio * 2.0 * math.sqrt(kp * (1.0 / mobility))
    return found


def _mobility(model: Any, data: Any, output: int) -> float:
    """J M⁻¹ Jᵀ of one transmission, with the compiler's own operations."""
    first, count = int(data.moment_rowadr[output]), int(data.moment_rownnz[output])
    own = slice(first, first + count)
    jacobian, moved = np.zeros((1, model.nv)), np.zeros((1, model.nv))
    jacobian[0, data.moment_colind[own]] = data.actuator_moment[own]
    mujoco.mj_solveM(model, data, moved, jacobian)
    return float(mujoco.mju_dot(jacobian[0], moved[0]))


def _write_actuator(model: Any, pairs: Sequence[tuple[ActuatorBinding, NativeActuator]]) -> None:
    """Write laws into a compiled model; damping ratios as they are."""
    for binding, law in pairs:
        i, first = binding.actuator_id, binding.ctrl_address
        model.actuator_gainprm[i], model.actuator_biasprm[i] = law.gainprm, law.biasprm
        model.actuator_gear[binding.output_address] = law.gear
        model.actuator_forcerange[i] = law.forcerange
        model.actuator_forcelimited[i] = _is_limited(law.forcelimited, law.forcerange)
        if binding.ctrl_count and not law.inheritrange:
            model.actuator_ctrlrange[first] = law.ctrlrange
            model.actuator_ctrllimited[first] = _is_limited(law.ctrllimited, law.ctrlrange)


def _is_limited(flag: Any, limits: Any) -> bool:
    return bool(limits[0] < limits[1]) if flag == _AUTO else bool(int(flag))
