"""Trials on several processes, each with its own world."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from mjrig.control.articulation import Articulation
from mjrig.control.policy import PolicyComponent
from mjrig.recording.recording import Recording
from mjrig.sim.world import World
from mjrig.sim2sim.compare.matching import match
from mjrig.sim2sim.compare.result import Trial
from mjrig.sim2sim.play.policy_loop import command_policy
from mjrig.sim2sim.play.start import start
from mjrig.sim2sim.play.trials import Perturbation, perturbations, run_policy
from mjrig.sim2sim.play.world_copy import WorldCopy, copy_of
from mjrig.workers.pool import ProcessPool

PolicyCommand = tuple[Sequence[float] | None, Sequence[tuple[float, Sequence[float]]] | None]


@dataclass(frozen=True)
class TrialRunner:
    """Runs trials in a separate process, each in a fresh world."""

    copy: WorldCopy
    robot: str
    policy: PolicyComponent
    command: PolicyCommand
    steps: int
    recording: Recording | None = None

    def run(self, perturbation: Perturbation) -> Trial:
        """One trial."""
        world = self.copy.make()
        robot, policy = world[self.robot], self.policy.copy()
        robot.add_component(policy)
        command_policy(policy, *self.command)
        begin: Callable[[], object] = world.reset
        if self.recording is not None:
            matches = match(self.recording, world, self.robot)
            begin = partial(start, world, self.recording, matches)
        run = run_policy(world, robot, policy, self.steps, start=begin, perturbation=perturbation)
        return run.trial


def run_trials(
    world: World,
    robot: Articulation,
    policy: PolicyComponent,
    steps: int,
    begin: Callable[[], object],
    count: int,
    seed: int,
    workers: int,
    command: PolicyCommand,
    recording: Recording | None = None,
) -> list[Trial]:
    """Perturbed runs: here one after the other, or on processes.

    Processes start their worlds from the scene, with the components as they are here now, and
    where the recording begins; what was changed in the model by hand is only known here.
    """
    chosen = perturbations(count, seed)
    if workers <= 1 or count <= 1:
        return [
            run_policy(world, robot, policy, steps, start=begin, perturbation=p).trial
            for p in chosen
        ]
    index = robot.components.index(policy)
    made = copy_of(world, leave_out=(robot.name, index))
    given = (made, robot.name, policy.copy(), command, steps, recording)
    with ProcessPool(min(workers, count), TrialRunner, *given) as pool:
        return list(pool.map(TrialRunner.run, chosen))
