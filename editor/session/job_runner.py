"""Runs one job of a panel at a time, in a process that can be ended at any moment."""

import threading
import time
from dataclasses import dataclass
from typing import Any

from mjrig.core.processes.child_process import ChildProcess
from mjrig.editor.session.job_worker import DONE, PROBLEM, PROGRESS, BackgroundJob
from mjrig.editor.text import tr


@dataclass(frozen=True)
class JobProgress:
    """How far a job is.

    Attributes:
        share: fraction done; None: unknown.
        text: what is being done.
        elapsed: time since the job began [s].
        left: time left [s]; None: unknown.
    """

    share: float | None = None
    text: str = "starting"
    elapsed: float = 0.0
    left: float | None = None

    def __str__(self) -> str:
        if self.left is None:
            return f"{self.text}, {self.elapsed:.0f} s"
        return tr("{text}, {left:.0f} s left", text=self.text, left=self.left)


@dataclass(frozen=True, eq=False)
class Finished:
    """How a job ended: with a result, or a problem and perhaps a traceback."""

    job: BackgroundJob
    result: Any = None
    problem: str = ""
    detail: str = ""
    seconds: float = 0.0


class Runner:
    """One job at a time; the process stays for the next one, unless one is cancelled.

    Args:
        command: starts the process.
    """

    def __init__(
        self, command: tuple[str, ...] = ("-m", "mjrig.editor.session.job_worker")
    ) -> None:
        self._command = command
        self._process: ChildProcess | None = None
        self._changed = threading.Condition()
        self._job: BackgroundJob | None = None
        self._finished: Finished | None = None
        self._said: tuple[float | None, str] = (None, "starting")
        #: When the job began, and when progress was first and last reported.
        self._began = self._counting = self._told = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether a job runs, or has ended and was not taken."""
        return self._job is not None or self._finished is not None

    @property
    def job(self) -> BackgroundJob | None:
        """What is being done."""
        return self._job

    def start(self, job: BackgroundJob) -> None:
        """Begin a job; one that runs is cancelled."""
        self.cancel()
        with self._changed:
            self._job, self._finished = job, None
            self._said = (None, "starting")
            self._began, self._counting = time.monotonic(), 0.0
        if self._process is None or not self._process.is_alive:
            self._process = ChildProcess(self._command, hear=self._hear, gone=self._gone)
        self._process.send(job)

    def cancel(self) -> None:
        """Cancel the job; it gives no result."""
        with self._changed:
            running, self._job = self._job is not None, None
            self._changed.notify_all()
        if running:
            self._drop(wait=False)

    def close(self) -> None:
        """End the process, and wait for that; closing twice is fine."""
        self._drop(wait=True)

    def _drop(self, *, wait: bool) -> None:
        with self._changed:
            process, self._process, self._job = self._process, None, None
        if process is not None:
            process.stop(wait=wait)

    @property
    def progress(self) -> JobProgress:
        """How far it is."""
        with self._changed:
            share, text = self._said
            now = time.monotonic()
            left = None
            if share:
                whole = (self._told - self._counting) / share
                left = max(0.0, whole - (now - self._counting))
            return JobProgress(share, text, now - self._began, left)

    def take(self) -> Finished | None:
        """How the job ended, once; None: it has not, or nothing was begun."""
        with self._changed:
            finished, self._finished = self._finished, None
            return finished

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until the job ended; returns whether it did."""
        with self._changed:
            return self._changed.wait_for(lambda: self._job is None, seconds)

    # From the thread that listens ---------------------------------------------------------------

    def _hear(self, process: ChildProcess, answer: tuple[Any, ...]) -> None:
        with self._changed:
            if process is not self._process or self._job is None:
                return  # of a job that was cancelled
            kind, *rest = answer
            if kind == PROGRESS:
                self._said = (rest[0], rest[1])
                self._told = time.monotonic()
                if rest[0] is not None and not self._counting:
                    self._counting = self._told
            elif kind == DONE:
                self._end(Finished(self._job, rest[0]))
            elif kind == PROBLEM:
                self._end(Finished(self._job, None, rest[0], rest[1]))

    def _gone(self, process: ChildProcess, last_words: str) -> None:
        with self._changed:
            if process is not self._process:
                return
            self._process = None
            if self._job is not None:
                problem = tr("the worker process ended unexpectedly")
                self._end(Finished(self._job, None, problem, last_words))

    def _end(self, finished: Finished) -> None:
        seconds = time.monotonic() - self._began
        self._finished = Finished(
            finished.job, finished.result, finished.problem, finished.detail, seconds
        )
        self._job = None
        self._changed.notify_all()
