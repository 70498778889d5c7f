"""A window that pages show, without a browser: what goes out, what comes in, who commands."""

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from imgui_bundle import imgui

from mjrig.editor.ui import colours
from mjrig.editor.web.draw_lists import MARGIN
from mjrig.editor.web.file_transfer import is_good_name
from mjrig.editor.web.protocol import MESSAGES, MalformedError, parse
from mjrig.editor.web.web_view import GEOM, HEAD, LIGHT, SceneWords, _by_name
from tests.editor.web.live_bench import Bench, Page, live_bench
from tests.editor.web.tunnel import Tunnel


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with live_bench(tmp_path_factory.mktemp("live")) as live:
        yield live


@pytest.fixture
def page(bench: Bench) -> Iterator[Page]:
    made = bench.page()
    yield made
    bench.leave(made)


def _compare(page: Page, bench: Bench) -> None:
    """The page has exactly what Dear ImGui drew, within half a unit."""
    drawn = imgui.get_draw_data().cmd_lists
    assert len(drawn) == len(page.seen.lists)
    for known, plain in zip(page.seen.lists.values(), drawn, strict=True):
        count = plain.vtx_buffer.size()
        raw = np.frombuffer(_bytes(plain.vtx_buffer, 20), np.uint8)
        floats = raw.view(np.float32).reshape(count, 5)
        if known["rows"] is None:
            assert np.array_equal(known["vertices"], raw)
        else:
            shown = known["rows"][:2].T / known["unit"] - MARGIN
            assert np.abs(shown - floats[:, :2]).max(initial=0.0) <= 0.51 / known["unit"]
            assert np.abs(known["rows"][2:4].T / 65535 - floats[:, 2:4]).max(initial=0.0) < 1e-5
            colours = raw.view(np.uint16).reshape(count, 10)[:, 8:]
            assert np.array_equal(known["rows"][4:].T, colours)
        indices = np.frombuffer(_bytes(plain.idx_buffer, imgui.INDEX_SIZE), np.uint32)
        assert np.array_equal(known["indices"], indices)


def _bytes(buffer: Any, size: int) -> bytes:
    import ctypes

    return ctypes.string_at(buffer.data_address(), buffer.size() * size) if buffer.size() else b""


def test_a_page_has_what_was_drawn(bench: Bench, page: Page) -> None:
    rng = random.Random(3)
    for step in range(25):
        kind = rng.randrange(4)
        if kind == 0:
            page.line.send(["b", rng.choice((1, -1)), 0, step])
        elif kind == 1:
            page.line.send(["r", rng.randrange(600, 1500), rng.randrange(400, 900), 1])
        elif kind == 2:
            page.line.send(["w", 0, rng.uniform(-2, 2), 0, step])
        page.line.send(["m", rng.uniform(0, 1280), rng.uniform(0, 720), step])
        bench.hear(page)
        bench.show(page)
        _compare(page, bench)
    page.line.send(["b", -1, 0, 99])
    page.line.send(["r", 1280, 720, 1])
    bench.until(lambda: bench.screen._size == (1280.0, 720.0))


def test_a_page_has_the_scene_and_late_ones_too(bench: Bench, page: Page) -> None:
    drawing = bench.window.viewport.drawing
    assert drawing is not None
    drawing.camera.azimuth += 20.0
    bench.turn(3)
    late = bench.page()
    bench.show(page, late)
    assert bench.screen._view is not None and bench.screen._view.words is not None
    for reader in (page, late):
        assert np.array_equal(reader.seen.words, bench.screen._view.words.words)
        _compare(reader, bench)
        assert reader.texts["model"]["generation"] == bench.screen._view.generation
    assert {k: v.shape for k, v in page.seen.textures.items()} == {
        k: v.shape for k, v in late.seen.textures.items()
    }
    bench.leave(late)


def test_geoms_are_read_alike_by_address_and_by_name(bench: Bench, page: Page) -> None:
    drawing = bench.window.viewport.drawing
    assert drawing is not None
    words = SceneWords(drawing.scene)
    words.take(10, 10)
    assert words._rows is not None
    start = HEAD + LIGHT * int(words.words[4])
    rows = words.words[start:].reshape(-1, GEOM)
    for i in range(drawing.scene.ngeom):
        by_name = _by_name(drawing.scene.geoms[i])
        assert np.array_equal(rows[i, : len(by_name)], by_name)


def test_nothing_moves_nothing_is_sent(bench: Bench, page: Page) -> None:
    page.line.send(["m", -500, -500, 1])
    bench.until(lambda: bench.window.check.preflight.latest is not None)  # in the status bar
    bench.hear(page)
    browser = bench.browser(page)

    def is_quiet() -> bool:
        bench.show(page)
        before, frames = browser.bytes_sent, bench.screen.frames
        for _ in range(5):
            bench.screen.draw(bench.window)
        assert bench.screen.frames == frames + 5 and browser.is_ready
        return browser.bytes_sent == before

    bench.until(is_quiet)  # once what has changed before is drawn


def test_input_does_not_wait_for_a_page_that_draws_slowly(bench: Bench, page: Page) -> None:
    """A frame takes one press or letter; all that came is taken before the next one is sent."""
    bench.turn(3)
    seq, number, clicks = bench.screen._seq, 0, []
    plain = bench.window.app.frame
    bench.window.app.frame = lambda: (clicks.append(imgui.is_mouse_down(1)), plain())[1]  # type: ignore[method-assign,func-returns-value]
    for event in (("m", -50, -50), ("b", 2, 0), ("b", -2, 0), ("b", 2, 0), ("b", -2, 0)):
        number += 1
        bench.screen.inputs.add((*event, number))
    bench.screen.draw(bench.window)
    bench.screen._build(bench.window, 0.0)
    bench.window.app.frame = plain  # type: ignore[method-assign]
    assert bench.screen._seq <= seq + 1 and bench.screen.inputs.shown == number
    assert not bench.screen.inputs.is_waiting
    assert "".join(str(int(is_down)) for is_down in clicks).strip("0") == "101"  # pressed twice
    bench.screen.draw(bench.window)
    bench.until(lambda: page.seen.number == bench.screen._seq)
    _compare(page, bench)
    assert bench.screen._view is not None and bench.screen._view.words is not None
    assert np.array_equal(page.seen.words, bench.screen._view.words.words)


def test_slow_pages_get_fewer_frames_and_never_old_ones(bench: Bench, page: Page) -> None:
    drawing = bench.window.viewport.drawing
    assert drawing is not None
    bench.show(page)
    page.acknowledges = False
    bench.pretend_round_trip(page, 0.05)
    first = bench.screen._seq
    for _ in range(60):
        drawing.camera.azimuth += 1.0
        bench.turn()
    assert bench.screen._seq - first == 2 + 60 * 0.05  # it was not drawn ahead of the page
    page.acknowledges = True
    page.line.send(["a", page.seen.number, 0])
    _await_camera(bench, page)


def _await_camera(bench: Bench, *pages: Page) -> None:
    """Until pages show the camera as it is now."""
    drawing = bench.window.viewport.drawing
    assert drawing is not None
    drawing.update()
    forward = np.array(drawing.scene.camera[0].forward, np.float32)
    for page in pages:
        bench.until(lambda p=page: np.allclose(p.seen.words[11:14].view(np.float32), forward))


def test_a_stuck_line_gets_no_old_frames_and_a_cut_one_loses_nothing(bench: Bench) -> None:
    """Nothing waits in a tunnel that forwards nothing, however much there is to draw."""
    line = Tunnel(bench.screen.server.port)
    page = bench.page(port=line.port)
    drawing = bench.window.viewport.drawing
    assert drawing is not None
    bench.show(page)
    line.hold()
    bench.pretend_round_trip(page, 0.1)
    first = bench.screen._seq
    for turn in range(60):
        drawing.camera.azimuth += 1.0
        page.line.send(["m", 100 + turn % 500, 300, turn])
        bench.turn()
    assert 0 < bench.screen._seq - first <= 2 + 60 * 0.1
    line.release()
    _await_camera(bench, page)
    bench.show(page)
    _compare(page, bench)
    names = [actor.name for actor in bench.editor.state.scene.actors]
    line.cut()
    bench.pages.remove(page)
    page.line.close()
    bench.until(lambda: not bench.screen.audience.browsers)
    again = bench.page(port=line.port)
    bench.until(lambda: again.texts.get("role") == "command")
    assert [actor.name for actor in bench.editor.state.scene.actors] == names
    bench.show(again)
    _compare(again, bench)
    bench.leave(again)
    line.close()


def test_without_pages_the_editor_looks_after_itself(bench: Bench) -> None:
    calls = []
    plain = bench.window.app.frame
    bench.window.app.frame = lambda: (calls.append(1), plain())[1]  # type: ignore[method-assign,func-returns-value]
    frames = bench.screen.frames
    for _ in range(4):
        bench.screen._last -= 1.0
        bench.screen.turn(bench.window)
    bench.window.app.frame = plain  # type: ignore[method-assign]
    assert len(calls) == 4 and bench.screen.frames == frames


def test_one_commands_and_others_watch(bench: Bench, page: Page) -> None:
    watcher = bench.page(bench.screen.server.tokens.watch)
    bench.until(lambda: "role" in page.texts and "role" in watcher.texts)
    assert page.texts["role"] == "command" and watcher.texts["role"] == "watch"
    watcher.line.send(["r", 500, 500, 1])
    watcher.line.send(["drop", 1, 1, [["a.xml", 3]]])
    watcher.line.send(["give", 1])
    bench.hear(watcher)
    assert bench.screen._size == (1280.0, 720.0) and not bench.screen._uploads.dialog.is_open
    watcher.line.send(["take"])
    bench.until(lambda: "asks" in page.texts)
    assert watcher.texts["role"] == "watch"
    page.line.send(["give", page.texts["asks"]["number"]])
    bench.until(lambda: watcher.texts["role"] == "command")
    page.line.send(["take"])
    bench.until(lambda: page.texts["role"] == "command")
    bench.leave(watcher)


def test_ten_pages_some_of_them_stuck(bench: Bench, page: Page) -> None:
    crowd = [bench.page(bench.screen.server.tokens.watch) for _ in range(9)]
    bench.show(page, *crowd)
    for stuck in crowd[::2]:
        stuck.acknowledges = False
        bench.pretend_round_trip(stuck, 0.05)
    drawing = bench.window.viewport.drawing
    assert drawing is not None
    camera = drawing.camera
    first = page.seen.number

    def goes_on() -> bool:
        camera.azimuth += 1.0
        return page.seen.number > first + 10

    bench.until(goes_on)  # who commands is not held up by them
    _await_camera(bench, page, *crowd[1::2])
    assert not any(bench.browser(stuck).is_current for stuck in crowd[::2])
    for reader in crowd:
        bench.leave(reader)


MALFORMED = (
    "x", "[]", "{}", "null", "1", '["m"]', '["m",1]', '["m","a",2,3]', '["m",1e400,0,0]',
    '["m",NaN,0,0]', '["k",1,true,0,0]', '["r",1,2]', '["nothing"]', '["give","x"]',
    '["drop",0,0,{}]', '["g",{}]', '["t",7,1]', '[["m"],1,2,3]', "[" * 20000, '["m",true,1,1]',
    '["b",99999999999,0,0]', '["m"', '["gone"]', '["hello"]', '["drop",0,0,[["a",-1]]]',
    '["drop",0,0,[1]]', '["t","\\ud800",1]', '["b",0,1,-1]', f'["m",{"9" * 400},0,0]',
    f'["m",{"9" * 5000},0,0]', f'["a",1,{"9" * 4000}]', f'["drop",1,1,[["a",{"9" * 400}]]]',
)  # fmt: skip


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_messages_are_recognised(text: str) -> None:
    with pytest.raises(MalformedError):
        parse(text)


def test_malformed_messages_end_the_page_not_the_editor(bench: Bench) -> None:
    for text in ("[]", '["m",NaN,0,0]', '["drop",0,0,[1]]', b"\x01\x05\x00name"):
        page = bench.page()
        page.line.send(text)
        bench.until(lambda page=page: page.closed == 1008)
        bench.leave(page)


GOOD = ("a.xml", "robot/meshes/leg 1.stl", "ein Öffner (2).xml", "x" * 100, "日本.yaml")
BAD = (
    "", "/etc/passwd", "../a", "a/../b", "a\\b", "c:x", ".hidden", "a/.b", "a\x00b", "a\nb", "con",
    "NUL.txt", "a//b", "a/", "x" * 300, "/".join("abcdefghi"), "a?", "a*", "name.", "name ", None,
)  # fmt: skip


def test_names_of_uploads() -> None:
    assert [name for name in GOOD if not is_good_name(name)] == []
    assert [name for name in BAD if is_good_name(name)] == []


def test_uploads_are_written_only_after_asking_and_removed_if_broken(
    bench: Bench, tmp_path: Path
) -> None:
    uploads = bench.screen._uploads
    page = bench.page()
    page.line.send(["drop", 300, 300, [["a/b.xml", 4], ["c.txt", 2]]])
    bench.until(lambda: uploads.dialog.is_open)
    assert not uploads.folder.exists()
    uploads.dialog.close()
    uploads.begin()
    bench.until(lambda: "upload" in page.texts)
    page.line.send(b"\x01\x07\x00a/b.xmlab")
    bench.until((uploads.folder / "a" / "b.xml").exists)
    folder = uploads.folder
    page.line.send(["dropped"])  # half of it is missing
    bench.until(lambda: not folder.exists())
    bench.leave(page)


def test_a_drop_that_the_page_cannot_read_is_told_of_and_removed(bench: Bench, page: Page) -> None:
    uploads = bench.screen._uploads
    page.line.send(["drop", 300, 300, [["a.xml", 4]]])
    bench.until(lambda: uploads.dialog.is_open)
    uploads.dialog.close()
    uploads.begin()
    folder = uploads.folder
    assert folder.is_dir()
    page.line.send(["nodrop"])
    bench.until(lambda: not folder.exists())
    assert bench.window.viewport.refusals.reasons[0].startswith("the browser cannot read")
    bench.window.viewport.refusals.reasons = []


@pytest.mark.parametrize("files", [[["../x", 1]], [["a", 300 << 20]], []])
def test_uploads_that_cannot_be_are_refused(bench: Bench, page: Page, files: list[Any]) -> None:
    bench.window.viewport.refusals.reasons = []
    page.line.send(["drop", 1, 1, files])
    bench.until(lambda: bench.window.viewport.refusals.reasons)
    assert not bench.screen._uploads.dialog.is_open
    bench.window.viewport.refusals.reasons = []


def test_noise_from_a_page_harms_nobody(bench: Bench) -> None:
    rng = random.Random(11)
    names = list(MESSAGES)
    values: list[Any] = [
        0, -1, 1e9, 0.5, True, None, "x", "", [], [1, 2, 3], {}, "KeyA", 1280, -20000,
    ]  # fmt: skip
    page = bench.page()
    for _ in range(60):
        if page.closed or not page.line.is_open:
            bench.leave(page)
            page = bench.page()
        page.line.send([rng.choice(names), *rng.choices(values, k=rng.randrange(5))])
        bench.turn()
    bench.leave(page)
    again = bench.page()
    bench.until(lambda: again.texts.get("role") == "command")
    again.line.send(["r", 1280, 720, 1])
    bench.until(lambda: bench.screen._size == (1280.0, 720.0))
    bench.leave(again)


def test_the_world_moves_between_two_frames_of_the_panels(bench: Bench, page: Page) -> None:
    bench.turn(5)
    simulation = bench.editor.simulation
    simulation.play()
    simulation.world.data.qpos[0] += 0.3
    simulation.publish()
    bench.turn()  # a whole frame, which shows that the world moves
    bench.receive(page)
    before, built = page.seen.words.copy(), bench.screen.frames
    lists = {number: id(known["commands"]) for number, known in page.seen.lists.items()}
    simulation.world.data.qpos[0] += 0.3
    simulation.publish()
    screen = bench.screen
    screen._last, screen._last_world = time.perf_counter() + 60.0, 0.0
    screen.turn(bench.window)
    screen._last = 0.0
    bench.receive(page)
    assert not np.array_equal(page.seen.words, before)
    assert screen._view is not None and screen._view.words is not None
    assert np.array_equal(page.seen.words, screen._view.words.words)
    assert screen.frames == built + 1
    assert lists.keys() == page.seen.lists.keys()
    simulation.pause()
    bench.turn(2)


@pytest.mark.parametrize("theme", list(colours.THEMES))
def test_a_page_has_the_background_of_the_theme(bench: Bench, theme: str) -> None:
    """Docked panels do not fill theirs: text on another background could not be read."""
    page = bench.page()
    bench.window.theme.use(theme)
    bench.until(lambda: colours.is_applied(theme))
    bench.turn()
    bench.show(page)
    shade = imgui.get_style().color_(imgui.Col_.window_bg)
    assert page.seen.background == tuple(round(255 * v) for v in (shade.x, shade.y, shade.z))
    text = imgui.get_style().color_(imgui.Col_.text)
    assert abs(text.x - page.seen.background[0] / 255) > 0.6  # they are told apart
    bench.window.theme.use("dark")
    bench.until(lambda: colours.is_applied("dark"))
    bench.leave(page)
