"""Jobs: simulations requested by a fit, and their residuals against the recording."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.tuning.fitting.fit_data import FitWindow, RecordedTrack
from mjrig.tuning.fitting.plant import Drives, Lags
from mjrig.tuning.fitting.tangent import Tangent


@dataclass(frozen=True)
class Jobs:
    """Simulations of windows, N of them.

    Attributes:
        window: (N,) index of the window of each.
        values: parameter → (N, n) over the driven joints.
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


class Simulator(Protocol):
    """Runs jobs."""

    def run(self, jobs: Jobs) -> list[FloatArray]:
        """Simulated minus recorded states of each job, (samples, 2 dofs).

        NaN after a simulation diverged.
        """
        ...

    def close(self) -> None:
        """Release its resources."""


@dataclass(frozen=True)
class Stage:
    """Shared data of all simulators."""

    drives: Drives
    tracks: Sequence[RecordedTrack]
    windows: Sequence[FitWindow]
    tangent: Tangent

    def start(self, jobs: Jobs) -> tuple[FloatArray, FloatArray]:
        """Initial qpos (N, nq) and qvel (N, nv) of the whole model."""
        first = [(self.windows[w].track, int(self.windows[w].samples[0])) for w in jobs.window]
        qpos = np.stack([self.tracks[t].qpos[row] for t, row in first])
        qvel = np.stack([self.tracks[t].qvel[row] for t, row in first])
        half = len(self.tangent)
        qpos = self.tangent.moved(qpos, jobs.moves[:, :half])
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
        late = np.zeros(table.shape[2], dtype=np.int64)
        if name == self.drives.actor:
            late[self.drives.columns] = jobs.lags[i] * self.drives.ticks
        rows = window.start + np.arange(steps)[:, None] - late
        rows = np.clip(rows, window.segment, len(table) - 1)
        columns = np.arange(table.shape[2])
        taken: FloatArray = table[rows, :, columns]  # (steps, actuators, 3)
        return taken.transpose(2, 0, 1)

    def residual(self, window: int, qpos: FloatArray, qvel: FloatArray) -> FloatArray:
        """Simulated minus recorded, (samples, 2 dofs); arrays are (steps + 1, …) from its start."""
        here = self.windows[window]
        track = self.tracks[here.track]
        positions = self.tangent.difference(qpos[here.after], track.qpos[here.samples])
        dofs = self.tangent.dofs
        speeds = qvel[here.after][:, dofs] - track.qvel[here.samples][:, dofs]
        found = np.concatenate([positions, speeds], axis=1)
        # What has diverged is not compared: a huge number would look like a good one elsewhere.
        found[~(np.abs(found) < 1e6).all(axis=1)] = np.nan
        return found
