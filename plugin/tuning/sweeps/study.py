"""The Optuna study of a search: where it is kept, and what a killed process left in it.

A journal is locked by the operating system (`flock`), which releases the lock of a process that
dies. Optuna's own lock is a link that outlives its process.
"""

import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mjrig.errors import MissingExtraError, MjrigError, PropertyError
from mjrig.files.replacing import cannot_be_written
from mjrig.names import suggestion

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
