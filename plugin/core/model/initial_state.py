"""Initial state of an actor: its keyframe, then joints, free bodies and velocities."""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import BindingError, PropertyError
from mjrig.core.model.actor_model import ActorModel, ActorState, StateIndex, spans
from mjrig.core.model.keyframes import Key, key_state, scene_keys
from mjrig.core.names import Slots, listed, suggestion
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.pose import Rigid
from mjrig.core.scene.scene_sections import MAX_VALUE, FreeBody, MocapBody, Units, Velocity


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
