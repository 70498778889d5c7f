"""Other gains and limits for the native actuators of a running robot, without a new world."""

import copy
from collections.abc import Sequence
from typing import Any

import mujoco

from mjrig.actuators.native_actuator import NativeActuator
from mjrig.control.articulation import Articulation
from mjrig.model.binding import ActuatorBinding
from mjrig.model.model_edits import override_gains
from mjrig.scene.actor import ActorDescription

#: What can be written into a compiled model; the rest decides about its sizes or other fields.
_LIVE = {"gainprm", "biasprm", "forcerange", "forcelimited", "ctrlrange", "ctrllimited"}
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
        if law.differs_in(now) - _LIVE or _compiled_kind(law) != _compiled_kind(now):
            return False
    pairs = [(bindings[law.name], law) for law in changed]
    _compile(robot.model, pairs)
    natives.now.update({law.name: law for law in changed})
    robot.describe_again([b.actuator_id for b, _ in pairs])
    return True


def _compiled_kind(law: NativeActuator) -> tuple[bool, bool]:
    """By what the kind of an affine actuator is told when it is compiled: kp and kv are not 0."""
    has_kp = bool(law.biasprm[1])
    return has_kp, bool(law.biasprm[2]) and (has_kp or not law.has_dampratio)


def _compile(model: Any, pairs: Sequence[tuple[ActuatorBinding, NativeActuator]]) -> None:
    """Write laws into a compiled model as MuJoCo's compiler does."""
    if any(law.has_dampratio for _, law in pairs):
        # A damping ratio becomes a damping where the constants of a model are computed.
        scratch = copy.copy(model)
        _write(scratch, pairs)
        mujoco.mj_setConst(scratch, mujoco.MjData(scratch))
        _write(model, pairs)
        for binding, _ in pairs:
            i = binding.actuator_id
            model.actuator_biasprm[i] = scratch.actuator_biasprm[i]
    else:
        _write(model, pairs)


def _write(model: Any, pairs: Sequence[tuple[ActuatorBinding, NativeActuator]]) -> None:
    for binding, law in pairs:
        i, first = binding.actuator_id, binding.ctrl_address
        model.actuator_gainprm[i], model.actuator_biasprm[i] = law.gainprm, law.biasprm
        model.actuator_forcerange[i] = law.forcerange
        model.actuator_forcelimited[i] = _is_limited(law.forcelimited, law.forcerange)
        if binding.ctrl_count and not law.inheritrange:
            model.actuator_ctrlrange[first] = law.ctrlrange
            model.actuator_ctrllimited[first] = _is_limited(law.ctrllimited, law.ctrlrange)


def _is_limited(flag: Any, limits: Any) -> bool:
    return bool(limits[0] < limits[1]) if flag == _AUTO else bool(int(flag))
