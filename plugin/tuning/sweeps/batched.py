"""Many tasks at once in the worlds of a batch, bit-identical to one world per task.

On MuJoCo Warp they are computed in single precision instead.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.readings.applied_effort import BoolArray
from mjrig.sim.batch import Batch
from mjrig.tuning.objectives.objective_hosts import Host
from mjrig.warp.device import FLOAT
from mjrig.warp.warp_batch import WarpBatch

_STATE = (
    "time", "qpos", "qvel", "act", "history", "qacc_warmstart", "ctrl", "qfrc_applied",
    "xfrc_applied", "eq_active", "mocap_pos", "mocap_quat", "userdata", "plugin_state",
)  # fmt: skip


class BatchHost(Host):
    """All worlds of a batch, each with the limits `edges` (worlds, n, 2) of its own model."""

    def __init__(self, batch: Batch, actor: str, edges: FloatArray) -> None:
        super().__init__(batch.template, actor, batch.count)
        self.batch, self._edges = batch, edges
        self._mine = batch[actor]
        self._length, self._force = batch.data("actuator_length"), batch.data("actuator_force")
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
        return self.readout.applied_effort(self._force)

    @property
    def at_limit(self) -> BoolArray:
        return self.readout.at_limit(self._force, self._edges)

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
    """All worlds of a batch on MuJoCo Warp.

    Args:
        tick: called with the time that was simulated so far [s].
    """

    def __init__(
        self,
        batch: WarpBatch,
        actor: str,
        edges: FloatArray,
        tick: Callable[[float], object] | None = None,
    ) -> None:
        # Forces are clamped at limits of single precision, which may be below those of double.
        super().__init__(batch, actor, edges.astype(FLOAT).astype(np.float64))
        self._worlds, self._tick, self._steps = batch, tick, 0

    def step(self, n: int = 1) -> None:
        self._worlds.step(n)
        self.alive &= ~self._worlds.diverged
        self._steps += n
        if self._tick is not None:
            self._tick(self._steps * self.timestep)
