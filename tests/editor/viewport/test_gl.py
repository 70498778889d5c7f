"""A real window on a screen nobody sees: drawn, dropped into, dragged in, saved."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.editor.display import screen
from tests.places import ROOT

SCENE = """\
mjrig: 1   # one swing
actors:
  - name: swing
    model: package:mjrig.assets/pendulum/pendulum.xml
    keyframe: home
    components:
      - {type: PDController, kp: 100, kv: 6, torque_limit: 40}   # stiff
"""
SECOND = """<mujoco><worldbody><body name="post" pos="0 0 .5">
<joint name="turn" axis="0 0 1"/><geom type="box" size=".1 .1 .5" rgba="1 0 0 1"/>
</body></worldbody></mujoco>"""


def _python(env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env=env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("window")
    (folder / "scene.yaml").write_text(SCENE)
    (folder / "zweiter Röbot.xml").write_text(SECOND)
    with screen() as env:
        done = _python(env, "-m", "tests.editor.viewport.gl_session", str(folder))
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return folder, result


@pytest.mark.slow
def test_the_viewport_shows_the_world_and_time_goes_on(
    session: tuple[Path, dict[str, Any]],
) -> None:
    _, result = session
    assert result["colours"] > 20
    assert result["played"] >= 0.5


def test_a_dropped_file_becomes_an_actor_that_is_seen(
    session: tuple[Path, dict[str, Any]],
) -> None:
    _, result = session
    assert result["actors"] == ["swing", "zweiter_Robot"]
    assert result["drop_changed_pixels"]


def test_the_gizmo_moves_an_actor_in_one_entry(session: tuple[Path, dict[str, Any]]) -> None:
    _, result = session
    moved = [
        b - a for a, b in zip(result["position_before"], result["position_after"], strict=True)
    ]
    assert max(map(abs, moved)) > 0.05
    assert result["entries"] == ["Add zweiter_Robot", "Move zweiter_Robot"]


def test_a_dragged_gain_is_live_and_everything_is_saved_as_one_would_type_it(
    session: tuple[Path, dict[str, Any]],
) -> None:
    folder, result = session
    assert result["live_kp"] == 29.0
    assert not result["dirty"]
    text = (folder / "scene.yaml").read_text()
    assert text.startswith(SCENE.replace("kp: 100", "kp: 29"))
    assert "model: zweiter Röbot.xml" in text
    assert not [line for line in result["console"] if line.startswith("error")]


WATCH = """
import sys, time
import mjrig
from mjrig.editor import view
from mjrig.editor.session.autosave import folder

world = mjrig.World(sys.argv[1])
drawn = quick = 0
with view(world) as viewer:
    while drawn < 5 and not viewer.closed:
        world.step()
        if viewer.sync():
            drawn += 1
        else:
            quick += 1
    viewer.state.session.set("swing.PDController.kp", 55)
    viewer.state.wants_to_close = True
    time.sleep(0.05)
    viewer.sync()
    assert viewer.closed
    assert not viewer.sync()
world.step()
print(drawn == 5, quick > drawn, world["swing"].controllers[0].kp[0])
print(len(list(folder().glob("*.json"))))
try:
    with view(world) as viewer:
        viewer.sync()
        viewer.state.session.set("swing.PDController.kp", 66)
        raise ZeroDivisionError
except ZeroDivisionError:
    print(["kp: 66" in file.read_text() for file in folder().glob("*.json")])
"""


def test_a_script_steps_its_own_loop_and_the_window_follows(tmp_path: Path) -> None:
    (tmp_path / "scene.yaml").write_text(SCENE)
    with screen() as env:
        done = _python(env, "-c", WATCH, str(tmp_path / "scene.yaml"))
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["True", "True", "55.0", "0", "[True]"]  # only a failure keeps


def test_edit_without_a_display_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    env = {k: v for k, v in os.environ.items() if k != "DISPLAY"}
    done = _python(env, "-m", "mjrig", "edit")
    assert done.returncode == 1
    assert "no display" in done.stderr


EDIT = """
import sys, threading, time
from pathlib import Path
from mjrig.editor import main
from mjrig.editor.desktop import Desktop

def when_dropped(screen, window):
    accept(screen, window)
    def wait():
        end = time.monotonic() + 40
        while time.monotonic() < end and len(window.state.scene.actors) < 2:
            time.sleep(0.05)
        print([a.name for a in window.state.scene.actors], flush=True)
        print([line.text for line in window.state.console.lines], flush=True)
        window.state.wants_to_close = True
    threading.Thread(target=wait, daemon=True).start()
    print("ready", flush=True)

accept, Desktop.start = Desktop.start, when_dropped
main.edit(Path(sys.argv[1]))
"""


def test_a_file_with_a_difficult_name_is_dropped_from_the_desktop(tmp_path: Path) -> None:
    pytest.importorskip("Xlib")
    (tmp_path / "scene.yaml").write_text(SCENE)
    file = tmp_path / "ein Tür Öffner (2).xml"
    file.write_text(SECOND)
    with screen() as env:
        env["MJRIG_STATE"] = env["XDG_CONFIG_HOME"] = str(tmp_path / "user")
        editor = subprocess.Popen(
            [sys.executable, "-c", EDIT, str(tmp_path / "scene.yaml")],
            env=env,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert editor.stdout is not None
            assert editor.stdout.readline() == "ready\n"
            dropped = _python(env, "-m", "tests.editor.xdnd", "mjrig", "600", "350", str(file))
            assert dropped.returncode == 0, dropped.stderr[-2000:]
            actors, console = editor.stdout.readline(), editor.stdout.readline()
        finally:
            editor.terminate()
            editor.communicate(timeout=20)
    assert actors.strip() == "['swing', 'ein_Tur_Offner_2']", console
