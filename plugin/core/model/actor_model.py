"""ActorModel: addresses of an actor in the compiled model, and its named states."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.scene.motors import MotorOnJoint
from mjrig.core.scene.native_elements import NativeActuators, NativeJoints
from mjrig.core.scene.pose import Rigid

Indices = npt.NDArray[np.intp]

#: Numbers per joint, by joint type: free, ball, slide, hinge.
QPOS_SIZE = {0: 7, 1: 4, 2: 1, 3: 1}
DOF_SIZE = {0: 6, 1: 3, 2: 1, 3: 1}


@dataclass(frozen=True)
class ActorState:
    """One actor's share of a state, in the order of its address arrays.

    ctrl None: not given; an entry that is not a number: not given for that input.
    """

    qpos: FloatArray
    qvel: FloatArray
    act: FloatArray
    ctrl: FloatArray | None
    mocap_pos: FloatArray
    mocap_quat: FloatArray


_NOTHING = np.zeros(0)
EMPTY = ActorState(_NOTHING, _NOTHING, _NOTHING, None, _NOTHING, _NOTHING)


@dataclass(frozen=True)
class ActorModel:
    """Addresses of an actor's elements in the compiled model."""

    name: str
    prefix: str
    joint_ids: Indices
    actuator_ids: Indices
    qpos: Indices
    dof: Indices
    act: Indices
    ctrl: slice
    mocap: Indices
    initial: ActorState
    keyframes: Mapping[str, ActorState] = field(default_factory=dict)
    #: The local names of each authored actuator, in the order of the actor's `actuators`.
    authored: tuple[tuple[str, ...], ...] = ()
    #: Authored names of actuators whose compiled names differ.
    aliases: Mapping[str, str] = field(default_factory=dict)
    #: What a scene can change of its joints, in the model and now.
    joints: NativeJoints = field(default_factory=NativeJoints.nothing)
    #: The motors of its joints, by joint.
    motors: Mapping[str, MotorOnJoint] = field(default_factory=dict)
    #: The gains and limits of its actuators, in the model and now.
    natives: NativeActuators = field(default_factory=NativeActuators.nothing)
    #: The actuators before some were lowered; None: those of the model.
    described: tuple[ActuatorBinding, ...] | None = None
    #: Initial pose of the model's origin in the world.
    origin: Rigid = field(default_factory=Rigid.identity)


class NamedIds:
    """The joints, actuators and bodies of a model, by the prefix of their names."""

    def __init__(self, model: Any) -> None:
        self._found: dict[str, list[list[int]]] = {}
        objects = mujoco.mjtObj
        kinds = (
            (objects.mjOBJ_JOINT, model.njnt),
            (objects.mjOBJ_ACTUATOR, model.nactuator),
            (objects.mjOBJ_BODY, model.nbody),
        )
        for k, (kind, count) in enumerate(kinds):
            for i in range(count):
                actor, slash, _ = str(mujoco.mj_id2name(model, kind, i) or "").partition("/")
                self._found.setdefault("", [[], [], []])[k].append(i)
                if slash:
                    self._found.setdefault(actor + slash, [[], [], []])[k].append(i)

    def of(self, prefix: str) -> list[Indices]:
        """Of joints, actuators and bodies; the prefix is that of an actor, or empty: all."""
        return [np.array(ids, dtype=np.intp) for ids in self._found.get(prefix, [[], [], []])]


def locate(model: Any, name: str, prefix: str, ids: NamedIds | None = None) -> ActorModel:
    """Addresses of the elements with a prefix; states are added later.

    Args:
        model: compiled.
        name: of the actor.
        prefix: of its names, empty: everything.
        ids: of the model, where more than one actor of it is looked for.
    """
    joints, actuators, bodies = (ids or NamedIds(model)).of(prefix)
    types = model.jnt_type[joints].tolist()
    return ActorModel(
        name=name,
        prefix=prefix,
        joint_ids=joints,
        actuator_ids=actuators,
        qpos=spans(model.jnt_qposadr[joints], [QPOS_SIZE[t] for t in types]),
        dof=spans(model.jnt_dofadr[joints], [DOF_SIZE[t] for t in types]),
        act=spans(model.actuator_actadr[actuators], model.actuator_actnum[actuators]),
        ctrl=_ctrl_slice(model, actuators),
        mocap=np.array([m for m in model.body_mocapid[bodies] if m >= 0], dtype=np.intp),
        initial=EMPTY,
    )


def spans(starts: Any, sizes: Any) -> Indices:
    """All addresses of blocks given by start and size; blocks that start below 0 are empty."""
    pairs = zip(np.asarray(starts).tolist(), np.asarray(sizes).tolist(), strict=True)
    found = [i for start, size in pairs if start >= 0 for i in range(start, start + size)]
    return np.array(found, dtype=np.intp)


def _ctrl_slice(model: Any, actuators: Indices) -> slice:
    addresses = spans(model.actuator_ctrladr[actuators], model.actuator_ctrlnum[actuators])
    if not len(addresses):
        return slice(0, 0)
    assert np.array_equal(addresses, np.arange(addresses[0], addresses[-1] + 1))
    return slice(int(addresses[0]), int(addresses[-1]) + 1)


class StateIndex:
    """Slices of an actor's states by local name.

    Args:
        model: compiled.
        where: the actor in it.
        lowered: ids of native actuators that count as the motors they were, with one control.
    """

    def __init__(self, model: Any, where: ActorModel, lowered: Collection[int] = ()) -> None:
        def local(kind: Any, i: int) -> str:
            name = mujoco.mj_id2name(model, kind, i) or f"unnamed_{i}"
            return str(name).removeprefix(where.prefix)

        ids = where.actuator_ids.tolist()
        joints = [local(mujoco.mjtObj.mjOBJ_JOINT, i) for i in where.joint_ids.tolist()]
        actuators = [local(mujoco.mjtObj.mjOBJ_ACTUATOR, i) for i in ids]
        #: Joint type (mjtJoint) by joint name.
        self.types = dict(zip(joints, model.jnt_type[where.joint_ids].tolist(), strict=True))
        #: The joint's body by joint name.
        self.bodies = {
            n: local(mujoco.mjtObj.mjOBJ_BODY, i)
            for n, i in zip(joints, model.jnt_bodyid[where.joint_ids].tolist(), strict=True)
        }
        self.qpos = _slices(joints, [QPOS_SIZE[t] for t in self.types.values()])
        self.dof = _slices(joints, [DOF_SIZE[t] for t in self.types.values()])
        acts = model.actuator_actnum[where.actuator_ids].tolist()
        inputs = model.actuator_ctrlnum[where.actuator_ids].tolist()
        if lowered:
            acts = [0 if i in lowered else n for i, n in zip(ids, acts, strict=True)]
            inputs = [1 if i in lowered else n for i, n in zip(ids, inputs, strict=True)]
        self.act, self.ctrl = _slices(actuators, acts), _slices(actuators, inputs)
        bodies = [int(np.flatnonzero(model.body_mocapid == m)[0]) for m in where.mocap]
        self.mocap = {local(mujoco.mjtObj.mjOBJ_BODY, b): i for i, b in enumerate(bodies)}

    @property
    def free(self) -> list[str]:
        """The free joints."""
        return [name for name, kind in self.types.items() if kind == mujoco.mjtJoint.mjJNT_FREE]

    @property
    def single(self) -> list[str]:
        """The hinge and slide joints."""
        return [name for name, kind in self.types.items() if QPOS_SIZE[kind] == 1]


def _slices(names: list[str], sizes: list[int]) -> dict[str, slice]:
    ends = accumulate(sizes)
    return {
        name: slice(end - size, end) for name, end, size in zip(names, ends, sizes, strict=True)
    }
