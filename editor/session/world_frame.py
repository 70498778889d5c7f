"""WorldFrame: a snapshot of the running world for the window, which reads nothing else of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.control.sampler import BindingReader
from mjrig.core.sim.world import World

STATE = mujoco.mjtState.mjSTATE_INTEGRATION


@dataclass(frozen=True)
class PolicyFrame:
    """What the window shows of a policy, as of its last tick; arrays are own copies."""

    label: str
    ticks: int
    rate: float
    command: FloatArray
    observation: npt.NDArray[np.float32]
    action: npt.NDArray[np.float32]
    choices: tuple[str, ...] = ()
    current: str = ""
    rays: FloatArray = field(default_factory=lambda: np.zeros((0, 2, 3)))


@dataclass(frozen=True)
class RobotFrame:
    """What the window shows of one articulation; arrays are own copies.

    Efforts, positions and velocities are of its bindings, then of its native servos.
    """

    effort: FloatArray
    raw_effort: FloatArray
    applied_effort: FloatArray
    setpoint: FloatArray
    position: FloatArray
    velocity: FloatArray
    source: str
    holders: tuple[str, ...]
    held: str
    policy: PolicyFrame | None = None


@dataclass(frozen=True)
class WorldFrame:
    """A snapshot of the world for the window: latest wins."""

    generation: int
    time: float
    steps: int
    state: FloatArray
    playing: bool
    real_time_factor: float
    robots: Mapping[str, RobotFrame]
    events: int
    #: Times of the oldest and newest state the history can return to.
    reach: tuple[float, float]
    qpos: FloatArray
    qvel: FloatArray
    #: Total effort of the actuators by degree of freedom.
    joint_effort: FloatArray
    ctrl: FloatArray
    #: By output of the actuators, each in its own space.
    actuator_length: FloatArray
    actuator_velocity: FloatArray
    actuator_force: FloatArray


def frame_of(
    world: World, generation: int, playing: bool, factor: float, reach: tuple[float, float]
) -> WorldFrame:
    """What a world is like now; arrays are own copies."""
    state = np.empty(mujoco.mj_stateSize(world.model, STATE))
    mujoco.mj_getState(world.model, world.data, state, STATE)
    robots = {
        name: _robot_frame(robot, world.timestep) for name, robot in world.articulations.items()
    }
    return WorldFrame(
        generation,
        world.time,
        world.steps,
        state,
        playing,
        factor,
        robots,
        world.event_count,
        reach,
        *(array.copy() for array in _arrays(world.data)),
    )


def _arrays(data: Any) -> tuple[FloatArray, ...]:
    return (
        data.qpos,
        data.qvel,
        data.qfrc_actuator,
        data.ctrl,
        data.actuator_length,
        data.actuator_velocity,
        data.actuator_force,
    )


def _robot_frame(robot: Articulation, timestep: float) -> RobotFrame:
    readings = [
        robot.effort,
        robot.raw_effort,
        robot.applied_effort,
        robot.position,
        robot.velocity,
    ]
    if robot.servos:
        both = zip(readings, _servo_readings(robot), strict=True)
        readings = [np.concatenate(pair) for pair in both]
    effort, raw_effort, applied_effort, position, velocity = readings
    return RobotFrame(
        effort,
        raw_effort,
        applied_effort,
        robot.setpoints.values.copy(),
        position,
        velocity,
        robot.source.name,
        tuple(lease.holder for lease in robot.setpoints.leases),
        robot.held,
        _policy_frame(robot, timestep),
    )


def _servo_readings(robot: Articulation) -> list[FloatArray]:
    """Efforts, positions and velocities of the native servos, in the order of a frame."""
    servos, data = robot.servos, robot.data
    reader = BindingReader([s.binding for s in servos], robot.actuators)
    return [
        np.array([s.effort() for s in servos]),
        np.array([s.raw_effort() for s in servos]),
        reader.applied_effort(data),
        reader.position(data.qpos, data.actuator_length),
        reader.velocity(data.qvel, data.actuator_velocity),
    ]


def _policy_frame(robot: Articulation, timestep: float) -> PolicyFrame | None:
    for policy in robot.components:
        if isinstance(policy, PolicyComponent):
            return PolicyFrame(
                policy.label,
                policy.ticks,
                1.0 / (policy.tick_steps * timestep),
                np.array(policy.command_now),
                policy.observation.copy(),
                policy.action.copy(),
                policy.choices,
                policy.current,
                policy.rays(),
            )
    return None
