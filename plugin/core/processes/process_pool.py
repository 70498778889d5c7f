"""ProcessPool: worker processes that build their state once and return results in order.

Worker processes import the main script and would run it again if it lacks the main guard. The
script's text is checked before the first process starts. If the text is inconclusive, the
worker processes detect it and exit silently, and the main process raises the error.
"""

import ast
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing import current_process, parent_process
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from types import FrameType
from typing import Any, Generic, Self, TypeVar

from mjrig.core.errors import MjrigError

# Main guard ---------------------------------------------------------------------------------------
# The main guard: worker processes import the main script, and run it again if it lacks the guard.
#
# The script's text is checked before the first process is started. A script whose text leaves it
# open is detected in the worker processes, which end silently, and the main process raises the
# error.


#: Exit code of a worker process whose main script started processes while it was imported.
UNGUARDED = 86
#: A condition with one of these names can distinguish the main process from a worker process.
_PROCESS_NAMES = frozenset(("__name__", "parent_process", "current_process"))


def check_main_guard() -> None:
    """Raise if worker processes would run the calling script again; call it before starting them.

    Raises:
        MjrigError: the call is at the top level of the main script and not below a guard, or the
            script is not a file.
    """
    if getattr(current_process(), "_inheriting", False):  # a worker that imports the main script
        os._exit(UNGUARDED)
    line = _line_in_main()
    path = _imported_again()
    if path is not None and not path.is_file():
        raise MjrigError(
            f"worker processes import the main script, and {path.name} is not a file; save the "
            'script to a file, and put the call below `if __name__ == "__main__":`'
        )
    if line and path is not None and is_unguarded(path, line):
        raise unguarded_error(f"{path.name}, line {line}: ")


def unguarded_error(place: str = "") -> MjrigError:
    """The error of a script that would run again in every worker process."""
    return MjrigError(
        f"{place}worker processes import the main script, which would run it again; put the call "
        'below `if __name__ == "__main__":`'
    )


def _imported_again() -> Path | None:
    """The script that a spawned process imports; None: it imports none."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name.split(".")[-1] == "__main__":
        return None  # a package or archive that is run as a program is not imported again
    file = getattr(main, "__file__", None)
    return Path(file) if file and Path(file).stem != "ipython" else None


def _line_in_main() -> int:
    """The line of the main script's top level that is being run; 0: none, as in a thread."""
    main = sys.modules.get("__main__")
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals is getattr(main, "__dict__", 0):
            return frame.f_lineno
        frame = frame.f_back
    return 0


def is_unguarded(path: Path, line: int) -> bool:
    """Whether a worker process that imports a script certainly runs this line of its top level."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return False
    nodes = (n for n in ast.walk(tree) if getattr(n, "lineno", line) <= line)
    return not any(_depends_on_process(node) for node in nodes)


def _depends_on_process(node: ast.AST) -> bool:
    """Whether a statement or expression has a condition that differs in a worker process."""
    condition = node if isinstance(node, ast.Compare) else getattr(node, "test", None)
    condition = node.subject if isinstance(node, ast.Match) else condition
    parts = ast.walk(condition) if isinstance(condition, ast.AST) else ()
    names = {getattr(n, "id", getattr(n, "attr", "")) for n in parts}
    return not names.isdisjoint(_PROCESS_NAMES)


# Pool ---------------------------------------------------------------------------------------------


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
