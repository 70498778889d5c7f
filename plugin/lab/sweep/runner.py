"""Sweeps: test every point of a search space with every seed, into a table."""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from mjrig.core.errors import PropertyError, SceneError
from mjrig.core.names import how_many
from mjrig.core.progress import Progress, Waiting
from mjrig.core.scene.editing.scene import Scene
from mjrig.lab.rollouts import plan as plans
from mjrig.lab.rollouts.backends import Pool
from mjrig.lab.rollouts.experiment import Engine, Experiment, Scenario
from mjrig.lab.rollouts.plan import ExperimentPlan
from mjrig.lab.rollouts.randomisation import Randomisation
from mjrig.lab.rollouts.results import Objective, Ranked, Results, ResultsFile
from mjrig.lab.rollouts.run import about_results, open_backend, run
from mjrig.lab.rollouts.scenarios import FreeRun
from mjrig.lab.rollouts.scene_bundle import LocalScene
from mjrig.lab.rollouts.worker import build_world
from mjrig.lab.sweep.search_space import Choices, Parameter, Space


def examine(
    scene: Scene,
    parameters: Sequence[Parameter],
    scenario: Scenario,
    *,
    actor: str = "",
    randomisation: Randomisation | None = None,
    execution: str = "auto",
    engine: Engine = Engine.MUJOCO,
) -> ExperimentPlan:
    """Try every parameter with the ends of its values, and find out how points can be tested.

    The scene is left as it is.

    Raises:
        MjrigError: a path leads nowhere, a value is refused, or the test does not suit the scene.
    """
    source = LocalScene.of(scene)
    randomisation = randomisation or Randomisation()
    experiment = Experiment(source, scenario, actor, (), randomisation, execution, engine=engine)
    try:
        plan = plans.examine(experiment, {p.name: _ends(p) for p in parameters})
    except SceneError:
        build_world(scene, execution)  # the same error, at its place in the scene's own file
        raise
    if scenario.files:
        source = LocalScene.of(scene, scenario.files)
    return replace(plan, experiment=replace(plan.experiment, scene=source))


def _ends(parameter: Parameter) -> list[object]:
    if isinstance(parameter, Choices):
        return list(reversed(parameter.values))
    return [int(v) if parameter.whole else v for v in (parameter.high, parameter.low)]


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
    plan: ExperimentPlan
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
            `if __name__ == "__main__":`. `auto`: `inline` where points run in batches, which use
            all cores as threads, else `processes`. The engine `warp` runs in this process.
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
        backend = "batch" if executor == "inline" else executor
        pool = stack.enter_context(open_backend(plan, backend, workers, scheduler))
        results = open_results(stack, output, space.names, plan, mix)
        experiment = plan.experiment.with_points(points, seeds)
        tasks = [variation.id for variation in experiment.variations]
        waiting = sum(task not in results for task in tasks)
        bar = stack.enter_context(Progress(waiting, scenario.duration))

        def show(done: float, total: int) -> None:
            bar.update(done)
            if done == int(done):
                report(int(done), total)

        try:
            for _ in run(
                replace(plan, experiment=experiment), backend=pool, resume=results, progress=show
            ):
                pass
        except KeyboardInterrupt:
            done = sum(task in results for task in tasks)
            raise WorkInterrupted(done, len(tasks), is_kept=output is not None) from None
        table = results.only(tasks)
    return Swept(table, table.ranking(goal), goal, plan, len(tasks) - waiting)


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
    stack: ExitStack,
    output: str | Path | None,
    names: Sequence[str],
    plan: ExperimentPlan,
    mix: bool,
) -> Results:
    """A table in a folder, or in memory only."""
    experiment = plan.experiment
    metrics = experiment.scenario.metrics
    if output is None:
        return Results(names, metrics)
    about = about_results(experiment)
    return stack.enter_context(ResultsFile(Path(output), names, metrics, about, mix=mix))
