"""One episode of a bench run again, bit by bit: for a recording of it, or a film."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from mjrig.errors import MjrigError
from mjrig.recording.recorder import Recorder
from mjrig.sim.world import World
from mjrig.tuning.objectives.objective_hosts import WorldHost
from mjrig.tuning.objectives.variation import Randomisation
from mjrig.tuning.suites.bench import Entrant, task_scene
from mjrig.tuning.suites.episode_metrics import episode_metrics
from mjrig.tuning.suites.suite import TaskLevel
from mjrig.tuning.suites.trial import PolicyTrial, record_episode
from mjrig.tuning.sweeps.sweep_tasks import Rig, SweepSetup, SweepTask, draws


class Episode:
    """One episode of a policy, the same as in a bench.

    Raises:
        MjrigError: the policy cannot run.
    """

    def __init__(
        self, entrant: Entrant, level: TaskLevel, seed: int, execution: str = "auto"
    ) -> None:
        if entrant.problem:
            raise MjrigError(f"{entrant.path}: {entrant.problem}")
        scene = task_scene(entrant, level)
        self.world = World(scene, execution, seed=scene.seed + seed if draws(scene) else None)
        self._drawn, self._seed = Randomisation.read(level.randomise), seed
        self._trial = PolicyTrial.of(level.task)
        job = SweepSetup(entrant.actor, self._trial, self._drawn, execution)
        Rig(self.world, job).configure(SweepTask("", (), seed))
        self._host = WorldHost(self.world, entrant.actor)
        if self._drawn.start:
            count = len(self._host.readout.names)
            self._host.displace([self._drawn.start_offsets(seed, count)])

    @property
    def base_body(self) -> str:
        """Name of the body that moves freely; empty: the robot is fixed."""
        body = self._host.base_body
        return "" if body is None else str(self.world.model.body(body).name)

    def run(
        self, path: Path | None = None, watch: Callable[[], object] = lambda: None
    ) -> dict[str, float]:
        """The metrics; with a path, a recording is written to it, and replaced.

        Raises:
            MjrigError: the file cannot be written.
        """
        kept = nullcontext() if path is None else Recorder(self.world, path, overwrite=True)
        with kept:
            log = record_episode(self._host, self._trial.task, self._drawn, self._seed, watch)
        return episode_metrics(log)


def record_one(
    policy: Path,
    level: TaskLevel,
    seed: int,
    path: Path,
    execution: str = "auto",
    *,
    trust: bool = False,
) -> dict[str, float]:
    """The metrics of an episode, the same as in a bench; the file is replaced.

    Raises:
        MjrigError: the policy cannot run, or the file cannot be written.
    """
    entrant = Entrant.load(policy, policy.stem, trust=trust)
    return Episode(entrant, level, seed, execution).run(path)
