"""The same jobs at half the timestep: what a fit owes to the steps of its simulation."""

from dataclasses import replace

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.errors import ExecutionError
from mjrig.scene_edit.scene import Scene
from mjrig.tuning.simulated.fit_data import FitWindow, RecordedTrack
from mjrig.tuning.simulated.fit_jobs import Jobs, Stage
from mjrig.tuning.simulated.plant import BEYOND_LAGS, FEEDBACK
from mjrig.tuning.simulated.stages import simulator_of


class FinerSimulator:
    """Runs jobs of a stage at half its timestep.

    Args:
        scene: of the stage; laws that run in every step run in every half step.
        stage: what is simulated.

    Raises:
        ExecutionError: a law does not run in every step.
    """

    def __init__(self, scene: Scene, stage: Stage) -> None:
        other = Scene.parse(
            scene.to_text(), scene.base, vars=scene.reading.vars, trust=scene.reading.trusted
        )
        batch_step = stage.timestep / 2.0
        other.set("sim.timestep", batch_step)
        halved = replace(
            stage,
            tracks=[_halved(track) for track in stage.tracks],
            windows=[_halved_window(window) for window in stage.windows],
            timestep=batch_step,
        )
        if (stage.drives.ticks > 1).any():
            raise ExecutionError("a law does not run in every step")
        self._simulator = simulator_of(other, halved)

    def close(self) -> None:
        """Release its resources."""
        self._simulator.close()

    def run(self, jobs: Jobs) -> list[FloatArray]:
        """Simulated minus recorded states of each job (samples, 2 dofs)."""
        values = dict(jobs.values)
        values |= {name: 2.0 * values[name] for name in (BEYOND_LAGS, FEEDBACK)}
        return self._simulator.run(replace(jobs, values=values, lags=2 * jobs.lags))


def _halved(track: RecordedTrack) -> RecordedTrack:
    return replace(
        track,
        commands={name: np.repeat(table, 2, axis=0) for name, table in track.commands.items()},
        step=2 * track.step,
        segments=tuple(2 * s for s in track.segments),
    )


def _halved_window(window: FitWindow) -> FitWindow:
    return replace(
        window,
        segment=2 * window.segment,
        start=2 * window.start,
        length=2 * window.length,
        after=2 * window.after,
    )
