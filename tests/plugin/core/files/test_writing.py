"""Files that several processes write: no save is lost, nothing is left behind, nobody waits for
the dead."""

import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

import mjrig
from mjrig.core.errors import SceneError
from mjrig.core.files import atomic_writes, sandbox
from mjrig.core.files.atomic_writes import folder_lock, write_atomically
from tests.campaign import Tally, amount
from tests.wording import regex

fcntl = pytest.importorskip("fcntl")
SCENE = "mjrig: 1\nvars: {first: 0, second: 0}   # counted\nactors: []\n"
#: Children are forked: they start at once, and the test runs no threads.
fork = multiprocessing.get_context("fork")


def _count(path: Path, name: str, times: int) -> None:
    for _ in range(times):
        while True:
            scene = mjrig.Scene.load(path)
            scene.set(f"vars.{name}", scene.vars[name] + 1)
            try:
                scene.save()
                break
            except SceneError:
                continue  # changed on disk: read again


@pytest.mark.campaign
def test_no_save_is_lost(tmp_path: Path, tally: Tally) -> None:
    path = tmp_path / "s.yaml"
    for _ in tally.cases("two processes save one scene", 1, 20):
        path.write_text(SCENE)
        times = amount(15, 100)
        both = [fork.Process(target=_count, args=(path, n, times)) for n in ("first", "second")]
        for process in both:
            process.start()
        for process in both:
            process.join()
        found = dict(mjrig.Scene.load(path).vars)
        if found != {"first": times, "second": times}:
            tally.found(f"{found} of {times} saves each")


def _save_for_ever(path: Path, content: str) -> None:
    while True:
        write_atomically(path, content, backup=True)


@pytest.mark.campaign
def test_a_killed_save_leaves_the_old_or_the_new_file_and_nothing_else(
    tmp_path: Path, tally: Tally
) -> None:
    path, contents = tmp_path / "s.yaml", ("a" * 200_000, "b" * 200_000)
    path.write_text(contents[0])
    for rng in tally.cases("kills while saving", 5, 300, minutes=4):
        process = fork.Process(target=_save_for_ever, args=(path, rng.choice(contents)))
        process.start()
        assert process.pid is not None
        time.sleep(rng.uniform(0.0, 0.05))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        if path.read_text() not in contents:
            tally.found("a part of a file was left")
        write_atomically(path, contents[0])
        names = {p.name for p in tmp_path.iterdir()} - {"s.yaml", "s.yaml~"}
        if names:
            tally.found(f"{names} left behind")


def test_files_of_other_programs_stay(tmp_path: Path) -> None:
    others = (".s.yaml.swp", ".s.yaml.abc", ".t.yaml.abc.mjrig", "s.yaml.mjrig", ".sxyaml.a.mjrig")
    for name in (*others, ".s.yaml.abc.mjrig", ".[ab]*.x.mjrig", ".a.x.mjrig"):
        (tmp_path / name).touch()
    write_atomically(tmp_path / "s.yaml", "1")
    write_atomically(tmp_path / "[ab]*", "1")
    left = {p.name for p in tmp_path.iterdir()}
    assert left == {*others, "s.yaml", "[ab]*", ".a.x.mjrig"}


def test_whoever_does_not_stop_writing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic_writes, "PATIENCE_S", 0.0)
    (tmp_path / "s.yaml").write_text(SCENE)
    scene = mjrig.Scene.load(tmp_path / "s.yaml")
    scene.set("vars.first", 1)
    with folder_lock(tmp_path / "other.yaml"):
        with pytest.raises(SceneError, match=regex("s.yaml: cannot be written: another …")):
            scene.save()
    scene.save()
    assert "first: 1" in (tmp_path / "s.yaml").read_text()


@pytest.mark.parametrize("code", ["ENOLCK", "EBADF", "ENOTSUP", "EINVAL"])
def test_a_file_system_without_locks_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    import errno

    def flock(*_: object) -> None:
        raise OSError(getattr(errno, code), "no locks")

    monkeypatch.setattr(fcntl, "flock", flock)
    (tmp_path / ".s.yaml.abc.mjrig").touch()  # perhaps somebody's
    (tmp_path / "s.yaml").write_text(SCENE)
    scene = mjrig.Scene.load(tmp_path / "s.yaml")
    scene.set("vars.first", 1)
    scene.save()
    assert "first: 1" in (tmp_path / "s.yaml").read_text()
    assert (tmp_path / ".s.yaml.abc.mjrig").exists()


def test_a_system_without_locks_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing: Any = None
    monkeypatch.setattr(atomic_writes, "fcntl", nothing)
    write_atomically(tmp_path / "a", "1")
    assert (tmp_path / "a").read_text() == "1"


def _trust(store: Path, name: str) -> None:
    for i in range(10):
        sandbox.trust(store.parent / f"{name}{i}", store)


def test_two_processes_trust_folders(tmp_path: Path) -> None:
    store = tmp_path / "trusted.json"
    both = [fork.Process(target=_trust, args=(store, name)) for name in "ab"]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert len(sandbox.trusted_folders(store)) == 20
