"""Back ends that run tasks: local processes, threads, the calling thread, or a Dask cluster.

Any `concurrent.futures.Executor` works.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from mjrig.core.errors import MissingExtraError, MjrigError, PropertyError
from mjrig.core.names import suggestion
from mjrig.core.processes.process_pool import ProcessExecutor, cores

#: How often a running back end asks whether it is cancelled [s].
POLL_S = 0.1
NAMES = ("processes", "threads", "inline", "dask")
#: How often a task may kill its worker before it is given up.
DEATHS = 2
T = TypeVar("T")
R = TypeVar("R")


class Inline(Executor):
    """Runs tasks immediately in the calling thread: for debugging."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@dataclass
class Pool:
    """An executor, and how to get another one when it breaks.

    Attributes:
        executor: runs the tasks.
        workers: number of batches it runs at a time.
        is_local: its workers see the same files as this process.
        renew: makes another one; None: a broken executor cannot be replaced.
        threads: threads per batch; 0: no batches, one world after the other.
    """

    executor: Executor
    workers: Callable[[], int]
    is_local: bool = True
    renew: Callable[[], Executor] | None = None
    threads: int = 1

    def replace_broken(self) -> None:
        """Continue with another executor.

        Raises:
            MjrigError: there is none, or the main script lacks the guard.
        """
        if isinstance(self.executor, ProcessExecutor):
            self.executor.check_guard()
        if self.renew is None:
            raise MjrigError(
                "the executor broke: a worker died; finished tasks are kept, run it again to resume"
            )
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = self.renew()


@contextmanager
def open_pool(
    executor: "str | Executor | Pool" = "processes",
    workers: int | None = None,
    scheduler: str = "",
) -> Iterator[Pool]:
    """A pool by name, or around an executor or pool of the caller, which stays open.

    Args:
        executor: one of `processes`, `threads`, `inline`, `dask`, an executor, or an open pool.
        workers: how many; None: one per core.
        scheduler: address of a Dask scheduler.

    Raises:
        PropertyError: there is no such executor, or a number or address is missing or wrong.
        MissingExtraError: the package for it is not installed.
    """
    if isinstance(executor, Pool):
        yield executor
        return
    count = cores() if workers is None else workers
    if count < 1:
        raise PropertyError(f"the number of workers must be >= 1, got {count}")
    if isinstance(executor, Executor):
        own = isinstance(executor, ProcessPoolExecutor | ThreadPoolExecutor | Inline)
        limit = workers or getattr(executor, "_max_workers", None) or count
        yield Pool(executor, lambda: limit, is_local=own)
        return
    if executor not in NAMES:
        raise PropertyError(f"unknown executor {executor!r}; {suggestion(executor, NAMES)}")
    if scheduler and executor != "dask":
        raise PropertyError(f"a scheduler is for the executor dask, not for {executor}")
    if executor == "dask":
        with _dask(scheduler) as pool:
            yield pool
        return
    make: Callable[[], Executor] = {
        "processes": lambda: ProcessExecutor(count),
        "threads": lambda: ThreadPoolExecutor(count),
        "inline": Inline,
    }[executor]
    inline = executor == "inline"
    pool = Pool(make(), lambda: 1 if inline else count, renew=make)
    pool.threads = count if inline else 1
    try:
        yield pool
    except BaseException:
        if isinstance(pool.executor, ProcessExecutor):
            pool.executor.kill()  # an interrupted run does not wait for its tasks
        raise
    finally:
        pool.executor.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _dask(scheduler: str) -> Iterator[Pool]:
    if not scheduler:
        raise PropertyError("the executor dask needs a scheduler, as in tcp://192.168.1.5:8786")
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError("a Dask cluster", "cluster", error) from error
    try:
        connect: Any = Client
        client = connect(scheduler, timeout=10)
    except (OSError, ValueError) as error:
        raise MjrigError(f"there is no Dask scheduler at {scheduler}: {error}") from error
    with client:
        # Submissions are distinct even if their content is equal: a second try must run again.
        executor = client.get_executor(pure=False)
        yield Pool(
            executor,
            lambda: max(1, sum(client.nthreads().values())),
            is_local=False,
            renew=lambda: client.get_executor(pure=False),
        )
        executor.shutdown(wait=False)


def drive(
    pool: Pool,
    feed: Callable[[], list[T] | None],
    work: Callable[[Pool, list[T]], "Future[list[R]]"],
    give_up: Callable[[T, str], R],
    *,
    ahead: int = 1,
    cancel: Callable[[], bool] | None = None,
) -> Iterator[list[R]]:
    """Keep workers busy until nothing is left; yields results, of every task exactly once.

    A lost worker's tasks run again, alone, so that the one that kills its worker is found.

    Args:
        pool: executor and workers.
        feed: the next piece of work, a list of tasks; None: none at the moment.
        work: hands a piece of work to the pool; without results it is handed out again.
        give_up: makes the result of a task that killed its worker twice, from the reason.
        ahead: pieces that wait in the executor, per worker.
        cancel: polled; true ends it, with the results so far.
    """
    flight: dict[Future[list[R]], list[T]] = {}
    while cancel is None or not cancel():
        while len(flight) < pool.workers() * (1 + ahead):
            piece = feed()
            if piece is None:
                break
            flight[_submitted(pool, piece, work)] = piece
            if any(future.done() for future in flight):
                break  # inline: what is done is taken before more is
        if not flight:
            return
        done, _ = wait(flight, None if cancel is None else POLL_S, return_when=FIRST_COMPLETED)
        lost: list[list[T]] = []
        for future in done:
            piece = flight.pop(future)
            results, error = _result(future)
            if error is not None:
                lost.append(piece)
                if isinstance(error, BrokenExecutor):
                    # The culprit is unknown: all tasks under way are tried alone.
                    yield from _salvage(flight, lost)
                    pool.replace_broken()
                    break
            elif results:
                yield results
            else:
                flight[_submitted(pool, piece, work)] = piece
        for piece in lost:
            yield from _try_alone(pool, piece, work, give_up)
    for future in flight:
        future.cancel()


def _submitted(
    pool: Pool, piece: list[T], work: Callable[[Pool, list[T]], "Future[list[R]]"]
) -> "Future[list[R]]":
    try:
        return work(pool, piece)
    except BrokenExecutor as error:  # it broke in the meantime
        future: Future[list[R]] = Future()
        future.set_exception(error)
        return future


def _result(future: "Future[list[R]]") -> tuple[list[R], BaseException | None]:
    try:
        return future.result(), None
    except (Exception, CancelledError) as error:
        return [], error


def _salvage(flight: "dict[Future[list[R]], list[T]]", lost: list[list[T]]) -> Iterator[list[R]]:
    """Empty what is under way in a broken executor: yields results, adds the rest to `lost`."""
    for future, piece in flight.items():
        results, _ = _result(future)
        if results:
            yield results
        else:
            lost.append(piece)
    flight.clear()


def _try_alone(
    pool: Pool,
    piece: list[T],
    work: Callable[[Pool, list[T]], "Future[list[R]]"],
    give_up: Callable[[T, str], R],
) -> Iterator[list[R]]:
    """Run lost work with nothing beside it; what is lost again is split down to one task."""
    for _ in range(1 if len(piece) > 1 else DEATHS):
        results, error = _result(_submitted(pool, piece, work))
        while error is None and not results:
            results, error = _result(_submitted(pool, piece, work))
        if error is None:
            yield results
            return
        if isinstance(error, BrokenExecutor):
            pool.replace_broken()
    if len(piece) == 1:
        yield [give_up(piece[0], _why(error))]
        return
    for task in piece:
        yield from _try_alone(pool, [task], work, give_up)


def _why(error: BaseException | None) -> str:
    if isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker":
        return "its worker died on every attempt"
    return " ".join(f"{type(error).__name__}: {error}".split())
