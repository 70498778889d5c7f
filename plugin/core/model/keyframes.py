"""Keyframes of models and scenes, and the state that a world starts from."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import BindingError, PropertyError
from mjrig.core.model.asset_files import values_of
from mjrig.core.model.binding import (
    DOF_SIZE,
    QPOS_SIZE,
    ActorModel,
    ActorState,
    StateIndex,
    locate,
    spans,
)
from mjrig.core.names import listed, suggestion
from mjrig.core.patterns import Slots
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.pose import Rigid
from mjrig.core.scene.scene_sections import (
    MAX_VALUE,
    FreeBody,
    Keyframe,
    MocapBody,
    Units,
    Velocity,
)

# Keyframes ----------------------------------------------------------------------------------------
# Keyframes of an actor by name: those of its model, those of the scene, and captured ones.


Values = Mapping[str, FloatArray]
_KINDS = {0: "a free", 1: "a ball", 2: "a slide", 3: "a hinge"}


@dataclass(frozen=True)
class Key:
    """A state by name of joint, actuator and mocap body; what is not given is at its default.

    By name, because joints and actuators are added and removed between model and world.
    """

    qpos: Values = field(default_factory=dict)
    qvel: Values = field(default_factory=dict)
    act: Values = field(default_factory=dict)
    ctrl: Values = field(default_factory=dict)
    mocap_pos: Values = field(default_factory=dict)
    mocap_quat: Values = field(default_factory=dict)
    #: Free joints are given in the world frame, not in the actor's frame.
    absolute: bool = False

    def without_controls(self, actuators: Collection[str]) -> "Key":
        """The same state, without the controls and activations of some actuators."""
        ctrl, act = (
            {n: v for n, v in values.items() if n not in actuators}
            for values in (self.ctrl, self.act)
        )
        return replace(self, ctrl=ctrl, act=act)

    def edited(self, name: Callable[[str, str], str | None]) -> "Key":
        """The same state after elements were renamed; None: removed."""

        def follow(kind: str, values: Values) -> Values:
            found = {name(kind, old): value for old, value in values.items()}
            return {new: value for new, value in found.items() if new is not None}

        return replace(
            self,
            qpos=follow("joint", self.qpos),
            qvel=follow("joint", self.qvel),
            act=follow("actuator", self.act),
            ctrl=follow("actuator", self.ctrl),
            mocap_pos=follow("body", self.mocap_pos),
            mocap_quat=follow("body", self.mocap_quat),
        )


# From the scene ---------------------------------------------------------------------------------


def scene_keys(actor: ActorDescription, index: StateIndex) -> dict[str, Key]:
    """The keyframes a scene gives an actor.

    Raises:
        PropertyError: one has no name, or the name of another, or does not fit the model.
    """
    found: dict[str, Key] = {}
    for i, keyframe in enumerate(actor.keyframes):
        try:
            if not keyframe.name:
                raise PropertyError(f"{keyframe.label}: needs a name")
            if keyframe.name in found:
                problem = f"{keyframe.label}.name: {keyframe.name!r} is already the name of another"
                raise PropertyError(problem, ("name",))
            found[keyframe.name] = _scene_key(keyframe, actor, index)
        except PropertyError as error:
            raise error.below("keyframes", i) from error
    return found


def _scene_key(keyframe: Keyframe, actor: ActorDescription, index: StateIndex) -> Key:
    check = _Check(keyframe, actor)
    kinds = {name: f"{_KINDS[t]} joint" for name, t in index.types.items()}
    positions = {name: QPOS_SIZE[t] for name, t in index.types.items()}
    speeds = {name: DOF_SIZE[t] for name, t in index.types.items()}
    activated = {n: s.stop - s.start for n, s in index.act.items() if s.stop > s.start}
    inputs = {n: s.stop - s.start for n, s in index.ctrl.items()}
    qpos = check.values("joints", "joint", positions, kinds)
    for name, values in qpos.items():
        if len(values) > 1 and not values[-4:].any():
            problem = f"{keyframe.label}.joints: the quaternion of {name!r} must not be zero"
            raise PropertyError(problem, ("joints",), at=(name,))
    return Key(
        qpos=qpos,
        qvel=check.values("velocities", "joint", speeds, kinds),
        act=check.values("activations", "actuator with activations", activated),
        ctrl=check.values("controls", "actuator", inputs),
        absolute=keyframe.absolute,
    )


class _Check:
    """Reads the tables of a keyframe, checking names and lengths."""

    def __init__(self, keyframe: Keyframe, actor: ActorDescription) -> None:
        self._keyframe, self._actor = keyframe, actor

    def values(
        self,
        table: str,
        what: str,
        sizes: Mapping[str, int],
        kinds: Mapping[str, str] | None = None,
    ) -> dict[str, FloatArray]:
        """The arrays of one table by name."""
        label = f"{self._keyframe.label}.{table}"
        found: dict[str, FloatArray] = {}
        for name, values in getattr(self._keyframe, table).items():
            if name not in sizes:
                problem = f"{self._actor.label!r} has no {what} {name!r}; {suggestion(name, sizes)}"
                raise PropertyError(f"{label}: {problem}", (table,), at=(name,), about_key=True)
            if len(values) != sizes[name]:
                kind = f" is {kinds[name]}" if kinds else ""
                problem = (
                    f"{name!r}{kind}{' and' if kind else ''} takes {sizes[name]} "
                    f"number{'s' if sizes[name] != 1 else ''}, got {len(values)}"
                )
                raise PropertyError(f"{label}: {problem}", (table,), at=(name,))
            found[name] = np.array(values, dtype=float)
        return found


# To states --------------------------------------------------------------------------------------


def key_state(key: Key, start: ActorState, index: StateIndex, origin: Rigid) -> ActorState:
    """A keyframe as a state; poses in the actor's frame are transformed to the world."""
    origin = Rigid.identity() if key.absolute else origin
    qpos, qvel = start.qpos.copy(), start.qvel.copy()
    act = start.act.copy()
    for name, values in key.qpos.items():
        free = index.types[name] == mujoco.mjtJoint.mjJNT_FREE
        qpos[index.qpos[name]] = moved(origin, values) if free else values
    for name, values in key.qvel.items():
        free = index.types[name] == mujoco.mjtJoint.mjJNT_FREE
        qvel[index.dof[name]] = turned(origin, values) if free else values
    for name, values in key.act.items():
        if len(act[index.act[name]]) == len(values):  # a replaced actuator may have another number
            act[index.act[name]] = values
    ctrl = None
    if key.ctrl:
        ctrl = np.full(sum(s.stop - s.start for s in index.ctrl.values()), np.nan)
        for name, values in key.ctrl.items():
            if len(ctrl[index.ctrl[name]]) == len(values):
                ctrl[index.ctrl[name]] = values
    mocap_pos, mocap_quat = start.mocap_pos.copy(), start.mocap_quat.copy()
    identity = Rigid.identity()
    for name, i in index.mocap.items():
        own = Rigid(
            key.mocap_pos.get(name, identity.position),
            key.mocap_quat.get(name, identity.quaternion),
        )
        there = origin.then(own)
        if name in key.mocap_pos:
            mocap_pos[i] = there.position
        if name in key.mocap_quat:
            mocap_quat[i] = there.quaternion
    return ActorState(qpos, qvel, act, ctrl, mocap_pos, mocap_quat)


def moved(origin: Rigid, pose: FloatArray) -> FloatArray:
    """Position and quaternion of a free joint, from the actor's frame to the world."""
    return np.concatenate(origin.then(Rigid(pose[:3], pose[3:])))


def turned(origin: Rigid, velocity: FloatArray) -> FloatArray:
    """Velocity of a free joint: its linear part is in the world, its angular part in the body."""
    result = velocity.copy()
    mujoco.mju_rotVecQuat(result[:3], velocity[:3], origin.quaternion)
    return result


# Captured ---------------------------------------------------------------------------------------


def captured(
    name: str,
    model: Any,
    data: Any,
    where: ActorModel,
    controls: Mapping[str, FloatArray],
    lowered: Collection[str],
) -> Keyframe:
    """The present state of an actor as a keyframe, bit for bit.

    Args:
        name: name of the keyframe.
        model, data: the world's.
        where: the actor in it.
        controls: commands of the actuators that no law owns.
        lowered: actuators whose activations are a law's memory, not the model's.
    """
    index = StateIndex(model, where)
    qpos, qvel, act = data.qpos[where.qpos], data.qvel[where.dof], data.act[where.act]
    keyframe = Keyframe(name=name)
    if index.free and not where.origin.is_identity:
        keyframe.absolute = True  # transforming back and forth would change the last bits
    values: dict[str, dict[str, object]] = {
        "joints": {n: _plain(qpos[s]) for n, s in index.qpos.items()},
        "velocities": {n: _plain(qvel[s]) for n, s in index.dof.items() if qvel[s].any()},
        "activations": {
            n: _plain(act[s])
            for n, s in index.act.items()
            if s.stop > s.start and n not in lowered
        },
        "controls": {n: _plain(v) for n, v in controls.items()},
    }  # fmt: skip
    keyframe.assign({table: found for table, found in values.items() if found})
    return keyframe


def _plain(values: FloatArray) -> object:
    numbers: list[float] = values.tolist()
    return numbers[0] if len(numbers) == 1 else numbers


# Model keys ---------------------------------------------------------------------------------------
# The keyframes of a model: read from its spec, or where needed from the compiled model.


_COLUMNS = ("qpos", "qvel", "act", "ctrl", "mpos", "mquat")
#: Where the quaternion begins in the coordinates of a joint.
_QUATERNION = {int(mujoco.mjtJoint.mjJNT_FREE): 3, int(mujoco.mjtJoint.mjJNT_BALL): 0}
_ONE_INPUT = (int(mujoco.mjtGain.mjGAIN_FIXED), int(mujoco.mjtGain.mjGAIN_AFFINE))


def model_keys(spec: Any, *, compiling: bool = False) -> dict[str, Key]:
    """The keyframes of a spec whose elements all have names.

    Args:
        spec: an MjSpec; it is not compiled, a copy may be.
        compiling: compile also where the spec alone has the numbers, to see that it compiles.

    Raises:
        Exception: MuJoCo's own, if it was compiled and does not compile.
    """
    if not spec.keys:
        return {}
    found = None if compiling else _read(spec)
    if found is not None:
        return found
    model = spec.copy().compile()  # a copy: a compiled spec refuses some changes
    index = StateIndex(model, locate(model, "", ""))
    return {
        key.name: _model_key(model, index, k, [w for w in _COLUMNS if len(getattr(key, w))])
        for k, key in enumerate(spec.keys)
    }


# From the compiled model ------------------------------------------------------------------------


def compiled_keys(model: Any) -> dict[str, Key]:
    """The keyframes of a compiled model that have names; each gives everything."""
    index = StateIndex(model, locate(model, "", ""))
    names = (mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_KEY, k) for k in range(model.nkey))
    return {str(n): _model_key(model, index, k, _COLUMNS) for k, n in enumerate(names) if n}


def _model_key(model: Any, index: StateIndex, k: int, given: Collection[str]) -> Key:
    """A compiled keyframe, but only what its element gives itself."""

    def values(what: str, places: Mapping[str, slice]) -> Values:
        numbers = getattr(model, f"key_{what}")[k]
        return {n: numbers[s].copy() for n, s in places.items()} if what in given else {}

    def blocks(size: int) -> dict[str, slice]:
        return {n: slice(i * size, (i + 1) * size) for n, i in index.mocap.items()}

    return Key(
        qpos=values("qpos", index.qpos),
        qvel=values("qvel", index.dof),
        act=values("act", index.act),
        ctrl=values("ctrl", index.ctrl),
        mocap_pos=values("mpos", blocks(3)),
        mocap_quat=values("mquat", blocks(4)),
    )


# From the spec ----------------------------------------------------------------------------------


class _Unclear(Exception):
    """Only the compiler knows."""


def _read(spec: Any) -> dict[str, Key] | None:
    """What the compiled keyframes would be; None: only the compiler knows."""
    bodies = list(_depth_first(spec.worldbody))
    joints = {j.name: int(j.type) for body in bodies for j in body.joints}
    mocap = [body.name for body in bodies if body.mocap]
    actuators = [a.name for a in spec.actuators]
    names_differ = len(joints) == len(spec.joints) and len(set(actuators)) == len(actuators)
    if not names_differ:
        return None
    # Asked only where a key gives controls, which most do not.
    plain_controls = cache(lambda: all(map(_is_simple, spec.actuators)))
    try:
        return {key.name: _key(key, joints, actuators, mocap, plain_controls) for key in spec.keys}
    except _Unclear:
        return None


def _key(
    key: Any,
    joints: Mapping[str, int],
    actuators: Collection[str],
    mocap: Collection[str],
    plain_controls: Callable[[], bool],
) -> Key:
    numbers = {w: values_of(getattr(key, w)) for w in _COLUMNS}
    given = {w: np.array(found) for w, found in numbers.items() if found}
    if "act" in given or ("ctrl" in given and not plain_controls()):
        raise _Unclear
    if not all(np.isfinite(numbers).all() for numbers in given.values()):
        raise _Unclear
    qpos = _split(given, "qpos", joints, [QPOS_SIZE[t] for t in joints.values()])
    mocap_quat = _split(given, "mquat", mocap, [4] * len(mocap))
    for name, values in qpos.items():
        if joints[name] in _QUATERNION:
            _normalise(values[_QUATERNION[joints[name]] :])
    for values in mocap_quat.values():
        _normalise(values)
    return Key(
        qpos=qpos,
        qvel=_split(given, "qvel", joints, [DOF_SIZE[t] for t in joints.values()]),
        ctrl=_split(given, "ctrl", actuators, [1] * len(actuators)),
        mocap_pos=_split(given, "mpos", mocap, [3] * len(mocap)),
        mocap_quat=mocap_quat,
    )


def _normalise(quaternion: FloatArray) -> None:
    """Make it a unit one with the compiler's bits."""
    # NOTE: it adds from left to right and divides, but leaves a unit alone but for rounding.
    w, x, y, z = quaternion.tolist()
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    off = abs(norm - 1.0)
    if not 1e-3 < norm < 1e3 or 4e-16 < off <= 1e-12:
        raise _Unclear
    if off > 1e-12:
        quaternion /= norm


def _depth_first(body: Any) -> Iterator[Any]:
    """A body and what is in it, in the order of the compiler."""
    yield body
    for child in body.bodies:
        yield from _depth_first(child)


def _is_simple(actuator: Any) -> bool:
    """Whether an actuator has one control and no activation, as far as that can be known."""
    return (
        int(actuator.dyntype) == int(mujoco.mjtDyn.mjDYN_NONE)
        and int(actuator.gaintype) in _ONE_INPUT
        and not actuator.plugin.active
        and actuator.actdim <= 0
        and int(actuator.trntype) != int(mujoco.mjtTrn.mjTRN_SO3)
    )


def _split(
    given: Mapping[str, FloatArray], column: str, names: Collection[str], sizes: Sequence[int]
) -> dict[str, FloatArray]:
    """The numbers of one column by name."""
    if column not in given:
        return {}
    if len(given[column]) != sum(sizes):  # the compiler's to refuse
        raise _Unclear
    numbers, found, first = given[column], {}, 0
    for name, size in zip(names, sizes, strict=True):
        found[name] = numbers[first : first + size].copy()
        first += size
    return found


# Initial state -----------------------------------------------------------------------------------
# Initial state of an actor: its keyframe, then joints, free bodies and velocities.


def with_states(
    model: Any,
    data: Callable[[], Any],
    where: ActorModel,
    actor: ActorDescription,
    keys: Mapping[str, Key],
    origin: Rigid,
    lowered: Collection[int] = (),
) -> ActorModel:
    """An actor in the model with its keyframes and its initial state.

    Args:
        model: compiled, with the actor in it.
        data: gives the model's, as it is after a reset; called only where its numbers are needed.
        where: the actor's addresses in it.
        actor: its description.
        keys: the keyframes of its model.
        origin: initial pose of the model's origin.
        lowered: ids of native actuators that were motors; the states are those of the motors.

    Raises:
        PropertyError, BindingError: a keyframe, joint or body is not in the model.
    """
    index = StateIndex(model, where, lowered)
    default = _default_state(model, data, where, lowered)
    known = {**keys, **scene_keys(actor, index)}
    keyframes = {name: key_state(key, default, index, origin) for name, key in known.items()}
    if actor.keyframe and actor.keyframe not in keyframes:
        hint = suggestion(actor.keyframe, keyframes)
        raise BindingError(
            f"{actor.label}.keyframe: the model has no keyframe {actor.keyframe!r}; {hint}",
            ("keyframe",),
        )
    start = keyframes[actor.keyframe] if actor.keyframe else default
    initial = replace(
        start,
        qpos=start.qpos.copy(),
        qvel=start.qvel.copy(),
        mocap_pos=start.mocap_pos.copy(),
        mocap_quat=start.mocap_quat.copy(),
    )
    _put_by_pattern(actor, "joints", index, index.qpos, initial.qpos)
    _put_by_pattern(actor, "joint_velocities", index, index.dof, initial.qvel)
    _put_free_bodies(actor, index, initial, origin)
    _put_mocap_bodies(actor, index, initial, origin)
    if actor.velocity is not None:
        joint = _free_root(actor, index)
        _put_velocity(actor.velocity, initial.qvel[index.dof[joint]])
    if np.abs([*initial.qpos, *initial.qvel]).max(initial=0.0) > MAX_VALUE:
        raise BindingError(
            f"{actor.label}.keyframe: a position or velocity exceeds MuJoCo's limit of "
            f"{MAX_VALUE:g}",
            ("keyframe",) if actor.keyframe else (),
        )
    return replace(where, initial=initial, keyframes=keyframes, origin=origin)


def _default_state(
    model: Any, data: Callable[[], Any], where: ActorModel, lowered: Collection[int]
) -> ActorState:
    own = [i for i in where.actuator_ids.tolist() if i not in lowered]
    act = spans(model.actuator_actadr[own], model.actuator_actnum[own])
    return ActorState(
        qpos=model.qpos0[where.qpos].copy(),
        qvel=np.zeros(len(where.dof)),
        act=data().act[act].copy() if len(act) else np.zeros(0),
        ctrl=None,
        mocap_pos=data().mocap_pos[where.mocap].copy() if len(where.mocap) else np.zeros((0, 3)),
        mocap_quat=data().mocap_quat[where.mocap].copy() if len(where.mocap) else np.zeros((0, 4)),
    )


def _put_by_pattern(
    actor: ActorDescription,
    name: str,
    index: StateIndex,
    places: Mapping[str, slice],
    values: FloatArray,
) -> None:
    if not getattr(actor, name):
        return
    joints = index.single
    slots = Slots([(joint,) for joint in joints], actor.label, "hinge or slide joint")
    for i, value in spread(actor, (name,), slots).items():
        turns = index.types[joints[i]] == int(mujoco.mjtJoint.mjJNT_HINGE)
        in_degrees = turns and actor.units is Units.DEGREES
        values[places[joints[i]]] = math.radians(value) if in_degrees else value


def spread(
    actor: ActorDescription, keys: tuple[str, ...], slots: Slots, *, style: str = "g"
) -> dict[int, Any]:
    """Slot → value of a property by pattern; errors name the property, values in a `style`."""
    values: Any = actor
    for key in keys:
        values = getattr(values, key)
    try:
        return {i: value for i, (_, value) in slots.spread(values, style).items()}
    except BindingError as error:
        text = f"{actor.label}.{'.'.join(keys)}: {error}"
        raise BindingError(text, keys, at=error.at, about_key=error.about_key) from None


# Free bodies ------------------------------------------------------------------------------------


def _put_free_bodies(
    actor: ActorDescription, index: StateIndex, state: ActorState, origin: Rigid
) -> None:
    joints = {index.bodies[joint]: joint for joint in index.free}
    for i, free in enumerate(actor.free_bodies):
        if free.body not in joints:
            hint = suggestion(free.body, joints)
            raise PropertyError(
                f"{free.label}.body: {actor.label!r} has no body {free.body!r} "
                f"with a free joint; {hint}",
                ("free_bodies", i, "body"),
            )
        joint = joints[free.body]
        _put_pose(free, state.qpos[index.qpos[joint]], origin)
        _put_velocity(free, state.qvel[index.dof[joint]])


def _put_mocap_bodies(
    actor: ActorDescription, index: StateIndex, state: ActorState, origin: Rigid
) -> None:
    for i, given in enumerate(actor.mocap_bodies):
        if given.body not in index.mocap:
            hint = suggestion(given.body, index.mocap)
            raise PropertyError(
                f"{given.label}.body: {actor.label!r} has no mocap body {given.body!r}; {hint}",
                ("mocap_bodies", i, "body"),
            )
        k = index.mocap[given.body]
        pose = np.concatenate([state.mocap_pos[k], state.mocap_quat[k]])
        _put_pose(given, pose, origin)
        state.mocap_pos[k], state.mocap_quat[k] = pose[:3], pose[3:]


def _put_pose(free: FreeBody | MocapBody, qpos: FloatArray, origin: Rigid) -> None:
    """Write what is given of a pose; the rest stays."""
    there = origin.then(Rigid.of(free))
    if free.is_authored("position"):
        qpos[:3] = there.position
    if free.is_authored("euler_deg") or free.is_authored("quaternion"):
        qpos[3:] = there.quaternion


def _put_velocity(given: Velocity | FreeBody, qvel: FloatArray) -> None:
    """Write what is given of a velocity; the rest stays."""
    if given.is_authored("linear"):
        qvel[:3] = given.linear
    if given.is_authored("angular"):
        qvel[3:] = given.angular


def _free_root(actor: ActorDescription, index: StateIndex) -> str:
    free = index.free
    if len(free) == 1:
        return free[0]
    if free:
        bodies = listed(index.bodies[joint] for joint in free)
        problem = f"has several free bodies ({bodies}); give them under free_bodies"
    else:
        problem = "has no free root; base: free gives it one"
    raise PropertyError(f"{actor.label}.velocity: {actor.label!r} {problem}", ("velocity",))
