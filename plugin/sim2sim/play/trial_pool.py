"""Trials on several processes, each with a world of its own."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from mjrig.control.articulation import Articulation
from mjrig.control.policy import PolicyComponent
from mjrig.sim.world import World
from mjrig.sim2sim.compare.result import Trial
from mjrig.sim2sim.play.policy_loop import tell
from mjrig.sim2sim.play.trials import Perturbation, perturbations, run_policy
from mjrig.sim2sim.play.world_copy import Copy, copy_of

Told = tuple[Sequence[float] | None, Sequence[tuple[float, Sequence[float]]] | None]


@dataclass(frozen=True)
class Task:
    """What a process needs to run one trial."""

    copy: Copy
    robot: str
    policy: PolicyComponent
    index: int
    told: Told
    steps: int
    perturbation: Perturbation


def run_trials(
    world: World,
    robot: Articulation,
    policy: PolicyComponent,
    steps: int,
    begin: Callable[[], object],
    count: int,
    seed: int,
    workers: int,
    told: Told,
) -> list[Trial]:
    """Perturbed runs: here one after the other, or on processes.

    Processes start their worlds from the scene, with the components as they are here now; what
    was changed in the model by hand, and the start of a recording, is only known here.
    """
    chosen = perturbations(count, seed)
    if workers <= 1 or count <= 1:
        return [
            run_policy(world, robot, policy, steps, start=begin, perturbation=p).trial
            for p in chosen
        ]
    index = robot.components.index(policy)
    made = copy_of(world, leave_out=(robot.name, index))
    tasks = [Task(made, robot.name, policy.copy(), index, told, steps, p) for p in chosen]
    with ProcessPoolExecutor(min(workers, count), mp_context=get_context("spawn")) as pool:
        return list(pool.map(run_task, tasks))


def run_task(task: Task) -> Trial:
    """One trial in this process."""
    world = task.copy.make()
    robot = world[task.robot]
    policy: Any = task.policy
    robot.add_component(policy)
    tell(policy, *task.told)
    run = run_policy(
        world, robot, policy, task.steps, start=world.reset, perturbation=task.perturbation
    )
    return run.trial
