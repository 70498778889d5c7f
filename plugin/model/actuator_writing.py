"""Writing one authored actuator to a spec's actuator; clearing one for its replacement."""

from typing import Any

import mujoco
import numpy as np

from mjrig.actuators.actuator import Actuator
from mjrig.model_files.model_source import one_line

_AUTO = mujoco.mjtLimited.mjLIMITED_AUTO
_TYPE = mujoco.mjtActuator
_FIELDS = (
    *("group", "ctrlrange", "forcerange", "actrange", "lengthrange", "gear", "cranklength"),
    *("delay", "nsample", "damping", "armature"),
)
_TYPES = {"dyntype": mujoco.mjtDyn, "gaintype": mujoco.mjtGain, "biastype": mujoco.mjtBias}
_COMMAND = {
    _TYPE.mjACTUATOR_POSITION: "position",
    _TYPE.mjACTUATOR_PID: "position",
    _TYPE.mjACTUATOR_VELOCITY: "velocity",
    _TYPE.mjACTUATOR_INTVELOCITY: "velocity",
    _TYPE.mjACTUATOR_CYLINDER: "pressure",
    _TYPE.mjACTUATOR_MUSCLE: "excitation",
    _TYPE.mjACTUATOR_DAMPER: "damping",
    _TYPE.mjACTUATOR_ADHESION: "adhesion",
    _TYPE.mjACTUATOR_MOTOR: "force",
}


def write(made: Any, actuator: Actuator, *, new: bool = True) -> None:
    """Write an actuator: ranges, then its kind's law, then overrides of the law.

    Args:
        made: the spec's actuator; its transmission is written already.
        actuator: the description.
        new: false where `made` is the model's: what is not authored stays.

    Raises:
        PropertyError: MuJoCo refuses a value.
    """
    for name in _FIELDS:
        if new or actuator.is_authored(name):
            setattr(made, name, actuator.__dict__[name])
    if new or actuator.is_authored("interp"):
        made.interp = list(type(actuator.interp)).index(actuator.interp)
    if new:
        _clear(made)
        made.forcelimited = _AUTO
    if not (actuator.is_authored("ctrlrange") or made.ctrlrange.any()):
        made.ctrlrange = actuator.ctrlrange  # the kind's own
    if actuator.is_authored("userdata"):
        made.userdata = actuator.userdata.tolist()
    _write_law(made, actuator)
    for kind in ("ctrl", "force", "act"):
        limited = actuator.__dict__[f"{kind}limited"]
        if limited is not None:
            setattr(made, f"{kind}limited", int(limited))


def _write_law(made: Any, actuator: Actuator) -> None:
    """The kind first: it resets the whole table of types and parameters."""
    try:
        actuator.shape(made)
    except (TypeError, ValueError) as error:
        raise actuator.refusal("type", one_line(error)) from error
    for name, members in _TYPES.items():
        if actuator.is_authored(name):
            prefix = name.removesuffix("type").upper()
            setattr(made, name, getattr(members, f"mj{prefix}_{actuator.__dict__[name].upper()}"))
    for name in ("dynprm", "gainprm", "biasprm"):
        if actuator.is_authored(name):
            count = np.atleast_1d(np.asarray(actuator.authored(name))).size
            getattr(made, name)[:count] = actuator.__dict__[name][:count]
    for name in ("actearly", "ctrlspec", "actdim"):
        if actuator.is_authored(name):
            setattr(made, name, actuator.__dict__[name])


def retire(made: Any, actuator: Actuator) -> bool:
    """Clear what has no meaning for the actuator that replaces a model's.

    Returns whether the control input keeps its meaning.
    """
    keeps_command = command_of(made) == actuator.command != ""
    ranges = made.ctrlrange.copy(), made.ctrllimited, made.inheritrange
    _clear(made)
    made.ctrlrange, made.actrange, made.actdim = [0, 0], [0, 0], -1
    if made.plugin.active:
        made.plugin.active = False
    if keeps_command and not (actuator.is_authored("ctrlrange") or _inherits(actuator)):
        made.ctrlrange, made.ctrllimited, made.inheritrange = ranges
    return keeps_command


def _inherits(actuator: Actuator) -> bool:
    return "inheritrange" in actuator._properties and actuator.is_authored("inheritrange")


def _clear(made: Any) -> None:
    """Undo what defaults of the model or an earlier kind left."""
    made.ctrllimited = made.actlimited = _AUTO
    made.velrange, made.ffrange, made.inheritrange = [0, 0], [0, 0], 0.0


def command_of(made: Any) -> str:
    """The quantity of the first control input of a spec's actuator; empty if unknown."""
    if made.type in _COMMAND:
        return _COMMAND[made.type]
    fixed = made.gaintype == mujoco.mjtGain.mjGAIN_FIXED
    if fixed and made.biastype == mujoco.mjtBias.mjBIAS_AFFINE:
        integrates = made.dyntype == mujoco.mjtDyn.mjDYN_INTEGRATOR
        return "position" if made.biasprm[1] and not integrates else "velocity"
    plain = made.biastype == mujoco.mjtBias.mjBIAS_NONE and made.dyntype == mujoco.mjtDyn.mjDYN_NONE
    return "force" if fixed and plain and made.gainprm[0] == 1.0 else ""


def position_type(made: Any) -> bool:
    """Whether a spec's actuator holds its target at a position."""
    gains = (mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtGain.mjGAIN_PID)
    affine = made.biastype == mujoco.mjtBias.mjBIAS_AFFINE and made.gaintype in gains
    pressure = made.type == _TYPE.mjACTUATOR_CYLINDER
    return bool(affine and made.biasprm[1] and not pressure)
