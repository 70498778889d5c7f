"""`mjrig edit --web` and `mjrig.show` as they are called; the page's code and its types."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.cli import show as showing
from mjrig.core.errors import MjrigError
from mjrig.editor.web.server import Server, ServerSettings
from mjrig.editor.web_main import _tell
from tests.editor.web.chromium import Line
from tests.editor.windows import SWINGS
from tests.places import ROOT
from tests.wording import mentions, regex

PAGE = ROOT / "editor" / "web" / "page"
#: Processes of their own know no package of tests.
SCENE = SWINGS.replace("package:tests.editor/", f"{Path(__file__).parents[1]}/")


def _started(folder: Path, *options: str) -> tuple[subprocess.Popen[str], str]:
    env = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    # Without OpenGL and GLFW, which a server may lack.
    block = "import sys; sys.modules.update(dict.fromkeys(('OpenGL', 'glfw')));"
    code = f"{block} from mjrig.cli.main import main; sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "edit", str(folder / "scene.yaml"), "--web", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=env,
        cwd=folder,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("the editor is at http://127.0.0.1:"), line + process.stdout.read()
    return process, line.split()[-1]


def test_the_command_needs_no_display_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "scene.yaml").write_text(SCENE)
    process, address = _started(tmp_path, "--view-link")
    place, _, token = address.partition("/#")
    line = Line(f"{place.replace('http', 'ws')}/live", Origin=place)
    line.send({"token": token})
    frames = 0
    while frames == 0:
        message = line.receive(20.0)
        assert message is not None
        frames += message.opcode == 2 and message.payload[0] == 1
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    said = process.stdout.read()
    process.wait(20.0)
    process.stdout.close()
    line.close()
    assert process.returncode == 0 and "Traceback" not in said
    assert mentions(said, "can run code as …") and "to watch" in said


def test_a_server_for_the_network_warns_and_names_its_address(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSH_CONNECTION", "1")
    for host in ("0.0.0.0", "127.0.0.1"):
        server = Server(ServerSettings(host))
        _tell(server, has_view_link=False)
        said = capsys.readouterr().out
        server.stop()
        is_open = host == "0.0.0.0"
        assert (mentions(said, "warning: the line is not …")) == is_open
        assert (f"http://{socket.gethostname()}:{server.port}/#" in said) == is_open
        assert f"ssh -L {server.port}:127.0.0.1:{server.port}" in said
        assert server.tokens.watch not in said
    assert opened == []  # whoever came by ssh has no browser here
    monkeypatch.delenv("SSH_CONNECTION")
    monkeypatch.setenv("DISPLAY", ":7")
    server = Server(ServerSettings())
    _tell(server, has_view_link=False)
    server.stop()
    assert opened == [server.address(server.tokens.command)]


def test_a_world_is_shown_as_a_picture_where_there_is_no_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Any] = []

    def draw(model: Any, data: Any, path: Path, camera: str = "") -> str | None:
        drawn.append(model)
        path.write_bytes(b"\x89PNG")
        return None

    monkeypatch.setattr("mjrig.core.sim.rendering.draw", draw)
    world = mjrig.World(mjrig.Scene.parse(SWINGS), "python")
    shown = mjrig.show(world)
    shown.save(tmp_path / "world.png")
    assert (tmp_path / "world.png").read_bytes() == shown._repr_png_() == b"\x89PNG"
    assert drawn == [world.model]
    monkeypatch.setattr("mjrig.core.sim.rendering.draw", lambda *given: "egl: no display")
    with pytest.raises(MjrigError, match=regex("no picture of the …")):
        mjrig.show(world)
    monkeypatch.setattr(showing, "entry_points", lambda group: [])
    with pytest.raises(MjrigError, match=r"mjrig\[editor\]"):
        mjrig.show(world, live=True)


def test_a_loop_shows_what_comes_next_and_leaves_the_world_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Any] = []

    def draw_loop(model: Any, states: Any, path: Path, seconds: float) -> None:
        drawn.append((states, seconds))
        path.write_bytes(b"RIFF")

    monkeypatch.setattr("mjrig.core.sim.rendering.draw_loop", draw_loop)
    world = mjrig.World(mjrig.Scene.parse(SWINGS), "python")
    world.data.qpos[:] = 0.3
    world.step(50)
    before = world.snapshot()
    shown = mjrig.show(world, live=False, seconds=0.5)
    assert np.array_equal(world.snapshot().integration, before.integration)
    assert world.steps == before.steps
    ((states, seconds),) = drawn
    assert len(states) == 10 and seconds == 0.5
    world.step(round(0.05 / world.model.opt.timestep))
    assert np.array_equal(states[1]["qpos"], world.data.qpos)
    shown.save(tmp_path / "world.webp")
    assert (tmp_path / "world.webp").read_bytes() == b"RIFF"
    assert "data:image/webp;base64,UklGRg==" in shown._repr_html_()
    for wrong in (-1.0, 31.0, float("nan")):
        with pytest.raises(mjrig.PropertyError, match=regex("a loop lasts 0 to 30 …")):
            mjrig.show(world, seconds=wrong)
    monkeypatch.setattr("mjrig.core.sim.rendering.draw_loop", lambda *given: "egl: no display")
    with pytest.raises(MjrigError, match=regex("no loop of the …")):
        mjrig.show(world, live=False, seconds=0.1)


NOTEBOOK = """
import asyncio, sys
import mjrig
world = mjrig.World(mjrig.Scene.parse(sys.stdin.read()), "python")
async def cell():  # a kernel runs its cells in a loop
    return mjrig.show(world, live=True)
view = asyncio.run(cell())
html = view._repr_html_()
assert html.startswith("<iframe") and view.address in html
from tests.editor.web.chromium import Line
place, _, token = view.address.partition("/#")
line = Line(place.replace("http", "ws") + "/live", Origin=place)
line.send({"token": token})
def scene():
    while True:
        message = line.receive(20.0)
        if message.opcode == 2 and message.payload[0] in (1, 6):
            line.send(["a", int.from_bytes(message.payload[4:8], "little"), 0])
        if message.opcode == 2 and message.payload[0] == 3:
            return message.payload
first = scene()
world.step(100)
view.sync()
assert scene()[12:] != first[12:]
try:
    view.state.session.set("left.pose.position", [1, 0, 0])
except mjrig.BindingError as error:
    print(error)
other = mjrig.show(world, live=True)
assert other.address != view.address
line.close()
other.close()
"""


def test_a_notebook_shows_its_own_world() -> None:
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK],
        input=SCENE,
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=60.0,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert mentions(done.stdout, "the notebook holds the …")


@pytest.mark.skipif(not PAGE.is_dir(), reason="there is no checkout beside the tests")
def test_the_page_loads_nothing_from_elsewhere() -> None:
    for file in PAGE.rglob("*.*"):
        text = file.read_text()
        assert "http://" not in text and "https://" not in text.replace('"https:"', ""), file
        assert "eval(" not in text and "innerHTML" not in text, file


def _compiler() -> str | None:
    beside = ROOT / "node_modules" / ".bin" / "tsc"
    return shutil.which("tsc") or (str(beside) if beside.is_file() else None)


@pytest.mark.skipif(not PAGE.is_dir(), reason="there is no checkout beside the tests")
@pytest.mark.skipif(_compiler() is None, reason="no tsc (npm install --no-save typescript)")
def test_the_types_of_the_page_are_right() -> None:
    command = [str(_compiler()), "-p", str(ROOT / "tools" / "page_types.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
