"""Benches: every policy on every task of a suite with the same seeds, resumable, on all cores."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mjrig.core.control.policy import running_policies
from mjrig.core.errors import BindingError, MjrigError, PropertyError
from mjrig.core.names import listed, unique
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.lab.bench.episode_metrics import METRICS
from mjrig.lab.bench.suite import BenchSuite, TaskLevel
from mjrig.lab.bench.trial import PolicyTrial
from mjrig.lab.rollouts.backends import Pool, open_pool
from mjrig.lab.rollouts.experiment import DIVERGED, OK
from mjrig.lab.rollouts.randomisation import Randomisation
from mjrig.lab.rollouts.results import SweepRow
from mjrig.lab.rollouts.scene_bundle import LocalScene
from mjrig.lab.rollouts.worker import build_world
from mjrig.lab.sweep.runner import WorkInterrupted, check_seeds, sweep
from mjrig.lab.sweep.search_space import Space

#: The word of a suite for the actor under test.
ROBOT = "robot"


@dataclass(frozen=True)
class Entrant:
    """A policy of a bench: a scene whose actor has it; `problem`: why it cannot run."""

    name: str
    path: Path
    scene: Scene | None = None
    actor: str = ""
    problem: str = ""

    @classmethod
    def load(cls, path: Path, name: str, *, trust: bool = False) -> "Entrant":
        """Read a scene, or `scene.yaml` of a folder; what is wrong with it is its problem."""
        file = path / "scene.yaml" if path.is_dir() else path
        try:
            scene = Scene.load(file, trust=trust)
            return cls(name, file, scene, _actor_of(build_world(scene)))
        except MjrigError as error:
            return cls(name, file, problem=" ".join(str(error).split()))


@dataclass(frozen=True)
class TaskResult:
    """Episodes of one policy on one task, by seed."""

    level: TaskLevel
    rows: tuple[SweepRow, ...]

    @property
    def fell(self) -> dict[int, bool]:
        """Whether the robot fell, by seed; a world that diverged counts as a fall."""
        return {
            row.seed: row.status == DIVERGED or bool(row.metrics.get("fell"))
            for row in self.rows
            if row.status in (OK, DIVERGED)
        }

    def values(self, metric: str) -> dict[int, float]:
        """A metric of the episodes without a fall, by seed; survival of all."""
        fell = self.fell
        return {
            row.seed: row.metrics[metric]
            for row in self.rows
            if metric in row.metrics and (metric == "survival" or not fell[row.seed])
        }

    @property
    def errors(self) -> list[str]:
        """What failed, each once."""
        return list(dict.fromkeys(row.error for row in self.rows if row.error))


@dataclass(frozen=True)
class Film:
    """A film of an episode.

    Attributes:
        policy, task, seed: which episode.
        rank: its place among those of the task: worst, median, …
        fell: time of the fall [s]; None: it stayed up.
        file: relative to the folder of the bench.
    """

    policy: str
    task: str
    seed: int
    rank: str
    fell: float | None
    file: str


@dataclass
class Benched:
    """Result of a bench: the tasks of each policy; `notes` are remarks on a policy.

    `films` are films of episodes, `no_films` is why there are none.
    """

    suite: BenchSuite
    seeds: tuple[int, ...]
    entrants: list[Entrant]
    results: dict[str, dict[str, TaskResult]] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    kept: int = 0
    films: list[Film] = field(default_factory=list)
    no_films: str = ""

    @property
    def tasks(self) -> list[str]:
        """Names of the tasks, in order."""
        return list(dict.fromkeys(name for found in self.results.values() for name in found))


def bench(
    policies: Sequence[str | Path],
    suite: BenchSuite | str | Path = "quick",
    *,
    output: str | Path | None = None,
    seeds: int | Sequence[int] | None = None,
    only: Sequence[str] = (),
    execution: str = "auto",
    executor: str | Executor | Pool = "processes",
    workers: int | None = None,
    scheduler: str = "",
    trust: bool = False,
    report: Callable[[str], object] = lambda text: None,
) -> Benched:
    """Run every policy on every task of a suite; existing results in the output are kept.

    Args:
        policies: scene files, each with an actor that has a `Policy`, or folders with a scene.yaml.
        suite: a suite, its file, or the name of a bundled one.
        output: folder for the results of all episodes; None: in memory only.
        seeds: how many, or which; None: as many as the suite says.
        only: names of tasks; empty: all.
        execution: as of `World`.
        executor, workers, scheduler: as of `sweep`.
        trust: run modules that scenes name.
        report: called with a line of text before each task.

    Raises:
        MjrigError: the suite is wrong, or no policy can run. A policy that cannot run is an entrant
            with a problem; an episode that fails has its error in its row.
    """
    suite = suite if isinstance(suite, BenchSuite) else BenchSuite.load(suite)
    chosen = _chosen(suite.seeds if seeds is None else seeds)
    levels = suite.levels(tuple(only))
    entrants = _entrants(policies, trust=trust)
    found = Benched(suite, chosen, entrants)
    if all(entrant.problem for entrant in entrants):
        raise MjrigError(f"no policy can run; {entrants[0].path}: {entrants[0].problem}")
    running = [entrant for entrant in entrants if entrant.scene is not None]
    with ExitStack() as stack:
        pool = stack.enter_context(open_pool(executor, workers, scheduler))
        stack.enter_context(_counting(found, len(running) * len(levels) * len(chosen)))
        for entrant in running:
            assert entrant.scene is not None
            found.digests[entrant.name] = LocalScene.of(entrant.scene).digest
            found.results[entrant.name] = {}
            for level in levels:
                report(f"{entrant.name}: {level.name}")
                folder = None if output is None else _folder(Path(output), entrant, level)
                rows, kept = _run(entrant, level, chosen, folder, execution, pool)
                found.results[entrant.name][level.name] = TaskResult(level, rows)
                found.kept += kept
    return found


@contextmanager
def _counting(found: Benched, total: int) -> Iterator[None]:
    """Let an interruption say how many of all episodes are done."""
    try:
        yield
    except WorkInterrupted as stopped:
        before = sum(len(r.rows) for tasks in found.results.values() for r in tasks.values())
        raise WorkInterrupted(
            before + stopped.done, total, is_kept=stopped.is_kept, what="episode"
        ) from None


def _chosen(seeds: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(seeds, int):
        check_seeds(seeds)
        return tuple(range(seeds))
    return tuple(seeds)


def _entrants(policies: Sequence[str | Path], *, trust: bool) -> list[Entrant]:
    if not policies:
        raise PropertyError("nothing to bench; name at least one scene with a policy")
    found: list[Entrant] = []
    for path in map(Path, policies):
        stem = path.resolve().name if path.is_dir() else path.stem
        name = unique(stem, [entrant.name for entrant in found])
        found.append(Entrant.load(path, name, trust=trust))
    return found


def _actor_of(world: World) -> str:
    """The actor that has a policy.

    Raises:
        BindingError: there is none, or there are several.
    """
    found = [
        name for name, robot in world.articulations.items() if running_policies(robot.components)
    ]
    if len(found) != 1:
        which = listed(found) if found else "none"
        raise BindingError(f"a bench needs one actor with a Policy; here it is {which}")
    return found[0]


def _folder(output: Path, entrant: Entrant, level: TaskLevel) -> Path:
    return output / "episodes" / entrant.name / level.name


def _run(
    entrant: Entrant,
    level: TaskLevel,
    seeds: tuple[int, ...],
    folder: Path | None,
    execution: str,
    pool: Pool,
) -> tuple[tuple[SweepRow, ...], int]:
    """The rows of one task, and how many were there before."""
    scene = task_scene(entrant, level)
    swept = sweep(
        scene,
        Space(),
        PolicyTrial.of(level.task),
        objective="fell",
        output=folder,
        actor=entrant.actor,
        randomise=Randomisation.read(level.randomise),
        seeds=seeds,
        execution=execution,
        executor=pool,
        mix=True,
    )
    return tuple(swept.results), swept.kept


def task_scene(entrant: Entrant, level: TaskLevel) -> Scene:
    """The scene of a policy with what a task sets and adds.

    Raises:
        MjrigError: a path leads nowhere, or a value is refused.
    """
    assert entrant.scene is not None
    task = level.task
    scene = LocalScene.of(entrant.scene).load()
    for path, value in task.set.items():
        head, _, rest = path.partition(".")
        with task.blaming("set", path, entrant.path):
            scene.set(f"{entrant.actor}.{rest}" if head == ROBOT else path, value)
    for name, properties in task.add.items():
        with task.blaming("add", name, entrant.path):
            scene.add_actor(unique(name, scene.actor_names()), **properties)
    return scene


__all__ = ["METRICS", "Benched", "Entrant", "TaskResult", "bench"]
