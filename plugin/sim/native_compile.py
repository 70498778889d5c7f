"""Native compile: a built scene compiled again, with some controllers lowered."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.control.controller import ArticulationController
from mjrig.control.lowering import FF, INPUTS, change_spec
from mjrig.model.actor_model import ActorModel, ActorState, spans
from mjrig.model.binding import ActuatorBinding
from mjrig.model.build import Built, compile_spec

_FEEDFORWARD = INPUTS - 1  # position, velocity, feedforward
assert FF == 1 << _FEEDFORWARD


def lower(
    built: Built,
    described: Mapping[str, tuple[ActuatorBinding, ...]],
    controllers: Mapping[tuple[int, int], ArticulationController],
) -> Built:
    """Compile again with the motors of these controllers as actuators that run their laws.

    Keyframes are kept in the actors' own states, not in the model, whose ctrl layout differs.
    """
    spec, old = built.spec, built.model
    timestep = float(old.opt.timestep)
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
        actors.append(_relocated(where, old, model, lowered, moved))
    return Built(spec, model, tuple(actors), built.placements)


def _moved(binding: ActuatorBinding, model: Any, lowered: set[int]) -> ActuatorBinding:
    """A binding in the new layout; a lowered motor's ctrl is the feedforward input."""
    i = binding.actuator_id
    offset = _FEEDFORWARD if i in lowered else 0
    address = int(model.actuator_ctrladr[i]) + offset
    return replace(binding, ctrl_address=address)


def _relocated(
    where: ActorModel, old: Any, new: Any, lowered: set[int], moved: list[ActuatorBinding]
) -> ActorModel:
    ids = where.actuator_ids
    ctrl = _addresses(new, "ctrl", ids)
    span = slice(int(ctrl[0]), int(ctrl[-1]) + 1) if len(ctrl) else slice(0, 0)
    act = _addresses(new, "act", ids)
    # Index of each old value among the new ones; the rest starts at zero.
    ctrl_places = _places(old, new, "ctrl", ids, lowered) - span.start
    act_places = _places(old, new, "act", ids, set())
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


def _places(
    old: Any, new: Any, kind: str, ids: npt.NDArray[np.intp], lowered: set[int]
) -> npt.NDArray[np.intp]:
    found: list[int] = []
    for i in ids:
        start = int(getattr(new, f"actuator_{kind}adr")[i])
        start += _FEEDFORWARD if int(i) in lowered else 0
        count = int(getattr(old, f"actuator_{kind}num")[i])
        found += range(start, start + count)
    return np.array(found, dtype=np.intp)


def _spread(values: FloatArray, places: npt.NDArray[np.intp], size: int) -> FloatArray:
    wide = np.zeros(size)
    wide[places] = values
    return wide
