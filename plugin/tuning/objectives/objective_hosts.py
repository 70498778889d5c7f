"""What a test runs on: one world or many, read and commanded through the same arrays.

All arrays have a row per world and a column per bound actuator of one actor.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.cli.run import base_address
from mjrig.control.articulation import Articulation
from mjrig.errors import BindingError
from mjrig.model.binding import ActuatorBinding
from mjrig.names import Slots
from mjrig.sim.world import World

BoolArray = npt.NDArray[np.bool_]


def driven(robot: Articulation) -> list[ActuatorBinding]:
    """The bindings of a robot that a controller drives."""
    owned = {b.actuator_id for c in robot.controllers for b in c.bindings}
    return [b for b in robot.bindings if b.actuator_id in owned]


class Readout:
    """Reads the bound actuators of a robot out of MuJoCo's arrays, for any number of worlds."""

    def __init__(self, robot: Articulation) -> None:
        table = driven(robot)
        whole = list(robot.bindings)
        #: Where they are among all bindings of the robot.
        self.places = np.array([whole.index(b) for b in table], dtype=np.intp)
        names = robot.actuator_names
        self.names = tuple(b.actuator for b in table)
        self.slots = Slots([[b.actuator, b.joint] if b.joint else [b.actuator] for b in table])
        self.columns = np.array([names.index(b.actuator) for b in table], dtype=np.intp)
        self.ids = np.array([b.actuator_id for b in table], dtype=np.intp)
        self.outputs = np.array([b.output_address for b in table], dtype=np.intp)
        self.on_joint = np.array([b.on_joint for b in table], dtype=np.bool_)
        self.qpos = np.array([b.qpos_address if b.on_joint else 0 for b in table], dtype=np.intp)
        self._gear = np.array([b.gear for b in table])
        ranges = {b.joint_id: b.joint_force_range for b in table if b.joint_force_range}
        #: Columns and range of the joints that bound the sum of their actuators.
        self._joints = [
            ([i for i, b in enumerate(table) if b.joint_id == joint], *edges)
            for joint, edges in ranges.items()
        ]

    def position(self, qpos: FloatArray, length: FloatArray) -> FloatArray:
        """Positions of the joints, or lengths of the actuators."""
        found: FloatArray = qpos[:, self.qpos]
        if not self.on_joint.all():
            found = np.where(self.on_joint, found, length[:, self.outputs])
        return found

    def effort(self, force: FloatArray) -> FloatArray:
        """Efforts after all limits, joint units."""
        found: FloatArray = self._gear * force[:, self.outputs]
        for own, low, high in self._joints:
            total = found[:, own].sum(axis=1)
            cut = np.clip(total, low, high) / np.where(total == 0.0, 1.0, total)
            found[:, own] *= np.where((total < low) | (total > high), cut, 1.0)[:, None]
        return found

    def at_limit(self, force: FloatArray, edges: FloatArray) -> BoolArray:
        """Which forces stand at an edge, (worlds, n, 2), or at a limit of their joint."""
        own = force[:, self.outputs]
        found: BoolArray = (own <= edges[..., 0]) | (own >= edges[..., 1])
        for columns, low, high in self._joints:
            total = (self._gear * own)[:, columns].sum(axis=1)
            found[:, columns] |= ((total < low) | (total > high))[:, None]
        return found

    def edges(self, model: Any) -> FloatArray:
        """(n, 2) force range of each actuator; infinite where it has none."""
        limited = np.asarray(model.actuator_forcelimited)[self.ids].astype(bool)
        ranges = np.asarray(model.actuator_forcerange)[self.ids]
        return np.where(limited[:, None], ranges, [-np.inf, np.inf])


class Host(ABC):
    """One or many worlds with one actor to test.

    `alive` says which worlds have not diverged yet; what the others show means nothing.
    """

    def __init__(self, world: World, actor: str, count: int) -> None:
        self.robot = world[actor]
        self.readout = Readout(self.robot)
        if not self.readout.names:
            raise BindingError(f"{actor}: no controller is bound to an actuator; nothing to test")
        self.count, self.timestep = count, world.timestep
        self.base = base_address(world, self.robot)
        self.alive: BoolArray = np.ones(count, np.bool_)

    @abstractmethod
    def step(self, n: int = 1) -> None:
        """Advance all worlds."""

    @property
    @abstractmethod
    def qpos(self) -> FloatArray:
        """Positions of everything, live."""

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
        """Whose effort a limit cut in the last step."""

    @abstractmethod
    def save(self) -> Any:
        """The present state, for `load`."""

    @abstractmethod
    def load(self, state: Any) -> None:
        """Go back to a state."""

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
        new = self.world.event_count - self._events
        if new:
            self._events += new
            if any(event.kind == "diverged" for event in self.world.events[-new:]):
                self.alive[0] = False

    @property
    def qpos(self) -> FloatArray:
        return np.asarray(self.world.data.qpos)[None]

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
        return self.readout.effort(self.world.data.actuator_force[None])

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

    def load(self, state: Any) -> None:
        self.world.restore(state)
