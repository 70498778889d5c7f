"""ChildProcess: a Python child process that takes jobs and returns answers, pickled.

Both ends are this program; no content of files is unpickled. `serve` is the child's end. A process
of `multiprocessing` would import the main script again: a window attached to a script would open
twice.
"""

import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing import active_children
from typing import IO, Any

from mjrig.core.errors import MjrigError

#: Time a process gets to end after it was asked to stop [s].
PATIENCE = 2.0


class ChildEndedError(MjrigError):
    """The process ended; the text is the last line of what it wrote to its standard error."""


class ChildProcess:
    """A child process, and the thread that listens to it.

    Args:
        command: arguments of Python: `-m module`, or a file.
        environment: variables besides those of this process.
        hear: gets every answer, in the thread that listens; None: answers wait for `receive`.
        gone: called when the process has ended, in that thread, with what it wrote to its standard
            error, or its exit code.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        hear: Callable[["ChildProcess", Any], None] | None = None,
        gone: Callable[["ChildProcess", str], None] | None = None,
    ) -> None:
        self._hear, self._gone = hear, gone
        #: Answers, and None at the end.
        self._answers: queue.SimpleQueue[tuple[Any] | None] = queue.SimpleQueue()
        self._force: threading.Timer | None = None
        #: What it wrote to its standard error, once it has ended.
        self.last_words = ""
        self._errors = tempfile.TemporaryFile()  # a pipe that nothing reads would fill up
        self._process = subprocess.Popen(
            [sys.executable, "-P", *command],
            env={**os.environ, **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self._thread = threading.Thread(target=self._listen, name="mjrig-child", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it can take a job."""
        return self._process.poll() is None

    def send(self, job: object) -> None:
        """Hand a job over, without waiting until the process is ready for it."""
        data = pickle.dumps(job)
        threading.Thread(target=self._write, args=(data,), daemon=True).start()

    def _write(self, data: bytes) -> None:
        # If the process is gone or was asked to stop meanwhile, the listening thread notices.
        with suppress(OSError, ValueError):
            stdin = _pipe(self._process.stdin)
            stdin.write(data)
            stdin.flush()

    def poll(self) -> bool:
        """Whether `receive` would return or raise at once."""
        return not self._answers.empty()

    def receive(self) -> Any:
        """The next answer; waits for it.

        Raises:
            ChildEndedError: the process has ended, and no answer is left.
        """
        found = self._answers.get()
        if found is None:
            self._answers.put(None)  # for the next caller
            raise ChildEndedError(self.last_words.splitlines()[-1])
        return found[0]

    def ask(self, job: object) -> Any:
        """Hand a job over and wait for the answer.

        Raises:
            ChildEndedError: the process ended.
        """
        self.send(job)
        return self.receive()

    def stop(self, *, wait: bool = True) -> None:
        """End the process and its children; kill it if it does not end by itself."""
        with suppress(OSError, ValueError):
            _pipe(self._process.stdin).close()  # it ends itself, and its own processes
        if self._force is None and self.is_alive:
            self._force = threading.Timer(PATIENCE, self._process.kill)
            self._force.daemon = True
            self._force.start()
        if wait:
            self._thread.join()

    def kill(self) -> None:
        """End the process now, without waiting for it."""
        self._process.kill()

    def _listen(self) -> None:
        stream = _pipe(self._process.stdout)
        with suppress(EOFError, pickle.UnpicklingError):
            while True:
                answer = pickle.load(stream)
                if self._hear is None:
                    self._answers.put((answer,))
                else:
                    self._hear(self, answer)
        code = self._process.wait()
        if self._force is not None:
            self._force.cancel()
        self._errors.seek(0)
        words = self._errors.read().decode(errors="replace").strip()
        self.last_words = words or f"exit code {code}"
        self._answers.put(None)
        if self._gone is not None:
            self._gone(self, self.last_words)
        self._errors.close()
        stream.close()
        with suppress(OSError, ValueError):
            _pipe(self._process.stdin).close()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


# The child's end --------------------------------------------------------------------------------


def serve(work: Callable[[Any, Callable[[Any], None]], None], *, ready: object = None) -> None:
    """Work on jobs until the input ends; then exit, even in the middle of a job.

    Its own `multiprocessing` children are ended with it.

    Args:
        work: gets a job, and the function that sends an answer.
        ready: the first answer, if it is not None.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C ends the parent, and that ends this
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output printed by a library is not an answer
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_take, args=(sys.stdin.buffer, jobs), daemon=True).start()

    def tell(answer: Any) -> None:
        try:
            answers.write(pickle.dumps(answer))
            answers.flush()
        except BrokenPipeError:
            os._exit(0)

    if ready is not None:
        tell(ready)
    while True:
        work(jobs.get(), tell)


def _take(stream: IO[bytes], jobs: "queue.SimpleQueue[Any]") -> None:
    try:
        while True:
            jobs.put(pickle.load(stream))
    except EOFError:
        pass  # asked to stop, or the parent is gone
    except Exception:
        traceback.print_exc()
    finally:
        for child in active_children():
            child.kill()
        os._exit(0)
