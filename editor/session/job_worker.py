"""Worker process of the window: runs jobs of panels one after the other.

`python -m mjrig.editor.session.job_worker`; see `mjrig.core.processes.child_process`. Modules that
define jobs import nothing of a window, since this process imports them.
"""

import traceback
from collections.abc import Callable
from typing import Any, Protocol

from mjrig.core.errors import MjrigError
from mjrig.core.processes.child_process import serve
from mjrig.editor.text import error_text

#: Kinds of answers: (PROGRESS, share or None, text), (DONE, result), (PROBLEM, text, traceback).
PROGRESS, DONE, PROBLEM = "progress", "done", "problem"
#: Called with the fraction done, None where it is unknown, and a description of the present work.
JobReport = Callable[[float | None, str], object]


class BackgroundJob(Protocol):
    """A job for the worker process: plain data."""

    @property
    def title(self) -> str: ...
    def run(self, report: JobReport) -> object: ...


def work(job: BackgroundJob, tell: Callable[[Any], None]) -> None:
    """Do a job; problems are answers too."""
    try:
        result = job.run(lambda share, text: tell((PROGRESS, share, text)))
        tell((DONE, result))
    except MjrigError as error:
        tell((PROBLEM, error_text(error), ""))
    except Exception as error:
        tell((PROBLEM, error_text(error), traceback.format_exc()))


if __name__ == "__main__":
    serve(work)
