"""Hosts of a test: one world or many, read and commanded through the same arrays.

All arrays have a row per world and a column per bound actuator of one actor. Tasks in the worlds of
a batch are bit-identical to one world per task; MuJoCo Warp computes in single precision instead.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.actor_in_world import base_address
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.efforts import EFFORT_FIELDS, AppliedEffort, BoolArray
from mjrig.core.control.sampler import Sampler
from mjrig.core.errors import BindingError
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.patterns import Slots
from mjrig.core.sim.batch import Batch
from mjrig.core.sim.warp_batch import WarpBatch
from mjrig.core.sim.warp_device import FLOAT
from mjrig.core.sim.world import World
from mjrig.lab.rollouts.actuator_selection import way_to_motors


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

    def at_limit(self, data: Any, edges: FloatArray) -> BoolArray:
        """Forces at an actuator limit, (worlds, n, 2), or at a limit of their joint."""
        own = np.asarray(data.actuator_force)[..., self.outputs]
        found: BoolArray = (own <= edges[..., 0]) | (own >= edges[..., 1])
        return found | self.applied_effort.is_cut(data)

    def edges(self, model: Any) -> FloatArray:
        """(n, 2) force range of each actuator; infinite where it has none."""
        limited = np.asarray(model.actuator_forcelimited)[self._ids].astype(bool)
        ranges = np.asarray(model.actuator_forcerange)[self._ids]
        return np.where(limited[:, None], ranges, [-np.inf, np.inf])


class Host(ABC):
    """One or many worlds with one actor to test.

    `alive` marks the worlds that have not diverged; values of the others are meaningless.
    `problems` are why worlds could not be tested; empty: they could. `traces` are what a scenario
    records, `prepared` is what its `prepare` returned.
    """

    def __init__(self, world: World, actor: str, count: int, prepared: object = None) -> None:
        self.robot = world[actor]
        self.count, self.timestep, self.prepared = count, world.timestep, prepared
        self.base = base_address(self.robot)
        #: Body and first degree of freedom of the free base; None: it has none.
        self.base_body, self.base_dof = base_of(self.robot)
        self.alive: BoolArray = np.ones(count, np.bool_)
        self.problems = [""] * count
        self.traces: list[Any] = [None] * count
        #: Called by scenarios with the share that is done.
        self.report: Callable[[float], object] = lambda share: None

    @cached_property
    def readout(self) -> Readout:
        """Reads the actuators that controllers drive.

        Raises:
            BindingError: there is none.
        """
        readout = Readout(self.robot)
        if not readout.names:
            why = f"{self.robot.name}: no controller is bound to an actuator; nothing to test"
            raise BindingError(f"{why}{way_to_motors([self.robot])}")
        return readout

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

    def __init__(self, world: World, actor: str, prepared: object = None) -> None:
        super().__init__(world, actor, 1, prepared)
        self.world = world
        self._events = world.event_count
        laws = [c for c in self.robot.controllers if c.follows_pose and c.enabled]
        self._is_native = all(c.lowered is not None for c in laws)

    @cached_property
    def _edges(self) -> FloatArray:
        edges: FloatArray = self.readout.edges(self.world.model)[None]
        return edges

    def step(self, n: int = 1) -> None:
        self.world.step(n)
        self._look_for_divergence()

    def step_each(self, n: int, after: Callable[[], object]) -> None:
        """Advance step by step; `after` is called after every one."""
        for _ in range(n):
            self.world.step()
            after()
        self._look_for_divergence()

    def _look_for_divergence(self) -> None:
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
        return self.readout.applied_effort(self.world.data)[None]

    @property
    def at_limit(self) -> BoolArray:
        if self._is_native:
            return np.atleast_2d(self.readout.at_limit(self.world.data, self._edges))
        own = self.readout.places
        raw, applied = self.robot.raw_effort[own], self.robot.applied_effort[own]
        cut: BoolArray = np.abs(raw - applied) > 1e-6 * np.maximum(1.0, np.abs(raw))
        return cut[None]

    def save(self) -> Any:
        return self.world.snapshot()

    def load(self, state: Any, worlds: BoolArray | None = None) -> None:
        if worlds is None or worlds[0]:
            self.world.restore(state)


# Batched ------------------------------------------------------------------------------------------
# Many tasks at once in the worlds of a batch, bit-identical to one world per task.
#
# On MuJoCo Warp they are computed in single precision instead.


_STATE = (
    "time", "qpos", "qvel", "act", "history", "qacc_warmstart", "ctrl", "qfrc_applied",
    "xfrc_applied", "eq_active", "mocap_pos", "mocap_quat", "userdata", "plugin_state",
)  # fmt: skip


def effort_fields(batch: Batch, applied: AppliedEffort) -> SimpleNamespace:
    """The fields of all worlds that efforts are computed from, live."""
    names = EFFORT_FIELDS if len(applied.dofs) else EFFORT_FIELDS[:1]
    return SimpleNamespace(**{name: batch.data(name) for name in names})


class BatchHost(Host):
    """All worlds of a batch, each with the limits `edges` (worlds, n, 2) of its own model."""

    def __init__(
        self, batch: Batch, actor: str, edges: FloatArray, prepared: object = None
    ) -> None:
        super().__init__(batch.template, actor, batch.count, prepared)
        self.batch, self._edges = batch, edges
        self._mine = batch[actor]
        self._length = batch.data("actuator_length")
        self._fields = effort_fields(batch, self.readout.applied_effort)
        self._time, self._ctrl = batch.data("time"), batch.data("ctrl")

    def step(self, n: int = 1) -> None:
        began = self._time.copy()
        self.batch.step(n)
        # MuJoCo resets a world that diverges: visible in its clock or, in the first step, its ctrl.
        late = self._time < began + (n - 0.5) * self.timestep
        self.alive &= ~late.reshape(self.count)
        if not began.any():
            self.alive &= ~self._is_wiped()

    def _is_wiped(self) -> BoolArray:
        wanted = np.any([np.any(r.setpoints, axis=(0, 2)) for r in self.batch.robots.values()], 0)
        wiped: BoolArray = wanted & ~np.any(self._ctrl, axis=1)
        return wiped

    @property
    def qpos(self) -> FloatArray:
        return self.batch.qpos

    @property
    def qvel(self) -> FloatArray:
        return self.batch.qvel

    @property
    def body_forces(self) -> FloatArray:
        return self.batch.data("xfrc_applied").reshape(self.count, -1, 6)

    @property
    def target(self) -> FloatArray:
        target: FloatArray = self._mine.position[:, self.readout.columns]
        return target

    def command(self, target: FloatArray) -> None:
        self._mine.position[:, self.readout.columns] = target

    @property
    def position(self) -> FloatArray:
        return self.readout.position(self.batch.qpos, self._length)

    @property
    def effort(self) -> FloatArray:
        return self.readout.applied_effort(self._fields)

    @property
    def at_limit(self) -> BoolArray:
        return self.readout.at_limit(self._fields, self._edges)

    def save(self) -> Any:
        fields = {name: self.batch.data(name) for name in _STATE}
        kept = {name: values.copy() for name, values in fields.items() if values.size}
        return kept, self._mine.setpoints.copy()

    def load(self, state: Any, worlds: BoolArray | None = None) -> None:
        fields, setpoints = state
        own = np.ones(self.count, np.bool_) if worlds is None else worlds
        for name, values in fields.items():
            self.batch.data(name)[own] = values[own]
        self._mine.setpoints[:, own] = setpoints[:, own]


class WarpHost(BatchHost):
    """All worlds of a batch on MuJoCo Warp."""

    def __init__(
        self, batch: WarpBatch, actor: str, edges: FloatArray, prepared: object = None
    ) -> None:
        # Forces are clamped at limits of single precision, which may be below those of double.
        super().__init__(batch, actor, edges.astype(FLOAT).astype(np.float64), prepared)
        self._worlds = batch

    def step(self, n: int = 1) -> None:
        self._worlds.step(n)
        self.alive &= ~self._worlds.diverged
