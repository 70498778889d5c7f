"""Addresses of an actor in the compiled model: joints, states, and what drives each actuator."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import accumulate
from types import MappingProxyType
from typing import Any, Final, Self

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.attributes import CheckedAttributes
from mjrig.core.errors import BindingError
from mjrig.core.names import UniqueNames
from mjrig.core.patterns import Slots
from mjrig.core.scene.motor_file import Motor, MotorOnJoint
from mjrig.core.scene.native_elements import NativeActuators, NativeJoints
from mjrig.core.scene.pose import Rigid

# Binding -----------------------------------------------------------------------------------------


_TRN = mujoco.mjtTrn
_JNT = mujoco.mjtJoint
_JOINT_TRANSMISSIONS = (int(_TRN.mjTRN_JOINT), int(_TRN.mjTRN_JOINTINPARENT))
_TENDON, _JOINT_WRAP = int(_TRN.mjTRN_TENDON), int(mujoco.mjtWrap.mjWRAP_JOINT)
_TARGET = {
    int(_TRN.mjTRN_JOINT): "joint",
    int(_TRN.mjTRN_JOINTINPARENT): "joint",
    int(_TRN.mjTRN_SLIDERCRANK): "slider-crank",
    int(_TRN.mjTRN_TENDON): "tendon",
    int(_TRN.mjTRN_SITE): "site",
    int(_TRN.mjTRN_BODY): "body",
    int(_TRN.mjTRN_SO3): "orientation",
}
_TARGET_OBJECT = {
    "joint": mujoco.mjtObj.mjOBJ_JOINT,
    "slider-crank": mujoco.mjtObj.mjOBJ_SITE,
    "tendon": mujoco.mjtObj.mjOBJ_TENDON,
    "site": mujoco.mjtObj.mjOBJ_SITE,
    "body": mujoco.mjtObj.mjOBJ_BODY,
}
_JOINT_TYPE = {
    int(_JNT.mjJNT_FREE): "free",
    int(_JNT.mjJNT_BALL): "ball",
    int(_JNT.mjJNT_SLIDE): "slide",
    int(_JNT.mjJNT_HINGE): "hinge",
}


_ON_BODY, _FIXED = int(_TRN.mjTRN_BODY), int(mujoco.mjtGain.mjGAIN_FIXED)
_NO_BIAS, _AFFINE = int(mujoco.mjtBias.mjBIAS_NONE), int(mujoco.mjtBias.mjBIAS_AFFINE)
_NO_DYNAMICS = int(mujoco.mjtDyn.mjDYN_NONE)
_KIND_BY_GAIN = {
    int(mujoco.mjtGain.mjGAIN_MUSCLE): "muscle",
    int(mujoco.mjtGain.mjGAIN_DCMOTOR): "dcmotor",
    int(mujoco.mjtGain.mjGAIN_SO3): "orientation",
    int(mujoco.mjtGain.mjGAIN_PID): "pid",
}


#: Fields that a motor keeps when MuJoCo runs a law in its place, or that have no effect on one.
_KEPT_NATIVELY = frozenset(
    ("trntype", "trnid", "gear", "ctrllimited", "ctrlrange", "forcelimited", "forcerange",
     "damping", "dampingpoly", "armature", "group", "user", "ctrladr", "outadr", "actadr",
     "historyadr", "length0", "lengthrange", "acc0")
)  # fmt: skip
_OBSTACLES = {
    "delay": "delays its ctrl, and a law that MuJoCo runs would be given delayed setpoints instead",
    "gainprm": "has a gain other than 1",
}
_OBSTACLES["history"] = _OBSTACLES["delay"].replace("delays", "has a history of")
#: Below it a gain divided by gear² is no number any more.
_SMALLEST = 1e-290
_PLAIN_MOTOR = """<mujoco><worldbody><body><joint name="j"/><geom size="1"/></body></worldbody>
<actuator><motor joint="j"/></actuator></mujoco>"""


@dataclass(frozen=True)
class ActuatorBinding:
    """One actuator of an articulation resolved to addresses.

    `skip_reason` is empty for an actuator a law can be bound to: motor-like, on a hinge or slide
    joint. `joint` is empty and the addresses are -1 where the transmission is not such a joint.
    `gear` and `gain` are the factors between ctrl and joint effort; where the law runs on actuator
    length instead (tendons, sites) the gear is already inside the length and is 1 here.
    """

    actuator: str
    joint: str
    actuator_id: int
    ctrl_address: int
    ctrl_count: int
    output_address: int
    output_count: int
    joint_id: int
    qpos_address: int
    dof_address: int
    kind: str
    transmission: str
    target: str
    gear: float
    gain: float
    inputs: tuple[str, ...]
    ctrl_range: tuple[float, float] | None
    force_range: tuple[float, float] | None
    joint_range: tuple[float, float] | None
    joint_force_range: tuple[float, float] | None
    skip_reason: str
    #: What of a motor would be lost or mean something else in a law that MuJoCo runs; "": nothing.
    native_obstacle: str = ""
    #: Its authored name, where the compiled name differs.
    alias: str = ""
    #: The motor that the scene names for its joint.
    motor: Motor | None = None
    #: Whether actuators of tendons, sites or bodies can act on its joint too.
    has_other_forces: bool = False
    #: `actuatorgravcomp`: gravity compensation of its joint counts as actuator force.
    counts_gravcomp: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names a pattern may match: the actuator's, its joint's, and the authored one."""
        if self.joint:
            named = (self.actuator, self.joint)
            return (*named, self.alias) if self.alias else named
        return (self.actuator, self.alias) if self.alias else (self.actuator,)

    @property
    def factor(self) -> float:
        """g: joint effort = g · ctrl."""
        return self.gear * self.gain

    @property
    def has_effect(self) -> bool:
        """Whether any ctrl gives an effort: gear and gain are not zero."""
        return has_effect(self.factor)

    @property
    def is_bindable(self) -> bool:
        """Whether a law can own this actuator without `allow_non_motor` or `transmissions`."""
        return not self.skip_reason

    @property
    def on_joint(self) -> bool:
        """Whether position and velocity are read from qpos and qvel."""
        return self.qpos_address >= 0

    @property
    def effort_unit(self) -> str:
        """N for slides, N·m for hinges; empty where it depends on the transmission."""
        return {"hinge": "N·m", "slide": "N"}.get(self.transmission, "")


def equipped(
    bindings: Iterable[ActuatorBinding], motors: Mapping[str, MotorOnJoint]
) -> list[ActuatorBinding]:
    """The same with the motors of their joints."""
    return [replace(b, motor=motors[b.joint].motor) if b.joint in motors else b for b in bindings]


class BindingTable(CheckedAttributes, tuple[ActuatorBinding, ...]):
    """Actuators bound to degrees of freedom, in actuator-id order, and those skipped."""

    unbound: Final[tuple[ActuatorBinding, ...]]  # type: ignore[misc]

    def __new__(
        cls, bound: Iterable[ActuatorBinding] = (), rest: Iterable[ActuatorBinding] = ()
    ) -> Self:
        made = super().__new__(cls, sorted(bound, key=lambda b: b.actuator_id))
        made.unbound = tuple(sorted(rest, key=lambda b: b.actuator_id))  # type: ignore[misc]
        return made

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """(actuator name, reason) of the actuators no law is bound to; they are driven directly."""
        return [(b.actuator, b.skip_reason) for b in self.unbound]

    def slots(self, owner: str) -> Slots:
        """The bound actuators as slots for per-actuator values."""
        return Slots([b.names for b in self], owner)

    def __repr__(self) -> str:
        return f"BindingTable({len(self)} bound, {len(self.unbound)} skipped)"


def describe_actuators(
    model: Any,
    ids: Iterable[int] | None = None,
    prefix: str = "",
    aliases: Mapping[str, str] = MappingProxyType({}),
) -> list[ActuatorBinding]:
    """Read the actuators of a compiled model, in id order, with local names.

    Args:
        model: an MjModel.
        ids: which actuators; None: all.
        prefix: prefix of the MuJoCo names (`dog/`); it is removed.
        aliases: authored names of actuators, by compiled name.

    Raises:
        BindingError: the model has no actuator of such an id.
    """
    chosen = range(model.nactuator) if ids is None else sorted(set(ids))
    for i in chosen:
        if not 0 <= i < model.nactuator:
            raise BindingError(f"there is no actuator {i}; the model has {model.nactuator}")
    names, read = UniqueNames(), _Reader(model, prefix)
    found = []
    obstacles = _native_obstacles(model, list(chosen))
    for i in chosen:
        target = _target_name(read, int(i))
        name = names.give(read.local(mujoco.mjtObj.mjOBJ_ACTUATOR, i) or target)
        alias, obstacle = aliases.get(name, ""), obstacles.get(int(i), "")
        found.append(_describe(read, int(i), name, target, alias, obstacle))
    return found


def joints_of_others(model: Any) -> npt.NDArray[np.bool_]:
    """Which joints an actuator of something else than a joint can act on.

    A fixed tendon acts on its joints, anything else wherever its path or contact is.
    """
    joints = np.zeros(model.njnt, np.bool_)
    others = np.flatnonzero(~np.isin(model.actuator_trntype, _JOINT_TRANSMISSIONS))
    for i in others.tolist():
        wraps = slice(0)
        if model.actuator_trntype[i] == _TENDON:
            tendon = model.actuator_trnid[i, 0]
            first = model.tendon_adr[tendon]
            wraps = slice(first, first + model.tendon_num[tendon])
        is_fixed = np.any(model.wrap_type[wraps] == _JOINT_WRAP)
        joints[model.wrap_objid[wraps] if is_fixed else slice(None)] = True
    return joints


class _Reader:
    """A model whose arrays are fetched once: MuJoCo makes a new view every time."""

    def __init__(self, model: Any, prefix: str) -> None:
        self.model, self._prefix = model, prefix

    def __getattr__(self, name: str) -> Any:
        array = self.__dict__[name] = getattr(self.model, name)
        return array

    @cached_property
    def joints_of_others(self) -> npt.NDArray[np.bool_]:
        return joints_of_others(self.model)

    def local(self, kind: Any, index: int) -> str:
        """The local name of an element; empty if it has none."""
        name = mujoco.mj_id2name(self.model, kind, index) or ""
        return str(name).removeprefix(self._prefix)


def _transmission(read: _Reader, i: int) -> str:
    return _TARGET.get(int(read.actuator_trntype[i]), "unknown")


def _target_name(read: _Reader, i: int) -> str:
    """The name of an actuator's target; its kind where that is unnamed."""
    transmission, (target, second) = _transmission(read, i), read.actuator_trnid[i].tolist()
    if transmission == "orientation":
        # NOTE: an orientation actuator sits on a ball joint, or on a site with a refsite.
        kind = mujoco.mjtObj.mjOBJ_SITE if second >= 0 else mujoco.mjtObj.mjOBJ_JOINT
        return read.local(kind, target) or "orientation"
    kind = _TARGET_OBJECT.get(transmission)
    name = read.local(kind, target) if kind is not None and target >= 0 else ""
    return name or f"unnamed_{actuator_kind(read, i)}"


def actuator_kind(model: Any, i: int) -> str:
    """The MJCF element that a compiled actuator corresponds to."""
    if int(model.actuator_plugin[i]) >= 0:
        return "plugin"
    gain = int(model.actuator_gaintype[i])
    if gain in _KIND_BY_GAIN:
        return _KIND_BY_GAIN[gain]
    if int(model.actuator_trntype[i]) == _ON_BODY:
        return "adhesion"
    bias, dyn = int(model.actuator_biastype[i]), int(model.actuator_dyntype[i])
    fixed = gain == _FIXED
    if bias == _NO_BIAS and dyn == _NO_DYNAMICS:
        return "motor" if fixed else "damper"
    if fixed and bias == _AFFINE:
        return _servo_kind(dyn, *(-model.actuator_biasprm[i][1:3]))
    return "general"


def _servo_kind(dyn: int, kp: float, kv: float) -> str:
    by_dynamics = {
        int(mujoco.mjtDyn.mjDYN_INTEGRATOR): "intvelocity",
        int(mujoco.mjtDyn.mjDYN_FILTER): "cylinder",
    }
    return by_dynamics.get(dyn) or ("position" if kp else "velocity" if kv else "general")


def _describe(
    read: _Reader, i: int, name: str, target: str, alias: str, obstacle: str
) -> ActuatorBinding:
    transmission = _transmission(read, i)
    target_id = int(read.actuator_trnid[i, 0])
    joint_id = qpos_address = dof_address = -1
    joint = ""
    joint_range = joint_force_range = None
    if transmission == "joint" and target_id >= 0:
        joint_id = target_id
        joint = read.local(mujoco.mjtObj.mjOBJ_JOINT, joint_id)
        transmission = _JOINT_TYPE[int(read.jnt_type[joint_id])]
        if transmission in ("hinge", "slide"):
            qpos_address = int(read.jnt_qposadr[joint_id])
            dof_address = int(read.jnt_dofadr[joint_id])
        joint_range = _range(read.jnt_limited[joint_id], read.jnt_range[joint_id])
        joint_force_range = _range(read.jnt_actfrclimited[joint_id], read.jnt_actfrcrange[joint_id])
    ctrl, out = int(read.actuator_ctrladr[i]), int(read.actuator_outadr[i])
    gear = read.actuator_gear[out]
    count = int(read.actuator_ctrlnum[i])
    kind = actuator_kind(read, i)
    # A joint's actuator acts through one number of its gear, any other through all of them.
    scale = float(gear[0]) if qpos_address >= 0 else float(gear.any())
    # A position actuator's gain is its stiffness, not a factor between ctrl and effort.
    gain = float(read.actuator_gainprm[i, 0]) if kind in ("motor", "adhesion") else 1.0
    return ActuatorBinding(
        actuator=name,
        joint=joint,
        actuator_id=i,
        ctrl_address=ctrl,
        ctrl_count=count,
        output_address=out,
        output_count=int(read.actuator_outnum[i]),
        joint_id=joint_id,
        qpos_address=qpos_address,
        dof_address=dof_address,
        kind=kind,
        transmission=transmission,
        target=target,
        gear=scale,
        gain=gain,
        inputs=tuple(
            str(mujoco.mj_actuatorInputName(read.model, i, k) or "") for k in range(count)
        ),
        ctrl_range=_range(read.actuator_ctrllimited[ctrl], read.actuator_ctrlrange[ctrl])
        if count
        else None,
        force_range=_range(read.actuator_forcelimited[i], read.actuator_forcerange[i]),
        joint_range=joint_range,
        joint_force_range=joint_force_range,
        skip_reason=_skip_reason(kind, transmission, target, count, (scale, gain)),
        native_obstacle=obstacle,
        alias=alias,
        has_other_forces=joint_id >= 0 and bool(read.joints_of_others[joint_id]),
        counts_gravcomp=joint_id >= 0 and bool(read.jnt_actgravcomp[joint_id]),
    )


@cache
def _plain_motor() -> dict[str, Any]:
    """The fields in which an actuator must be like a plain motor for MuJoCo to run its law.

    All that this version of MuJoCo has, but for those that are kept: what is unknown here is
    different and hence refused.
    """
    motor = mujoco.MjModel.from_xml_string(_PLAIN_MOTOR)
    names = [n.removeprefix("actuator_") for n in dir(motor) if n.startswith("actuator_")]
    chosen = [n for n in names if n not in _KEPT_NATIVELY]
    return {n: getattr(motor, f"actuator_{n}")[0].copy() for n in chosen}


def _native_obstacles(model: Any, ids: Sequence[int]) -> dict[int, str]:
    """Those of some actuators that MuJoCo cannot replace by one that runs a law, and why."""
    found: dict[int, str] = {}
    if not len(ids):
        return found
    for name, plain in _plain_motor().items():
        values = getattr(model, f"actuator_{name}")[ids].reshape(len(ids), -1)
        if name == "history":  # without samples its interpolation means nothing
            values = values * (values[:, :1] > 0)
        for k in np.flatnonzero((values != plain).any(axis=1)).tolist():
            text = _OBSTACLES.get(name, f"has {name} set, which a motor has not")
            found.setdefault(ids[k], text)
    clamps = not int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL)
    disabled = int(model.opt.disableactuator)
    for i in ids:
        first, group = int(model.actuator_ctrladr[i]), int(model.actuator_group[i])
        inputs = slice(first, first + int(model.actuator_ctrlnum[i]))
        if not clamps and model.actuator_ctrllimited[inputs].any():
            found.setdefault(i, "has a ctrlrange, which the flag clampctrl switches off")
        if 0 <= group < 31 and disabled >> group & 1:
            found.setdefault(i, f"is in group {group}, which is disabled")
    return found


def _range(limited: Any, values: Any) -> tuple[float, float] | None:
    if not limited:
        return None
    low, high = values.tolist()
    return low, high


def _skip_reason(
    kind: str, transmission: str, target: str, inputs: int, factors: tuple[float, float]
) -> str:
    """Why no law can be bound to an actuator; empty if one can."""
    what = f"is {'an' if kind[0] in 'aio' else 'a'} {kind} actuator"
    if inputs != 1:
        return f"{what} with {inputs} inputs, and a law commands one"
    if kind == "plugin":
        return f"{what}: its plugin computes the force and takes ctrl as a setpoint of its own"
    gear, gain = factors
    if not has_effect(gear * gain):
        which = ("gain", gain) if has_effect(gear) else ("gear", gear)
        return "has {} {:g}: no ctrl gives it an effort".format(*which)
    if transmission in ("hinge", "slide"):
        return "" if kind == "motor" else f"{what} and would take torque as a target"
    if transmission in ("ball", "free"):
        return f"drives the {transmission} joint {target!r}; a law needs a hinge or slide joint"
    verb = "drives" if transmission == "tendon" else "acts on"
    return f"{verb} the {transmission} {target!r}, not a joint"


def has_effect(factor: float) -> bool:
    """Whether an actuator of this gear·gain can do anything; laws divide by its square."""
    return factor * factor > _SMALLEST


# Actor model -------------------------------------------------------------------------------------


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
