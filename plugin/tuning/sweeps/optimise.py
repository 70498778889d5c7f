"""Search with Optuna (extra `tune`) for the objective of a sweep, with a shareable study."""

import json
import math
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mjrig.errors import PropertyError
from mjrig.scene_edit.scene import Scene
from mjrig.terminal.progress import Progress
from mjrig.tuning.objectives.objective import Objective
from mjrig.tuning.objectives.objective_run import FreeRun
from mjrig.tuning.objectives.variation import Randomisation
from mjrig.tuning.sweeps.executors import open_pool
from mjrig.tuning.sweeps.results import Ranked, Results
from mjrig.tuning.sweeps.space import Choices, Parameter
from mjrig.tuning.sweeps.study import SearchStudy, make_sampler, values_of
from mjrig.tuning.sweeps.sweep import MOST, Crew, check_seeds, open_results
from mjrig.tuning.sweeps.sweep_plan import SweepPlan, examine
from mjrig.tuning.sweeps.sweep_tasks import OK, Scenario, SweepTask, TaskOutcome

#: Trials a batch tests together. More are faster, but each is informed by fewer earlier trials.
TOGETHER = 8


@dataclass(frozen=True)
class Optimised:
    """Result of a search.

    `ranking` begins with the best of the whole study; the rest is from its own table.
    """

    results: Results
    ranking: list[Ranked]
    objective: Objective
    plan: SweepPlan
    study: Any = field(repr=False)

    @property
    def best(self) -> dict[str, Any]:
        """The best values of the whole study, those of other processes included."""
        return values_of(self.study.best_trial)


def optimise(
    scene: Scene | str | Path,
    parameters: Sequence[Parameter],
    scenario: Scenario | None = None,
    *,
    trials: int = 100,
    objective: str = "rmse",
    output: str | Path | None = None,
    sampler: str = "tpe",
    storage: str = "",
    study: str = "mjrig",
    seed: int = 0,
    actor: str = "",
    randomise: Randomisation | None = None,
    seeds: int = 1,
    execution: str = "auto",
    executor: str | Executor = "processes",
    workers: int | None = None,
    scheduler: str = "",
    mix: bool = False,
) -> Optimised:
    """Search for the values that minimise the objective.

    Args:
        scene, scenario, objective, output, actor, randomise, seeds, execution, executor, workers,
            scheduler, mix: as of `sweep`; the objective of a trial is its mean over the seeds.
        parameters: choices are taken as categories.
        trials: total number of trials in the study, existing ones included.
        sampler: `tpe`, `cmaes`, `gp` or `random`.
        storage: storage of the study: a URL (`sqlite:///…`, `postgresql://…`) or a journal file;
            empty: a journal in the output, or memory.
        study: name of the study.
        seed: random seed of the sampler. With one worker the same seed gives the same trials.

    Raises:
        MjrigError: something is wrong before the work begins.
        MissingExtraError: Optuna, or what the sampler needs, is not installed.
    """
    scene = scene if isinstance(scene, Scene) else Scene.load(scene)
    scenario = scenario or FreeRun()
    goal = Objective.read(objective, scenario.metrics)
    check_seeds(seeds)
    if trials < 1:
        raise PropertyError(f"the number of trials must be >= 1, got {trials}")
    if not parameters:
        raise PropertyError("nothing to search; give at least one parameter")
    make_sampler(sampler, seed)  # fail now if its package is missing
    plan = examine(
        scene, parameters, scenario, actor=actor, randomisation=randomise, execution=execution
    )
    names = [p.name for p in parameters]
    with ExitStack() as stack:
        pool = stack.enter_context(open_pool(executor, workers, scheduler))
        crew = Crew(scene, plan, pool)
        results = open_results(stack, output, names, crew, mix)
        fingerprint = f"{crew.fingerprint} {goal.text}"
        kept = SearchStudy(storage, output, study, fingerprint, mix=mix)
        # A resumed search must not repeat its first draws.
        kept.study.sampler = make_sampler(sampler, seed + len(kept.study.trials))
        search = _Search(kept, crew, results, goal, parameters, trials, seeds)
        search.run()
    ranking = _with_best(results.ranking(goal), kept.study)
    return Optimised(results, ranking, goal, plan, kept.study)


def _with_best(ranking: list[Ranked], study: Any) -> list[Ranked]:
    """A ranking that begins with the best of the study, even if another process tested it."""
    trial = min((t for t in study.trials if t.value is not None), key=lambda t: t.value)
    if ranking and ranking[0].score <= trial.value:
        return ranking
    return [Ranked(values_of(trial), trial.value, ()), *ranking]


class _Search:
    """Gets points from the study, has them tested, reports the scores to it."""

    def __init__(
        self,
        study: SearchStudy,
        crew: Crew,
        results: Results,
        objective: Objective,
        parameters: Sequence[Parameter],
        trials: int,
        seeds: int,
    ) -> None:
        self._study, self._crew, self._results = study, crew, results
        self._objective, self._trials, self._seeds = objective, trials, seeds
        self._space = _distributions(parameters)
        self._open: dict[int, tuple[Any, list[SweepTask]]] = {}
        self._waiting: list[list[SweepTask]] = []

    def run(self) -> None:
        """Test until the study has all its trials."""
        with Progress(self._trials, self._crew.plan.job.scenario.duration) as progress:
            self._progress = progress
            self._resume()
            self._crew.drive(self._next, self._take, ahead=0)

    def _next(self) -> list[SweepTask] | None:
        """The next batch of tasks: as many new trials as a worker tests together."""
        while not self._waiting:
            left = self._trials - self._study.finished() - len(self._open)
            if left <= 0:
                return None
            batched = not self._crew.plan.why_not_batched
            share = math.ceil(left / self._crew.workers)
            count = min(TOGETHER, share) if batched else 1
            self._ask(min(count, left))
        return self._waiting.pop(0)

    def _resume(self) -> None:
        """Go on with the trials of a killed process; those whose rows are known need no test."""

        def wanted(trial: Any) -> bool:
            known = all(task.id in self._results for task in self._tasks(trial))
            return known or self._study.finished() + len(self._open) < self._trials

        self._begin(t for t in self._study.interrupted(self._space) if wanted(t))

    def _ask(self, count: int) -> None:
        self._begin(self._study.ask(self._space) for _ in range(count))

    def _tasks(self, trial: Any) -> list[SweepTask]:
        values = values_of(trial)
        return [SweepTask.of(self._crew.fingerprint, values, seed) for seed in range(self._seeds)]

    def _begin(self, trials: Iterable[Any]) -> None:
        """Have trials tested, each point once."""
        under_way = {task.id for _, tasks in self._open.values() for task in tasks}
        fresh: dict[str, SweepTask] = {}
        for trial in trials:
            tasks = self._tasks(trial)
            self._open[trial.number] = (trial, tasks)
            fresh |= {task.id: task for task in tasks if task.id not in self._results}
            self._settle()  # it may have been tested before
        size = MOST if not self._crew.plan.why_not_batched else 1
        missing = [task for name, task in fresh.items() if name not in under_way]
        self._waiting += self._crew.grouped(missing, size)

    def _take(self, outcomes: list[TaskOutcome]) -> None:
        for outcome in outcomes:
            self._results.add(outcome)
        self._settle()
        self._progress.update(self._study.finished())

    def _settle(self) -> None:
        """Report the score of every completed trial to the study."""
        for number, (trial, tasks) in list(self._open.items()):
            if all(task.id in self._results for task in tasks):
                del self._open[number]
                rows = self._results.only(task.id for task in tasks)
                (ranked,) = rows.ranking(self._objective)
                bad = next((row for row in rows if row.status != OK), None)
                problem = (bad.error or bad.status) if bad is not None else ""
                self._study.tell(trial, ranked.score, problem)


def _distributions(parameters: Sequence[Parameter]) -> dict[str, Any]:
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    found: dict[str, Any] = {}
    for p in parameters:
        if isinstance(p, Choices):
            # As JSON: a study keeps no lists and mappings.
            found[p.name] = CategoricalDistribution([json.dumps(v) for v in p.values])
        elif p.whole:
            found[p.name] = IntDistribution(int(p.low), int(p.high), log=p.log)
        else:
            found[p.name] = FloatDistribution(p.low, p.high, log=p.log)
    return found
