"""Files in Chromium: dropped onto the page, and offered by it."""

from pathlib import Path

import numpy as np
import pytest

from tests.editor.web.browsing import CTRL, OFFERED, Session, repeat
from tests.editor.web.chromium import PROGRAM, wait_for
from tests.editor.web.served import ServedEditor

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed (apt: chromium)"),
]
BALL = '<mujoco><worldbody><body><freejoint/><geom size=".1"/></body></worldbody></mujoco>'


def _offered(editor: ServedEditor, name: str) -> Path:
    """Where a file that the page offers is on the server."""
    found = f"[str(p) for p in screen.offers._files.values() if p.name == {name!r}][0]"
    return Path(editor.ask(found))


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
    assert not list(session.folder.glob("uploads/*/ball one.xml"))
    names = "[actor.name for actor in editor.state.scene.actors]"
    before = len(editor.ask(names))
    session.agree_to_upload()
    wait_for(lambda: len(editor.ask(names)) == before + 1, "dropped into the scene")
    (uploaded,) = (session.folder / "uploads").glob("*/ball one.xml")
    assert uploaded.read_text() == BALL


def test_a_dropped_folder_comes_with_all_its_files(session: Session) -> None:
    tab, editor = session.tab, session.editor
    robot = session.folder / "robot"
    (robot / "more" / "deep").mkdir(parents=True)
    contents = {
        "ball.xml": BALL,
        "more/a.txt": "a",
        "more/deep/ü.txt": "",
        "more/b.txt": "b" * 300000,
    }
    for name, text in contents.items():
        (robot / name).write_text(text)
    x, y, _width, height = session.view()
    place = {"x": x + 80, "y": y + height - 30}
    data = {"items": [], "files": [str(robot)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        tab.do("Input.dispatchDragEvent", type=kind, **place, data=data)
    wait_for(lambda: editor.ask("screen._uploads.dialog.is_open"), "asked")
    assert editor.ask("sorted(screen._uploads.files)") == sorted(f"robot/{n}" for n in contents)
    session.agree_to_upload()
    said = "any(str(line.text).startswith('uploaded 4') for line in editor.state.console.lines)"
    wait_for(lambda: editor.ask(said), "written")
    (uploaded,) = (session.folder / "uploads").glob("*/robot")
    found = {p.relative_to(uploaded).as_posix() for p in uploaded.rglob("*") if p.is_file()}
    assert found == contents.keys()
    assert all((uploaded / n).read_text() == text for n, text in contents.items())
    tab.key("Escape", "Escape", 27)
    tab.pause()


def test_an_asset_is_dragged_into_the_viewport(session: Session) -> None:
    tab, editor = session.tab, session.editor
    session.bring_forward("Assets")
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
    pictures = repeat(
        lambda: tab.key("F12", "F12", 123),
        lambda: [o for o in tab.run(OFFERED) if o.endswith(".png")],
    )
    path = _offered(editor, pictures[0])
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


def test_a_recording_is_downloaded(session: Session) -> None:
    tab, editor = session.tab, session.editor
    downloads = session.folder / "downloads"
    tab.do("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
    editor.ask("[window.recording.start(), editor.state.session.play()] and None")
    wait_for(lambda: editor.ask("editor.simulation.frame.time") > 0.2, "some steps")
    editor.ask("[editor.simulation.pause(), window.recording.stop()] and None")
    name = wait_for(lambda: [n for n in tab.run(OFFERED) if n.endswith(".h5")], "offered")[0]
    tab.run(
        f"""[...document.querySelectorAll('#offers div')].find(
        (r) => r.firstChild.textContent === {name!r}).querySelector('button').click()"""
    )
    path = _offered(editor, name)
    wait_for((downloads / name).is_file, "downloaded")
    assert (downloads / name).read_bytes() == path.read_bytes()
    path.unlink()


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
    path = _offered(editor, name)
    assert path.stat().st_size > 500
    path.unlink()
