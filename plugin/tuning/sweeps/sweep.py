"""Sweeps: test every point of a search space, on all cores or a cluster, into a table."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mjrig.errors import PropertyError
from mjrig.names import how_many
from mjrig.scene_edit.scene import Scene
from mjrig.terminal.progress import Progress, Waiting
from mjrig.tuning.objectives.objective import Objective
from mjrig.tuning.objectives.objective_replay import ReplayTest
from mjrig.tuning.objectives.objective_run import FreeRun
from mjrig.tuning.objectives.variation import Randomisation
from mjrig.tuning.sweeps.bundle import Bundle, LocalScene
from mjrig.tuning.sweeps.engine import Engine
from mjrig.tuning.sweeps.executors import Pool, drive, open_pool
from mjrig.tuning.sweeps.results import Ranked, Results, ResultsFile
from mjrig.tuning.sweeps.space import Space
from mjrig.tuning.sweeps.sweep_plan import SweepPlan, examine
from mjrig.tuning.sweeps.sweep_tasks import FAILED, Scenario, SweepTask, TaskOutcome, evaluate
from mjrig.warp.device import description, most_worlds

#: Most tasks per batch: what a kill can lose, and what is stepped together.
MOST = 64
#: Batches per worker, so that all end at about the same time.
PIECES = 4


@dataclass(frozen=True)
class Swept:
    """Result of a sweep.

    Attributes:
        results: the rows of its tasks.
        ranking: the points, best first.
        objective: the objective that was minimised.
        plan: how the tasks ran.
        kept: number of rows from earlier runs.
    """

    results: Results
    ranking: list[Ranked]
    objective: Objective
    plan: SweepPlan
    kept: int

    @property
    def best(self) -> Ranked | None:
        """The best point; None: none succeeded."""
        first = self.ranking[0] if self.ranking else None
        return first if first is not None and math.isfinite(first.score) else None


def sweep(
    scene: Scene | str | Path,
    space: Space,
    scenario: Scenario | None = None,
    *,
    objective: str = "rmse",
    output: str | Path | None = None,
    actor: str = "",
    randomise: Randomisation | None = None,
    seeds: int | Sequence[int] = 1,
    execution: str = "auto",
    engine: str = "mujoco",
    executor: str | Executor | Pool | None = None,
    workers: int | None = None,
    scheduler: str = "",
    mix: bool = False,
    report: Callable[[int, int], object] = lambda done, total: None,
) -> Swept:
    """Test every point of a space with every seed; existing results in the output are kept.

    Args:
        scene: a Scene, or the path of a scene file.
        space: the points.
        scenario: the test; None: a free run of 5 s.
        objective: objective to minimise: a metric of the test, or a weighted sum.
        output: a folder for the table; None: the results are in memory only.
        actor: actor under test; empty: the one the parameters belong to.
        randomise: what differs between seeds.
        seeds: number of random seeds, or the seeds themselves.
        execution: as of `World`.
        engine: `mujoco`, or `warp`: MuJoCo Warp, in single precision, all points at once.
        executor: a name (`processes`, `threads`, `inline`, `dask`), any executor, or an open
            pool; None: `processes`. With it, a script must keep its own work under
            `if __name__ == "__main__":`. The engine `warp` runs in this process.
        workers: how many; None: one per core.
        scheduler: address of a Dask scheduler.
        mix: accept an output that holds results of another scene or test.
        report: called with the number of finished tasks and the total.

    Raises:
        MjrigError: something is wrong before the work begins; what goes wrong in it is in the rows.
    """
    scene = scene if isinstance(scene, Scene) else Scene.load(scene)
    scenario = scenario or FreeRun()
    goal = Objective.read(objective, scenario.metrics)
    if isinstance(seeds, int):
        check_seeds(seeds)
        seeds = range(seeds)
    points = space.points()
    physics = Engine.read(engine)
    executor = _executor_of(physics, executor, workers)
    with _patience(physics):
        plan = examine(
            scene,
            (*space.choices, *space.ranges),
            scenario,
            actor=actor,
            randomisation=randomise,
            execution=execution,
            engine=physics,
        )
    with ExitStack() as stack:
        pool = stack.enter_context(open_pool(executor, workers, scheduler))
        crew = Crew(scene, plan, pool)
        made = (SweepTask.of(crew.fingerprint, p, seed) for p in points for seed in seeds)
        tasks = {task.id: task for task in made}
        results = open_results(stack, output, space.names, crew, mix)
        waiting = [task for name, task in tasks.items() if name not in results]
        try:
            _work_off(crew, results, waiting, report)
        except KeyboardInterrupt:
            done = sum(name in results for name in tasks)
            raise WorkInterrupted(done, len(tasks), is_kept=output is not None) from None
        found = results.only(tasks)
    return Swept(found, found.ranking(goal), goal, plan, len(tasks) - len(waiting))


class WorkInterrupted(KeyboardInterrupt):
    """The user ended a sweep or a bench: how many runs are done, and what becomes of them."""

    def __init__(self, done: int, total: int, *, is_kept: bool, what: str = "run") -> None:
        self.done, self.total, self.is_kept = done, total, is_kept
        kept = "kept" if is_kept else "lost, since no folder was given for them"
        super().__init__(*([f"{done} of {how_many(total, what)} done and {kept}"] if done else []))


def _executor_of(
    engine: Engine, executor: str | Executor | Pool | None, workers: int | None
) -> str | Executor | Pool:
    """The executor that was asked for, or the usual one.

    Raises:
        PropertyError: the engine runs in this process only.
    """
    if engine is Engine.MUJOCO:
        return "processes" if executor is None else executor
    if executor not in (None, "inline") or workers is not None:
        raise PropertyError(
            "the engine warp runs all points at once, in this process; leave out executor and "
            "workers"
        )
    return "inline"


def _patience(engine: Engine) -> Waiting | nullcontext[None]:
    if engine is Engine.MUJOCO:
        return nullcontext()
    return Waiting("loading the kernels of MuJoCo Warp; the first time they are compiled")


def check_seeds(seeds: int) -> None:
    """Make sure that there is a seed.

    Raises:
        PropertyError: there is none.
    """
    if seeds < 1:
        raise PropertyError(f"the number of seeds must be >= 1, got {seeds}")


def open_results(
    stack: ExitStack, output: str | Path | None, names: Sequence[str], crew: "Crew", mix: bool
) -> Results:
    """A table in a folder, or in memory only."""
    metrics = crew.plan.job.scenario.metrics
    if output is None:
        return Results(names, metrics)
    return stack.enter_context(ResultsFile(Path(output), names, metrics, crew.about(), mix=mix))


def _work_off(
    crew: "Crew",
    results: Results,
    waiting: list[SweepTask],
    report: Callable[[int, int], object],
) -> None:
    pieces = iter(list(crew.pieces(waiting)))
    done = 0
    report(0, len(waiting))
    with Progress(len(waiting), crew.plan.job.scenario.duration) as progress:

        def take(outcomes: list[TaskOutcome]) -> None:
            nonlocal done
            done += sum(results.add(outcome) for outcome in outcomes)
            progress.update(done)
            report(done, len(waiting))

        def show(tasks: int, share: float) -> None:
            progress.update(done + tasks * share)

        crew.show = show
        crew.drive(lambda: next(pieces, None), take)


class Crew:
    """Workers and the scene they share."""

    def __init__(self, scene: Scene, plan: SweepPlan, pool: Pool) -> None:
        self.plan, self._pool = plan, pool
        scenario = plan.job.scenario
        extra = [scenario.recording] if isinstance(scenario, ReplayTest) else []
        self._local = LocalScene.of(scene, extra)
        self._bundle = None if pool.is_local else Bundle.of(scene, extra)
        self._without: set[str] = set()  # tasks whose worker did not have the bundle
        #: Called with a number of tasks that run at once, and the share of them that is done.
        self.show: Callable[[int, float], object] = lambda tasks, share: None
        self.fingerprint = plan.job.fingerprint(self._local)

    def about(self) -> dict[str, object]:
        """What results depend on besides parameters and seeds."""
        job = self.plan.job
        found: dict[str, object] = {
            "scene": self._local.digest[:16],
            "actor": job.actor,
            "test": str(job.scenario),
            "randomisation": str(job.randomisation),
            "execution": job.execution,
            "engine": str(job.engine),
        }
        return found | (description() if job.engine is Engine.WARP else {})

    @property
    def workers(self) -> int:
        """Number of batches that run at a time."""
        return self._pool.workers()

    def pieces(self, tasks: Sequence[SweepTask]) -> Iterator[list[SweepTask]]:
        """Tasks in batches for one worker."""
        if self.plan.job.engine is Engine.WARP:
            return self.grouped(tasks, most_worlds())
        size = max(1, min(MOST, math.ceil(len(tasks) / (PIECES * self.workers))))
        return self.grouped(tasks, 1 if self.plan.why_not_batched else size)

    def grouped(self, tasks: Iterable[SweepTask], size: int) -> Iterator[list[SweepTask]]:
        """Tasks in batches of a largest size; those of a batch can share a world."""
        groups: dict[str, list[SweepTask]] = {}
        for task in tasks:
            own = task.seed if self.plan.own_worlds else None
            groups.setdefault(repr((self.plan.job.fixed(task), own)), []).append(task)
        for group in groups.values():
            yield from (group[i : i + size] for i in range(0, len(group), size))

    def drive(self, feed: Any, take: Any, *, ahead: int = 1) -> None:
        """Run all tasks; `take` gets lists of outcomes."""

        def checked(outcomes: list[TaskOutcome]) -> bool:
            take(outcomes)
            return bool(outcomes)

        def give_up(task: SweepTask, why: str) -> None:
            take([TaskOutcome(task, FAILED, {}, 0.0, why)])

        drive(self._pool, feed, self._hand_out, checked, give_up, ahead=ahead)

    def _hand_out(self, pool: Pool, tasks: list[SweepTask]) -> "Future[list[TaskOutcome]]":
        threads = 0 if self.plan.why_not_batched else pool.threads
        source: LocalScene | Bundle = self._local
        if self._bundle is not None:
            asked = {task.id for task in tasks} <= self._without
            source = self._bundle if asked else self._bundle.light()
            self._without |= {task.id for task in tasks}
        job = self.plan.job
        if job.engine is Engine.WARP:
            tick = partial(self._tick, len(tasks))
            return pool.executor.submit(evaluate, source, job, tasks, threads, tick)
        return pool.executor.submit(evaluate, source, job, tasks, threads)

    def _tick(self, tasks: int, simulated: float) -> None:
        scenario = self.plan.job.scenario
        if isinstance(scenario, FreeRun):  # nobody knows how long others take
            self.show(tasks, min(simulated / scenario.duration, 1.0))
