"""Other masses, centres and inertias for the bodies of a model, before it is attached."""

from typing import Any

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.errors import PropertyError
from mjrig.model.initial_state import spread
from mjrig.model_files.total_mass import unscaled, write_inertials
from mjrig.names import Slots
from mjrig.scene.actor import ActorDescription

_FROM_GEOMS = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
#: Principal moments may break the triangle inequality by this share: a plate is at its limit.
_SLACK = 1e-9


def set_inertias(spec: Any, actor: ActorDescription) -> None:
    """Write what the actor's `bodies` say into a spec of the actor alone.

    Its bodies must have names, and settle and total mass be done: nothing changes inertials later.

    Raises:
        PropertyError, BindingError: a pattern matches no body, or a body cannot have such numbers.
        Exception: MuJoCo's own: the model does not compile.
    """
    bodies = [body for body in spec.bodies if body.name != "world"]
    slots = Slots([(body.name,) for body in bodies], actor.label, "body")
    masses = spread(actor, ("bodies", "mass"), slots)
    centres = spread(actor, ("bodies", "centre"), slots, style="")
    inertias = spread(actor, ("bodies", "inertia"), slots, style="")
    chosen = sorted({*masses, *centres, *inertias})
    for place, six in inertias.items():
        _check(actor, bodies[place].name, six)
    whole = all(place in masses and place in centres and place in inertias for place in chosen)
    # NOTE: what is not given is the compiled one: it may come from geoms, or be bounded.
    from_geoms = spec.compiler.inertiafromgeom == _FROM_GEOMS
    model = None if whole and not from_geoms else unscaled(spec)
    if from_geoms:  # written inertials would not count
        write_inertials(spec, model)
    for place in chosen:
        body = bodies[place]
        mass, centre, six = masses.get(place), centres.get(place), inertias.get(place)
        if model is not None and (mass is None or centre is None or six is None):
            own = model.body(body.name)
            _refuse_weightless(actor, body.name, own)
            six = _six(own) * (1.0 if mass is None else mass / own.mass[0]) if six is None else six
            mass = own.mass[0] if mass is None else mass
            centre = own.ipos if centre is None else centre
        body.mass, body.ipos = mass, centre
        body.inertia, body.fullinertia = np.zeros(3), six  # MuJoCo refuses both
        body.iquat = [1.0, 0.0, 0.0, 0.0]
        body.ialt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT
        body.explicitinertial = True


def _six(body: Any) -> FloatArray:
    """xx, yy, zz, xy, xz, yz of a compiled body, along its own axes."""
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, body.iquat)
    turn = turn.reshape(3, 3)
    full = turn @ np.diag(body.inertia) @ turn.T
    return np.array([full[a, b] for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))])


def _refuse_weightless(actor: ActorDescription, name: str, body: Any) -> None:
    if not body.mass[0] > 0.0:
        raise PropertyError(
            f"{actor.label}.bodies: {name!r} has no mass in the model; give it mass, centre and "
            "inertia",
            ("bodies",),
        )


def _check(actor: ActorDescription, name: str, six: tuple[float, ...]) -> None:
    xx, yy, zz, xy, xz, yz = six
    low, mid, high = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).tolist()
    if low <= 0.0 or low + mid < high * (1.0 - _SLACK):
        raise PropertyError(
            f"{actor.label}.bodies.inertia: no body is like {name!r}: its principal moments are "
            f"{low:.4g}, {mid:.4g} and {high:.4g}; each must be above 0 and at most the sum of "
            "the others",
            ("bodies", "inertia"),
        )
