"""Put a world into the state in which a recording begins."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.articulation import Articulation
from mjrig.control.controller import ArticulationController
from mjrig.control.plant_component import PlantComponent
from mjrig.properties.component import ActorComponent
from mjrig.recording.recording import Recording
from mjrig.sim.plant_of import model_hash
from mjrig.sim.world import World
from mjrig.sim2sim.compare.matching import Match

_STATE = mujoco.mjtState.mjSTATE_INTEGRATION


def start(world: World, recording: Recording, matches: Sequence[Match], row: int = 0) -> str:
    """Reset the world and put the recorded robots where sample `row` has them.

    Returns what the state was taken from, as text. Robots that were not recorded stay at their
    own start.
    """
    world.reset()
    data = world.data
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
    full = _full_state(world, recording, matches, row)
    if full is None:
        return "joint positions and velocities"
    mujoco.mj_setState(world.model, data, full, _STATE)
    return "the full integration state"


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
    if not len(rows) or len(matches) < len(world.articulations):
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
def silenced(robots: Sequence[Articulation]) -> Iterator[list[str]]:
    """Disable components that command these robots (gaits, policies); yields their labels."""
    off: list[ActorComponent] = []
    for robot in robots:
        for component in robot.components:
            if commands(component) and component.__dict__.get("enabled", False):
                component.assign({"enabled": False})
                off.append(component)
    try:
        yield [c.label for c in off]
    finally:
        for component in off:
            component.assign({"enabled": True})


def commands(component: ActorComponent) -> bool:
    """Whether a component moves setpoints by itself."""
    own = type(component).before_controls is not ActorComponent.before_controls
    return own and not isinstance(component, ArticulationController | PlantComponent)
