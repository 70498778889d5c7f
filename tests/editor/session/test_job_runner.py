"""The process that tunes: progress, results, problems, and its end at any moment."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic

import pytest

from mjrig.editor.session.job_runner import JobProgress, Runner
from mjrig.editor.tune.tune_model import Tune, TuneTask
from mjrig.editor.tune.tune_settings import GainAxis, RespondJob
from mjrig.lab.rollouts.signals import Kind, Signal
from tests.editor.tune.tuned import recorded, tune_legs
from tests.wording import matches


@pytest.fixture
def tune(models: Path) -> Tune:
    return tune_legs(models)


@pytest.fixture
def runner() -> Iterator[Runner]:
    made = Runner()
    yield made
    made.close()


#: A test that nobody waits for.
LONG = Signal(Kind.CHIRP, 0.1, 0.2, 20.0, 5000.0)


def process_of(runner: Runner) -> int:
    assert runner._process is not None
    return runner._process.pid


def is_running(pid: int) -> bool:
    """Whether there is such a process, and it is not only waiting to be looked after."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def children_of(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [child for word in text.split() for child in (int(word), *children_of(int(word)))]


def until(condition: Callable[[], object], seconds: float = 30.0) -> bool:
    """Whether something came about in time."""
    end = monotonic() + seconds
    while monotonic() < end:
        if condition():
            return True
        threading.Event().wait(0.01)
    return False


def test_one_process_does_job_after_job_and_is_ended(tune: Tune, runner: Runner) -> None:
    runner.start(tune.job(TuneTask.ASSIGN))
    assert runner.take() is None
    assert runner.wait()
    finished = runner.take()
    assert finished is not None and finished.problem == "" and finished.seconds > 0.0
    assert len(finished.result.assignments) == 4
    assert runner.take() is None
    pid = process_of(runner)
    job = tune.job(TuneTask.RESPOND)
    assert isinstance(job, RespondJob)
    runner.start(replace(job, joints=replace(job.joints, actuators=("nobody",))))
    assert runner.wait() and process_of(runner) == pid
    finished = runner.take()
    assert finished is not None and finished.result is None
    assert finished.problem.startswith("'nobody' matches no actuator or joint of 'dog'")
    runner.close()
    assert not is_running(pid)
    runner.close()


def test_a_job_is_cancelled_at_once_and_the_next_one_is_done(tune: Tune, runner: Runner) -> None:
    job = tune.job(TuneTask.RESPOND)
    assert isinstance(job, RespondJob)
    runner.start(replace(job, signal=LONG))
    assert until(lambda: runner.progress.share)
    assert str(runner.progress).startswith("following, ")
    assert str(runner.progress).endswith(" s left")
    pid = process_of(runner)
    runner.cancel()  # the job would take hours
    assert runner.job is None and runner.take() is None
    runner.start(tune.job(TuneTask.ASSIGN))
    assert runner.wait()
    finished = runner.take()
    assert finished is not None and finished.result is not None
    assert until(lambda: not is_running(pid))


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="processes are counted in /proc")
def test_processes_of_a_sweep_end_with_it(tune: Tune, runner: Runner, tmp_path: Path) -> None:
    tune.sweep.axes = {"kp": GainAxis(20, 80, 1000)}
    tune.sweep.test, tune.sweep.recording = "replay", recorded(tune, tmp_path / "walk.npz")
    runner.start(tune.job(TuneTask.SWEEP))
    own = process_of(runner)
    assert until(lambda: len(children_of(own)) > 1 or runner.job is None)
    pids = [own, *children_of(own)]
    assert len(pids) > 2
    runner.cancel()
    assert until(lambda: not any(map(is_running, pids)))


def test_a_process_that_dies_is_told_of_and_replaced(tune: Tune, runner: Runner) -> None:
    job = tune.job(TuneTask.RESPOND)
    assert isinstance(job, RespondJob)
    runner.start(replace(job, signal=LONG))
    assert runner._process is not None
    runner._process.kill()
    assert runner.wait()
    finished = runner.take()
    assert finished is not None
    assert matches(finished.problem, "the worker process ended …")
    assert finished.detail == "exit code -9"


def test_a_process_that_cannot_start_says_why(tune: Tune) -> None:
    runner = Runner(("-c", "raise SystemExit('no room')"))
    runner.start(tune.job(TuneTask.ASSIGN))
    assert runner.wait()
    finished = runner.take()
    assert finished is not None and finished.detail == "no room"
    runner.close()


def test_time_left_is_told_where_it_is_known() -> None:
    assert str(JobProgress(None, "delays", 3.2)) == "delays, 3 s"
    assert str(JobProgress(0.5, "2 of 4", 3.2, 7.1)) == "2 of 4, 7 s left"
