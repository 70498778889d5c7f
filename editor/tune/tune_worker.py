"""Worker process of the Tune panel: runs its jobs one after the other.

`python -m mjrig.editor.tune.tune_worker`; see `mjrig.core.processes.child_process`.
"""

import traceback
from collections.abc import Callable
from typing import Any

from mjrig.core.errors import MjrigError
from mjrig.core.processes.child_process import serve
from mjrig.editor.text import error_text
from mjrig.editor.tune.tune_jobs import TuneJob

#: Kinds of answers: (PROGRESS, share or None, text), (DONE, result), (PROBLEM, text, traceback).
PROGRESS, DONE, PROBLEM = "progress", "done", "problem"


def work(job: TuneJob, tell: Callable[[Any], None]) -> None:
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
