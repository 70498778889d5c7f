"""Edits of a model before it is attached: base, names, dynamics, gains, bodies."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import BindingError, LocatedError, PropertyError
from mjrig.core.model.element_references import (
    KINDS,
    ModelElement,
    Pair,
    find_elements,
    remove,
    rename,
)
from mjrig.core.model.keyframes import spread
from mjrig.core.model.model_source import unscaled, write_inertials
from mjrig.core.names import listed, unique
from mjrig.core.patterns import Slots
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.native_elements import GAINS, LIMITS, NUMBERS, NativeActuator, NativeJoint
from mjrig.core.scene.scene_sections import Base

_FREE = mujoco.mjtJoint.mjJNT_FREE
_BALL = mujoco.mjtJoint.mjJNT_BALL
_FROM_GEOMS = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
#: Principal moments may break the triangle inequality by this share: a plate is at its limit.
_SLACK = 1e-9


@dataclass
class Edits:
    """What became of the elements of a model, by kind and name."""

    removed: set[Pair] = field(default_factory=set)
    renamed: dict[Pair, str] = field(default_factory=dict)
    #: The model's joints by name, before the dynamics were set.
    joints: dict[str, NativeJoint] = field(default_factory=dict)
    #: The model's actuators by name, before they were given other gains.
    actuators: dict[str, NativeActuator] = field(default_factory=dict)

    def name(self, kind: str, name: str) -> str | None:
        """The current name of an element; None: it was removed."""
        pair = (kind, name)
        return None if pair in self.removed else self.renamed.get(pair, name)


def edit_model(spec: Any, actor: ActorDescription) -> Edits:
    """Apply what the actor changes in its model to a spec of the actor alone.

    That is `base`, `scenery`, `removed`, `renamed`, `dynamics` and `native_gains`.

    Its bodies, joints, actuators and keyframes must have names, and the keyframes be empty.

    Raises:
        PropertyError, BindingError: a name or pattern is not in the model.
    """
    edits = Edits()
    if not actor.scenery:
        edits.removed.update(_remove_scenery(spec))
    edits.removed.update(_set_base(spec, actor))
    _remove_named(spec, actor, edits)
    _rename_named(spec, actor, edits)
    edits.joints = {j.name: NativeJoint.of(j) for j in spec.joints}
    if actor.dynamics is not None:
        _set_dynamics(spec, actor, edits.joints)
    edits.actuators = {a.name: NativeActuator.of(a) for a in spec.actuators}
    if actor.native_gains is not None:
        _set_native_gains(spec, actor, edits.actuators)
    return edits


def empty_keys(spec: Any) -> None:
    """Clear the columns of keyframes, which would not fit the edited model."""
    for key in spec.keys:
        key.qpos, key.qvel, key.act, key.ctrl, key.mpos, key.mquat = ([] for _ in range(6))


def _remove_scenery(spec: Any) -> list[Pair]:
    """Remove geoms, lights and cameras that are on the world body itself."""
    found = [
        ModelElement(kind, handle)
        for kind in ("geom", "camera", "light")
        for handle in getattr(spec, KINDS[kind])
        if handle.parent.name == "world"
    ]
    return remove(spec, found)


# Base -------------------------------------------------------------------------------------------


def roots(spec: Any) -> list[Any]:
    """The children of the world body, without mocap bodies."""
    return [b for b in spec.bodies if b.name != "world" and _is_root(b) and not b.mocap]


def _is_root(body: Any) -> bool:
    return body.parent is not None and body.parent.name == "world"


def _set_base(spec: Any, actor: ActorDescription) -> list[Pair]:
    if actor.attach is not None:
        if actor.base is Base.FREE:
            problem = f"{actor.label}.base: {actor.label!r} is attached, which fixes its base"
            raise PropertyError(problem, ("base",))
        return _fix(spec, actor, "attach")
    if actor.base is Base.FIXED:
        return _fix(spec, actor, "base")
    if actor.base is Base.FREE:
        _free(spec, actor)
    return []


def _fix(spec: Any, actor: ActorDescription, key: str) -> list[Pair]:
    """Remove the free joint of the root; returns what was removed."""
    free = [j for body in roots(spec) for j in body.joints if j.type == _FREE]
    if len(free) > 1:
        bodies = listed(j.parent.name for j in free)
        raise PropertyError(
            f"{actor.label}.{key}: the model has several free bodies ({bodies}); "
            "its base is ambiguous",
            (key,),
        )
    return remove(spec, [ModelElement("joint", j) for j in free])


def _free(spec: Any, actor: ActorDescription) -> None:
    found = roots(spec)
    if len(found) != 1:
        names = listed(b.name for b in found)
        raise PropertyError(
            f"{actor.label}.base: only a model with one root body can be given a free joint; "
            f"this one has {len(found)}: {names}",
            ("base",),
        )
    body = found[0]
    if any(j.type == _FREE for j in body.joints):
        return
    if body.joints:
        names = listed(j.name for j in body.joints)
        raise PropertyError(
            f"{actor.label}.base: the root body {body.name!r} has joints already: {names}",
            ("base",),
        )
    body.add_freejoint(name=unique(body.name, [j.name for j in spec.joints]))


# Names ------------------------------------------------------------------------------------------


def _remove_named(spec: Any, actor: ActorDescription, edits: Edits) -> None:
    found: dict[ModelElement, None] = {}
    for i, pattern in enumerate(actor.removed):
        at = (i,) if isinstance(actor.authored("removed"), list) else ()
        with _about(actor, "removed", at):
            found.update(dict.fromkeys(find_elements(spec, pattern)))
    edits.removed.update(remove(spec, found))


def _rename_named(spec: Any, actor: ActorDescription, edits: Edits) -> None:
    names: dict[ModelElement, str] = {}
    for old, new in actor.renamed.items():
        with _about(actor, "renamed", (old,), about_key=True):
            found = find_elements(spec, old)
            if len(found) > 1:
                raise PropertyError(f"{old!r} is {listed(map(str, found))}; name one")
            if found[0] in names:
                raise PropertyError(f"{found[0]} is renamed twice")
        names[found[0]] = new
    if names:
        edits.renamed.update({(e.kind, e.name): new for e, new in names.items()})
        with _about(actor, "renamed"):
            rename(spec, names)


@contextmanager
def _about(
    actor: ActorDescription, name: str, at: tuple[Hashable, ...] = (), *, about_key: bool = False
) -> Iterator[None]:
    """Turn errors into errors about a property of the actor."""
    try:
        yield
    except LocatedError as error:
        text = f"{actor.label}.{name}: {error}"
        raise PropertyError(text, (name,), at=at, about_key=about_key) from error


# Dynamics ---------------------------------------------------------------------------------------


def _set_dynamics(spec: Any, actor: ActorDescription, own: Mapping[str, NativeJoint]) -> None:
    elements = {joint.name: joint for joint in spec.joints}
    for joint in override_dynamics(list(own.values()), actor):
        if joint != own[joint.name]:
            joint.write_to(elements[joint.name])


def override_dynamics(joints: Sequence[NativeJoint], actor: ActorDescription) -> list[NativeJoint]:
    """The joints of a model with what the actor's `dynamics` give them.

    Raises:
        PropertyError, BindingError: a pattern matches no joint that can have such a value.
    """
    found = {joint.name: joint for joint in joints}
    if actor.dynamics is None:
        return list(joints)
    moving = [joint.name for joint in joints if joint.type != _FREE]
    slots = Slots([(name,) for name in moving], actor.label, "joint")
    for key in NUMBERS:
        for i, value in spread(actor, ("dynamics", key), slots).items():
            found[moving[i]] = found[moving[i]].with_number(key, value)
    for i, ends in spread(actor, ("dynamics", "range"), slots, style="").items():
        _check_ball(found[moving[i]], actor, *ends)
        found[moving[i]] = found[moving[i]].with_range(*ends)
    single = [name for name in moving if found[name].type != _BALL]
    slots = Slots([(name,) for name in single], actor.label, "hinge or slide joint")
    for i, ends in spread(actor, ("dynamics", "actuatorfrcrange"), slots, style="").items():
        found[single[i]] = found[single[i]].with_effort_range(*ends)
    return list(found.values())


def _check_ball(joint: NativeJoint, actor: ActorDescription, low: float, high: float) -> None:
    if joint.type == _BALL and low != 0.0:
        raise PropertyError(
            f"{actor.label}.dynamics.range: {joint.name!r} is a ball joint, whose limit is an "
            f"angle from 0 on, got [{low:g}, {high:g}]; [0, {max(abs(low), abs(high)):g}] is one",
            ("dynamics", "range"),
        )


# Native gains -----------------------------------------------------------------------------------


def _set_native_gains(
    spec: Any, actor: ActorDescription, own: Mapping[str, NativeActuator]
) -> None:
    changed = [a.copy() for a in own.values()]
    elements = {a.name: a for a in spec.actuators}
    for i in override_gains(changed, actor):
        changed[i].write_to(elements[changed[i].name])


def override_gains(actuators: Sequence[NativeActuator], actor: ActorDescription) -> list[int]:
    """Give a model's actuators the gains and limits of the actor's `native_gains`.

    Returns:
        Which of them were changed.

    Raises:
        PropertyError, BindingError: a pattern matches none, or its actuator has no such gain.
    """
    given: dict[int, dict[str, Any]] = {}
    patterns: dict[tuple[int, str], str] = {}
    slots = Slots([a.names for a in actuators], actor.label)
    for name in (*GAINS, *LIMITS):
        for i, (pattern, value) in _given(actor, name, slots).items():
            given.setdefault(i, {})[name] = value
            patterns[i, name] = pattern
    for (i, name), pattern in patterns.items():
        problem = actuators[i].why_not(name, given[i])
        if problem:
            keys = ("native_gains", name)
            text = f"{actor.label}.{'.'.join(keys)}: {problem}"
            raise PropertyError(text, keys, at=(pattern,))
    for i, values in given.items():
        actuators[i].override(values)
    return list(given)


def _given(actor: ActorDescription, name: str, slots: Slots) -> dict[int, tuple[str, Any]]:
    try:
        return slots.spread(getattr(actor.native_gains, name), "g" if name in GAINS else "")
    except BindingError as error:
        keys = ("native_gains", name)
        text = f"{actor.label}.{'.'.join(keys)}: {error}"
        raise BindingError(text, keys, at=error.at, about_key=error.about_key) from None


# Bodies -------------------------------------------------------------------------------------------


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
