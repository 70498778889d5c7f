"""Native compile: a scene compiled with the motors of some controllers lowered.

Which controllers run natively is decided from the spec, before the model is compiled.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.execution import Execution, PlantComponent, choose, is_implicit
from mjrig.core.control.lowering import FF, INPUTS, NativeForm, change_spec
from mjrig.core.errors import BindingError
from mjrig.core.model.binding import (
    ActorModel,
    ActorState,
    ActuatorBinding,
    describe_actuators,
    equipped,
    has_effect,
    joints_of_others,
    spans,
)
from mjrig.core.model.build import Built, Layout, compile_layout, compile_spec
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.native_elements import NativeActuator

# Draft bindings -----------------------------------------------------------------------------------
# The actuators of a spec that is not compiled yet, as far as a law can own them.


_JOINTS = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
_TRANSMISSION = {
    int(mujoco.mjtJoint.mjJNT_HINGE): "hinge",
    int(mujoco.mjtJoint.mjJNT_SLIDE): "slide",
}
_FIXED, _NO_BIAS, _NO_DYNAMICS = (
    int(mujoco.mjtGain.mjGAIN_FIXED),
    int(mujoco.mjtBias.mjBIAS_NONE),
    int(mujoco.mjtDyn.mjDYN_NONE),
)
_TRUE, _AUTO = int(mujoco.mjtLimited.mjLIMITED_TRUE), int(mujoco.mjtLimited.mjLIMITED_AUTO)
_FIRST_ONE = [1.0] + [0.0] * (mujoco.mjNGAIN - 1)
_NOT_DRAFTED = "is not known before the model is compiled"


class Drafted(NamedTuple):
    """The actuators of an actor by local name."""

    #: As the actor's spec has them.
    natives: Mapping[str, NativeActuator]
    #: What people called them.
    aliases: Mapping[str, str]


def draft_actuators(spec: Any, actors: Mapping[str, Drafted]) -> dict[str, list[ActuatorBinding]]:
    """The actuators of some actors, in id order; addresses are those of nothing yet.

    A plain motor on a hinge or slide joint has what `describe_actuators` will find. Anything else
    has its names, a reason to be skipped, and no control, so that no law can own it.

    Args:
        spec: the world's MjSpec, complete.
        actors: for each actor by name its actuators.
    """
    joints = {joint.name: joint for joint in spec.joints}
    found: dict[str, list[ActuatorBinding]] = {name: [] for name in actors}
    flags, groups = int(spec.option.disableflags), int(spec.option.disableactuator)
    # A motor that is switched off, or its ctrlrange, is left to `describe_actuators`.
    is_plain = not groups and not flags & int(mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL)
    for i, actuator in enumerate(spec.actuators):
        actor, _, local = actuator.name.partition("/")
        if actor in actors:
            native, alias = actors[actor].natives[local], actors[actor].aliases.get(local, "")
            on_joint = int(native.trntype) in _JOINTS
            joint = joints.get(f"{actor}/{native.target}") if on_joint and is_plain else None
            found[actor].append(_draft_binding(i, actuator, native, joint, alias))
    return found


def _draft_binding(
    i: int, actuator: Any, native: NativeActuator, joint: Any, alias: str
) -> ActuatorBinding:
    transmission = "" if joint is None else _TRANSMISSION.get(int(joint.type), "")
    ctrl = _Limits(int(native.ctrllimited), *native.ctrlrange.tolist())
    force = _Limits(int(native.forcelimited), *native.forcerange.tolist())
    gear = float(native.gear[0])
    is_motor = transmission != "" and has_effect(gear) and _is_plain_motor(actuator, native)
    is_motor = is_motor and ctrl.are_clear(actuator) and force.are_clear(actuator)
    return ActuatorBinding(
        actuator=native.name,
        joint="" if joint is None else native.target,
        actuator_id=i,
        ctrl_address=-1,
        ctrl_count=1 if is_motor else 0,
        output_address=-1,
        output_count=1,
        joint_id=-1,
        qpos_address=0 if is_motor else -1,
        dof_address=0 if is_motor else -1,
        kind="motor" if is_motor else "general",
        transmission=transmission,
        target=native.target,
        gear=gear,
        gain=1.0,
        inputs=("",),
        ctrl_range=ctrl.range,
        force_range=force.range,
        joint_range=None,
        joint_force_range=None,
        skip_reason="" if is_motor else _NOT_DRAFTED,
        alias=alias,
    )


def _is_plain_motor(actuator: Any, native: NativeActuator) -> bool:
    """A motor that MuJoCo takes as it is: turned into something else it hides no error."""
    plain = (
        int(native.gaintype) == _FIXED
        and int(native.biastype) == _NO_BIAS
        and int(native.dyntype) == _NO_DYNAMICS
        and not native.plugin
        and not native.inheritrange
        and native.actdim <= 0
        and native.gainprm.tolist() == _FIRST_ONE
        and native.dynprm.tolist() == _FIRST_ONE
        and not any(native.biasprm.tolist())
        and not actuator.delay
        and not actuator.nsample
        and not actuator.actearly
    )
    no_activation = not any(actuator.actrange.tolist()) and int(actuator.actlimited) != _TRUE
    return plain and no_activation


class _Limits(NamedTuple):
    """What an actuator says about its ctrlrange or forcerange."""

    limited: int
    low: float
    high: float

    def are_clear(self, actuator: Any) -> bool:
        """Whether the range is one, or none is given; and nothing depends on `autolimits`."""
        if self.limited == _AUTO:
            is_range = self.low < self.high
            return not (self.low or self.high) or bool(is_range and actuator.compiler.autolimits)
        return self.limited != _TRUE or self.low < self.high

    @property
    def range(self) -> tuple[float, float] | None:
        """The range, where it limits anything."""
        by_itself = self.limited == _AUTO and self.low < self.high
        return (self.low, self.high) if self.limited == _TRUE or by_itself else None


# Draft --------------------------------------------------------------------------------------------
# Which controllers will run natively, known from the spec before anything is compiled.


#: A controller: the index of its actor, and its own among the actor's components.
Key = tuple[int, int]


class Recipe(NamedTuple):
    """What the actuators of one controller become, numbers that can be loaded later left out."""

    names: tuple[str, ...]
    is_dc: bool
    integrates: bool
    early: bool
    lags: tuple[int, ...] | None
    room: int

    @staticmethod
    def of(controller: ArticulationController, prefix: str, form: NativeForm) -> "Recipe":
        """The recipe of a bound controller, whose law is in this form."""
        return Recipe(
            tuple(prefix + b.actuator for b in controller.bindings),
            form.dc is not None,
            form.ki is not None,
            form.early,
            None if form.lags is None else tuple(form.lags.tolist()),
            controller.delay_room(),
        )


@dataclass(frozen=True)
class Draft:
    """What is expected of the controllers of a scene."""

    executions: Mapping[Key, Execution]
    #: Of those that run natively.
    recipes: Mapping[Key, Recipe]
    forms: Mapping[Key, NativeForm]
    #: Their motors by actuator id, as they are before they become something else.
    motors: Mapping[int, ActuatorBinding]
    #: Copies of all controllers that it is about, on no actor.
    controllers: Mapping[Key, ArticulationController]


def draft(layout: Layout, requested: str, not_here: str) -> Draft | None:
    """What the controllers of a scene will run as; None: nothing natively, or it is not known.

    It raises what is wrong with the scene, without a place in it.

    Args:
        layout: the scene in one spec, which stays as it is.
        requested: `auto` or `native`.
        not_here: why nothing may be lowered; empty if that is possible.
    """
    options = layout.spec.option
    executions: dict[Key, Execution] = {}
    copies: dict[Key, ArticulationController] = {}
    native: dict[Key, tuple[ArticulationController, str]] = {}
    parts = layout.parts.values()
    known = {part.name: Drafted(part.actuators.now, part.authored.aliases) for part in parts}
    actuators = draft_actuators(layout.spec, known)
    for i, part in enumerate(parts):
        for j, component in enumerate(part.actor.components):
            if isinstance(component, PlantComponent):
                executions[i, j] = choose(requested, part.name, component.supports(), not_here)
        controllers = [
            (j, c)
            for j, c in enumerate(part.actor.components)
            if isinstance(c, ArticulationController) and c.follows_pose
        ]
        if not controllers:
            continue
        prefix = f"{part.name}/"
        own = equipped(actuators[part.name], part.motors)
        stand_in = ActorDescription.blank()
        stand_in.stand_alone(part.actor)  # files of the drafts: the same folder and sandbox
        for j, described in controllers:
            copies[i, j] = controller = described.copy()
            controller.own(stand_in, described.role, "components")
            if not controller.bind_draft(own, part.name, float(options.timestep)):
                return None
            if not controller.is_bound:
                continue
            supports = controller.supports()
            chosen = choose(requested, part.name, supports, not_here, is_implicit(options))
            executions[i, j] = chosen
            if chosen.name == "native":
                native[i, j] = controller, prefix
    if not native:
        return None
    forms = {key: controller.native_form() for key, (controller, _) in native.items()}
    made = Draft(
        executions,
        {key: Recipe.of(*found, forms[key]) for key, found in native.items()},
        forms,
        {b.actuator_id: b for controller, _ in native.values() for b in controller.bindings},
        copies,
    )
    for controller in copies.values():
        controller.disown()
    return made


# Native compile -----------------------------------------------------------------------------------


_FEEDFORWARD = INPUTS - 1  # position, velocity, feedforward
assert FF == 1 << _FEEDFORWARD


def compile_lowered(layout: Layout, draft: Draft) -> Built:
    """Compile what was laid out, with the motors of a draft as actuators that run their laws.

    The spec of the layout is changed.
    """
    timestep = float(layout.spec.option.timestep)
    for key, recipe in draft.recipes.items():
        change_spec(layout.spec, recipe.names, draft.forms[key], timestep, recipe.room)
    built = compile_layout(layout, draft.motors)
    actors = []
    for where in built.actors:
        ids = where.actuator_ids.tolist()
        motors = [draft.motors[i] for i in ids if i in draft.motors]
        rest = [i for i in ids if i not in draft.motors]
        described = [
            *_in_place(motors, built.model, where.prefix),
            *(describe_actuators(built.model, rest, where.prefix, where.aliases) if rest else ()),
        ]
        described.sort(key=lambda binding: binding.actuator_id)
        actors.append(_relocated(where, built.model, draft.motors, described))
    return replace(built, actors=tuple(actors))


def _in_place(
    motors: Sequence[ActuatorBinding], model: Any, prefix: str
) -> Iterator[ActuatorBinding]:
    """The motors of a draft at their addresses; the ctrl of each is the feedforward input.

    Raises:
        BindingError: the model has another actuator or joint there than was expected.
    """
    ids = np.array([motor.actuator_id for motor in motors], dtype=np.intp)
    joints = model.actuator_trnid[ids, 0]
    limits = model.jnt_limited[joints].tolist(), model.jnt_range[joints].tolist()
    efforts = model.jnt_actfrclimited[joints].tolist(), model.jnt_actfrcrange[joints].tolist()
    columns = (
        joints.tolist(),
        model.actuator_ctrladr[ids].tolist(),
        model.actuator_outadr[ids].tolist(),
        model.jnt_qposadr[joints].tolist(),
        model.jnt_dofadr[joints].tolist(),
        zip(*limits, strict=True),
        zip(*efforts, strict=True),
        joints_of_others(model)[joints].tolist(),
        model.jnt_actgravcomp[joints].astype(bool).tolist(),
    )
    for motor, joint, ctrl, out, qpos, dof, limit, effort, others, gravcomp in zip(
        motors, *columns, strict=True
    ):
        names = (
            mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, motor.actuator_id),
            mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, joint),
        )
        if names != (prefix + motor.actuator, prefix + motor.joint):
            raise BindingError(f"{motor.actuator!r} was expected where the model has {names[0]!r}")
        yield replace(
            motor,
            ctrl_address=ctrl + _FEEDFORWARD,
            output_address=out,
            joint_id=joint,
            qpos_address=qpos,
            dof_address=dof,
            joint_range=tuple(limit[1]) if limit[0] else None,
            joint_force_range=tuple(effort[1]) if effort[0] else None,
            has_other_forces=others,
            counts_gravcomp=gravcomp,
        )


def lower(
    built: Built,
    described: Mapping[str, tuple[ActuatorBinding, ...]],
    controllers: Mapping[tuple[int, int], ArticulationController],
) -> Built:
    """Compile again with the motors of these controllers as actuators that run their laws.

    Keyframes are kept in the actors' own states, not in the model, whose ctrl layout differs.
    """
    spec = built.spec
    timestep = float(built.model.opt.timestep)
    lowered: set[int] = set()
    for (actor, _), controller in controllers.items():
        prefix = built.actors[actor].prefix
        names = [prefix + b.actuator for b in controller.bindings]
        change_spec(spec, names, controller.native_form(), timestep, controller.delay_room())
        lowered |= {b.actuator_id for b in controller.bindings}
    for key in list(spec.keys):
        spec.delete(key)
    model = compile_spec(spec, built.placements)
    actors = []
    for where in built.actors:
        moved = [_moved(b, model, lowered) for b in described[where.name]]
        actors.append(_relocated(where, model, lowered, moved))
    return Built(spec, model, tuple(actors), built.placements, built.differing)


def _moved(binding: ActuatorBinding, model: Any, lowered: set[int]) -> ActuatorBinding:
    """A binding in the new layout; a lowered motor's ctrl is the feedforward input."""
    i = binding.actuator_id
    offset = _FEEDFORWARD if i in lowered else 0
    address = int(model.actuator_ctrladr[i]) + offset
    return replace(binding, ctrl_address=address)


def _relocated(
    where: ActorModel, new: Any, lowered: Collection[int], moved: list[ActuatorBinding]
) -> ActorModel:
    ids = where.actuator_ids
    ctrl = _addresses(new, "ctrl", ids)
    span = slice(int(ctrl[0]), int(ctrl[-1]) + 1) if len(ctrl) else slice(0, 0)
    act = _addresses(new, "act", ids)
    # Index of each old value among the new ones; the rest starts at zero.
    ctrl_places = _ctrl_places(new, ids, lowered) - span.start
    own = np.array([i for i in ids.tolist() if i not in lowered], dtype=np.intp)
    act_places = _addresses(new, "act", own)
    act_places = np.array([int(np.flatnonzero(act == a)[0]) for a in act_places], dtype=np.intp)

    def adapt(state: ActorState) -> ActorState:
        return replace(
            state,
            ctrl=None if state.ctrl is None else _spread(state.ctrl, ctrl_places, len(ctrl)),
            act=_spread(state.act, act_places, len(act)),
        )

    return replace(
        where,
        ctrl=span,
        act=act,
        initial=adapt(where.initial),
        keyframes={name: adapt(state) for name, state in where.keyframes.items()},
        described=tuple(moved),
    )


def _addresses(model: Any, kind: str, ids: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    starts = getattr(model, f"actuator_{kind}adr")[ids]
    return spans(starts, getattr(model, f"actuator_{kind}num")[ids])


def _ctrl_places(
    new: Any, ids: npt.NDArray[np.intp], lowered: Collection[int]
) -> npt.NDArray[np.intp]:
    found: list[int] = []
    for i in ids.tolist():
        start, count = int(new.actuator_ctrladr[i]), int(new.actuator_ctrlnum[i])
        found += [start + _FEEDFORWARD] if i in lowered else range(start, start + count)
    return np.array(found, dtype=np.intp)


def _spread(values: FloatArray, places: npt.NDArray[np.intp], size: int) -> FloatArray:
    wide = np.zeros(size)
    wide[places] = values
    return wide
