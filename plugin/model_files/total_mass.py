"""`settotalmass` of a model: written into its inertials, since attaching it would drop it."""

from typing import Any

import mujoco
import numpy as np

_INFERRED = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO
_LEAST = mujoco.mjMINVAL


def scale_total_mass(spec: Any) -> None:
    """Give every body the inertial that MuJoCo would compile the model to by itself.

    The bodies must have names. Nothing is done for a model that does not set its total mass.

    Raises:
        Exception: MuJoCo's own: the model does not compile.
    """
    compiler = spec.compiler
    if compiler.settotalmass <= 0:
        return
    model = unscaled(spec)
    # NOTE: the operations of mj_setTotalmass in their order, for the same bits.
    scale = max(_LEAST, compiler.settotalmass / max(_LEAST, sum(model.body_mass[1:].tolist())))
    write_inertials(spec, model, scale)
    compiler.settotalmass = -1.0


def write_inertials(spec: Any, model: Any, scale: float = 1.0) -> None:
    """Give every body the inertial it was compiled to, times a scale; nothing changes it then."""
    for body in spec.bodies:
        if body.name == "world":
            continue
        compiled = model.body(body.name)
        if compiled.mass[0] or compiled.inertia.any():
            body.mass = compiled.mass[0] * scale
            body.inertia = compiled.inertia * scale
            body.ipos, body.iquat = compiled.ipos, compiled.iquat
            body.fullinertia = np.full(6, np.nan)
            body.ialt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT
            body.explicitinertial = True
    compiler = spec.compiler
    compiler.boundmass = compiler.boundinertia = 0.0
    compiler.balanceinertia = False
    compiler.inertiafromgeom = _INFERRED


def unscaled(spec: Any) -> Any:
    """The compiled model, with every inertial in the frame of its body as it is written."""
    copied = spec.copy()
    copied.compiler.settotalmass = -1.0
    copied.compiler.alignfree = False
    copied.compiler.LRopt.mode = int(mujoco.mjtLRMode.mjLRMODE_NONE)
    for joint in copied.joints:
        joint.align = mujoco.mjtAlignFree.mjALIGNFREE_FALSE
    return copied.compile()
