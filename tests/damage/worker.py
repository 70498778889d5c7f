"""One process that reads damaged files, a line of JSON for each: a crash ends it, not the test.

`python -m tests.damage.worker FOLDER` makes the specimens in FOLDER and prints their kinds. For
each line "seed kind" on stdin it then prints the outcome.
"""

import contextlib
import json
import os
import random
import re
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

from mjrig.core.errors import MjrigError
from mjrig.core.files.decoding import UNEXPECTED
from tests.damage.mutations import mutate
from tests.damage.specimens import Specimen, specimens
from tests.resource_limits import TooLarge, TooSlow, cpu_limit, memory_limit

#: CPU time [s] and memory [MB] that a damaged file may take.
SECONDS, MEGABYTES = 10.0, 1000.0
#: Longest message [characters] that a user can still read.
LONGEST = 2500
#: Classes of other packages in a message.
_FOREIGN = re.compile(r"\b[A-Za-z]\w*(?:Error|Exception|Warning)\b")


def problem(specimen: Specimen, path: Path) -> str:
    """What is wrong with how a damaged file is read; empty: nothing. Raises nothing."""
    try:
        with memory_limit(MEGABYTES), cpu_limit(SECONDS):
            specimen.read(path)
    except MjrigError as error:
        return _of_message(str(error), path)
    except TooSlow:
        return f"took more than {SECONDS} s of CPU"
    except TooLarge as error:
        return f"took {error}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:500]
    return "loaded"


def _of_message(text: str, path: Path) -> str:
    parts = path.parts[-3:]
    if not any(part in text for part in (path.name, path.stem, *parts)):
        return f"does not name the file: {text}"[:500]
    if len(text) > LONGEST:
        return f"is too long ({len(text)}): {text[:300]}"
    if UNEXPECTED in text:
        return f"was not foreseen: {text}"[:500]
    if name := _FOREIGN.search(text):
        return f"names {name.group()!r}: {text}"[:700]
    return ""


def case(chosen: Specimen, seed: str, work: Path) -> dict[str, Any]:
    """Mutate a copy of a specimen and read it."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(chosen.folder, work)
    path = work / chosen.damaged
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mutate(random.Random(seed), path, chosen.syntax)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        outcome = problem(chosen, path)
    return {"loaded": outcome == "loaded", "problem": "" if outcome == "loaded" else outcome}


def main() -> None:
    """Serve cases until stdin ends."""
    folder = Path(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # packages written in C print to stdout
    with contextlib.redirect_stdout(sys.stderr):
        by_kind = {s.kind: s for s in specimens(folder / "good")}
        print(json.dumps(list(by_kind)), file=answers, flush=True)
        for line in sys.stdin:
            seed, _, kind = line.rstrip("\n").partition(" ")
            result = case(by_kind[kind], seed, folder / "work")
            print(json.dumps(result), file=answers, flush=True)


if __name__ == "__main__":
    main()
