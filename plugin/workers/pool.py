"""ProcessPool: processes that build their state once, work on jobs and answer in order."""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any, Generic, Self, TypeVar

from mjrig.errors import MjrigError
from mjrig.workers.main_guard import UNGUARDED, check_main_guard, unguarded_error

S = TypeVar("S")
J = TypeVar("J")
R = TypeVar("R")


def cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


class _Context(SpawnContext):
    """Spawns processes, and keeps them: an executor that breaks forgets their exit codes."""

    def __init__(self) -> None:
        super().__init__()
        self.processes: list[SpawnProcess] = []

    def Process(self, *args: Any, **kwargs: Any) -> SpawnProcess:  # type: ignore[override]
        self.processes.append(SpawnProcess(*args, **kwargs))
        return self.processes[-1]


class ProcessExecutor(ProcessPoolExecutor):
    """An executor of spawned processes that end when their parent does, and at once when killed.

    Processes are spawned: MuJoCo and numpy have threads by now, which a fork would cut in half.
    They ignore Ctrl+C, which the parent answers.

    Args:
        count: how many processes.
        begin: called in each of them first.
        arguments: what it is called with.

    Raises:
        MjrigError: the main script would run again in each of them.
    """

    def __init__(
        self,
        count: int,
        begin: Callable[..., object] | None = None,
        arguments: tuple[object, ...] = (),
    ) -> None:
        check_main_guard()
        self._context = _Context()
        self._stopped, self._stop = self._context.Pipe(duplex=False)
        super().__init__(count, self._context, _begin, (self._stopped, begin, arguments))

    def check_guard(self) -> None:
        """Close a broken executor, and explain it if the main script lacks the guard.

        Raises:
            MjrigError: the script lacks it.
        """
        self.shutdown(cancel_futures=True)  # then all exit codes are known
        if any(process.exitcode == UNGUARDED for process in self._context.processes):
            raise unguarded_error()

    def kill(self) -> None:
        """End the processes now, in the middle of their work; killing twice is fine."""
        self._stop.close()
        self.shutdown(wait=False, cancel_futures=True)


def _begin(
    stopped: "Connection[Any, Any]",
    begin: Callable[..., object] | None,
    arguments: tuple[object, ...],
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None
    sentinels: list[Any] = [parent.sentinel, stopped]

    def watch() -> None:
        """A worker whose parent was killed would wait for work for ever."""
        wait_for(sentinels)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    if begin is not None:
        begin(*arguments)


class ProcessPool(Generic[S]):
    """Processes that each build a state once and work with it.

    Use it in a `with` block: it ends when the work is done, and at once after an error or Ctrl+C.

    Args:
        count: how many processes.
        build: makes the state of a process; a function or class at the top of a module.
        arguments: what it is made from; they are pickled.
    """

    def __init__(self, count: int, build: Callable[..., S], *arguments: object) -> None:
        self._executor = ProcessExecutor(count, _build, (build, arguments))

    def map(self, work: Callable[[S, J], R], jobs: Iterable[J]) -> Iterator[R]:
        """`work(state, job)` of every job, in their order, as they are ready.

        The first error ends it: that of the job, or of building the state.

        Raises:
            MjrigError: a process ended by itself.
        """
        futures = [self._executor.submit(_work, work, job) for job in jobs]
        return self._results(futures)

    def _results(self, futures: "list[Future[R]]") -> Iterator[R]:
        try:
            for future in futures:
                yield future.result()
        except BrokenExecutor as error:
            self._executor.check_guard()
            raise MjrigError(f"a worker process ended by itself: {error}") from error
        finally:
            for future in futures:
                future.cancel()

    def close(self) -> None:
        """End the processes after their current jobs."""
        self._executor.shutdown(cancel_futures=True)

    def kill(self) -> None:
        """End the processes now."""
        self._executor.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        if error is None:
            self.close()
        else:
            self.kill()


#: The state of this process, or why there is none.
_state: list[tuple[Any, Exception | None]] = []


def _build(build: Callable[..., object], arguments: tuple[object, ...]) -> None:
    # An error here would only break the pool; it is raised by the first job instead.
    try:
        _state[:] = [(build(*arguments), None)]
    except Exception as error:
        _state[:] = [(None, error)]


def _work(work: Callable[[Any, Any], Any], job: object) -> Any:
    ((state, error),) = _state
    if error is not None:
        raise error
    return work(state, job)
