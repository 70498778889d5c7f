"""One episode of a bench run again, with a recording of it."""

from pathlib import Path

from mjrig.errors import MjrigError
from mjrig.recording.recorder import Recorder
from mjrig.sim.world import World
from mjrig.tuning.objectives.objective_hosts import WorldHost
from mjrig.tuning.objectives.variation import Randomisation
from mjrig.tuning.suites.bench import Entrant, task_scene
from mjrig.tuning.suites.suite import TaskLevel
from mjrig.tuning.suites.trial import PolicyTrial
from mjrig.tuning.sweeps.sweep_tasks import Rig, SweepSetup, SweepTask, draws


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
    if entrant.problem:
        raise MjrigError(f"{entrant.path}: {entrant.problem}")
    scene = task_scene(entrant, level)
    world = World(scene, execution, seed=scene.seed + seed if draws(scene) else None)
    drawn = Randomisation.read(level.randomise)
    trial = PolicyTrial.of(level.task)
    job = SweepSetup(entrant.actor, trial, drawn, execution)
    Rig(world, job).configure(SweepTask("", (), seed))
    host = WorldHost(world, entrant.actor)
    host.displace([drawn.start_offsets(seed, len(host.readout.names))])
    with Recorder(world, path, overwrite=True):
        (metrics,) = trial.run(host, drawn, [seed])
    return metrics
