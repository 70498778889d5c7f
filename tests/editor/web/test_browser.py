"""The editor in Chromium: one session, in which a person works as on the desktop."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from tests.editor.web.browsing import CTRL, Session
from tests.editor.web.chromium import PROGRAM, Line, Tab, wait_for
from tests.editor.web.test_zoo import reference
from tests.editor.web.zoo import zoo
from tests.editor.web.zoo_page import difference, draw_in_page
from tests.wording import matches

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed (apt: chromium)"),
]


def test_the_robot_and_the_panels_are_seen(session: Session) -> None:
    picture = session.tab.picture()
    x, y, width, height = (int(v) for v in session.view())
    world = picture[y : y + height, x : x + width].reshape(-1, 3)
    assert len(np.unique(world[::7] // 16, axis=0)) > 12  # a robot, a floor, a sky
    text = picture[y + height + 20 :, :, :].max(axis=2)
    assert (text > 180).mean() > 0.005  # the gain table below it
    assert session.tab.run("document.title").startswith("scene.yaml")
    assert "#" not in session.tab.run("location.href")  # the token does not stay there


def test_a_gain_is_dragged_and_undone(session: Session) -> None:
    session.bring_forward("Gains")
    before, (x, y) = session.kp(), session.editor.place("FL_hip kp")
    session.tab.drag((x, y), (x + 60, y), 3)
    wait_for(lambda: session.kp() > before + 5, "the drag reached the world")
    session.tab.key("z", "KeyZ", 90, CTRL)
    wait_for(lambda: session.kp() == before, "undone")


def test_text_is_typed_pasted_and_copied(session: Session) -> None:
    tab, editor = session.tab, session.editor
    session.type_into("field filter (regex)")
    tab.type("hip")
    wait_for(lambda: editor.ask("window.gains.tuning.filter") == "hip", "typed")
    tab.do("Input.imeSetComposition", text="に", selectionStart=1, selectionEnd=1)
    tab.do("Input.insertText", text="日本")
    wait_for(lambda: editor.ask("window.gains.tuning.filter") == "hip日本", "composed")
    tab.key("a", "KeyA", 65, CTRL)
    tab.key("x", "KeyX", 88, CTRL)
    wait_for(lambda: editor.ask("window.gains.tuning.filter") == "", "cut")
    wait_for(lambda: tab.run("mjrig.input.keyboard.copied") == "hip日本", "to the clipboard")
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
    ask = "document.querySelector('#role button').click()"
    second.run(ask)
    second.run(ask)
    session.tab.wait_for("!document.getElementById('asks').hidden")
    session.tab.run("mjrig.ask({number: 0, name: 'another page'})")
    session.tab.run("document.querySelectorAll('#asks button')[1].click()")
    shown = "document.querySelector('#asks span').textContent"
    assert matches(session.tab.run(shown), "Page 0 (another page) asks for …")
    session.tab.run("document.querySelectorAll('#asks button')[1].click()")
    assert session.tab.run("document.getElementById('asks').hidden")
    second.run(ask)  # it may, after a no
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


HOSTILE = """(async () => {
  const own = %s, live = own.replace("http", "ws") + "/live", found = {};
  const connects = (address) => new Promise((done) => {
    const socket = new WebSocket(address);
    socket.onopen = () => done("open");
    socket.onerror = () => done("refused");
  });
  found.socket = await connects(live);
  found.asked = await fetch(own + "/").then(() => "read", () => "refused");
  found.asset = await fetch(own + "/asset/x", {headers: {Authorization: "Bearer x"}})
    .then(() => "read", () => "refused");
  const script = await import(own + "/main.js").then(() => "ran", () => "refused");
  const frame = document.createElement("iframe");
  frame.src = own + "/";
  document.body.append(frame);
  await new Promise((done) => { frame.onload = done; });
  try { found.frame = frame.contentWindow.document.title; } catch { found.frame = "refused"; }
  const opened = window.open(own + "/");
  await new Promise((done) => setTimeout(done, 300));
  try { found.window = opened?.document.title ?? "refused"; } catch { found.window = "refused"; }
  return {...found, script};
})()"""


def test_a_hostile_page_gets_nothing(session: Session) -> None:
    """A page of another server, which a user of the editor happens to visit."""

    class Hostile(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><body></body>")

        def log_message(self, format: str, *args: object) -> None:
            pass

    other = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    tab = session.chromium.new_tab()
    tab.open(f"http://127.0.0.1:{other.server_port}/")
    tab.wait_for("document.body !== null")
    found = tab.run(HOSTILE % json.dumps(session.editor.address.partition("/#")[0]))
    session.chromium.close_tab(tab)
    other.shutdown()
    other.server_close()
    assert set(found.values()) == {"refused"} and len(found) == 6
    session.chromium.show(session.tab)


#: One scene with most of it; `make campaign` compares them all.
SHOWN = ("everything",)


def test_the_world_looks_as_mujoco_draws_it(session: Session, tmp_path: Path) -> None:
    pictures = reference(tmp_path, *SHOWN)
    for animal in zoo():
        if animal.name in SHOWN:
            mean, apart = difference(draw_in_page(session.tab, animal), pictures[animal.name])
            assert mean < 1.0 and apart < 0.005, (animal.name, mean, apart)


@pytest.mark.parametrize(("theme", "size"), [("light", (1000, 700, 2)), ("dark", (1280, 720, 1))])
def test_the_panels_have_the_background_of_the_theme(
    session: Session, theme: str, size: tuple[int, int, int]
) -> None:
    tab, editor = session.tab, session.editor
    session.chromium.show(tab)

    def uses(name: str, shown: tuple[int, int, int]) -> None:
        """Change theme and size, and wait until the window has both."""
        editor.ask(f"window.theme.use({name!r})")
        tab.resize(*shown)
        session.bring_forward("Gains")
        asked = "[*screen._size, screen._ratio]"
        wait_for(lambda: editor.ask(asked) == list(shown), "it has the size")

    uses(theme, size)
    try:
        style = "__import__('imgui_bundle').imgui.get_style().color_(2)"  # of windows
        expected = np.round(np.multiply(editor.ask(f"list({style})")[:3], 255))
        assert (expected.mean() > 128) == (theme == "light")

        def is_filled() -> bool:
            hierarchy = tab.picture()[:, : 150 * size[2]]
            return bool((np.abs(hierarchy - expected).max(axis=2) <= 1).mean() > 0.2)

        wait_for(is_filled, "the hierarchy has the theme's background")
    finally:
        uses("dark", (1280, 720, 1))


def test_odd_texts_and_numbers_do_not_end_the_connection(session: Session) -> None:
    """Half a surrogate pair in the clipboard, fingers without a distance."""
    tab = session.tab
    tab.run("mjrig.connection.input('w', 0, Infinity, 0)")
    tab.run("mjrig.connection.input('p', 'a\\ud800b\U0001f600')")
    wait_for(lambda: session.editor.ask("screen._copied") == "a\ufffdb\U0001f600", "pasted")
    assert tab.run("mjrig.connection.isOpen")
