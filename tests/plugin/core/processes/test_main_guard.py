"""A script without a main guard is one error, and is not run again by its worker processes."""

import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mjrig
from mjrig.core.processes.process_pool import is_unguarded
from tests.campaign import Tally
from tests.patience import PATIENCE
from tests.plugin.lab.scenes import BUNDLED
from tests.wording import matches

ROOT = Path(mjrig.__file__).parent
#: By following links: an editable install links folders.
FOLDERS = [path.resolve() for path in ROOT.iterdir() if path.is_dir()]
CALL = "start()"
#: Conditions that are false in a worker process, and such that say nothing about it.
GUARDS = ('__name__ == "__main__"', '"__main__" == __name__', 'not __name__ != "__main__"',
          'len("a") == 1 and __name__ == "__main__"', 'is_main()', "is_here")  # fmt: skip
OTHERS = ("True", "len('ab') > 1", "'x' in 'xy'")
#: Lines before the call that let a worker process go on.
HARMLESS = ("import math", "name = __name__", "def f():\n    return 3", "print(__name__, end='')",
            "try:\n    y = 1\nexcept ValueError:\n    y = 2")  # fmt: skip
SETUP = 'def is_main():\n    return __name__ == "__main__"\nis_here = __name__ == "__main__"\n'
GUARD = 'if __name__ == "__main__":'

SWEEP = """
from mjrig.gains import Kind, Signal
from mjrig.tuning import Choices, SignalTest, Space, sweep

print("script runs", flush=True)
space = Space((Choices("pendulum.PDController.kp", (50, 100)),))
test = SignalTest(Signal(Kind.STEP, amplitude=0.1, duration=0.05))
"""
POOL = """
from mjrig.core.processes.process_pool import ProcessPool

print("script runs", flush=True)
"""
RUN_POOL = "list(ProcessPool(1, dict).map(len, [1]))"


def blocks(condition: str, rng: random.Random) -> str:
    """The call below a condition, in one of several statements."""
    return rng.choice(
        (
            f"if {condition}:\n    {CALL}",
            f"if {condition}:\n    for i in range(1):\n        {CALL}",
            f"for i in range(1):\n    if {condition}:\n        {CALL}",
            f"try:\n    raise ValueError\nexcept ValueError:\n    if {condition}:\n        {CALL}",
            f"{CALL} if {condition} else None",
            f"{condition} and {CALL}",
            f"if not ({condition}):\n    raise SystemExit\n{CALL}",
        )
    )


def test_a_script_is_judged_by_its_text_as_a_worker_process_runs_it(
    tally: Tally, tmp_path: Path
) -> None:
    """Never a false alarm; and a script without any guard is always noticed."""
    path = tmp_path / "script.py"
    for rng in tally.cases("main guards", 300, 20_000, minutes=1):
        guarded = rng.random() < 0.6
        lines = [rng.choice(HARMLESS) for _ in range(rng.randrange(4))]
        text = blocks(rng.choice(GUARDS if guarded else OTHERS), rng)
        text = "\n".join([SETUP if guarded else "", *lines, text, f"{GUARD}\n    pass", ""])
        path.write_text(text)
        calls: list[int] = []

        def start(calls: list[int] = calls) -> None:
            calls.append(sys._getframe(1).f_lineno)

        def run(name: str, start: Any = start, text: str = text) -> None:
            try:
                exec(compile(text, "script", "exec"), {"__name__": name, "start": start})
            except SystemExit:
                pass

        run("__main__")
        (line,) = calls  # the main process starts it once
        run("__mp_main__")
        is_run_again = len(calls) > 1
        if is_unguarded(path, line) != is_run_again:
            tally.found(f"run again: {is_run_again}, line {line} of\n{text}")


def outcome(tmp_path: Path, text: str, *, as_file: bool = True) -> tuple[int, list[str], str]:
    """Exit code, lines of output and errors of a script."""
    path = tmp_path / "script.py"
    path.write_text(text)
    done = subprocess.run(
        [sys.executable, str(path) if as_file else "-"],
        input="" if as_file else text,
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=PATIENCE,
    )
    return done.returncode, done.stdout.split("\n")[:-1], done.stderr


def test_a_sweep_without_a_guard_is_one_error(tmp_path: Path) -> None:
    scene = BUNDLED / "pendulum.yaml"
    text = f"{SWEEP}print(sweep({str(scene)!r}, space, test).best.values)\n"
    code, lines, errors = outcome(tmp_path, text)
    assert (code, lines) == (1, ["script runs"])
    assert errors.count("Traceback") == 1
    assert matches(
        errors.strip().split("\n")[-1],
        "mjrig.core.errors.MjrigError: script.py, line 8: worker processes import … "
        '`if __name__ == "__main__":`',
    )


@pytest.mark.parametrize("start", ["a guard before it", "a thread"])
def test_a_script_that_its_text_leaves_open_is_one_error(start: str, tmp_path: Path) -> None:
    threaded = f"from threading import Thread\nt = Thread(target=lambda: {RUN_POOL})\n"
    threaded += "t.start()\nt.join()\n"
    text = f"{GUARD}\n    pass\n{RUN_POOL}\n" if start == "a guard before it" else threaded
    _, lines, errors = outcome(tmp_path, POOL + text)
    assert lines == ["script runs"] * 2  # itself, and its one worker process until it ends
    assert "if __name__" in errors.strip().split("\n")[-1]
    assert not re.search("spawn_main|freeze_support", errors)


def test_a_script_from_standard_input_is_one_error(tmp_path: Path) -> None:
    code, lines, errors = outcome(tmp_path, POOL + RUN_POOL + "\n", as_file=False)
    assert (code, lines) == (1, ["script runs"])
    assert "<stdin> is not a file; save the script to a file" in errors
    assert errors.count("Traceback") == 1


def test_only_the_pool_starts_python_processes_that_import_the_main_script() -> None:
    pattern = re.compile(r"\b(ProcessPoolExecutor|get_context|SpawnContext|SpawnProcess)\b")
    modules = [path for folder in FOLDERS for path in folder.rglob("*.py")]
    users = {p.name for p in modules if pattern.search(p.read_text(encoding="utf-8"))}
    assert users == {
        "process_pool.py",
        "backends.py",
    }  # the latter recognises executors of the caller
