"""Keyframes of an actor by name: those of its model, those of the scene, and captured ones."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.errors import PropertyError
from mjrig.model.actor_model import DOF_SIZE, QPOS_SIZE, ActorModel, ActorState, StateIndex
from mjrig.names import suggestion
from mjrig.scene.actor import ActorDescription
from mjrig.scene.actor_parts import Keyframe
from mjrig.scene.pose import Rigid

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
