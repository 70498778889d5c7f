"""Search with Optuna (extra `tune`) for the objective of a sweep, with a shareable study.

A journal is locked by the operating system (`flock`), which releases the lock of a process that
dies. Optuna's own lock is a link that outlives its process.
"""

import json
import math
import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mjrig.core.errors import MissingExtraError, MjrigError, PropertyError
from mjrig.core.files.atomic_writes import cannot_be_written
from mjrig.core.names import suggestion
from mjrig.core.progress import Progress
from mjrig.core.scene.editing.scene import Scene
from mjrig.lab.rollouts.backends import open_pool
from mjrig.lab.rollouts.experiment import OK, Rollout, Scenario, Variation
from mjrig.lab.rollouts.plan import ExperimentPlan
from mjrig.lab.rollouts.randomisation import Randomisation
from mjrig.lab.rollouts.results import Objective, Ranked, Results
from mjrig.lab.rollouts.run import MOST, ExperimentRunner
from mjrig.lab.rollouts.scenarios import FreeRun
from mjrig.lab.sweep.runner import check_seeds, examine, open_results
from mjrig.lab.sweep.search_space import Choices, Parameter

# Study --------------------------------------------------------------------------------------------
# The Optuna study of a search: where it is kept, and what a killed process left in it.


SAMPLERS = ("tpe", "cmaes", "gp", "random")
#: Study attribute with a fingerprint of what its values depend on.
FINGERPRINT = "mjrig fingerprint"
#: The study of an output folder.
JOURNAL = "study.journal"
#: Trial attribute with the output folder that its rows are in.
OUTPUT = "mjrig output"


class SearchStudy:
    """A study, and the output folder of the process that works on it.

    Args:
        storage: a URL or a journal file; empty: a journal in the output, or memory.
        output: the folder of the results, which this process has locked; None: memory.
        name: of the study.
        fingerprint: what the values of its trials depend on.
        mix: accept a study with another fingerprint.

    Raises:
        MjrigError: the study cannot be opened, or is of something else.
    """

    def __init__(
        self,
        storage: str,
        output: str | Path | None,
        name: str,
        fingerprint: str,
        *,
        mix: bool = False,
    ) -> None:
        self._output = "" if output is None else f"{socket.gethostname()}:{Path(output).resolve()}"
        #: A journal in the locked output belongs to this process alone.
        self._alone = output is not None and not storage
        self._kept = bool(storage) or output is not None
        self._place = Path(storage or Path(output or "", JOURNAL))
        with self._writing():
            self.study = _opened(_storage(storage, output), name, fingerprint, mix)

    def ask(self, space: Mapping[str, Any]) -> Any:
        """A new trial.

        Raises:
            MjrigError: the space does not fit the trials that the study has.
        """
        with self._writing(), _same_space():
            trial = self.study.ask(dict(space))
        if self._kept and self._output and not self._alone:
            with self._writing():
                trial.set_user_attr(OUTPUT, self._output)
        return trial

    def interrupted(self, space: Mapping[str, Any]) -> list[Any]:
        """Trials that a killed process began and whose rows belong into this output.

        Nobody else works on them, since this process holds the lock of the output.

        Raises:
            MjrigError: the space does not fit them.
        """
        import optuna

        states = (optuna.trial.TrialState.RUNNING,)
        found = []
        for left in self.study.get_trials(deepcopy=False, states=states):
            if self._alone or (self._output and left.user_attrs.get(OUTPUT) == self._output):
                trial = optuna.trial.Trial(self.study, left._trial_id)
                with _same_space():
                    for name, distribution in space.items():
                        trial._suggest(name, distribution)  # as `ask` does; what is known stays
                found.append(trial)
        return found

    def tell(self, trial: Any, score: float, problem: str = "") -> None:
        """Report the score of a trial, and what went wrong in it.

        Raises:
            MjrigError: the study cannot be written.
        """
        with self._writing():
            if problem:
                trial.set_user_attr("problem", problem)
            self.study.tell(trial, score)

    def _writing(self) -> AbstractContextManager[None]:
        return cannot_be_written(self._place, "; finished trials are kept, run it again to resume")

    def finished(self) -> int:
        """The number of trials that have a score, those of other processes included."""
        from optuna.trial import TrialState

        states = (TrialState.COMPLETE, TrialState.FAIL)
        return len(self.study.get_trials(deepcopy=False, states=states))


@contextmanager
def _same_space() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise MjrigError(
            f"the study has trials with other choices: {error}; give it another name"
        ) from error


def values_of(trial: Any) -> dict[str, Any]:
    """The values of a trial, as properties take them."""
    return {
        name: json.loads(value) if isinstance(value, str) else value
        for name, value in trial.params.items()
    }


def make_sampler(name: str, seed: int) -> Any:
    """A sampler of Optuna.

    Raises:
        PropertyError: there is none of that name.
        MjrigError: a package that it needs is not installed.
    """
    if name not in SAMPLERS:
        raise PropertyError(f"unknown sampler {name!r}; {suggestion(name, SAMPLERS)}")
    samplers = _optuna().samplers
    needs = {"cmaes": ("cmaes",), "gp": ("scipy", "torch")}.get(name, ())
    for package in needs:
        if find_spec(package) is None:
            raise MjrigError(f"the sampler {name} needs the package {package}; pip install it")
    made = {
        # Running trials count as bad there, so that workers do not all try the same point.
        "tpe": lambda: samplers.TPESampler(seed=seed, constant_liar=True),
        "cmaes": lambda: samplers.CmaEsSampler(seed=seed),
        "gp": lambda: samplers.GPSampler(seed=seed),
        "random": lambda: samplers.RandomSampler(seed=seed),
    }
    return made[name]()


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise MissingExtraError("a search", "tune", error) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _opened(storage: Any, name: str, fingerprint: str, mix: bool) -> Any:
    optuna = _optuna()
    try:
        study = optuna.create_study(storage=storage, study_name=name, load_if_exists=True)
    except OSError:
        raise
    except Exception as error:  # any error of a database
        raise MjrigError(f"the study {name!r} cannot be opened: {error}") from error
    known = study.user_attrs.get(FINGERPRINT)
    if known is None:
        study.set_user_attr(FINGERPRINT, fingerprint)
    elif known != fingerprint and not mix:
        raise MjrigError(
            f"the study {name!r} has another scene, test or objective; give it another name, "
            "or mix them on purpose with --mix"
        )
    return study


def _storage(said: str, output: str | Path | None) -> Any:
    if not said and output is None:
        return None
    if "://" in said:
        return said
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    path = Path(said) if said else Path(str(output), JOURNAL)
    path = path.absolute()  # Optuna's link to a relative path leads nowhere
    path.parent.mkdir(parents=True, exist_ok=True)
    if not said:
        # Left by a killed process: the living one has the lock of the folder, and is this one.
        Path(f"{path}.lock").unlink(missing_ok=True)
    return JournalStorage(JournalFileBackend(str(path), _journal_lock(path)))


def _journal_lock(path: Path) -> Any:
    try:
        import fcntl
    except ImportError:  # not on every system: Optuna's own
        return None
    from optuna.storages.journal._file import BaseJournalFileLock

    class JournalLock(BaseJournalFileLock):
        """Locks the journal itself; cuts off the line that a killed process left torn."""

        def acquire(self) -> bool:
            self._file = open(path, "r+b")  # closed by release
            fcntl.flock(self._file, fcntl.LOCK_EX)
            _cut_torn_line(self._file)
            return True

        def release(self) -> None:
            self._file.close()

    return JournalLock()


def _cut_torn_line(file: Any) -> None:
    size = file.seek(0, os.SEEK_END)
    if not size:
        return
    file.seek(size - 1)
    if file.read(1) != b"\n":
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)


# Optimise -----------------------------------------------------------------------------------------


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
    plan: ExperimentPlan
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
        runner = ExperimentRunner(plan, pool)
        results = open_results(stack, output, names, plan, mix)
        fingerprint = f"{plan.experiment.fingerprint} {goal.text}"
        kept = SearchStudy(storage, output, study, fingerprint, mix=mix)
        # A resumed search must not repeat its first draws.
        kept.study.sampler = make_sampler(sampler, seed + len(kept.study.trials))
        search = _Search(kept, runner, results, goal, parameters, trials, seeds)
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
        runner: ExperimentRunner,
        results: Results,
        objective: Objective,
        parameters: Sequence[Parameter],
        trials: int,
        seeds: int,
    ) -> None:
        self._study, self._runner, self._results = study, runner, results
        self._objective, self._trials, self._seeds = objective, trials, seeds
        self._space = _distributions(parameters)
        self._open: dict[int, tuple[Any, list[Variation]]] = {}
        self._waiting: list[list[Variation]] = []

    def run(self) -> None:
        """Test until the study has all its trials."""
        with Progress(self._trials, self._runner.plan.experiment.scenario.duration) as progress:
            self._progress = progress
            self._resume()
            for rollouts in self._runner.drive(self._next, ahead=0):
                self._take(rollouts)

    def _next(self) -> list[Variation] | None:
        """The next batch of tasks: as many new trials as a worker tests together."""
        while not self._waiting:
            left = self._trials - self._study.finished() - len(self._open)
            if left <= 0:
                return None
            batched = self._runner.is_batched
            share = math.ceil(left / self._runner.workers)
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

    def _tasks(self, trial: Any) -> list[Variation]:
        values, experiment = values_of(trial), self._runner.plan.experiment
        return [experiment.vary(values, seed) for seed in range(self._seeds)]

    def _begin(self, trials: Iterable[Any]) -> None:
        """Have trials tested, each point once."""
        under_way = {task.id for _, tasks in self._open.values() for task in tasks}
        fresh: dict[str, Variation] = {}
        for trial in trials:
            tasks = self._tasks(trial)
            self._open[trial.number] = (trial, tasks)
            fresh |= {task.id: task for task in tasks if task.id not in self._results}
            self._settle()  # it may have been tested before
        size = MOST if self._runner.is_batched else 1
        missing = [task for name, task in fresh.items() if name not in under_way]
        self._waiting += self._runner.grouped(missing, size)

    def _take(self, rollouts: list[Rollout]) -> None:
        for rollout in rollouts:
            self._results.add(rollout)
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
