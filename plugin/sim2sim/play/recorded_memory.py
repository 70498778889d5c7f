"""The memory that components had in a recording, for the components of a world."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import mujoco

from mjrig.recording.memory.stored_memory import StoredMemory
from mjrig.recording.memory.world_memory import ENGINE, WORLD
from mjrig.recording.recording import Recording
from mjrig.sim.world import World
from mjrig.sim2sim.compare.matching import Match
from mjrig.sim2sim.play.commanding import is_silenced
from mjrig.sim2sim.play.memory_fit import equal, mismatch

#: Parts of an actor's memory, besides its components, that a replay needs.
_ACTOR = ("setpoints", "guard")
_NO_MEMORY = "the file has no memory of the steps before"
#: Memory of MuJoCo itself, besides positions and velocities.
_ENGINE_MEMORY = int(mujoco.mjtState.mjSTATE_ACT) | int(mujoco.mjtState.mjSTATE_HISTORY)


@dataclass
class RecordedMemory:
    """The memory before one recorded sample.

    Attributes:
        actors: by name in this world, as in a snapshot; empty: there is none.
        engine: fields of a snapshot that the integration state does not cover.
        restored: labels of the components that need a memory and have a recorded one.
        unknown: component → why its memory is unknown.
    """

    actors: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    engine: dict[str, Any] = field(default_factory=dict)
    restored: list[str] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)


def recorded_memory(
    world: World, recording: Recording, matches: Sequence[Match], row: int
) -> RecordedMemory:
    """The memory before a sample, as far as the components here are those that were recorded."""
    memory = RecordedMemory()
    recorded = matches[0].recorded
    step = int(recorded.step[row])
    stored = next((m for m in recording.memories if m.step == step), None)
    if stored is not None:
        now = world.snapshot(unknown={})
        for match in matches:
            _match_actor(memory, stored, match, now.actors[match.robot.name])
        memory.engine = _fitting(_part(stored, WORLD), {n: getattr(now, n) for n in ENGINE})
    elif recording.is_simulated_here:
        parts = [c for m in matches for c in m.robot.components if not is_silenced(c)]
        memory.unknown = {c.label: _NO_MEMORY for c in parts if c.remembers()}
        if recording.states is None and mujoco.mj_stateSize(world.model, _ENGINE_MEMORY):
            memory.unknown["MuJoCo"] = "the file has no activations and no delayed inputs"
    if float(recorded.time[row]) <= 0.0:  # after a reset no component has a past
        memory.unknown = {}
    return memory


def _match_actor(
    memory: RecordedMemory, stored: StoredMemory, match: Match, now: Mapping[str, Any]
) -> None:
    """The present memory of an actor, with the recorded one in its place where it fits."""
    name = match.recorded.name
    actor, components = dict(now), list(now["components"])
    actor |= _fitting(_part(stored, name), {n: now[n] for n in _ACTOR})
    for i, component in enumerate(match.robot.components):
        if is_silenced(component):
            continue
        here = now["owned"][i], now["signatures"][i]
        fresh, is_ours = components[i], type(component).__module__.startswith("mjrig.")
        components[i], why = _component(stored, f"{name}.{component._role}", here, fresh)
        if not why and (why := mismatch(components[i], fresh, strict=is_ours)):
            components[i], why = fresh, f"what the file has does not fit: {why}"
        if why and component.remembers():
            memory.unknown[component.label] = why
        elif not why and component.remembers():
            memory.restored.append(component.label)
    memory.actors[match.robot.name] = {**actor, "components": components}


def _component(
    stored: StoredMemory, name: str, here: tuple[object, object], fresh: Any
) -> tuple[Any, str]:
    """The memory of a component, and the reason if that is not the recorded one."""
    if name in stored.unknown:
        return fresh, f"it could not be stored: {stored.unknown[name]}"
    if name not in stored.parts:
        return fresh, ""  # a component that the recorded robot did not have
    part = _part(stored, name)
    if not isinstance(part, tuple) or len(part) != 3:
        return fresh, "it cannot be read by this version"
    owned, signature, memory = part
    if not equal((owned, signature), here):
        return fresh, "the component has another structure here than in the recording"
    return memory, ""


def _fitting(recorded: Any, now: Mapping[str, Any]) -> dict[str, Any]:
    """The recorded values that can take the place of the present ones."""
    values = recorded if isinstance(recorded, dict) else {}
    names = (name for name in now if name in values)
    return {n: values[n] for n in names if not mismatch(values[n], now[n], strict=True)}


def _part(stored: StoredMemory, name: str) -> Any:
    """The memory of a part; None: there is none that can be read."""
    try:
        return stored.part(name)
    except ValueError:
        return None
