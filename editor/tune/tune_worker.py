"""Does the jobs of the Tune panel, one after the other, in a process of its own.

`python -m mjrig.editor.tune.tune_worker`: jobs come in by the standard input, answers go out by the
standard output, as Python objects: both ends are this program, nothing of a file goes through.
When the input ends, so does the process, in the middle of a job too, and all that it started.
"""

import os
import pickle
import queue
import signal
import sys
import threading
import traceback
from multiprocessing import active_children
from typing import IO, Any

from mjrig.editor.tune.tune_jobs import TuneJob
from mjrig.errors import MjrigError

#: Kinds of answers: (PROGRESS, share or None, words), (DONE, result), (PROBLEM, words, traceback).
PROGRESS, DONE, PROBLEM = "progress", "done", "problem"


def main() -> None:
    """Work until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C ends the editor, and that ends this
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what some library prints is no answer
    jobs: queue.SimpleQueue[TuneJob] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, jobs), daemon=True).start()
    while True:
        _work(jobs.get(), answers)


def _listen(stream: IO[bytes], jobs: "queue.SimpleQueue[TuneJob]") -> None:
    try:
        while True:
            jobs.put(pickle.load(stream))
    except EOFError:
        pass  # cancelled, or the editor is gone
    except Exception:
        traceback.print_exc()
    finally:
        for child in active_children():
            child.kill()
        os._exit(0)


def _work(job: TuneJob, answers: IO[bytes]) -> None:
    def tell(*answer: Any) -> None:
        answers.write(pickle.dumps(answer))
        answers.flush()

    try:
        result = job.run(lambda share, text: tell(PROGRESS, share, text))
        tell(DONE, result)
    except MjrigError as error:
        tell(PROBLEM, str(error), "")
    except BrokenPipeError:
        os._exit(0)
    except Exception as error:
        tell(PROBLEM, f"{type(error).__name__}: {error}", traceback.format_exc())


if __name__ == "__main__":
    main()
