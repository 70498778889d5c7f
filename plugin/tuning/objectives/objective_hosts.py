"""Hosts of a test: one world or many, read and commanded through the same arrays.

All arrays have a row per world and a column per bound actuator of one actor.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.articulation import Articulation
from mjrig.control.base import base_address
from mjrig.errors import BindingError
from mjrig.gains.choice import way_to_motors
from mjrig.model.binding import ActuatorBinding
from mjrig.names import Slots
from mjrig.readings.applied_effort import BoolArray
from mjrig.readings.sampler import Sampler
from mjrig.sim.world import World


def driven(robot: Articulation) -> list[ActuatorBinding]:
    """The bindings of a robot that a controller drives."""
    owned = {b.actuator_id for c in robot.controllers for b in c.bindings}
    return [b for b in robot.bindings if b.actuator_id in owned]


def base_of(robot: Articulation) -> tuple[int | None, int | None]:
    """Body and first degree of freedom of the free base."""
    address, model = base_address(robot), robot.model
    if address is None:
        return None, None
    (joint,) = np.flatnonzero(np.asarray(model.jnt_qposadr) == address)
    return int(model.jnt_bodyid[joint]), int(model.jnt_dofadr[joint])


class Readout(Sampler):
    """Reads the actuators of a robot that controllers drive, for any number of worlds."""

    def __init__(self, robot: Articulation) -> None:
        table = driven(robot)
        super().__init__(robot, table)
        self.slots = Slots([[b.actuator, b.joint] if b.joint else [b.actuator] for b in table])
        self._ids = np.array([b.actuator_id for b in table], dtype=np.intp)

    def at_limit(self, force: FloatArray, edges: FloatArray) -> BoolArray:
        """Forces at an actuator limit, (worlds, n, 2), or at a limit of their joint."""
        own = force[:, self.outputs]
        found: BoolArray = (own <= edges[..., 0]) | (own >= edges[..., 1])
        return found | self.applied_effort.is_cut(force)

    def edges(self, model: Any) -> FloatArray:
        """(n, 2) force range of each actuator; infinite where it has none."""
        limited = np.asarray(model.actuator_forcelimited)[self._ids].astype(bool)
        ranges = np.asarray(model.actuator_forcerange)[self._ids]
        return np.where(limited[:, None], ranges, [-np.inf, np.inf])


class Host(ABC):
    """One or many worlds with one actor to test.

    `alive` marks the worlds that have not diverged; values of the others are meaningless.
    `problems` are why worlds could not be tested; empty: they could.
    """

    def __init__(self, world: World, actor: str, count: int) -> None:
        self.robot = world[actor]
        self.readout = Readout(self.robot)
        if not self.readout.names:
            why = f"{actor}: no controller is bound to an actuator; nothing to test"
            raise BindingError(f"{why}{way_to_motors([self.robot])}")
        self.count, self.timestep = count, world.timestep
        self.base = base_address(self.robot)
        #: Body and first degree of freedom of the free base; None: it has none.
        self.base_body, self.base_dof = base_of(self.robot)
        self.alive: BoolArray = np.ones(count, np.bool_)
        self.problems = [""] * count

    @abstractmethod
    def step(self, n: int = 1) -> None:
        """Advance all worlds."""

    @property
    @abstractmethod
    def qpos(self) -> FloatArray:
        """qpos of all worlds, live."""

    @property
    @abstractmethod
    def qvel(self) -> FloatArray:
        """qvel of all worlds, live."""

    @property
    @abstractmethod
    def body_forces(self) -> FloatArray:
        """(worlds, bodies, 6) forces and torques from outside, live."""

    @property
    @abstractmethod
    def target(self) -> FloatArray:
        """Position setpoints, a copy."""

    @abstractmethod
    def command(self, target: FloatArray) -> None:
        """Set position setpoints."""

    @property
    @abstractmethod
    def position(self) -> FloatArray:
        """Positions of the bound actuators, a copy."""

    @property
    @abstractmethod
    def effort(self) -> FloatArray:
        """Efforts MuJoCo used in the last step, joint units."""

    @property
    @abstractmethod
    def at_limit(self) -> BoolArray:
        """Actuators whose effort was limited in the last step."""

    @abstractmethod
    def save(self) -> Any:
        """The present state, for `load`."""

    @abstractmethod
    def load(self, state: Any, worlds: BoolArray | None = None) -> None:
        """Go back to a state, in some worlds or in all."""

    def displace(self, offsets: Sequence[FloatArray]) -> None:
        """Move the joints of each world from where they are; the setpoints stay."""
        own = self.readout.on_joint
        for qpos, offset in zip(self.qpos, offsets, strict=True):
            qpos[self.readout.qpos[own]] += offset[own]


class WorldHost(Host):
    """One world, whatever its execution."""

    def __init__(self, world: World, actor: str) -> None:
        super().__init__(world, actor, 1)
        self.world = world
        self._events = world.event_count
        laws = [c for c in self.robot.controllers if c.follows_pose and c.enabled]
        self._is_native = all(c.lowered is not None for c in laws)
        self._edges = self.readout.edges(world.model)[None]

    def step(self, n: int = 1) -> None:
        self.world.step(n)
        self.look_for_divergence()

    def look_for_divergence(self) -> None:
        """Mark the world as no longer alive if it has diverged since the last look."""
        new = self.world.event_count - self._events
        if new:
            self._events += new
            if any(event.kind == "diverged" for event in self.world.events[-new:]):
                self.alive[0] = False

    @property
    def qpos(self) -> FloatArray:
        return np.asarray(self.world.data.qpos)[None]

    @property
    def qvel(self) -> FloatArray:
        return np.asarray(self.world.data.qvel)[None]

    @property
    def body_forces(self) -> FloatArray:
        return np.asarray(self.world.data.xfrc_applied)[None]

    @property
    def target(self) -> FloatArray:
        target: FloatArray = self.robot.setpoints.values[0, self.readout.columns][None]
        return target

    def command(self, target: FloatArray) -> None:
        self.robot.setpoints.position[self.readout.columns] = target[0]

    @property
    def position(self) -> FloatArray:
        data = self.world.data
        return self.readout.position(data.qpos[None], data.actuator_length[None])

    @property
    def effort(self) -> FloatArray:
        return self.readout.applied_effort(self.world.data.actuator_force[None])

    @property
    def at_limit(self) -> BoolArray:
        if self._is_native:
            return self.readout.at_limit(self.world.data.actuator_force[None], self._edges)
        own = self.readout.places
        raw, applied = self.robot.raw_effort[own], self.robot.applied_effort[own]
        cut: BoolArray = np.abs(raw - applied) > 1e-6 * np.maximum(1.0, np.abs(raw))
        return cut[None]

    def save(self) -> Any:
        return self.world.snapshot()

    def load(self, state: Any, worlds: BoolArray | None = None) -> None:
        if worlds is None or worlds[0]:
            self.world.restore(state)
