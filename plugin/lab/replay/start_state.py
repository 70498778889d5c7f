"""State in which a recording begins, put into a world, with the memory of its components.

A component trusts its memory, so types and shapes are checked first: a wrong type would fail much
later, in a step or a reset, and a wrong shape would replace an array that the prepared calls use.
"""

import dataclasses
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import MjrigError, RecordingError
from mjrig.core.names import listed
from mjrig.core.properties.registry import described
from mjrig.core.sim.plant_parameters import model_hash
from mjrig.core.sim.world import World
from mjrig.data.recording.component_memory import StoredMemory
from mjrig.data.recording.recorder import ENGINE, WORLD
from mjrig.data.recording.recording import Recording
from mjrig.lab.replay.matching import Match
from mjrig.lab.replay.policy_loop import is_silenced

# Memory fit ---------------------------------------------------------------------------------------
# Whether a memory from a file is one that a component can have: types, shapes, kinds of numbers.
#
# A component trusts its memory. A value of another type would fail much later, in a step or in a
# reset, and an array of another shape would replace one that the prepared calls use.


_NUMBERS = (bool, int, float, np.generic)
_SEQUENCES = (list, deque)


def mismatch(saved: Any, now: Any, at: str = "", *, strict: bool) -> str:
    """Why a stored memory does not fit; empty: it does.

    Args:
        saved: from the file.
        now: the memory that the component has after a reset. None: any type fits.
        at: place in the memory, for the message.
        strict: numbers are of one type and mappings have the same keys: mjrig's own components.
    """
    if now is None or (saved is None and isinstance(now, _NUMBERS) and not strict):
        return ""
    if isinstance(now, np.ndarray):
        return _array_mismatch(saved, now, at)
    if not strict and isinstance(now, _NUMBERS) and isinstance(saved, _NUMBERS):
        return ""
    if isinstance(now, _SEQUENCES) and isinstance(saved, _SEQUENCES):
        return _list_mismatch(saved, now, at, strict=strict)
    if type(saved) is not type(now):
        return f"{_place(at)}is {_kind(saved)} and must be {_kind(now)}"
    return _inner_mismatch(saved, now, at, strict=strict)


def _inner_mismatch(saved: Any, now: Any, at: str, *, strict: bool) -> str:
    """The same for two values of one type."""
    match now:
        case tuple() if len(saved) == len(now):
            return _first(saved, now, at, strict=strict)
        case dict():
            return _dict_mismatch(saved, now, at, strict=strict)
        case tuple() | bytes() if len(saved) != len(now) and (strict or isinstance(now, tuple)):
            return f"{_place(at)}has {len(saved)} items and must have {len(now)}"
        case np.random.Generator():
            states = saved.bit_generator.state, now.bit_generator.state
            return mismatch(*states, at, strict=True)
        case _ if dataclasses.is_dataclass(now):
            return mismatch(vars(saved), vars(now), at, strict=strict)
    return ""


def equal(one: Any, other: Any) -> bool:
    """Whether two values of any types are equal; arrays are equal to none."""
    try:
        return bool(one == other)
    except (ValueError, TypeError):
        return False


def _array_mismatch(saved: Any, now: np.ndarray[Any, Any], at: str) -> str:
    if not isinstance(saved, np.ndarray):
        return f"{_place(at)}is {_kind(saved)} and must be an array"
    if (saved.dtype, saved.shape) != (now.dtype, now.shape):
        return (
            f"{_place(at)}is an array of {saved.dtype} of shape {saved.shape} and must be of "
            f"{now.dtype} of shape {now.shape}"
        )
    return ""


def _list_mismatch(saved: Any, now: Any, at: str, *, strict: bool) -> str:
    if len(saved) == len(now):
        return _first(saved, now, at, strict=strict)
    if not strict or not now:  # queues may have any length
        return ""
    return _first(saved, [now[0]] * len(saved), at, strict=strict)


def _first(saved: Any, now: Any, at: str, *, strict: bool) -> str:
    pairs = enumerate(zip(saved, now, strict=True))
    reasons = (mismatch(s, n, f"{at}[{i}]", strict=strict) for i, (s, n) in pairs)
    return next(filter(None, reasons), "")


def _dict_mismatch(
    saved: Mapping[Any, Any], now: Mapping[Any, Any], at: str, *, strict: bool
) -> str:
    odd = [key for key in (*now, *saved) if key not in saved or key not in now]
    if strict and now and odd:
        return f"{_place(at)}has the keys {list(saved)!r:.100} and must have {list(now)!r:.100}"
    common = [key for key in now if key in saved]
    reasons = (mismatch(saved[k], now[k], f"{at}[{k!r}]", strict=strict) for k in common)
    return next(filter(None, reasons), "")


def _place(at: str) -> str:
    return f"{at[:100]} " if at else ""


def _kind(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


# Recorded memory ----------------------------------------------------------------------------------
# The memory that components had in a recording, for the components of a world.


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


# Start --------------------------------------------------------------------------------------------
# Put a world into the state in which a recording begins.


_STATE = mujoco.mjtState.mjSTATE_INTEGRATION


@dataclass(frozen=True)
class RecordedStart:
    """How a world was put into a recorded state.

    Attributes:
        source: what the state was taken from, as text.
        unknown: components that remember earlier steps and whose memory is unknown, and why.
    """

    source: str
    unknown: Mapping[str, str] = field(default_factory=dict)

    @property
    def notes(self) -> list[str]:
        """The same for a report."""
        return [f"the start is {self.source}", *unknown_notes(self.unknown)]


def unknown_notes(unknown: Mapping[str, str]) -> list[str]:
    """A note for each component whose memory is unknown."""
    return [f"the memory of {name} at the start is unknown: {why}" for name, why in unknown.items()]


def start(
    world: World, recording: Recording, matches: Sequence[Match], row: int = 0
) -> RecordedStart:
    """Reset the world and put the recorded robots where sample `row` has them.

    Components get the memory they had then. Robots that were not recorded stay at their own start.
    """
    world.reset()
    _place_robots(world, recording, matches, row)
    full = _full_state(world, recording, matches, row)
    memory = recorded_memory(world, recording, matches, row)
    before = world.snapshot(unknown={})
    source = "joint positions and velocities" if full is None else "the full integration state"
    if memory.actors:
        try:
            _restore(world, full, memory)
        except Exception as error:  # of another version, whose components remembered other things
            why = f"what the file has does not fit: {described(error):.200}"
            world.restore(before)  # or components would clear what they cannot use
            world.reset()
            _place_robots(world, recording, matches, row)
            memory = RecordedMemory(unknown=dict.fromkeys(memory.restored, why))
        else:
            return RecordedStart(source, memory.unknown)
    if full is not None:
        mujoco.mj_setState(world.model, world.data, full, _STATE)
    return RecordedStart(source, memory.unknown)


def _restore(world: World, full: FloatArray | None, memory: RecordedMemory) -> None:
    snapshot = world.snapshot(unknown={})
    snapshot = replace(snapshot, actors={**snapshot.actors, **memory.actors})
    if full is not None:
        snapshot = replace(snapshot, integration=full, **memory.engine)
    world.restore(snapshot)


def _place_robots(world: World, recording: Recording, matches: Sequence[Match], row: int) -> None:
    data = world.data
    if recording.began_mid_run:  # policies, gaits and decimation follow the clock
        data.time = float(matches[0].recorded.time[row])
    for match in matches:
        recorded, robot = match.recorded, match.robot
        match.qpos(recorded.qpos[row], data.qpos)
        if recorded.qvel is not None:
            match.qvel(recorded.qvel[row], data.qvel)
        where = robot.model_map
        act = where.initial.act
        if recorded.act is not None and recorded.act.shape[1:] == act.shape:
            act = recorded.act[row]
        qpos, qvel = data.qpos[where.qpos].copy(), data.qvel[where.dof].copy()
        state = replace(where.initial, qpos=qpos, qvel=qvel, act=act)
        robot.put(state)
        robot.reset()
        robot.prime()
    # A reset runs mj_forward, which moves the warm start: other loops begin without one.
    data.qacc_warmstart[:] = 0.0


def _full_state(
    world: World, recording: Recording, matches: Sequence[Match], row: int
) -> FloatArray | None:
    """The full state at a sample, if it is valid in this world.

    It is if it has as many numbers and the recorded poses are in it where this world has them.
    Gains and limits may differ.
    """
    states, recorded = recording.states, matches[0].recorded
    size = mujoco.mj_stateSize(world.model, _STATE)
    if states is None or states.state.shape[1:] != (size,) or recorded.qvel is None:
        return None
    rows = np.flatnonzero(states.step == recorded.step[row])
    # Grounds and lights have no state, and no recording.
    others = [r for r in world.articulations.values() if r.joint_names or r.actuators]
    if not len(rows) or len(matches) < len(others):
        return None
    found: FloatArray = states.state[rows[0]]
    data = mujoco.MjData(world.model)
    mujoco.mj_setState(world.model, data, found, _STATE)
    for match in matches:
        qpos, qvel = data.qpos.copy(), data.qvel.copy()
        match.qpos(match.recorded.qpos[row], qpos)
        if match.recorded.qvel is not None:
            match.qvel(match.recorded.qvel[row], qvel)
        if not (np.array_equal(qpos, data.qpos) and np.array_equal(qvel, data.qvel)):
            return None
    return found


def is_same_model(world: World, recording: Recording) -> bool:
    """Whether a recording is of this model, in all that affects its motion."""
    here = model_hash(world.model)
    plants = (actor.plant for actor in recording.actors.values())
    return any(plant.overall.get("model_hash") == here for plant in plants)


@contextmanager
def naming_memory(recording: Recording | None) -> Iterator[None]:
    """Name the file and the component if a memory of a file makes a component fail.

    Its types are checked before, but no check can tell whether a component works with its values.
    """
    try:
        yield
    except MjrigError:
        raise
    except Exception as error:
        if recording is None or not recording.memories:
            raise
        parts = listed([name for name in recording.memories[0].parts if name])
        raise RecordingError(
            f"{recording.path}: a component failed that began with its memory in this file "
            f"(of {parts}): {described(error)}"
        ) from error
