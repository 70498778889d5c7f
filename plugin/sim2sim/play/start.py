"""Put a world into the state in which a recording begins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.properties.user_code import described
from mjrig.recording.recording import Recording
from mjrig.sim.plant_of import model_hash
from mjrig.sim.world import World
from mjrig.sim2sim.compare.matching import Match
from mjrig.sim2sim.play.recorded_memory import RecordedMemory, recorded_memory

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
    _place(world, recording, matches, row)
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
            _place(world, recording, matches, row)
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


def _place(world: World, recording: Recording, matches: Sequence[Match], row: int) -> None:
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
