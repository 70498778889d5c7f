"""Where an actor is in the compiled model, and the states it knows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from mjrig.binding import ActuatorBinding
from mjrig.property_kinds import FloatArray

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class ActorState:
    """One actor's share of a state, in the order of its address arrays.

    ctrl None: not given; NaN in it: not given for that input.
    """

    qpos: FloatArray
    qvel: FloatArray
    act: FloatArray
    ctrl: FloatArray | None
    mocap_pos: FloatArray
    mocap_quat: FloatArray


@dataclass(frozen=True)
class ActorModel:
    """Where an actor's parts are in the compiled model."""

    name: str
    prefix: str
    joint_ids: Indices
    actuator_ids: Indices
    qpos: Indices
    dof: Indices
    act: Indices
    ctrl: slice
    mocap: Indices
    initial: ActorState
    keyframes: Mapping[str, ActorState] = field(default_factory=dict)
    #: The local names each authored actuator has, in the order of the actor's `actuators`.
    authored: tuple[tuple[str, ...], ...] = ()
    #: What people call actuators whose name had to be another.
    aliases: Mapping[str, str] = field(default_factory=dict)
    #: The actuators as they were before some became others; None: as the model says.
    described: tuple[ActuatorBinding, ...] | None = None
