"""Native compile: a scene compiled with the motors of some controllers lowered."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.control.controller import ArticulationController
from mjrig.control.lowering import FF, INPUTS, change_spec
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
        found = describe_actuators(built.model, ids, where.prefix, where.aliases, draft.motors)
        described = [_as_motor(b, draft.motors.get(b.actuator_id)) for b in found]
        actors.append(_relocated(where, built.model, draft.motors, described))
    return replace(built, actors=tuple(actors))


def _as_motor(found: ActuatorBinding, motor: ActuatorBinding | None) -> ActuatorBinding:
    """A lowered actuator as the motor it was; its ctrl is the feedforward input."""
    if motor is None:
        return found
    return replace(
        found,
        ctrl_address=found.ctrl_address + _FEEDFORWARD,
        ctrl_count=motor.ctrl_count,
        kind=motor.kind,
        gain=motor.gain,
        inputs=motor.inputs,
        ctrl_range=motor.ctrl_range,
        force_range=motor.force_range,
        skip_reason=motor.skip_reason,
        native_obstacle=motor.native_obstacle,
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
