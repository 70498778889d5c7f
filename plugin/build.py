"""Scene → MjSpec → MjModel, and where each actor ended up in it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np

from mjrig.actor import Actor
from mjrig.actor_model import ActorModel, ActorState
from mjrig.authoring import add_actuators
from mjrig.binding import unique
from mjrig.errors import BindingError, PropertyError
from mjrig.model_edits import edit_model
from mjrig.model_source import load, one_line
from mjrig.names import compile_pattern, suggestion
from mjrig.placement import Placements, place
from mjrig.pose import composed, rotation
from mjrig.property_kinds import FloatArray
from mjrig.scene import Scene
from mjrig.sim_options import SimOptions, copy_options, differing_option

_QPOS_SIZE = {0: 7, 1: 4, 2: 1, 3: 1}
_DOF_SIZE = {0: 6, 1: 3, 2: 1, 3: 1}


@dataclass(frozen=True)
class KeyParts:
    """What a keyframe says itself; the rest the compiler fills in, at the actor's place already."""

    qpos: bool
    ctrl: bool
    mpos: bool
    mquat: bool


@dataclass(frozen=True)
class Built:
    """A compiled scene."""

    spec: Any
    model: Any
    actors: tuple[ActorModel, ...]
    placements: Placements


def build(scene: Scene, seed: int | None = None) -> Built:
    """Compile a scene.

    Args:
        scene: the description.
        seed: of its random draws; None: the scene's own.

    Raises:
        SceneError: for a scene with a text: a file, model or name is wrong; it says where.
        PropertyError, BindingError: the same, for a scene made in Python.
    """
    placements = place(scene, seed)
    placed = placements.actors
    specs = []
    for p in placed:
        with p.locating():
            spec = load(p.item)
            edit_model(spec, p.item)
            add_actuators(spec, p.item)
            specs.append(spec)
    world = mujoco.MjSpec()
    world.modelname = "mjrig"
    with scene.locating():
        loaded = [(p.item, spec) for p, spec in zip(placed, specs, strict=True)]
        _set_options(world, loaded, scene.effective_sim())
    keys = [_name_everything(spec) for spec in specs]
    for p, spec in zip(placed, specs, strict=True):
        with p.locating():
            _attach(world, p.item, spec)
    model = compile_spec(world, placements)
    actors = []
    for p, parts in zip(placed, keys, strict=True):
        with p.locating():
            actors.append(_locate(model, p.item, parts))
    return Built(world, model, tuple(actors), placements)


def _set_options(world: Any, loaded: list[tuple[Actor, Any]], sim: SimOptions) -> None:
    """One model: all of its options; several: those they agree on; `sim` has the last word."""
    if loaded:
        copy_options(loaded[0][1].option, world.option)
        problem = differing_option([(a.name, spec.option) for a, spec in loaded], sim)
        if problem is not None:
            raise problem
        world.visual = loaded[0][1].visual
        world.stat = loaded[0][1].stat
    sim.apply(world.option)
    for _, spec in loaded:
        copy_options(world.option, spec.option)  # attaching warns about each difference


def _name_everything(spec: Any) -> dict[str, KeyParts]:
    """Name what has no name, so that a prefix finds it; returns what each keyframe says."""
    _name_all(spec.bodies, lambda body: "body")
    _name_all(spec.joints, lambda joint: joint.parent.name)
    _name_all(spec.actuators, lambda actuator: actuator.target or "actuator")
    _name_all(spec.keys, lambda key: "key")
    return {
        key.name: KeyParts(*(len(v) > 0 for v in (key.qpos, key.ctrl, key.mpos, key.mquat)))
        for key in spec.keys
    }


def _name_all(elements: Any, name: Any) -> None:
    taken = {e.name for e in elements if e.name}
    for element in elements:
        if not element.name:
            element.name = unique(name(element), taken)
            taken.add(element.name)


def _attach(world: Any, actor: Actor, spec: Any) -> None:
    position, quaternion = rotation(actor.pose)
    frame = world.worldbody.add_frame(pos=position, quat=quaternion)
    try:
        if any(len(key.ctrl) > len(spec.actuators) for key in spec.keys):
            spec.compile()  # NOTE: before that, attaching counts one input per actuator
        wanted = _count(world) + _count(spec)
        world.attach(spec, prefix=f"{actor.name}/", frame=frame)
        if _count(world) != wanted:
            # NOTE: attaching leaves out what refers to a name that does not exist, without a word;
            # compiling the model alone says what it is.
            load(actor).compile()
    except Exception as error:
        raise PropertyError(f"{actor.label}.model: {one_line(error)}", ("model",)) from error


def _count(spec: Any) -> int:
    """How many elements refer to others by name."""
    kinds = (spec.actuators, spec.sensors, spec.tendons, spec.equalities, spec.excludes, spec.pairs)
    return sum(map(len, kinds))


def compile_spec(world: Any, placements: Placements) -> Any:
    """The compiled model; a refusal is told of the actor it names."""
    try:
        return world.compile()
    except Exception as error:
        text = one_line(error)
        actors = placements.actors
        culprit = next((p for p in actors if f"'{p.name}/" in text), actors[0] if actors else None)
        problem = PropertyError(f"the model does not compile: {text}", ("model",))
        if culprit is None:
            raise problem from error
        with culprit.locating():
            raise problem from error
        raise AssertionError from error  # not reached: locating raises


def _ids(model: Any, count: int, kind: Any, prefix: str) -> np.ndarray[Any, np.dtype[np.intp]]:
    names = (mujoco.mj_id2name(model, kind, i) or "" for i in range(count))
    return np.array([i for i, n in enumerate(names) if str(n).startswith(prefix)], dtype=np.intp)


def _locate(model: Any, actor: Actor, keys: Mapping[str, KeyParts]) -> ActorModel:
    """Where an actor is in the model, what it starts as, and its keyframes at its own place."""
    prefix = f"{actor.name}/"
    objects = mujoco.mjtObj
    joints = _ids(model, model.njnt, objects.mjOBJ_JOINT, prefix)
    actuators = _ids(model, model.nactuator, objects.mjOBJ_ACTUATOR, prefix)
    bodies = _ids(model, model.nbody, objects.mjOBJ_BODY, prefix)
    where = ActorModel(
        name=actor.name,
        prefix=prefix,
        joint_ids=joints,
        actuator_ids=actuators,
        qpos=spans(model.jnt_qposadr[joints], [_QPOS_SIZE[t] for t in model.jnt_type[joints]]),
        dof=spans(model.jnt_dofadr[joints], [_DOF_SIZE[t] for t in model.jnt_type[joints]]),
        act=spans(model.actuator_actadr[actuators], model.actuator_actnum[actuators]),
        ctrl=_ctrl_slice(model, actuators),
        mocap=np.array([m for m in model.body_mocapid[bodies] if m >= 0], dtype=np.intp),
        initial=_EMPTY,
    )
    keyframes = {
        name: _keyframe_state(model, where, actor, name, parts) for name, parts in keys.items()
    }
    if actor.keyframe and actor.keyframe not in keyframes:
        hint = suggestion(actor.keyframe, keyframes)
        raise BindingError(
            f"{actor.label}.keyframe: the model has no keyframe {actor.keyframe!r}; {hint}",
            ("keyframe",),
        )
    start = keyframes[actor.keyframe] if actor.keyframe else _default_state(model, where)
    qpos = start.qpos.copy()
    _put_joints(model, where, actor, qpos)
    return replace(where, initial=replace(start, qpos=qpos), keyframes=keyframes)


_NOTHING = np.zeros(0)
_EMPTY = ActorState(_NOTHING, _NOTHING, _NOTHING, None, _NOTHING, _NOTHING)


def spans(starts: Any, sizes: Any) -> np.ndarray[Any, np.dtype[np.intp]]:
    """All addresses of blocks given by start and size; blocks that start below 0 are empty."""
    spans = [np.arange(a, a + n) for a, n in zip(starts, sizes, strict=True) if a >= 0]
    return np.concatenate([np.zeros(0, dtype=np.intp), *spans]).astype(np.intp)


def _ctrl_slice(model: Any, actuators: Any) -> slice:
    addresses = spans(model.actuator_ctrladr[actuators], model.actuator_ctrlnum[actuators])
    if not len(addresses):
        return slice(0, 0)
    assert np.array_equal(addresses, np.arange(addresses[0], addresses[-1] + 1))
    return slice(int(addresses[0]), int(addresses[-1]) + 1)


def _default_state(model: Any, where: ActorModel) -> ActorState:
    data = mujoco.MjData(model)
    return ActorState(
        qpos=model.qpos0[where.qpos].copy(),
        qvel=np.zeros(len(where.dof)),
        act=data.act[where.act].copy(),
        ctrl=None,
        mocap_pos=data.mocap_pos[where.mocap].copy(),
        mocap_quat=data.mocap_quat[where.mocap].copy(),
    )


def _keyframe_state(
    model: Any, where: ActorModel, actor: Actor, name: str, says: KeyParts
) -> ActorState:
    """A keyframe moved to the actor's place: after attaching, its base pose is still absolute."""
    k = model.key(where.prefix + name).id
    position, quaternion = rotation(actor.pose)
    qpos, qvel = model.key_qpos[k].copy(), model.key_qvel[k].copy()
    for joint in where.joint_ids:
        if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
            q, v = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
            if says.qpos:
                qpos[q : q + 3], qpos[q + 3 : q + 7] = composed(
                    position, quaternion, qpos[q : q + 3], qpos[q + 3 : q + 7]
                )
            mujoco.mju_rotVecQuat(qvel[v : v + 3], qvel[v : v + 3].copy(), quaternion)
    mocap_pos = model.key_mpos[k].reshape(-1, 3)[where.mocap]
    mocap_quat = model.key_mquat[k].reshape(-1, 4)[where.mocap]
    for point, turn in zip(mocap_pos, mocap_quat, strict=True):
        at, turned = composed(position, quaternion, point, turn)
        point[:] = at if says.mpos else point
        turn[:] = turned if says.mquat else turn
    return ActorState(
        qpos=qpos[where.qpos],
        qvel=qvel[where.dof],
        act=model.key_act[k][where.act].copy(),
        ctrl=model.key_ctrl[k][where.ctrl].copy() if says.ctrl else None,
        mocap_pos=mocap_pos,
        mocap_quat=mocap_quat,
    )


def _put_joints(model: Any, where: ActorModel, actor: Actor, qpos: FloatArray) -> None:
    """Write the starting positions of `joints:` into the actor's share of qpos."""
    names = {
        model.joint(int(j)).name.removeprefix(where.prefix): int(j)
        for j in where.joint_ids
        if _QPOS_SIZE[int(model.jnt_type[j])] == 1
    }
    chosen: dict[str, tuple[str, float]] = {}
    for pattern, value in actor.joints.items():
        try:
            fullmatch = compile_pattern(pattern).fullmatch
        except BindingError as error:
            text = f"{actor.label}.joints: {error}"
            raise BindingError(text, ("joints",), at=(pattern,), about_key=True) from None
        matched = [n for n in names if fullmatch(n)]
        if not matched:
            hint = suggestion(pattern, names)
            raise BindingError(
                f"{actor.label}.joints: {pattern!r} matches no hinge or slide joint of "
                f"{actor.label!r}; {hint}",
                ("joints",),
                at=(pattern,),
                about_key=True,
            )
        for name in matched:
            if name in chosen and chosen[name][1] != value:
                raise BindingError(
                    f"{actor.label}.joints: {name!r} is matched by {chosen[name][0]!r} "
                    f"({chosen[name][1]:g}) and {pattern!r} ({value:g})",
                    ("joints",),
                    at=(pattern,),
                    about_key=True,
                )
            chosen[name] = (pattern, value)
            address = int(model.jnt_qposadr[names[name]])
            qpos[int(np.flatnonzero(where.qpos == address)[0])] = value
