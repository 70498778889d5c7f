"""Live values of the gain table: saturation, tracking errors, inertias."""

from collections import deque
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.check.feedback_loops import inverse_mass
from mjrig.editor.session.simulation import Simulation
from mjrig.editor.session.world_frame import WorldFrame
from mjrig.gains.gain_rows import GainRow
from mjrig.sim.world import World

#: How long a saturation light looks back [s of simulated time].
LOOK_BACK = 1.0


class Monitor:
    """Remembers the frames of the last second."""

    def __init__(self) -> None:
        self._frames: deque[tuple[float, dict[str, Any]]] = deque()
        self._last: WorldFrame | None = None
        self._generation = -1

    def see(self, frame: WorldFrame) -> None:
        """Take the latest frame in; the same one twice counts once."""
        if frame is self._last:
            return
        went_back = bool(self._frames) and frame.time < self._frames[-1][0]
        if frame.generation != self._generation or went_back:
            self._frames.clear()
        self._generation, self._last = frame.generation, frame
        if self._frames and frame.time == self._frames[-1][0]:
            return
        self._frames.append((frame.time, {n: _limited(r) for n, r in frame.robots.items()}))
        while self._frames[-1][0] - self._frames[0][0] > LOOK_BACK:
            self._frames.popleft()

    def saturation(self, row: GainRow) -> float:
        """Share of the seen frames of the last second in which a limit acted."""
        seen = [robots[row.actor] for _, robots in self._frames if row.actor in robots]
        hits = [bool(s[row.place]) for s in seen if row.place < len(s)]
        return sum(hits) / len(hits) if hits else 0.0

    def error(self, row: GainRow) -> float:
        """Setpoint minus position, now."""
        robot = self._last.robots.get(row.actor) if self._last else None
        if robot is None or row.place >= len(robot.position):
            return 0.0
        return float(robot.setpoint[0, row.column] * row.scale - robot.position[row.place])

    def effort(self, row: GainRow) -> float:
        """Effort after the clamps, now."""
        robot = self._last.robots.get(row.actor) if self._last else None
        return float(robot.effort[row.place]) if robot and row.place < len(robot.effort) else 0.0


def _limited(robot: Any) -> Any:
    """Whether our clamps or the model's limits cut what the law asked for."""
    asked = robot.raw_effort
    return np.abs(asked - robot.applied_effort) > 1e-6 * np.maximum(1.0, np.abs(asked))


@dataclass(frozen=True)
class Inertias:
    """Joint-space inertias of one moment, per degree of freedom of the world [kg·m² or kg]."""

    generation: int
    time: float
    #: 1 / (M⁻¹)ᵢᵢ: the other joints and the base are free to move.
    effective: FloatArray
    #: Mᵢᵢ: the others are held.
    diagonal: FloatArray

    def of(self, row: GainRow, *, held: bool = False) -> float | None:
        """The inertia a row's actuator moves; None where the law does not act on a joint."""
        values = self.diagonal if held else self.effective
        return float(values[row.dof]) if 0 <= row.dof < len(values) else None


def inertias(simulation: Simulation) -> Inertias:
    """The inertias now."""

    def run(world: World) -> Inertias:
        model, data = world.model, world.data
        full = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, full)
        effective = 1.0 / np.maximum(np.diag(inverse_mass(model, data)), mujoco.mjMINVAL)
        return Inertias(simulation.generation, world.time, effective, np.diag(full).copy())

    return simulation.call(run)
