"""Unsaved work is found again after a kill, and only then."""

import errno
import itertools
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from mjrig.core.scene.editing.scene import Scene
from mjrig.editor.session import autosave as autosaving
from mjrig.editor.session.autosave import INTERVAL, Autosave, folder, unsaved
from tests.campaign import Tally
from tests.editor.windows import SWINGS, Bench
from tests.patience import PATIENCE
from tests.places import ROOT


def test_it_writes_when_dirty_due_and_different(tmp_path: Path) -> None:
    scene = Scene.parse(SWINGS, tmp_path)
    autosave = Autosave(tmp_path / "scene.yaml", tmp_path / "kept")
    assert not autosave.tick(scene, is_dirty=False, now=0.0)
    assert not (tmp_path / "kept").exists()
    assert autosave.tick(scene, is_dirty=True, now=1.0)  # the first change, at once
    scene.set("left.PDController.kp", 4)
    assert not autosave.tick(scene, is_dirty=True, now=INTERVAL - 1)
    assert autosave.tick(scene, is_dirty=True, now=INTERVAL + 1)
    assert not autosave.tick(scene, is_dirty=True, now=2 * INTERVAL + 2)
    scene.set("left.PDController.kp", 5)
    assert autosave.tick(scene, is_dirty=True, now=3 * INTERVAL + 3)
    (file,) = (tmp_path / "kept").iterdir()
    data = json.loads(file.read_text())
    assert data["scene"] == str((tmp_path / "scene.yaml").resolve())
    assert data["text"] == scene.to_text()
    autosave.done()
    assert not list((tmp_path / "kept").iterdir())
    assert autosave.tick(scene, is_dirty=True, now=4 * INTERVAL + 4)


def test_saved_work_is_not_kept(tmp_path: Path) -> None:
    scene = Scene.parse(SWINGS, tmp_path)
    autosave = Autosave(None, tmp_path / "kept")
    assert autosave.tick(scene, is_dirty=True, now=0.0)
    assert not autosave.tick(scene, is_dirty=False, now=INTERVAL + 1)
    assert not list((tmp_path / "kept").iterdir())


def test_the_work_of_a_living_process_is_its_own(tmp_path: Path) -> None:
    scene = Scene.parse(SWINGS, tmp_path)
    assert Autosave(None, tmp_path).tick(scene, is_dirty=True)
    assert unsaved(tmp_path) == []


def test_a_later_process_of_the_same_number_is_another_one(tmp_path: Path) -> None:
    if not Path("/proc/self/stat").exists():
        pytest.skip("there is no /proc to tell processes apart by")
    assert Autosave(None, tmp_path).tick(Scene.parse(SWINGS, tmp_path), is_dirty=True)
    (file,) = tmp_path.glob("*.json")
    data = json.loads(file.read_text())
    file.write_text(json.dumps({**data, "began": "1"}))
    (left,) = unsaved(tmp_path)
    assert left.text == SWINGS


def _start_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a new start of the program in a container changes: neither number nor start time."""
    monkeypatch.setattr(autosaving, "_began", lambda pid: "17")
    monkeypatch.setattr(autosaving, "_RUN", os.urandom(8).hex(), raising=False)


@pytest.mark.campaign
def test_no_run_loses_what_another_one_left(
    tally: Tally, tmp_path: Path, own_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs with one process number: each recovers, discards or postpones, edits, and ends."""
    monkeypatch.setattr(autosaving, "INTERVAL", 0.0)
    path, values = tmp_path / "scene.yaml", itertools.count(1000)
    chosen: Counter[str] = Counter()
    for rng in tally.cases("runs of the editor", 12, 1_500):
        path.write_text(SWINGS)
        expected: list[str] = []
        for is_last in (*[False] * rng.randrange(2, 6), True):
            _start_again(monkeypatch)
            leftovers = unsaved()
            if (texts := sorted(u.text for u in leftovers)) != sorted(expected):
                tally.found(f"{len(texts)} leftovers instead of {len(expected)}")
            if is_last or len(texts) != len(expected):
                break
            bench = Bench(Scene.load(path))
            answer = rng.choice(("recover", "discard", "later"))
            if leftovers and answer != "later":
                leftover = rng.choice(leftovers)
                expected.remove(leftover.text)
                bench.window.files._recover(leftover) if answer == "recover" else leftover.forget()
                chosen[answer] += 1
            for _ in range(rng.randrange(3)):
                bench.state.session.set("left.PDController.kp", next(values))
                bench.window.each_frame()
            end = rng.choice(("crash", "crash", "close", "save", "discard"))
            chosen[end] += 1
            if end == "save":
                assert bench.window.files.save()
            elif end == "discard":
                bench.window.files.discard()
            elif bench.state.session.is_dirty:
                expected.append(bench.state.scene.to_text())
            if end != "crash":
                bench.window.files.close()
        for leftover in unsaved():
            leftover.forget()
    assert len(chosen) == 5  # every choice was made


def test_recovering_asks_before_it_replaces_unsaved_changes(
    tmp_path: Path, own_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scene.yaml").write_text(SWINGS)
    edited = Scene.parse(SWINGS.replace("kp: 10,", "kp: 77,"), tmp_path)
    assert Autosave(tmp_path / "scene.yaml").write(edited)
    _start_again(monkeypatch)
    bench = Bench(Scene.load(tmp_path / "scene.yaml"))
    bench.state.session.set("left.PDController.kp", 88)
    bench.window.each_frame()
    (leftover,) = unsaved()
    bench.window.files._recover(leftover)
    assert bench.window.files.unsaved.is_open and "kp: 88," in bench.state.scene.to_text()
    bench.window.files.unsaved._then()  # Don't save
    assert "kp: 77," in bench.state.scene.to_text() and unsaved() == []


def test_an_autosave_that_another_editor_deleted_is_written_again(tmp_path: Path) -> None:
    scene, autosave = Scene.parse(SWINGS, tmp_path), Autosave(None, tmp_path)
    assert autosave.write(scene) and not autosave.write(scene)
    (file,) = tmp_path.glob("*.json")
    file.unlink()
    assert autosave.write(scene) and file.exists()


@pytest.mark.parametrize("is_first_written", [True, False])
def test_changes_that_cannot_be_autosaved_are_reported_at_the_end(
    tmp_path: Path,
    own_folders: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    is_first_written: bool,
) -> None:
    def fails(*values: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(autosaving, "INTERVAL", 0.0)
    bench = Bench.on(SWINGS)
    if is_first_written:
        bench.state.session.set("left.PDController.kp", 54)
        bench.window.each_frame()
    with monkeypatch.context() as patch:
        patch.setattr(autosaving, "write_atomically", fails)
        bench.state.session.set("left.PDController.kp", 55)
        bench.window.each_frame()
        assert "No space left" in bench.window.files.autosave_problem
        bench.window.files.report_unsaved()
        (line,) = capsys.readouterr().err.splitlines()
        assert f"{folder()}: No space left on device" in line
        assert ("an earlier state" in line) == is_first_written
    bench.window.each_frame()
    assert not bench.window.files.autosave_problem
    bench.window.files.report_unsaved()
    assert "are offered" in capsys.readouterr().err
    bench.window.files.discard()
    bench.window.files.report_unsaved()
    assert capsys.readouterr().err == ""


def test_a_leftover_stays_if_its_changes_cannot_be_autosaved_again(
    tmp_path: Path, own_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*values: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    assert Autosave(None).write(Scene.parse(SWINGS, tmp_path))
    _start_again(monkeypatch)
    bench = Bench.on("mjrig: 1\n")
    (leftover,) = unsaved()
    monkeypatch.setattr(autosaving, "write_atomically", fails)
    bench.window.files._recover(leftover)
    assert bench.actors == ["left", "right"] and unsaved() == [leftover]


def test_unreadable_leftovers_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "b.json").write_text("[]")
    (tmp_path / "c.json").write_text('{"scene": ""}')
    assert unsaved(tmp_path) == []
    assert unsaved(tmp_path / "gone") == []


def test_the_folder_is_the_users_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MJRIG_STATE", "/here")
    assert folder() == Path("/here")
    monkeypatch.delenv("MJRIG_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", "/there")
    assert folder() == Path("/there/mjrig/autosave")


WORK = """
import sys, time
from pathlib import Path
from mjrig.editor.session import autosave
from mjrig.core.scene.editing.scene import Scene
from tests.editor.windows import Bench

autosave.INTERVAL = 0.0
bench = Bench(Scene.load(sys.argv[1]))
bench.window.each_frame()
bench.state.session.set("left.PDController.kp", 77)
bench.window.each_frame()
print("edited", flush=True)
time.sleep(60)
"""


def test_a_killed_editor_leaves_its_edits(tmp_path: Path, own_folders: Path) -> None:
    (tmp_path / "scene.yaml").write_text(SWINGS)
    editor = subprocess.Popen(
        [sys.executable, "-c", WORK, str(tmp_path / "scene.yaml")],
        cwd=ROOT,
        env={**os.environ},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert editor.stdout is not None
        assert editor.stdout.readline() == "edited\n"
        assert unsaved() == []  # it lives
    finally:
        editor.send_signal(signal.SIGKILL)
        editor.communicate(timeout=PATIENCE)
    (left,) = unsaved()
    assert left.scene == str(tmp_path / "scene.yaml")
    assert left.text == SWINGS.replace("kp: 10,", "kp: 77,")
    assert left.base == tmp_path
    assert (tmp_path / "scene.yaml").read_text() == SWINGS
    left.forget()
    assert unsaved() == []
