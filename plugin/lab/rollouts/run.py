"""run: the variations of an experiment on a back end, as rollouts."""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from mjrig.core.errors import MjrigError
from mjrig.core.processes.process_pool import ProcessExecutor
from mjrig.core.sim.warp_device import description, most_worlds
from mjrig.core.sim.world import World
from mjrig.lab.rollouts.backends import NAMES, Inline, Pool, drive, open_pool
from mjrig.lab.rollouts.experiment import (
    FAILED,
    Engine,
    Experiment,
    LiveWorld,
    Rollout,
    Scenario,
    Variation,
)
from mjrig.lab.rollouts.plan import ExperimentPlan, examine
from mjrig.lab.rollouts.results import Results, ResultsFile
from mjrig.lab.rollouts.scene_bundle import Bundle, LocalScene
from mjrig.lab.rollouts.worker import evaluate

#: Most variations per batch: what a kill can lose, and what is stepped together.
MOST = 64
#: Batches per worker, so that all end at about the same time.
PIECES = 4
#: Where runs are done: one after the other in this thread; many at once in the worlds of a batch;
#: on threads, processes or a Dask cluster, in batches too where that is possible; on MuJoCo Warp.
BACKENDS = ("auto", "batch", *NAMES, "warp")
#: Called with the number of finished runs, as a fraction too where one is under way, and the total.
ProgressReport = Callable[[float, int], object]


def run(
    experiment: Experiment | ExperimentPlan,
    *,
    backend: str | Executor | Pool = "auto",
    workers: int | None = None,
    scheduler: str = "",
    resume: Results | str | Path | None = None,
    progress: ProgressReport = lambda done, total: None,
    cancel: Callable[[], bool] | None = None,
) -> Iterator[Rollout]:
    """Run all variations of an experiment; yields their rollouts as they are done.

    The same experiment gives the same bits on every back end but MuJoCo Warp, which computes in
    single precision.

    Args:
        experiment: what is run; a plan of it if it was examined before.
        backend: one of `BACKENDS`, any executor, or an open pool. `auto`: a batch where that is
            possible, else processes; a script then keeps its work under
            `if __name__ == "__main__":`.
        workers: number of processes or threads; None: one per core.
        scheduler: address of a Dask scheduler.
        resume: table, or folder of one. Variations in it are not run again, others are added.
        progress: called with the number of finished runs and the total.
        cancel: polled; true ends it, with the rollouts so far.

    Raises:
        MjrigError: something is wrong before the work begins; what goes wrong in it is in the
            rollouts.
    """
    if backend == "warp":
        assert isinstance(experiment, Experiment)
        experiment = replace(experiment, engine=Engine.WARP)
        experiment = replace(
            experiment,
            variations=tuple(
                experiment.vary(dict(v.values), v.seed, v.case) for v in experiment.variations
            ),
        )
    plan = experiment if isinstance(experiment, ExperimentPlan) else examine(experiment)
    variations = plan.experiment.variations
    with ExitStack() as stack:
        if isinstance(resume, str | Path):
            names = dict.fromkeys(name for v in variations for name, _ in v.values)
            metrics = plan.experiment.scenario.metrics
            about = about_results(plan.experiment)
            resume = stack.enter_context(ResultsFile(Path(resume), tuple(names), metrics, about))
        if resume is not None:
            yield from (resume.rollout(v) for v in variations if v.id in resume)
            variations = tuple(v for v in variations if v.id not in resume)
        runner = ExperimentRunner(
            plan, stack.enter_context(open_backend(plan, backend, workers, scheduler))
        )
        done, total = 0, len(variations)
        progress(0, total)
        runner.show = lambda count, share: progress(done + count * share, total)
        pieces = iter(list(runner.pieces(variations)))
        for rollouts in runner.drive(lambda: next(pieces, None), cancel=cancel):
            for rollout in rollouts:
                if resume is None or resume.add(rollout):
                    done += 1
            progress(done, total)
            yield from rollouts


def traces(
    plan: ExperimentPlan,
    *,
    backend: str,
    workers: int | None = None,
    report: Callable[[float], object] = lambda share: None,
) -> list[Any]:
    """The traces of all variations of a plan, in their order.

    Raises:
        MjrigError: a run failed without one; in a live world, whatever went wrong there.
    """
    rollouts = {}

    def show(done: float, total: int) -> None:
        report(done / total)

    for rollout in run(plan, backend=backend, workers=workers, progress=show):
        if rollout.traces is None:
            raise rollout.cause or MjrigError(rollout.error)
        rollouts[rollout.variation.id] = rollout
    return [rollouts[variation.id].traces for variation in plan.experiment.variations]


def live_runs(
    world: World,
    actor: str,
    scenario: Scenario,
    prepared: object = None,
    cases: Sequence[Hashable] = (None,),
) -> list[Any]:
    """The traces of a scenario's cases in a world of the caller, one after the other.

    The world is reset before each, and keeps the state of the end.

    Raises:
        Exception: whatever went wrong in a run.
    """
    experiment = Experiment(LiveWorld(world, prepared), scenario, actor).with_cases(cases)
    return traces(ExperimentPlan(experiment, "the world is the caller's"), backend="inline")


@contextmanager
def open_backend(
    plan: ExperimentPlan,
    backend: str | Executor | Pool,
    workers: int | None = None,
    scheduler: str = "",
) -> Iterator[Pool]:
    """The pool of a back end.

    Raises:
        PropertyError: there is no such back end, or a number or address is missing or wrong.
        MissingExtraError: the package for it is not installed.
    """
    if backend == "auto":
        is_live = isinstance(plan.experiment.scene, LiveWorld)
        backend = "batch" if not plan.why_not_batched else "inline" if is_live else "processes"
    if backend == "inline":
        yield Pool(Inline(), lambda: 1, threads=0)
        return
    with open_pool(
        "inline" if backend in ("batch", "warp") else backend, workers, scheduler
    ) as pool:
        yield pool


def about_results(experiment: Experiment) -> dict[str, object]:
    """What results depend on besides the variations."""
    about: dict[str, object] = {
        "scene": experiment.scene.digest[:16],
        "actor": experiment.actor,
        "test": str(experiment.scenario),
        "randomisation": str(experiment.randomisation),
        "execution": experiment.execution,
        "engine": str(experiment.engine),
    }
    return about | (description() if experiment.engine is Engine.WARP else {})


class ExperimentRunner:
    """Hands variations of an experiment out to a pool, in batches."""

    def __init__(self, plan: ExperimentPlan, pool: Pool) -> None:
        self.plan, self._pool = plan, pool
        experiment, self._bundle = plan.experiment, None
        if not pool.is_local:
            assert isinstance(experiment.scene, LocalScene)
            self._bundle = Bundle.of(experiment.scene.load(), experiment.scenario.files)
        self._without: set[str] = set()  # variations whose worker did not have the bundle
        #: Called with a number of variations that run at once, and the share that is done.
        self.show: Callable[[int, float], object] = lambda count, share: None

    @property
    def workers(self) -> int:
        """Number of batches that run at a time."""
        return self._pool.workers()

    @property
    def is_batched(self) -> bool:
        """Whether many variations run at once in a worker."""
        return not self.plan.why_not_batched and self._pool.threads > 0

    def pieces(self, variations: Sequence[Variation]) -> Iterator[list[Variation]]:
        """Variations in batches for one worker."""
        if self.plan.experiment.engine is Engine.WARP:
            return self.grouped(variations, most_worlds())
        size = max(1, min(MOST, math.ceil(len(variations) / (PIECES * self.workers))))
        size = len(variations) if self.plan.is_one_batch else size
        return self.grouped(variations, size if self.is_batched else 1)

    def grouped(self, variations: Iterable[Variation], size: int) -> Iterator[list[Variation]]:
        """Variations in batches of a largest size; those of a batch can share a world."""
        groups: dict[str, list[Variation]] = {}
        for variation in variations:
            seed = variation.seed if self.plan.own_worlds else None
            key = repr((self.plan.experiment.fixed(variation), seed))
            groups.setdefault(key, []).append(variation)
        for group in groups.values():
            yield from (group[i : i + size] for i in range(0, len(group), size))

    def drive(
        self,
        feed: Callable[[], list[Variation] | None],
        *,
        ahead: int = 1,
        cancel: Callable[[], bool] | None = None,
    ) -> Iterator[list[Rollout]]:
        """Run what `feed` returns, until that is None."""
        yield from drive(self._pool, feed, self._hand_out, _failed, ahead=ahead, cancel=cancel)
        if cancel is not None and cancel() and isinstance(self._pool.executor, ProcessExecutor):
            self._pool.executor.kill()

    def _hand_out(self, pool: Pool, variations: list[Variation]) -> "Future[list[Rollout]]":
        piece = replace(self.plan.experiment, variations=tuple(variations))
        if self._bundle is not None:
            ids = {variation.id for variation in variations}
            source = self._bundle if ids <= self._without else self._bundle.light()
            self._without |= ids
            piece = replace(piece, scene=source)
        threads = pool.threads if self.is_batched else 0
        if isinstance(pool.executor, Inline):
            report = partial(self.show, len(variations))
            return pool.executor.submit(evaluate, piece, threads, report)
        return pool.executor.submit(evaluate, piece, threads)


def _failed(variation: Variation, why: str) -> Rollout:
    return Rollout(variation, FAILED, {}, 0.0, why)
