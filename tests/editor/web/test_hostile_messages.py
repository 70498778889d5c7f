"""No message ends the editor: messages by the protocol's grammar, with values at every edge."""

import asyncio
import io
import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from imgui_bundle import imgui
from PIL import Image

from mjrig.editor.ui.panel import Panel
from mjrig.editor.web import server as serving
from mjrig.editor.web.browsers import Presence
from mjrig.editor.web.file_transfer import Photographs
from mjrig.editor.web.protocol import MESSAGES, MalformedError, Role, parse
from mjrig.editor.web.server import LOGGED_A_MINUTE, RejectionLog, Server, ServerSettings
from mjrig.editor.web.websocket import ProtocolError
from tests.campaign import Tally
from tests.editor.web.chromium import Line, wait_for
from tests.editor.web.live_bench import Bench, Page, live_bench
from tests.editor.web.messages import (
    binary_message,
    example,
    greeting,
    head,
    text_message,
    upload_messages,
    wire_of,
)


class _Writer:
    """A connection that nobody reads."""

    def __init__(self) -> None:
        self.wire, self._is_closing = b"", False

    def write(self, data: bytes) -> None:
        self.wire += data

    async def drain(self) -> None:
        await asyncio.sleep(0)

    def close(self) -> None:
        self._is_closing = True

    def is_closing(self) -> bool:
        return self._is_closing


@pytest.fixture
def rejections(monkeypatch: pytest.MonkeyPatch) -> list[BaseException | None]:
    """The errors for which connections are closed."""
    noted: list[BaseException | None] = []
    monkeypatch.setattr(RejectionLog, "note", lambda log, line, error, now: noted.append(error))
    return noted


def _unexpected(rejections: list[BaseException | None]) -> list[BaseException | None]:
    """Errors that the grammar should have rejected; forgets all."""
    errors = [e for e in rejections if not isinstance(e, MalformedError | ProtocolError)]
    rejections.clear()
    return errors


def test_every_example_of_the_grammar_is_a_message() -> None:
    """Else the fuzzer would try nothing but malformed messages."""
    rng = random.Random(5)
    for name, kind in MESSAGES.items():
        for _ in range(40):
            text = f'["{name}"{"".join("," + example(field, rng) for field in kind.fields)}]'
            assert parse(text)[0] == name


@pytest.mark.campaign
def test_no_bytes_of_a_connection_reach_the_server(
    tally: Tally, rejections: list[BaseException | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the request on, without a socket: every connection ends by itself and alone."""
    monkeypatch.setattr(serving, "_PENALTY", 0.0)
    server = Server(ServerSettings())
    tokens = server.tokens.command, server.tokens.watch

    async def connect(wire: bytes) -> None:
        reader, writer = asyncio.StreamReader(limit=1 << 16), _Writer()
        reader.feed_data(wire)
        reader.feed_eof()
        await server._connected(reader, writer)  # type: ignore[arg-type]

    accepted = 0
    loop = asyncio.new_event_loop()
    try:
        for rng in tally.cases("bytes to the editor's server", 2_000, 1_000_000):
            wire = head(server.port, rng) + wire_of(greeting(tokens, rng), rng)
            for _ in range(rng.randrange(1, 5)):
                wire += wire_of(rng.choice((text_message, binary_message))(rng), rng)
            try:
                loop.run_until_complete(connect(wire))
            except Exception as error:
                tally.found(f"{error!r} with {wire!r}")
            for error in _unexpected(rejections):
                tally.found(f"{error!r} with {wire!r}")
            if server.browsers or server.strangers or server._connections:
                tally.found(f"the connection is still counted after {wire!r}")
            accepted += sum(not isinstance(m, Presence) for _, m in server.inbox.take())
    finally:
        loop.close()
        server.stop()
    assert accepted > 100  # not all of it is noise


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with live_bench(tmp_path_factory.mktemp("hostile")) as live:
        yield live


def _page(bench: Bench, role: Role, owner: Page) -> Page:
    """A page in a role."""
    tokens = bench.screen.server.tokens
    page = bench.page(tokens.watch if role in (Role.VIEWER, Role.LENT) else tokens.command)
    number = max(browser.number for browser in bench.screen.audience.browsers)
    if role in (Role.LENT, Role.COMMANDER):
        owner.line.send(["give", number])
        bench.until(lambda: page.texts.get("role") == "command")
    return page


@pytest.mark.campaign
def test_no_message_ends_the_window_or_another_page(
    bench: Bench, tally: Tally, rejections: list[BaseException | None]
) -> None:
    """Applied by the window itself, in every role, while an owner looks on."""
    owner, is_whole = bench.page(), 0
    for rng in tally.cases("messages to the editor's window", 40, 20_000):
        role = rng.choice([r for r in Role if r is not Role.STRANGER])
        page = _page(bench, role, owner)
        sent = []
        uploads = bench.screen._uploads
        bench.screen.photographs._waiting.extend([lambda picture: None] * 4)  # it was asked for
        queue = upload_messages(rng) if rng.random() < 0.2 else []
        for _ in range(rng.randrange(1, 12)):
            is_right = bool(queue) or rng.random() < 0.95  # the first wrong one ends the page
            text = text_message(rng, is_right=is_right)
            message = queue.pop(0) if queue else rng.choice((*[text] * 9, binary_message(rng)))
            sent.append(message)
            try:
                page.line.send_raw(wire_of(message, rng, is_right=is_right))
            except OSError:
                break
            if queue or rng.random() < 0.3:
                _turn(bench, tally, role, sent)
            if uploads.dialog.is_open and rng.random() < 0.9:  # the user agrees
                uploads.dialog.close()
                uploads.begin()
        _turn(bench, tally, role, sent)
        for error in _unexpected(rejections):
            tally.found(f"{role}: {error!r} with {sent!r}")
        is_whole += not page.closed
        bench.leave(page)
        if owner.closed or not owner.line.is_open:
            tally.found(f"{role}: another page was closed by {sent!r}")
            return
        for dialog in bench.window._dialogs:
            dialog.close()
        bench.editor.state.wants_to_close = False
    assert is_whole > tally.tried / 4  # enough of them are not ended by their first message
    owner.line.send(["take"])
    owner.line.send(["r", 1280, 720, 1])
    bench.until(lambda: bench.screen._size == (1280.0, 720.0))
    bench.leave(owner)


def _image(rng: random.Random) -> bytes:
    """A small image as a page sends it, with some bytes changed, removed or repeated."""
    file = io.BytesIO()
    image = Image.frombytes("RGB", (9, 7), rng.randbytes(9 * 7 * 3))
    image.save(file, rng.choice(("PNG", "JPEG")))
    content = bytearray(file.getvalue())
    for _ in range(rng.randrange(6)):
        at = rng.randrange(len(content))
        kind = rng.randrange(3)
        if kind == 0:
            content[at] = rng.choice((0, 255, rng.randrange(256)))
        elif kind == 1:
            del content[at : at + rng.randrange(1, 20)]
        else:
            content[at:at] = content[at : at + rng.randrange(1, 20)]
        content = content or bytearray(b"x")
    return bytes(content)


@pytest.mark.campaign
def test_no_image_of_a_page_is_an_error(tally: Tally) -> None:
    decoded = 0
    for rng in tally.cases("images to the editor", 200, 200_000):
        pictures: list[Any] = []
        photographs = Photographs(SimpleNamespace(commander=1, tell=lambda text: None))  # type: ignore[arg-type]
        photographs.ask(pictures.append)
        content = _image(rng)
        try:
            photographs.came(content)
        except Exception as error:
            tally.found(f"{error!r} with {content!r}")
        decoded += len(pictures)
    assert 0 < decoded < tally.tried  # some are damaged, some are not


def _turn(bench: Bench, tally: Tally, role: Role, sent: list[Any]) -> None:
    try:
        bench.turn(2)
    except Exception as error:
        tally.found(f"{role}: the window ended with {error!r} by {sent!r}")
        raise


# The boundary behind the grammar: a mistake of the editor ends one page --------------------------


def test_an_error_while_a_message_is_applied_ends_its_page_alone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, page = bench.page(), bench.page()
    bench.until(lambda: owner.texts.get("role") == "command")
    page.line.send(["take"])
    bench.until(lambda: page.texts.get("role") == "command")

    def fails(*values: float) -> None:
        raise ZeroDivisionError("a mistake of the editor")

    with monkeypatch.context() as patch:
        patch.setattr(bench.screen, "_resize", fails)
        page.line.send(["r", 500, 500, 1])
        page.line.send(["p", "not applied any more", 1])
        bench.until(lambda: page.closed == 1011)
    bench.leave(page)
    assert bench.screen._copied != "not applied any more"
    bench.until(lambda: owner.texts["role"] == "command")
    assert owner.closed == 0
    bench.leave(owner)


def test_an_error_while_input_is_applied_in_a_frame_ends_its_page_alone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = bench.page()
    watcher = bench.page(bench.screen.server.tokens.watch)

    def fails(*values: object) -> None:
        raise OverflowError("a mistake of the editor")

    with monkeypatch.context() as patch:
        patch.setattr(bench.screen.inputs, "_tell", fails)
        page.line.send(["m", 1, 1, 1])
        bench.until(lambda: page.closed == 1011)
    bench.leave(page)
    bench.hear(watcher)
    assert watcher.closed == 0 and watcher.texts["role"] == "watch"
    bench.leave(watcher)


@pytest.mark.parametrize("is_commanded", [True, False])
def test_a_frame_that_is_cut_off_ends_neither_the_editor_nor_a_watcher(
    bench: Bench,
    rejections: list[BaseException | None],
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_commanded: bool,
) -> None:
    """An exception amid the widgets, frame after frame, as input that opens something broken."""
    watcher = bench.page(bench.screen.server.tokens.watch)
    owner = bench.page() if is_commanded else watcher

    def fails(panel: Panel) -> None:
        imgui.begin_child("left open")
        imgui.push_id(1)
        raise OverflowError("a mistake of the editor")

    with monkeypatch.context() as patch:
        patch.setattr(Panel, "guarded", fails)
        bench.until(lambda: len(rejections) > 3 and owner.closed == (1011 if is_commanded else 0))
    assert {type(error) for error in rejections} == {OverflowError}
    if is_commanded:
        bench.leave(owner)
    before = bench.screen._seq
    again = bench.page()
    bench.until(lambda: again.texts.get("role") == "command" and bench.screen._seq > before)
    assert watcher.closed == 0
    bench.leave(again)
    bench.leave(watcher)


@pytest.mark.parametrize("part", ["frame", "interval"])
@pytest.mark.parametrize("has_page", [True, False])
def test_an_error_outside_of_the_widgets_does_not_end_the_editor(
    bench: Bench,
    rejections: list[BaseException | None],
    monkeypatch: pytest.MonkeyPatch,
    part: str,
    *,
    has_page: bool,
) -> None:
    page = bench.page() if has_page else None
    if page is not None:
        bench.show(page)  # the next turn draws

    def fails(*values: object) -> None:
        raise OverflowError("a mistake of the editor")

    with monkeypatch.context() as patch:
        patch.setattr(bench.window.app, part, fails)
        bench.turn(3)
    expected = {OverflowError} if has_page or part == "frame" else set()
    assert {type(error) for error in rejections} == expected
    if page is not None:
        bench.until(lambda: page.closed == 1011)
        bench.leave(page)


def test_rejections_are_logged_in_one_line_and_do_not_flood(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = RejectionLog()
    for _ in range(5 * LOGGED_A_MINUTE):
        log.note("page 1 (browser) " + "x" * 5000, ValueError("x"), now=100.0)
    lines = [r for r in caplog.records if r.levelname == "WARNING"]
    assert len(lines) == LOGGED_A_MINUTE
    assert all(len(r.getMessage()) < 200 and r.exc_info is None for r in lines)
    log.note("page 2 (browser) was disconnected: y", ValueError("y"), now=200.0)
    assert [r.getMessage() for r in caplog.records if r.levelname == "WARNING"][-2:] == [
        f"{4 * LOGGED_A_MINUTE} more such lines were dropped",
        "page 2 (browser) was disconnected: y",
    ]


def test_strangers_bytes_print_no_traceback(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "_PENALTY", 0.0)
    server = Server(ServerSettings())
    try:
        place = f"127.0.0.1:{server.port}"
        for token in ('"\\ud800"', "9" * 4000, "[" * 2000):
            line = Line(f"ws://{place}/live", Origin=f"http://{place}")
            line.send(f'{{"token":{token}}}')
            while line.is_open and line.receive(2.0) is not None:
                pass
            line.close()
        wait_for(lambda: server._connections == 0, "closed")
    finally:
        server.stop()
    assert "Traceback" not in capfd.readouterr().err
