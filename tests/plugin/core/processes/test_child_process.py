from pathlib import Path
from typing import Any

import pytest

from mjrig.core.processes.child_process import ChildEndedError, ChildProcess

CHILD = """
import os, sys, time
from mjrig.core.processes.child_process import serve
def work(job, tell):
    if job == "die":
        print("out of luck", file=sys.stderr, flush=True)
        os._exit(3)
    if job == "die silently":
        os._exit(4)
    if job == "sleep":
        time.sleep(60)
    print("what a library prints is no answer")
    tell(("done", job))
serve(work, ready="ready")
"""


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    return [str(script)]


def test_jobs_are_answered_until_it_is_stopped(command: list[str]) -> None:
    child = ChildProcess(command)
    assert child.receive() == "ready"
    assert child.ask({"a": (1, 2)}) == ("done", {"a": (1, 2)})
    assert not child.poll()
    assert child.ask("b") == ("done", "b")
    child.stop()
    assert not child.is_alive and child.poll()
    child.stop()


@pytest.mark.parametrize(
    ("job", "words"), [("die", "out of luck"), ("die silently", "exit code 4")]
)
def test_death_is_noticed_with_its_last_words(command: list[str], job: str, words: str) -> None:
    child = ChildProcess(command)
    child.receive()
    for _ in range(2):
        with pytest.raises(ChildEndedError, match=words):
            child.ask(job)
    assert child.last_words == words


def test_it_is_stopped_in_the_middle_of_a_job(command: list[str]) -> None:
    child = ChildProcess(command)
    child.receive()
    child.send("sleep")
    child.stop()
    with pytest.raises(ChildEndedError):  # there is no answer: the job was not waited for
        child.receive()


def test_answers_can_be_heard_as_they_come(command: list[str]) -> None:
    heard: list[Any] = []
    ended: list[str] = []
    child = ChildProcess(
        command,
        hear=lambda process, answer: heard.append(answer),
        gone=lambda process, words: ended.append(words),
        environment={"NO_SUCH_VARIABLE": "1"},
    )
    child.send("die")
    with pytest.raises(ChildEndedError):
        child.receive()
    child.stop()
    assert heard == ["ready"] and ended == ["out of luck"]
