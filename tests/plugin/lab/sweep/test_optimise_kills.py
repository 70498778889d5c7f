"""A search that is killed goes on: no lock is left, and every trial and row is there once."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mjrig.lab.rollouts.results import TABLE
from mjrig.lab.rollouts.scenarios import FreeRun
from mjrig.lab.sweep.search_space import Choices, Parameter, Range
from tests.campaign import CAMPAIGN, Tally
from tests.plugin.lab.sweep.swept import KP, hinge_scene, refused

pytest.importorskip("optuna")
import optuna
from optuna.storages.journal import JournalFileBackend

from mjrig.lab.sweep.optimisation import optimise
from tests.wording import regex

SHORT = FreeRun(0.2)
STIFF: list[Parameter] = [Range(KP, 10.0, 100.0, log=True)]

#: Starts a search and ends itself without any goodbye, right after or in the middle of the n-th
#: write to table or journal.
DYING = """
import os, sys
from pathlib import Path
from optuna.storages.journal import JournalFileBackend
from mjrig.tuning import optimise
from mjrig.lab.rollouts.scenarios import FreeRun
from mjrig.lab.rollouts.results import ResultsFile
from mjrig.lab.sweep.search_space import Range

output, trials, deaths, torn, storage = sys.argv[1:]
left = int(deaths)

def ending(kind, name, file):
    own = getattr(kind, name)
    def write(self, what):
        global left
        left -= 1
        if left == 0 and int(torn):
            with open(file(self), "ab") as half:
                half.write(b'{"op_code": 4, "tri')
            os._exit(9)
        own(self, what)
        if left == 0:
            os._exit(9)
    setattr(kind, name, write)

ending(JournalFileBackend, "append_logs", lambda self: self._file_path)
ending(ResultsFile, "_write", lambda self: self.path)
optimise("scene.yaml", [Range("arm.PDController.kp", 10.0, 100.0, log=True)], FreeRun(0.2),
         trials=int(trials), output=output, storage=storage, executor="inline")
"""


def rows_and_trials(output: Path, journal: Path) -> tuple[list[str], list[str]]:
    """The tasks in the table, and the states of the trials in the study."""
    storage = optuna.storages.JournalStorage(JournalFileBackend(str(journal)))
    (study,) = optuna.get_all_study_summaries(storage)
    trials = optuna.load_study(study_name=study.study_name, storage=storage).trials
    lines = (output / TABLE).read_text().splitlines()[1:]
    return [line.partition(",")[0] for line in lines], [t.state.name for t in trials]


def left_over(folder: Path) -> set[str]:
    known = {"results.csv", "sweep.json", "study.journal"}
    return {p.name for p in folder.iterdir()} - known


@pytest.mark.parametrize("name", ["out", "a/deeper/out"])
def test_a_lock_left_by_a_killed_process_does_not_hold_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Optuna's own lock is a link, here to a relative path, so that it leads nowhere."""
    path = hinge_scene(tmp_path)
    monkeypatch.chdir(tmp_path)
    folder = Path(name)
    folder.mkdir(parents=True)
    (folder / "study.journal.lock").symlink_to(folder / "study.journal")
    found = optimise(path, STIFF, SHORT, trials=2, output=folder, executor="inline")
    assert len(found.study.trials) == 2
    assert not left_over(folder)


def test_a_second_living_process_is_refused(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    path, out = hinge_scene(tmp_path), tmp_path / "out"
    optimise(path, STIFF, SHORT, trials=1, output=out, executor="inline")
    with open(out / TABLE, "ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with refused(f"{out / TABLE}: another process is writing …"):
            optimise(path, STIFF, SHORT, trials=2, output=out, executor="inline")
    assert len((out / TABLE).read_text().splitlines()) == 2


def test_other_choices_in_the_same_study_are_refused(tmp_path: Path) -> None:
    path, out = hinge_scene(tmp_path), tmp_path / "out"
    few: list[Parameter] = [Choices(KP, (10, 20))]
    optimise(path, few, SHORT, trials=1, output=out, executor="inline")
    with pytest.raises(Exception, match=regex("the study has trials … ")) as caught:
        optimise(path, [Choices(KP, (10, 30))], SHORT, trials=2, output=out, executor="inline")
    assert type(caught.value).__name__ == "MjrigError"


@pytest.mark.campaign
@pytest.mark.parametrize("shared", [False, True])
def test_a_search_that_ends_at_any_write_goes_on(
    tmp_path: Path, tally: Tally, shared: bool
) -> None:
    """It may die at every single write to table and journal, in the middle of it too."""
    path = hinge_scene(tmp_path)
    name = f"searches that die at a write{', shared study' if shared else ''}"
    for rng in tally.cases(name, 0 if shared else 1, 40):
        output = tmp_path / f"out{tally.tried}"
        journal = tmp_path / f"{tally.tried}.journal" if shared else output / "study.journal"
        storage = str(journal) if shared else ""
        trials = rng.randint(5, 20)
        for _ in range(rng.randint(1, 3) if CAMPAIGN else 1):
            deaths, torn = str(rng.randint(1, 60)), str(rng.randint(0, 1))
            subprocess.run(
                [sys.executable, "-c", DYING, output, str(trials), deaths, torn, storage],
                cwd=tmp_path, check=False, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        before = (output / TABLE).read_text().splitlines()[1:-1] if output.exists() else []
        optimise(
            path, STIFF, SHORT, trials=trials, output=output, storage=storage, executor="inline"
        )
        rows, states = rows_and_trials(output, journal)
        after = (output / TABLE).read_text().splitlines()[1:]
        # In a shared study nobody knows whose a trial is that died before it was signed.
        unsigned = states.count("RUNNING") if shared else 0
        if states.count("COMPLETE") != trials or len(states) != trials + unsigned:
            tally.found(f"{trials} trials became {len(states)}: {set(states)}")
        if len(rows) != trials or len(set(rows)) != trials:
            tally.found(f"{trials} trials have {len(rows)} rows, {len(set(rows))} of them distinct")
        if after[: len(before)] != before:
            tally.found("rows that were there changed")
        if left_over(output):
            tally.found(f"left over: {left_over(output)}")


@pytest.mark.campaign
def test_a_search_on_several_processes_survives_kills(tmp_path: Path, tally: Tally) -> None:
    """SIGKILL at any time, with a relative folder; the whole command, workers and all."""
    hinge_scene(tmp_path)
    for rng in tally.cases("searches killed with SIGKILL", 0, 10):
        out = f"out{tally.tried}"
        trials = rng.randint(10, 40)
        command = [sys.executable, "-m", "mjrig", "optimise", "scene.yaml", "--run", "0.5",
                   "--range", f"{KP}=10:100:log", "--trials", str(trials), "--workers", "2",
                   "-o", out]  # fmt: skip
        for _ in range(3):
            process = subprocess.Popen(
                command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            journal, end = tmp_path / out / "study.journal", time.monotonic() + 30
            while process.poll() is None and not journal.exists() and time.monotonic() < end:
                time.sleep(0.01)
            time.sleep(rng.uniform(0.0, 3.0))
            process.kill()
            process.wait()
        done = subprocess.run(
            command, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=120
        )
        if done.returncode:
            tally.found(f"ended with {done.returncode}: {done.stderr[-300:]}")
            continue
        rows, states = rows_and_trials(tmp_path / out, tmp_path / out / "study.journal")
        if len(states) != trials or set(states) != {"COMPLETE"}:
            tally.found(f"{trials} trials became {len(states)}: {json.dumps(states)}")
        if len(rows) != trials or len(set(rows)) != trials:
            tally.found(f"{trials} trials have {len(rows)} rows, {len(set(rows))} of them distinct")
