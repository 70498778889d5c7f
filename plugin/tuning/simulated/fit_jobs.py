"""Jobs: simulations requested by a fit, and their residuals against the recording."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.control.setpoints import POSITION
from mjrig.tuning.simulated.fit_data import FitWindow, RecordedTrack
from mjrig.tuning.simulated.plant import BEYOND_LAGS, ENCODER, Drives, Lags
from mjrig.tuning.simulated.tangent import Tangent


@dataclass(frozen=True)
class Jobs:
    """Simulations of windows, N of them.

    Attributes:
        window: (N,) index of the window of each.
        values: parameter → (N, n) over the driven joints, or what else it is of.
        lags: (N, n) delays in ticks.
        moves: (N, 2 dofs) offset of the initial state from the recorded one: positions as
            tangent vectors, then velocities.
    """

    window: npt.NDArray[np.intp]
    values: Mapping[str, FloatArray]
    lags: Lags
    moves: FloatArray

    def __len__(self) -> int:
        return len(self.window)

    def part(self, rows: npt.NDArray[np.intp]) -> "Jobs":
        """A subset of the jobs."""
        values = {name: array[rows] for name, array in self.values.items()}
        return Jobs(self.window[rows], values, self.lags[rows], self.moves[rows])


class Runs(Protocol):
    """Runs jobs."""

    def run(self, jobs: Jobs) -> list[FloatArray]:
        """Simulated minus recorded states of each job, (samples, 2 dofs).

        NaN after a simulation diverged.
        """
        ...


class Simulator(Runs, Protocol):
    """Runs jobs, and holds something meanwhile."""

    def close(self) -> None:
        """Release its resources."""


@dataclass(frozen=True)
class Stage:
    """Shared data of all simulators."""

    drives: Drives
    tracks: Sequence[RecordedTrack]
    windows: Sequence[FitWindow]
    tangent: Tangent
    timestep: float
    #: Factors of the pseudo-inertia of the links, (links, 4, 4).
    factors: FloatArray

    @property
    def is_real(self) -> bool:
        """Whether a robot was recorded, whose drives know nothing of physics steps."""
        return any(self.tracks[w.track].is_real for w in self.windows)

    def start(self, jobs: Jobs) -> tuple[FloatArray, FloatArray]:
        """Initial qpos (N, nq) and qvel (N, nv) of the whole model."""
        first = [(self.windows[w].track, int(self.windows[w].samples[0])) for w in jobs.window]
        qpos = np.stack([self.tracks[t].qpos[row] for t, row in first])
        qvel = np.stack([self.tracks[t].qvel[row] for t, row in first])
        half = len(self.tangent)
        qpos = self.tangent.moved(qpos, jobs.moves[:, :half])
        qpos[:, self.drives.qpos] -= jobs.values[ENCODER]
        qvel[:, self.tangent.dofs] += jobs.moves[:, half:]
        return qpos, qvel

    def commands(self, jobs: Jobs, steps: int) -> dict[str, FloatArray]:
        """Actor → (3, N, steps, actuators): what reaches the laws in each step."""
        found: dict[str, FloatArray] = {}
        names = dict.fromkeys(name for track in self.tracks for name in track.commands)
        for name in names:
            rows = [self._delayed(jobs, i, name, steps) for i in range(len(jobs))]
            found[name] = np.stack(rows, axis=1)
        return found

    def _delayed(self, jobs: Jobs, i: int, name: str, steps: int) -> FloatArray:
        window = self.windows[jobs.window[i]]
        table = self.tracks[window.track].commands[name]
        late = np.zeros(table.shape[2])
        if name == self.drives.actor:
            asked = jobs.lags[i] * self.drives.ticks + jobs.values[BEYOND_LAGS][i]
            late[self.drives.columns] = np.maximum(asked, 0.0)
        columns = np.arange(table.shape[2])
        found = np.zeros((steps, table.shape[2], table.shape[1]))
        for lag, weight in _taps(late, self.tracks[window.track].is_real):
            rows = window.start + np.arange(steps)[:, None] - lag
            rows = np.clip(rows, window.segment, len(table) - 1)
            found += weight[:, None] * table[rows, :, columns]  # (steps, actuators, 3)
        if name == self.drives.actor:  # the drive compares setpoints with its encoder
            found[:, self.drives.columns, POSITION] -= jobs.values[ENCODER][i]
        return found.transpose(2, 0, 1)

    def residual(self, jobs: Jobs, i: int, qpos: FloatArray, qvel: FloatArray) -> FloatArray:
        """Simulated minus recorded of job i, (samples, 2 dofs).

        Arrays are (steps + 1, …) from its start.
        """
        window = int(jobs.window[i])
        here = self.windows[window]
        track = self.tracks[here.track]
        positions = self.tangent.difference(qpos[here.after], track.qpos[here.samples])
        dofs = self.tangent.dofs
        positions[:, np.searchsorted(dofs, self.drives.dofs)] += jobs.values[ENCODER][i]
        speeds = qvel[here.after][:, dofs] - track.qvel[here.samples][:, dofs]
        found = np.concatenate([positions, speeds], axis=1)
        # What has diverged is not compared: a huge number would look like a good one elsewhere.
        found[~(np.abs(found) < 1e6).all(axis=1)] = np.nan
        return found


def _taps(late: FloatArray, is_real: bool) -> list[tuple[Lags, FloatArray]]:
    """Delays of whole steps and their weights (actuators,), which together make a delay.

    A simulator's is one of whole steps, and between two neighbours only on the way of a search. A
    robot's is between them: a quadratic spline over three neighbours is smooth in the delay, so
    that a search can follow it, and delays all setpoints alike; what it takes off quick ones, far
    beyond what a joint can follow, is nothing.
    """
    if not is_real:
        before = np.floor(late).astype(np.int64)
        part = late - before
        return [(before, 1.0 - part), (before + 1, part)] if part.any() else [(before, 1.0 - part)]
    whole = np.round(late).astype(np.int64)
    part = late - whole
    return [
        (whole - 1, 0.5 * (0.5 - part) ** 2),
        (whole, 0.75 - part**2),
        (whole + 1, 0.5 * (0.5 + part) ** 2),
    ]
