"""Sweeps: check the plan, then test every point of a search space, on all cores or a cluster."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from mjrig.core.control.policy import running_policies
from mjrig.core.errors import BindingError, ExecutionError, PropertyError, SceneError
from mjrig.core.names import how_many, listed
from mjrig.core.progress import Progress, Waiting
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.per_actuator import PerActuator
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_paths import find
from mjrig.core.sim.batch import Batch
from mjrig.core.sim.warp_batch import WarpBatch
from mjrig.core.sim.warp_device import description, most_worlds, packages
from mjrig.core.sim.world import World
from mjrig.lab.responses.actuator_selection import way_to_motors
from mjrig.lab.sweep.domain_randomisation import Randomisation
from mjrig.lab.sweep.executors import Pool, drive, open_pool
from mjrig.lab.sweep.hosts import WorldHost, driven
from mjrig.lab.sweep.results import Objective, Ranked, Results, ResultsFile
from mjrig.lab.sweep.scene_bundle import Bundle, LocalScene
from mjrig.lab.sweep.search_space import Choices, Parameter, ParameterTarget, Space
from mjrig.lab.sweep.sweep_tests import FreeRun, ReplayTest, SignalTest
from mjrig.lab.sweep.tasks import (
    FAILED,
    Engine,
    Rig,
    Scenario,
    SweepSetup,
    SweepTask,
    TaskOutcome,
    assign,
    draws,
    evaluate,
)

# Sweep plan ---------------------------------------------------------------------------------------
# Plan of a sweep: every path and value is tried first, so that mistakes show at once.


@dataclass(frozen=True)
class SweepPlan:
    """The plan of a sweep.

    Attributes:
        job: what all tasks share.
        why_not_batched: why tasks run one by one; empty: many at once in a batch.
        own_worlds: whether every seed needs its own world.
    """

    job: SweepSetup
    why_not_batched: str
    own_worlds: bool


def examine(
    scene: Scene,
    parameters: Sequence[Parameter],
    scenario: Scenario,
    *,
    actor: str = "",
    randomisation: Randomisation | None = None,
    execution: str = "auto",
    engine: Engine = Engine.MUJOCO,
) -> SweepPlan:
    """Try every parameter with the ends of its values, and find out how tasks can run.

    The scene is left as it is.

    Raises:
        MjrigError: a path leads nowhere, a value is refused, or the test does not suit the scene.
    """
    randomisation = randomisation or Randomisation()
    if isinstance(scenario, ReplayTest) and randomisation.needs_run:
        raise PropertyError(
            f"{listed(randomisation.needs_run)}: do not apply to a replay: the recording has them"
        )
    own = LocalScene.of(scene).load()
    if engine is Engine.WARP:
        execution = _native_for_warp(execution)
    try:
        world = _world(own, execution, engine)
    except SceneError:
        World(scene, execution)  # the same error, at its place in the scene's own file
        raise
    actor = actor or _actor(world, [p.name for p in parameters])
    job = SweepSetup(actor, scenario, randomisation, execution, engine=engine)
    rig = Rig(world, job)
    live = frozenset(p.name for p in parameters if _is_live(world, p.name))
    for parameter in _plain_first(parameters):
        if parameter.name in live:
            for value in _ends(parameter):
                assign(world, parameter.name, value)
        else:
            _try_in_scene(own, parameter)
    if len(live) < len(parameters):  # the first point, in a world of its own
        rig = Rig(_world(own, execution, engine), job)
    host = WorldHost(rig.world, actor)
    has_policy = bool(running_policies(host.robot.components))
    _check_randomisation(host, scenario, randomisation, has_policy)
    is_free = has_policy or rig.world[actor].setpoints.position.flags.writeable
    if randomisation.noise and not is_free:
        raise PropertyError(
            f"noise: the setpoints of {actor} belong to {rig.world[actor].source.name}, which "
            "writes them in every step; leave out noise, or that component"
        )
    why_not_batched = _why_not_batched(rig, scenario, randomisation)
    if engine is Engine.WARP:
        if why_not_batched:
            raise ExecutionError(_refusal(why_not_batched))
        _try_on_warp(rig)
    return SweepPlan(replace(job, live=live), why_not_batched, draws(own))


def _native_for_warp(execution: str) -> str:
    """The execution of controllers on MuJoCo Warp.

    Raises:
        MissingExtraError: it is not installed.
        ExecutionError: another one was asked for.
    """
    packages()
    if execution not in ("auto", "native"):
        raise ExecutionError(_refusal(f"controllers run as MuJoCo actuators, not {execution}"))
    return "native"


def _world(scene: Scene, execution: str, engine: Engine) -> World:
    try:
        return World(scene, execution)
    except ExecutionError as error:
        if engine is Engine.MUJOCO:
            raise
        raise ExecutionError(_refusal(str(error))) from error


def _try_on_warp(rig: Rig) -> None:
    """Take one step on MuJoCo Warp, which compiles its kernels if they are not in its cache.

    Raises:
        ExecutionError: it cannot run the scene.
    """
    try:
        WarpBatch(rig.world, 1).step()
    except ExecutionError as error:
        raise ExecutionError(_refusal(str(error))) from error


def _refusal(why: str) -> str:
    return f"the engine warp cannot run this: {why} (without it, MuJoCo runs the scene)"


def _check_randomisation(
    host: WorldHost, scenario: Scenario, randomisation: Randomisation, has_policy: bool
) -> None:
    """Refuse what nothing in the test could feel.

    Raises:
        PropertyError: a kick without a free base or in a test without one, latency without policy.
    """
    if randomisation.disturbs and (host.base is None or isinstance(scenario, SignalTest)):
        raise PropertyError(
            "kick and push move a free base: "
            + ("the robot has none" if host.base is None else "a signal test suspends it")
        )
    if randomisation.disturbs_policy and not has_policy:
        raise PropertyError(
            f"bias and latency are of a policy; {host.robot.name} has none: set the delay of its "
            "controllers instead, as in PDController.delay.seconds"
        )


def _plain_first(parameters: Sequence[Parameter]) -> list[Parameter]:
    """A whole property before single actuators of it, which it would overwrite."""
    return sorted(parameters, key=lambda p: bool(ParameterTarget.of(p.name).pattern))


def _ends(parameter: Parameter) -> list[object]:
    if isinstance(parameter, Choices):
        return list(reversed(parameter.values))
    whole = parameter.whole
    return [int(v) if whole else v for v in (parameter.high, parameter.low)]


def _try_in_scene(scene: Scene, parameter: Parameter) -> None:
    """Set every value, the first one last."""
    target = ParameterTarget.of(parameter.name)
    if target.pattern:
        raise PropertyError(
            f"{parameter.name}: {target.path!r} is not one value per actuator that a running "
            "world can change; leave out the brackets"
        )
    for value in _ends(parameter):
        scene.set(parameter.name, value)


def _is_live(world: World, name: str) -> bool:
    """Whether a parameter can be set in a running world."""
    target = ParameterTarget.of(name)
    head = target.path.partition(".")[0]
    if head not in world.articulations:
        return False
    robot = world.articulations[head]
    if len(target.path.split(".")) < 3:
        return False  # of the actor itself, such as its pose
    component = target.path.split(".")[1]
    try:
        if robot.part(component) not in robot.components:
            return False
        obj, prop_name = find(world, target.path)
        prop = obj.property_named(prop_name)
    except PropertyError:
        return False
    if target.pattern and not isinstance(prop, PerActuator):
        return False
    return not (prop.structural or prop_name == "enabled" or _is_inside_structure(obj, robot))


def _is_inside_structure(obj: HasProperties, robot: HasProperties) -> bool:
    """Whether an object stands in a structural property: a delay, a clamp."""
    while obj._parent is not None and obj._parent is not robot:
        if obj._parent.property_named(obj._inside).structural:
            return True
        obj = obj._parent
    return False


def _actor(world: World, names: Sequence[str]) -> str:
    """The actor under test: the one the parameters belong to, else the only one with a law."""
    heads = dict.fromkeys(n.partition(".")[0] for n in names)
    named = [n for n in heads if n in world.articulations and driven(world[n])]
    able = [n for n, robot in world.articulations.items() if driven(robot)]
    for found in (named, able):
        if len(found) == 1:
            return found[0]
    if not able:
        why = "no actor of the scene has a bound controller; nothing to test"
        raise BindingError(f"{why}{way_to_motors(world.articulations.values())}")
    raise BindingError(f"choose the actor under test with actor: {listed(able)}")


def _why_not_batched(rig: Rig, scenario: Scenario, randomisation: Randomisation) -> str:
    if not scenario.batchable:
        return "a replay runs in a world of its own"
    if randomisation.push is not None:
        return "a push is proportional to the mass of its own world"
    try:
        Batch(rig.world, 1, threads=1)
    except ExecutionError as error:
        return str(error)
    return ""


# Sweep --------------------------------------------------------------------------------------------
# Sweeps: test every point of a search space, on all cores or a cluster, into a table.


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
