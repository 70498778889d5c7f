"""A small robot, and the Tune panel's work done at once instead of in a process."""

from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

import numpy as np

from mjrig.core.errors import MjrigError
from mjrig.core.sim.world import World
from mjrig.data.recording.npz_file import write_npz
from mjrig.editor.gains.gain_model import Tuning
from mjrig.editor.session.job_runner import Finished, Runner
from mjrig.editor.session.job_worker import BackgroundJob
from mjrig.editor.session.state import EditorState
from mjrig.editor.tune.tune_model import Tune, TuneTask
from mjrig.lab.rollouts import run
from mjrig.lab.rollouts.backends import Pool, open_pool
from mjrig.lab.rollouts.signals import Kind, Signal
from tests.editor.gains.test_gain_edits import legs
from tests.plugin.lab.fit.fit_worlds import noisy, record, with_others

#: A chirp that is over soon.
CHIRP = Signal(Kind.CHIRP, 0.05, 2.0, 20.0, 0.3)
STEP = Signal(Kind.STEP, 0.05, duration=0.1)
#: A sweep of it is over soon: a step is followed until the legs are still.
SINE = Signal(Kind.SINE, 0.05, duration=0.1)


def _here(*_: object) -> "AbstractContextManager[Pool]":
    return open_pool("inline")


class AtOnce(Runner):
    """Does a job in `start`, in this process; the runner's own tests start others."""

    def start(self, job: BackgroundJob) -> None:
        self.told: list[tuple[float | None, str]] = []
        try:
            with patch.object(run, "open_pool", _here):
                result = job.run(lambda share, text: self.told.append((share, text)))
            self._finished = Finished(job, result)
        except MjrigError as error:
            self._finished = Finished(job, None, str(error))


def tune_on(state: EditorState, actor: str | None = "dog") -> Tune:
    """Tune with short tests, on one actor."""
    tune = Tune(state, Tuning(state), AtOnce())
    if actor is not None:
        state.selection.only(actor)
    tune.respond.signal, tune.sweep.signal = CHIRP, SINE
    tune.assign.poses = 2
    tune.refresh()
    return tune


def tune_legs(models: Path) -> Tune:
    """Tune on a robot with two legs."""
    return tune_on(legs(models))


def work(tune: Tune, task: TuneTask) -> None:
    """Run a task to its end."""
    assert tune.run(task), tune.state.problems
    tune.refresh()
    assert tune.running is None


def recorded(tune: Tune, path: Path, **gains: float) -> Path:
    """A recording of the scene with other gains, while its first joint is moved to and fro."""
    values = {f"dog.PDController.{name}": value for name, value in gains.items()}
    world = World(with_others(tune.state.scene, values))

    def move(time: float, setpoints: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
        setpoints[0] += 0.1 * np.sin(2.0 * np.pi * (1.0 + 2.0 * time) * time)

    write_npz(noisy(record(world, move, 0.6), 0, 1e-4, 1e-3), path)
    return path
