"""The editor in Chromium: one session, in which a person works as on the desktop."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.editor.web.chromium import PROGRAM, Chromium, Line, Tab, wait_for
from tests.editor.web.served import ServedEditor
from tests.editor.web.test_zoo import reference
from tests.editor.web.zoo import zoo
from tests.editor.web.zoo_page import difference, draw_in_page
from tests.places import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed (apt: chromium)"),
]
SCENE = (ROOT / "config" / "scenes" / "quadruped_trot.yaml").read_text()
BALL = '<mujoco><worldbody><body><freejoint/><geom size=".1"/></body></worldbody></mujoco>'
CTRL = 2
#: The names of the files that the page offers.
OFFERED = "[...document.querySelectorAll('#offers span')].map((s) => s.textContent)"


def _repeat(act: Callable[[], object], condition: Callable[[], Any]) -> Any:
    """Do something until it has its effect: a slow machine may still be drawing before it."""
    for _ in range(6):
        act()
        end = time.monotonic() + 3.0
        while time.monotonic() < end:
            value = condition()
            if value:
                return value
            time.sleep(0.05)
    raise AssertionError("it has no effect")


class Session:
    """A served editor, and a page of it in a browser."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        models = json.dumps(str(ROOT / "assets"))[1:-1]
        (folder / "scene.yaml").write_text(SCENE.replace("../../assets", models))
        self.editor = ServedEditor(folder / "scene.yaml", folder)
        self.chromium = Chromium()
        self.tab = self.chromium.new_tab()
        self.tab.resize(1280, 720)
        self.tab.open(self.editor.address)
        self.tab.wait_for(
            "window.mjrig && mjrig.statistics.drawn > 1 && mjrig.world.solids"
            " && mjrig.world.solids.missing === 0",
            40.0,
        )

    def kp(self) -> float:
        """kp of the first actuator, in the running world."""
        value: float = self.editor.ask("float(editor.state.live('quadruped.PDController').kp[0])")
        return value

    def view(self) -> tuple[float, float, float, float]:
        """Where the viewport is."""
        x, y, width, height = self.editor.ask("list(window.viewport.rect)")
        return x, y, width, height

    def close(self) -> None:
        self.chromium.close()
        self.editor.stop()


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    made = Session(tmp_path_factory.mktemp("web"))
    yield made
    errors = made.tab.run("mjrig.statistics.errors")
    made.close()
    assert errors == []


def test_the_robot_and_the_panels_are_seen(session: Session) -> None:
    picture = session.tab.picture()
    x, y, width, height = (int(v) for v in session.view())
    world = picture[y : y + height, x : x + width].reshape(-1, 3)
    assert len(np.unique(world[::7] // 16, axis=0)) > 12  # a robot, a floor, a sky
    text = picture[y + height + 20 :, :, :].max(axis=2)
    assert (text > 180).mean() > 0.005  # the gain table below it
    assert session.tab.run("document.title").startswith("scene.yaml")
    assert "#" not in session.tab.run("location.href")  # the token does not stay there
    session.tab.run("mjrig.quality.fixed = 0")  # what follows looks at the editor, not at pixels


def test_a_gain_is_dragged_and_undone(session: Session) -> None:
    before, (x, y) = session.kp(), session.editor.place("FL_hip kp")
    session.tab.drag((x, y), (x + 60, y), 3)
    wait_for(lambda: session.kp() > before + 5, "the drag reached the world")
    session.tab.key("z", "KeyZ", 90, CTRL)
    wait_for(lambda: session.kp() == before, "undone")


def test_text_is_typed_pasted_and_copied(session: Session) -> None:
    tab, editor = session.tab, session.editor
    tab.click(*editor.place("field filter (regex)"))
    tab.pause()
    tab.type("hip")
    wait_for(lambda: editor.ask("window.gains.tuning.filter") == "hip", "typed")
    tab.do("Input.imeSetComposition", text="に", selectionStart=1, selectionEnd=1)
    tab.do("Input.insertText", text="日本")
    wait_for(lambda: editor.ask("window.gains.tuning.filter") == "hip日本", "composed")
    tab.key("a", "KeyA", 65, CTRL)
    tab.key("x", "KeyX", 88, CTRL)
    wait_for(lambda: editor.ask("window.gains.tuning.filter") == "", "cut")
    wait_for(lambda: tab.run("mjrig.input.copied") == "hip日本", "to the clipboard")
    tab.run(
        "window.dispatchEvent(new ClipboardEvent('paste', {clipboardData: (() => {"
        "const d = new DataTransfer(); d.setData('text/plain', 'calf'); return d; })()}))"
    )
    wait_for(lambda: editor.ask("window.gains.tuning.filter") == "calf", "pasted")
    tab.key("a", "KeyA", 65, CTRL)
    tab.key("Backspace", "Backspace", 8)
    wait_for(lambda: editor.ask("window.gains.tuning.filter") == "", "emptied")
    tab.key("Escape", "Escape", 27)
    tab.pause()


def test_the_robot_is_picked_and_the_camera_turned(session: Session) -> None:
    tab, editor = session.tab, session.editor
    x, y, width, height = session.view()
    spot = _on_robot(session)
    tab.click(*spot)
    wait_for(lambda: editor.ask("editor.state.selection.paths") == ["quadruped"], "picked")
    camera = "[window.viewport.drawing.camera.azimuth, window.viewport.drawing.camera.distance]"
    azimuth, distance = editor.ask(camera)
    tab.drag((x + 40, y + 40), (x + 140, y + 40), 3)
    assert abs(editor.ask(camera)[0] - azimuth) > 5.0
    tab.mouse("Wheel", x + width / 2, y + height / 2, deltaX=0, deltaY=-300)
    wait_for(lambda: editor.ask(camera)[1] < distance, "zoomed in")


def _on_robot(session: Session) -> tuple[float, float]:
    """Where the trunk of the robot is in the page."""
    found = session.editor.ask("on_screen(window)")
    return float(found[0]), float(found[1])


def test_fingers_turn_and_pinch(session: Session) -> None:
    tab, editor = session.tab, session.editor
    x, y, width, _height = session.view()
    camera = "[window.viewport.drawing.camera.azimuth, window.viewport.drawing.camera.distance]"
    azimuth, distance = editor.ask(camera)
    tab.resize(1280, 720, touch=True)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        places = [{"x": px, "y": py, "id": i} for i, (px, py) in enumerate(points)]
        tab.do("Input.dispatchTouchEvent", type=f"touch{kind}", touchPoints=places)
        if kind != "Start":  # a finger that rests is the second button
            tab.pause()

    touch("Start", (x + 60, y + 60))
    for step in range(1, 4):
        touch("Move", (x + 60 + 30 * step, y + 60))
    touch("End")
    wait_for(lambda: abs(editor.ask(camera)[0] - azimuth) > 3.0, "one finger turns")
    middle = x + width / 2
    touch("Start", (middle - 30, y + 60))
    touch("Start", (middle - 30, y + 60), (middle + 30, y + 60))
    for step in range(1, 4):
        apart = 30 + 25 * step
        touch("Move", (middle - apart, y + 60), (middle + apart, y + 60))
    touch("End")
    wait_for(lambda: editor.ask(camera)[1] < distance, "two fingers zoom")
    tab.resize(1280, 720)


def test_a_dropped_file_is_uploaded_after_asking(session: Session) -> None:
    tab, editor = session.tab, session.editor
    (session.folder / "ball one.xml").write_text(BALL)
    x, y, _width, height = session.view()
    place = {"x": x + 80, "y": y + height - 30}
    files = [str(session.folder / "ball one.xml")]
    data = {"items": [], "files": files, "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        tab.do("Input.dispatchDragEvent", type=kind, **place, data=data)
    wait_for(lambda: editor.ask("screen._uploads.dialog.is_open"), "asked")
    assert not (session.folder / "uploads").exists()
    wait_for(lambda: "button Upload" in editor.ask("list(places)"), "drawn")
    names = "[actor.name for actor in editor.state.scene.actors]"
    _repeat(
        lambda: tab.click(*editor.place("button Upload")),  # a dialog settles for some frames
        lambda: len(editor.ask(names)) == 2,
    )
    (uploaded,) = (session.folder / "uploads").glob("*/ball one.xml")
    assert uploaded.read_text() == BALL


def test_an_asset_is_dragged_into_the_viewport(session: Session) -> None:
    tab, editor = session.tab, session.editor
    editor.ask("bring_forward('Assets')")
    tab.mouse("Moved", 30, 400)
    wait_for(lambda: any(k.startswith("asset ") for k in editor.ask("list(places)")), "assets")
    names = "[actor.name for actor in editor.state.scene.actors]"
    before = len(editor.ask(names))
    x, y, _, height = session.view()
    source = _visible_model(editor)
    tab.drag(source, (x + 120, y + height - 40), 4)
    wait_for(lambda: len(editor.ask(names)) == before + 1, "the asset is in the scene")


def _visible_model(editor: ServedEditor) -> tuple[float, float]:
    """Where a small model can be seen among the assets."""
    places: dict[str, list[float]] = editor.ask("places")
    seen = {
        name: ((a + c) / 2, (b + d) / 2)
        for name, (a, b, c, d) in places.items()
        if name.startswith("asset ") and d < 690 and c < 700
    }
    return next(seen[name] for name in sorted(seen) if name.endswith(".xml"))


def test_a_picture_and_the_saved_scene_are_offered(session: Session) -> None:
    tab, editor = session.tab, session.editor
    pictures = _repeat(
        lambda: tab.key("F12", "F12", 123),
        lambda: [o for o in tab.run(OFFERED) if o.endswith(".png")],
    )
    offered = f"[str(p) for p in screen.offers._files.values() if p.name == {pictures[0]!r}][0]"
    path = Path(editor.ask(offered))
    from PIL import Image

    taken = np.asarray(Image.open(path))
    path.unlink()
    assert taken.shape[1::-1] == tuple(int(v) for v in session.view()[2:])
    assert len(np.unique(taken.reshape(-1, 3)[::31] // 16, axis=0)) > 10
    tab.key("s", "KeyS", 83, CTRL)
    wait_for(
        lambda: (
            "scene.yaml"
            in tab.run("[...document.querySelectorAll('#offers span')].map(s => s.textContent)")
        ),
        "the saved scene is offered",
    )
    saved = tab.run(
        """(async () => { const made = URL.createObjectURL; let text;
        const kept = new Promise((done) => {
          URL.createObjectURL = (blob) => { blob.text().then(done); return made(blob); }; });
        const row = [...document.querySelectorAll('#offers div')].find(
          (r) => r.firstChild.textContent === 'scene.yaml');
        row.querySelector('button').click();
        text = await kept; URL.createObjectURL = made; return text; })()"""
    )
    assert saved == (session.folder / "scene.yaml").read_text()


def test_a_gamepad_and_a_video(session: Session) -> None:
    tab, editor = session.tab, session.editor
    tab.run("navigator.getGamepads = () => [{axes: [0, -1, 0, 0]}, null]; mjrig.input.readPad()")
    wait_for(lambda: editor.ask("screen.read_pad()") == [1.0, 0.0, 0.0], "the stick is forward")
    tab.run("navigator.getGamepads = () => []")
    wait_for(lambda: editor.ask("screen.read_pad()") is None, "the gamepad is gone")
    pytest.importorskip("imageio_ffmpeg")
    editor.ask("window.captures.toggle_video()")
    wait_for(lambda: editor.ask("window.captures.is_filming"), "filming")
    wait_for(lambda: editor.ask("window.captures._video.frames") > 0, "a frame")
    editor.ask("window.captures.stop_video()")
    name = wait_for(lambda: [n for n in tab.run(OFFERED) if n.endswith(".mp4")], "offered")[0]
    path = Path(
        editor.ask(f"[str(p) for p in screen.offers._files.values() if p.name == {name!r}][0]")
    )
    assert path.stat().st_size > 500
    path.unlink()


def test_pixels_are_sharp_at_any_ratio_and_size(session: Session) -> None:
    tab, editor = session.tab, session.editor
    tab.resize(900, 600, 2.0)
    wait_for(
        lambda: editor.ask("[screen._size, screen._ratio]") == [[900.0, 600.0], 2.0], "resized"
    )
    tab.wait_for("mjrig.frame.width === 900 && canvas.width === 1800")
    tab.resize(1280, 720)
    wait_for(lambda: editor.ask("screen._size") == [1280.0, 720.0], "back")


def test_a_second_page_watches_and_takes_over(session: Session) -> None:
    editor = session.editor
    second: Tab = session.chromium.new_tab()
    second.resize(800, 800)
    second.open(editor.watching)
    session.chromium.show(second)
    second.wait_for("window.mjrig && mjrig.frame && mjrig.statistics.drawn > 0", 30.0)
    assert second.run("mjrig.role") == "watch"
    fit = second.run("mjrig.fit")
    assert fit["y"] > 100 and fit["x"] == 0  # letterboxed
    second.click(400, 400)
    assert editor.ask("screen._size") == [1280.0, 720.0]
    second.run("document.querySelector('#role button').click()")
    session.tab.wait_for("!document.getElementById('asks').hidden")
    session.tab.run("document.querySelector('#asks button').click()")
    second.wait_for("mjrig.role === 'command'")
    wait_for(lambda: editor.ask("screen._size") == [800.0, 800.0], "its size counts now")
    assert session.tab.run("mjrig.role") == "watch"
    session.tab.run("document.querySelector('#role button').click()")
    session.tab.wait_for("mjrig.role === 'command'")
    session.chromium.close_tab(second)
    session.chromium.show(session.tab)
    wait_for(lambda: editor.ask("screen._size") == [1280.0, 720.0], "the first commands again")


def test_a_cut_line_comes_back_by_itself(session: Session) -> None:
    tab, editor = session.tab, session.editor
    names = editor.ask("[actor.name for actor in editor.state.scene.actors]")
    tab.run("mjrig.connection.socket.close()")
    tab.wait_for("!mjrig.connection.isOpen || !document.getElementById('notice').hidden", 5.0)
    drawn = tab.run("mjrig.statistics.drawn")
    tab.wait_for(f"mjrig.connection.isOpen && mjrig.statistics.drawn > {drawn}")
    assert tab.run("document.getElementById('notice').hidden")
    tab.wait_for("mjrig.role === 'command'")
    assert editor.ask("[actor.name for actor in editor.state.scene.actors]") == names


def test_a_browser_without_webgl_2_is_told(session: Session) -> None:
    tab = session.chromium.new_tab()
    tab.do(
        "Page.addScriptToEvaluateOnNewDocument",
        source="HTMLCanvasElement.prototype.getContext = () => null",
    )
    tab.open(session.editor.address)
    tab.wait_for("document.getElementById('notice')?.textContent.includes('WebGL 2')")
    session.chromium.close_tab(tab)
    session.chromium.show(session.tab)


@pytest.mark.parametrize("fault", ["token", "origin", "no origin", "host"])
def test_strangers_are_refused(session: Session, fault: str) -> None:
    place, _, token = session.editor.address.partition("/#")
    headers = {"Origin": place}
    if fault == "origin":
        headers["Origin"] = "http://evil.example"
    elif fault == "no origin":
        headers["Origin"] = ""
    elif fault == "host":
        headers |= {"Host": "evil.example", "Origin": "http://evil.example"}
    line = Line(f"{place.replace('http', 'ws')}/live", **headers)
    if fault != "token":
        assert " 403 " in line.head
        line.close()
        return
    line.send({"token": token[:-1] + ("a" if token[-1] != "a" else "b")})
    message = line.receive(5.0)
    line.close()
    assert message is not None and message.payload[:2] == (4403).to_bytes(2, "big")


#: One scene with most of it; `make campaign` compares them all.
SHOWN = ("everything",)


def test_the_world_looks_as_mujoco_draws_it(session: Session, tmp_path: Path) -> None:
    pictures = reference(tmp_path, *SHOWN)
    for animal in zoo():
        if animal.name in SHOWN:
            mean, apart = difference(draw_in_page(session.tab, animal), pictures[animal.name])
            assert mean < 1.0 and apart < 0.005, (animal.name, mean, apart)
