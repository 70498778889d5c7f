"""Unsaved work is found again after a kill, and only then."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mjrig.editor.session.autosave import INTERVAL, Autosave, folder, unsaved
from mjrig.scene_edit.scene import Scene
from tests.editor.windows import SWINGS
from tests.places import ROOT


def test_it_writes_when_dirty_due_and_different(tmp_path: Path) -> None:
    scene = Scene.parse(SWINGS, tmp_path)
    autosave = Autosave(tmp_path / "scene.yaml", tmp_path / "kept")
    assert not autosave.tick(scene, is_dirty=False, now=0.0)
    assert not (tmp_path / "kept").exists()
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
from mjrig.scene_edit.scene import Scene
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
        editor.communicate(timeout=20)
    (left,) = unsaved()
    assert left.scene == str(tmp_path / "scene.yaml")
    assert left.text == SWINGS.replace("kp: 10,", "kp: 77,")
    assert left.base == tmp_path
    assert (tmp_path / "scene.yaml").read_text() == SWINGS
    left.forget()
    assert unsaved() == []
