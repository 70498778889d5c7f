"""Parallel backends for tasks: local processes, threads, the calling thread, or a Dask cluster.

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
        threads: threads per batch.
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
    take: Callable[[list[R]], bool],
    give_up: Callable[[T, str], None],
    *,
    ahead: int = 1,
) -> None:
    """Keep workers busy until nothing is left; every task is taken or given up exactly once.

    A lost worker's tasks run again, alone, so that the one that kills its worker is found.

    Args:
        pool: executor and workers.
        feed: the next piece of work, a list of tasks; None: none at the moment.
        work: hands a piece of work to the pool.
        take: gets the results of a piece, as they come; false: it is to be handed out again.
        give_up: gets a task that killed its worker twice, and why.
        ahead: pieces that wait in the executor, per worker.
    """
    flight: dict[Future[list[R]], list[T]] = {}
    while True:
        while len(flight) < pool.workers() * (1 + ahead):
            piece = feed()
            if piece is None:
                break
            flight[_submitted(pool, piece, work)] = piece
            if any(future.done() for future in flight):
                break  # inline: what is done is taken before more is
        if not flight:
            return
        done, _ = wait(flight, return_when=FIRST_COMPLETED)
        lost: list[list[T]] = []
        for future in done:
            piece = flight.pop(future)
            found, error = _result(future)
            if error is None:
                if not take(found):
                    flight[_submitted(pool, piece, work)] = piece
                continue
            lost.append(piece)
            if isinstance(error, BrokenExecutor):
                # The culprit is unknown: all tasks under way are tried alone.
                lost += _rest(flight, take)
                pool.replace_broken()
                break
        for piece in lost:
            _try_alone(pool, piece, work, take, give_up)


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


def _rest(
    flight: "dict[Future[list[R]], list[T]]", take: Callable[[list[R]], bool]
) -> list[list[T]]:
    """Empty what is under way in a broken executor: results are taken, the rest is lost."""
    lost = []
    for future, piece in flight.items():
        found, error = _result(future)
        if error is not None or not take(found):
            lost.append(piece)
    flight.clear()
    return lost


def _try_alone(
    pool: Pool,
    piece: list[T],
    work: Callable[[Pool, list[T]], "Future[list[R]]"],
    take: Callable[[list[R]], bool],
    give_up: Callable[[T, str], None],
) -> None:
    """Run lost work with nothing beside it; what is lost again is split down to one task."""
    error = _attempt(pool, piece, work, take)
    if error is None:
        return
    if len(piece) > 1:
        for task in piece:
            _try_alone(pool, [task], work, take, give_up)
        return
    for _ in range(DEATHS - 1):
        error = _attempt(pool, piece, work, take)
        if error is None:
            return
    give_up(piece[0], _why(error))


def _attempt(
    pool: Pool,
    piece: list[T],
    work: Callable[[Pool, list[T]], "Future[list[R]]"],
    take: Callable[[list[R]], bool],
) -> BaseException | None:
    found, error = _result(_submitted(pool, piece, work))
    while error is None and not take(found):
        found, error = _result(_submitted(pool, piece, work))
    if isinstance(error, BrokenExecutor):
        pool.replace_broken()
    return error


def _why(error: BaseException | None) -> str:
    if isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker":
        return "its worker died on every attempt"
    return " ".join(f"{type(error).__name__}: {error}".split())
