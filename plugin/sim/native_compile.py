"""Native compile: a scene compiled with the motors of some controllers lowered."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.control.controller import ArticulationController
from mjrig.control.lowering import FF, INPUTS, change_spec
from mjrig.errors import BindingError
from mjrig.model.actor_model import ActorModel, ActorState, spans
from mjrig.model.binding import ActuatorBinding, describe_actuators
from mjrig.model.build import Built, Layout, compile_layout, compile_spec
from mjrig.sim.draft import Draft

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
    )
    for motor, joint, ctrl, out, qpos, dof, limit, effort in zip(motors, *columns, strict=True):
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
