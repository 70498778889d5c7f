"""Keyframes of an exported model: the states of a world, in the lowered layout."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.model.actor_model import ActorModel, spans
from mjrig.sim.lowered_world import lowered_controllers
from mjrig.sim.world import World

#: The keyframe that is the world right after a reset, setpoints included.
START = "start"


@dataclass(frozen=True)
class ExportedState:
    """A keyframe of the exported model, in the layout of the lowered world."""

    qpos: FloatArray
    qvel: FloatArray
    act: FloatArray
    ctrl: FloatArray
    mpos: FloatArray
    mquat: FloatArray

    @classmethod
    def of(cls, data: Any) -> "ExportedState":
        arrays = (data.qpos, data.qvel, data.act, data.ctrl, data.mocap_pos, data.mocap_quat)
        return cls(*(array.copy() for array in arrays))

    def with_share(self, other: "ExportedState", where: ActorModel) -> "ExportedState":
        """This frame, with one actor's share of another."""
        places = {
            "qpos": where.qpos, "qvel": where.dof, "act": where.act, "ctrl": where.ctrl,
            "mpos": where.mocap, "mquat": where.mocap,
        }  # fmt: skip
        mixed = {name: getattr(self, name).copy() for name in places}
        for name, place in places.items():
            mixed[name][place] = getattr(other, name)[place]
        return ExportedState(**mixed)


def exported_states(world: World) -> dict[str, ExportedState]:
    """The keyframes by full name, other actors in their initial states; the initial one last."""
    start = ExportedState.of(_after_reset(world, None))
    frames: dict[str, ExportedState] = {}
    for robot in world.articulations.values():
        for name in robot.keyframes:
            there = ExportedState.of(_after_reset(world, name))
            frames[robot.model_map.prefix + name] = start.with_share(there, robot.model_map)
    return {**frames, START: start}


def _after_reset(world: World, keyframe: str | None) -> Any:
    """The data before the first step: reset, and the setpoints written to the inputs."""
    world.reset(keyframe)
    for robot in world.articulations.values():
        robot.apply_controls()
    return world.data


def first_commands(world: World, ctrl: FloatArray) -> dict[str, list[float]]:
    """The initial content of the delay buffers of lowered actuators."""
    model = world.model
    found = {}
    for controller in lowered_controllers(world):
        assert controller.lowered is not None
        for binding, inputs in zip(controller.bindings, controller.lowered.inputs, strict=True):
            if model.actuator_history[binding.actuator_id][0]:
                found[model.actuator(binding.actuator_id).name] = ctrl[inputs].tolist()
    return found


def add_keyframes(spec: Any, world: World, frames: Mapping[str, ExportedState]) -> Any:
    """Compile a spec with these keyframes; activations it no longer has are left out."""
    for key in list(spec.keys):  # in the layout from before the lowering
        spec.delete(key)
    bare = spec.compile()
    kept = _kept_activations(world.model, bare)
    for name, frame in frames.items():
        spec.add_key(
            name=name,
            qpos=frame.qpos,
            qvel=frame.qvel,
            act=frame.act[kept],
            ctrl=frame.ctrl,
            mpos=frame.mpos.reshape(-1),
            mquat=frame.mquat.reshape(-1),
        )
    return spec.compile()


def _kept_activations(old: Any, new: Any) -> Any:
    starts = np.where(new.actuator_actnum > 0, old.actuator_actadr, -1)
    return spans(starts, new.actuator_actnum)
