"""Pools of processes: order, errors, and no process left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mjrig.core.errors import MjrigError
from mjrig.core.processes.process_pool import ProcessPool, cores
from tests.patience import PATIENCE
from tests.places import ROOT
from tests.wording import regex


@pytest.fixture(autouse=True)
def tests_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes import what they run by name, as those of a user's own module would."""
    monkeypatch.syspath_prepend(str(ROOT))


class Adder:
    """What a process of these tests builds."""

    def __init__(self, offset: int, folder: Path | None = None) -> None:
        if offset < 0:
            raise MjrigError(f"no offset below 0, got {offset}")
        if folder is not None:
            (folder / str(os.getpid())).touch()
        self._offset, self._folder = offset, folder

    def add(self, number: int) -> int:
        if number == 13:
            raise ValueError("13 is unlucky")
        if number == 14:
            os.abort()
        return self._offset + number

    def slow(self, number: int) -> int:
        assert self._folder is not None
        time.sleep(60.0)
        (self._folder / f"{number} is done").touch()
        return number


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def until(condition: Callable[[], object], seconds: float = PATIENCE) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_answers_come_in_order_and_states_are_built_once(tmp_path: Path) -> None:
    with ProcessPool(2, Adder, 100, tmp_path) as pool:
        assert list(pool.map(Adder.add, range(9))) == list(range(100, 109))
        assert list(pool.map(Adder.add, [5])) == [105]
    built = [int(path.name) for path in tmp_path.iterdir()]
    assert 1 <= len(built) <= 2
    assert not any(map(is_running, built))


def test_the_first_error_is_raised_with_its_text() -> None:
    with pytest.raises(ValueError, match="13 is unlucky"), ProcessPool(1, Adder, 0) as pool:
        list(pool.map(Adder.add, [1, 13, 2]))


def test_an_error_of_building_the_state_is_raised_with_its_text() -> None:
    with pytest.raises(MjrigError, match="no offset below 0, got -1"):
        with ProcessPool(1, Adder, -1) as pool:
            list(pool.map(Adder.add, [1]))


def test_a_process_that_dies_is_an_error() -> None:
    with pytest.raises(MjrigError, match=regex("a worker process ended …")):
        with ProcessPool(1, Adder, 0) as pool:
            list(pool.map(Adder.add, [14]))


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="processes are seen in /proc")
def test_after_an_error_nothing_is_waited_for(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), ProcessPool(1, Adder, 0, tmp_path) as pool:
        answers = pool.map(Adder.slow, [1, 2])
        assert until(lambda: list(tmp_path.iterdir()))
        raise KeyboardInterrupt
    del answers
    (pid,) = (int(path.name) for path in tmp_path.iterdir())  # and no job is done
    assert until(lambda: not is_running(pid))


_SCRIPT = """
import faulthandler
import signal
import sys
from pathlib import Path
from mjrig.core.processes.process_pool import ProcessPool
from tests.plugin.core.processes.test_pool import Adder
faulthandler.register(signal.SIGUSR1)
if __name__ == "__main__":
    with ProcessPool(1, Adder, 0, Path(sys.argv[1])) as pool:
        list(pool.map(Adder.slow, [1]))
"""


def stacks(process: "subprocess.Popen[bytes]") -> str:
    """What the threads of a process that does not end are waiting for; it is ended."""
    process.send_signal(signal.SIGUSR1)
    time.sleep(1.0)
    process.kill()
    return process.communicate()[1].decode()


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="processes are seen in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_process_is_left_behind(tmp_path: Path, how: signal.Signals) -> None:
    script, built = tmp_path / "script.py", tmp_path / "built"
    script.write_text(_SCRIPT)
    built.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, str(script), str(built)], env=environment, stderr=subprocess.PIPE
    ) as process:
        assert until(lambda: list(built.iterdir()))
        process.send_signal(how)
        assert until(lambda: process.poll() is not None), stacks(process)
        assert process.returncode != 0
    (pid,) = (int(path.name) for path in built.iterdir())
    assert until(lambda: not is_running(pid))


def test_there_is_a_core() -> None:
    assert cores() >= 1
