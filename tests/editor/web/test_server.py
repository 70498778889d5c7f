"""The server of the page: who gets in, what it serves, and that nobody can harm it."""

import asyncio
import logging
import os
import random
import socket
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidHandshake
from websockets.frames import Frame, Opcode

from mjrig.core.errors import SceneError
from mjrig.editor.web import server as serving
from mjrig.editor.web.browsers import Browser
from mjrig.editor.web.requests import Tokens
from mjrig.editor.web.server import LOGGED_A_MINUTE, Server, ServerSettings
from mjrig.editor.web.websocket import MessageStream, ProtocolError, accept, binary_frames
from tests.editor.web.chromium import Line, client_frame, wait_for

ASSET: tuple[bytes, str, dict[str, str]] = (b"x" * 100, "application/octet-stream", {})


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server(ServerSettings(), lambda path: ASSET if path == "/asset/known" else None)
    yield made
    made.stop()


def _ask(server: Server, request: str) -> bytes:
    """The answer to a request, written out."""
    with socket.create_connection(("127.0.0.1", server.port), 60.0) as line:
        line.sendall(request.encode())
        line.settimeout(60.0)
        answer = b""
        while True:
            try:
                more = line.recv(65536)
            except TimeoutError:
                return answer
            answer += more
            head, _, body = answer.partition(b"\r\n\r\n")
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            if not more or (length and len(body) >= int(length)):
                return answer


def _get(server: Server, path: str, method: str = "GET", **headers: str) -> bytes:
    given = {"Host": f"127.0.0.1:{server.port}", **headers}
    lines = "\r\n".join(f"{k}: {v}" for k, v in given.items() if v)
    return _ask(server, f"{method} {path} HTTP/1.1\r\n{lines}\r\n\r\n")


def _live(server: Server, **headers: str) -> Line:
    place = f"127.0.0.1:{server.port}"
    return Line(f"ws://{place}/live", **{"Origin": f"http://{place}", **headers})


def _known(server: Server, token: str = "") -> Line:
    line = _live(server)
    line.send({"token": token or server.tokens.command})
    wait_for(lambda: server.browsers, "let in")
    return line


def _closed_with(line: Line, timeout: float = 60.0) -> int:
    """The code that the server closes a connection with; 0: it is open."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        message = line.receive(0.2)
        if message is not None and message.opcode is Opcode.CLOSE:
            return int.from_bytes(message.payload[:2], "big")
        if not line.is_open:
            return 1006
    return 0


# What it serves -----------------------------------------------------------------------------------


def test_the_page_comes_without_a_token_and_cannot_be_framed_or_cached(server: Server) -> None:
    answer = _get(server, "/").decode()
    assert answer.startswith("HTTP/1.1 200") and "<canvas" in answer
    assert "frame-ancestors 'none'" in answer and "default-src 'none'" in answer
    assert "no-store" in answer and "nosniff" in answer and "Access-Control" not in answer
    assert b"200 OK" in _get(server, "/main.js")


@pytest.mark.parametrize(
    "path",
    [
        "/../server.py",
        "/%2e%2e/server.py",
        "/page/main.js",
        "//etc/passwd",
        "/server.py",
        "/live/x",
    ],
)
def test_nothing_else_of_the_computer_can_be_read(server: Server, path: str) -> None:
    assert b" 404 " in _get(server, path).splitlines()[0]


@pytest.mark.parametrize("method", ["POST", "PUT", "OPTIONS", "DELETE", "HEAD", "TRACE"])
def test_only_get_is_answered(server: Server, method: str) -> None:
    assert b" 405 " in _get(server, "/", method).splitlines()[0]


def test_assets_need_the_token(server: Server) -> None:
    assert b" 401 " in _get(server, "/asset/known").splitlines()[0]
    assert b" 401 " in _get(server, "/asset/known", Authorization="Bearer x").splitlines()[0]
    allowed = {"Authorization": f"Bearer {server.tokens.watch}"}
    assert b" 200 " in _get(server, "/asset/known", **allowed).splitlines()[0]
    assert b" 404 " in _get(server, "/asset/other", **allowed).splitlines()[0]


@pytest.mark.parametrize("host", ["", "evil.example", "127.0.0.1.evil.example", "["])
def test_another_name_of_the_server_is_refused(server: Server, host: str) -> None:
    """A foreign page whose name is made to point here (DNS rebinding)."""
    assert b" 403 " in _get(server, "/", Host=host).splitlines()[0]
    if host:
        line = _live(server, Host=host, Origin=f"http://{host}")
        assert " 403 " in line.head
        line.close()


@pytest.mark.parametrize("host", ["localhost:1234", "127.0.0.1", "[::1]:8642"])
def test_a_tunnel_may_have_another_port(server: Server, host: str) -> None:
    assert b" 200 " in _get(server, "/", Host=host).splitlines()[0]


def test_a_proxy_may_show_it_under_a_name_that_was_allowed() -> None:
    """One that keeps `Host`, and one that writes this server's own into it."""
    made = Server(ServerSettings(allowed=("Editor.Example",)))
    try:
        own = f"127.0.0.1:{made.port}"
        for host in ("editor.example", own):
            assert b" 200 " in _get(made, "/", Host=host).splitlines()[0]
            line = _live(made, Host=host, Origin="https://editor.example")
            assert line.is_open
            line.close()
        for origin in ("https://evil.example", "https://editor.example.evil", "null"):
            line = _live(made, Host=own, Origin=origin)
            assert " 403 " in line.head
            line.close()
    finally:
        made.stop()


def test_a_server_that_listens_everywhere_answers_to_numbers_but_not_to_names() -> None:
    made = Server(ServerSettings("0.0.0.0"))
    try:
        for host in ("192.168.7.5:80", "[fe80::1]:80", socket.gethostname().lower()):
            assert b" 200 " in _get(made, "/", Host=host).splitlines()[0]
        for host in ("evil.example", "192.168.7.5.evil.example", "1e3"):
            assert b" 403 " in _get(made, "/", Host=host).splitlines()[0]
        assert made.address("x") == f"http://127.0.0.1:{made.port}/#x"
    finally:
        made.stop()


def test_ipv6(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        made = Server(ServerSettings("::1"))
    except SceneError:
        pytest.skip("no IPv6 here")
    try:
        assert made.address("x") == f"http://[::1]:{made.port}/#x"
        line = Line(f"ws://[::1]:{made.port}/live", Origin=f"http://[::1]:{made.port}")
        assert line.is_open
        line.close()
    finally:
        made.stop()


def test_a_long_file_goes_in_parts_and_a_slow_reader_holds_nobody_up(tmp_path: Path) -> None:
    file = tmp_path / "take.h5"
    file.write_bytes(os.urandom(3_000_000))
    made = Server(ServerSettings(), lambda path: (file, "application/octet-stream", {}))
    try:
        allowed = {"Authorization": f"Bearer {made.tokens.command}"}
        with socket.create_connection(("127.0.0.1", made.port), 60.0) as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            host, token = f"127.0.0.1:{made.port}", made.tokens.command
            slow.sendall(
                f"GET /download/x HTTP/1.1\r\nHost: {host}\r\n"
                f"Authorization: Bearer {token}\r\n\r\n".encode()
            )
            answer = _get(made, "/download/x", **allowed)
        assert answer.partition(b"\r\n\r\n")[2] == file.read_bytes()
        file.unlink()
        assert b" 404 " in _get(made, "/download/x", **allowed).splitlines()[0]
    finally:
        made.stop()


@pytest.mark.parametrize(
    "request_text",
    ["\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET / HTTP/1.1\r\nx\r\n\r\n",
     "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n", "\x16\x03\x01é\r\n\r\n"],
)  # fmt: skip
def test_what_is_no_request_is_refused(server: Server, request_text: str) -> None:
    assert b" 400 " in _ask(server, request_text).splitlines()[0]


def test_a_server_starts_where_a_loop_runs_already() -> None:
    """As in the kernel of a notebook."""

    async def cell() -> bytes:
        made = Server(ServerSettings())
        try:
            return await asyncio.to_thread(_get, made, "/")
        finally:
            made.stop()

    assert b" 200 " in asyncio.run(cell()).splitlines()[0]


def test_a_port_that_is_taken_is_named(server: Server) -> None:
    with pytest.raises(SceneError, match=f"127.0.0.1:{server.port}: cannot listen there"):
        Server(ServerSettings(port=server.port))


# Who gets in --------------------------------------------------------------------------------------


def test_tokens_are_long_differ_and_have_rights() -> None:
    tokens = Tokens()
    assert len(tokens.command) >= 40 and tokens.command != Tokens().command
    assert tokens.rights(tokens.command) == "command" and tokens.rights(tokens.watch) == "watch"
    wrong = ("", tokens.command[:-1], tokens.command + "x", None, 7, ["x"], "é" * 43)
    assert [tokens.rights(given) for given in wrong] == [""] * 7


@pytest.mark.parametrize(
    "greeting",
    [
        "x",
        "[]",
        "{}",
        '{"token": 1}',
        "[" * 3000,
        '{"token": "\\ud800"}',
        f'{{"token": {"9" * 4000}}}',
    ],
)
def test_a_wrong_greeting_is_refused(server: Server, greeting: str) -> None:
    line = _live(server)
    line.send(greeting)
    assert _closed_with(line) == 4403
    line.close()
    assert not server.browsers


def test_silence_and_long_greetings_are_cut_off(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "_GREETING", 0.2)
    silent, long = _live(server), _live(server)
    long.send("x" * 5000)
    assert _closed_with(silent) and _closed_with(long)
    silent.close()
    long.close()


@pytest.mark.parametrize("origin", ["", "null", "http://evil.example", "http://127.0.0.1:1"])
def test_a_foreign_page_cannot_connect(server: Server, origin: str) -> None:
    line = _live(server, Origin=origin)
    assert " 403 " in line.head and not line.is_open
    line.close()


def test_strangers_cannot_take_all_connections(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes takes the place of the oldest stranger; pages are not disturbed."""
    monkeypatch.setattr(serving, "MOST_STRANGERS", 4)
    known = _known(server)
    place = ("127.0.0.1", server.port)
    strangers = [socket.create_connection(place, 5.0) for _ in range(4)]
    wait_for(lambda: len(server.strangers) >= 4, "they hold on")
    assert b" 200 " in _get(server, "/").splitlines()[0]
    assert strangers[0].recv(10) == b""
    strangers += [socket.create_connection(place, 5.0) for _ in range(20)]
    wait_for(lambda: strangers[19].recv(10) == b"", "the oldest are gone")
    assert len(server.strangers) <= 4
    second = _live(server)
    second.send({"token": server.tokens.command})
    wait_for(lambda: len(server.browsers) == 2, "an owner gets in")
    known.send(["f", True])
    assert known.is_open
    for line in strangers:
        line.close()
    for page in (known, second):
        page.close()
    wait_for(lambda: not server.browsers, "gone")


def test_view_links_cannot_take_all_connections(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither with pages nor with requests for files that they keep open."""
    monkeypatch.setattr(serving, "MOST_OF_VIEW_LINKS", 3)
    monkeypatch.setattr(serving, "MOST_CONNECTIONS", 5)
    page = _known(server, server.tokens.watch)
    asks = (
        f"GET /asset/known HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Authorization: Bearer {server.tokens.watch}\r\n\r\n"
    ).encode()
    lines, answers = [], []
    for _ in range(6):
        lines.append(socket.create_connection(("127.0.0.1", server.port), 60.0))
        lines[-1].sendall(asks)
        answers.append(lines[-1].recv(65536).split()[1])
    assert answers == [b"200", b"200", *[b"503"] * 4]
    owner = _live(server)
    owner.send({"token": server.tokens.command})
    wait_for(lambda: any(b.rights == "command" for b in server.browsers), "an owner gets in")
    for line in lines:
        line.close()
    page.close()
    owner.close()
    wait_for(lambda: not server.browsers and not server.view_links, "none is counted any more")
    server.inbox.take()


def test_pages_that_reset_their_connection_leave_nothing_in_the_log(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    pings = (b"\x89\xe4" + bytes(4) + b"x" * 100) * 800
    for number in range(40):
        line = _known(server, server.tokens.watch)
        raw = line.socket
        raw.sendall(pings)
        if number % 2:
            line.receive()  # it has begun to answer
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        line.close()
        wait_for(lambda: not server.browsers, "gone")
    assert [r.getMessage() for r in caplog.records if "socket.send" in r.getMessage()] == []


def test_what_libraries_log_has_the_limit_of_rejections(caplog: pytest.LogCaptureFixture) -> None:
    server = Server(ServerSettings())
    try:
        for number in range(500):
            warn = logging.getLogger("asyncio").warning
            server._loop.call_soon_threadsafe(warn, "line %d", number)
        wait_for(lambda: "line 19" in caplog.text, "logged")
    finally:
        server.stop()
    lines = [r for r in caplog.records if "line" in r.getMessage()]
    assert len(lines) == LOGGED_A_MINUTE and {r.name for r in lines} == {"mjrig"}


def test_floods_and_long_messages_are_cut_off(server: Server) -> None:
    flood = _known(server)
    wire = client_frame(Opcode.TEXT, b'["f",true]')
    try:
        for _ in range(40):
            flood.send_raw(wire * 500)
    except OSError:
        pass
    assert _closed_with(flood) in (1008, 1006)
    wait_for(lambda: not server.browsers, "gone")
    long = _known(server)
    long.send_raw(b"\x82\xff" + (1 << 40).to_bytes(8, "big") + b"abcd")
    assert _closed_with(long) == 1009
    wait_for(lambda: not server.browsers, "gone")
    bomb = _known(server)
    press = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed_bomb = press.compress(bytes(200 << 20)) + press.flush(zlib.Z_SYNC_FLUSH)
    masked = client_frame(Opcode.BINARY, packed_bomb[:-4])
    bomb.send_raw(bytes([masked[0] | 0x40]) + masked[1:])
    assert _closed_with(bomb) == 1009
    for line in (flood, long, bomb):
        line.close()
    wait_for(lambda: not server.browsers, "gone")
    server.inbox.take()


def test_who_watches_cannot_fill_the_memory(server: Server) -> None:
    watcher = _known(server, server.tokens.watch)
    watcher.send(b"\x02" * 5000)
    assert _closed_with(watcher) == 1009
    watcher.close()
    wait_for(lambda: not server.browsers, "gone")
    again = _known(server, server.tokens.watch)
    server.browsers[0].commands = True  # it was handed the command
    again.send(b"\x02" * 5000)
    again.send(["f", True])
    found: list[Any] = []
    # Who came and went is in the inbox too, and may be all of it at first.
    wait_for(
        lambda: (
            found.extend(server.inbox.take()),
            any(isinstance(one[1], bytes) for one in found[:-1]),
        )[1],
        "taken",
    )
    assert found[-2][1] == b"\x02" * 5000
    again.close()
    wait_for(lambda: not server.browsers, "gone")
    server.inbox.take()


def test_there_is_a_limit_of_pages(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MOST_BROWSERS", 2)
    pages = [_known(server) for _ in range(2)]
    wait_for(lambda: len(server.browsers) == 2, "both")
    third = _live(server)
    third.send({"token": server.tokens.command})
    assert _closed_with(third) == 4429 and len(server.browsers) == 2
    for line in (*pages, third):
        line.close()
    wait_for(lambda: not server.browsers, "gone")
    server.inbox.take()


def test_an_owner_takes_the_place_of_a_view_link(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest one leaves, one that commands last; view links never make an owner leave."""
    monkeypatch.setattr(serving, "MOST_BROWSERS", 3)
    tokens = server.tokens
    first, lent, newest = [_live(server) for _ in range(3)]
    for count, line in enumerate((first, lent, newest), 1):
        line.send({"token": tokens.watch})
        wait_for(lambda count=count: len(server.browsers) == count, "let in")
    server.browsers[1].commands = True
    owners, leavers = [], [newest, first, lent]
    for leaver in leavers:
        owners.append(_live(server))
        owners[-1].send({"token": tokens.command})
        assert _closed_with(leaver) == 4429
        count = len(owners)
        wait_for(lambda count=count: _owners(server) == count, "the owner is in")
    for token in (tokens.watch, tokens.command):
        one_more = _live(server)
        one_more.send({"token": token})
        assert _closed_with(one_more) == 4429 and _owners(server) == 3
        one_more.close()
    for line in (*owners, *leavers):
        line.close()
    wait_for(lambda: not server.browsers, "gone")
    server.inbox.take()


def _owners(server: Server) -> int:
    return sum(b.rights == "command" and not b.is_gone for b in tuple(server.browsers))


def test_noise_on_the_line_harms_nobody(server: Server) -> None:
    rng = random.Random(4)
    for _ in range(12):
        line = _known(server)
        line.send_raw(rng.randbytes(rng.randrange(1, 400)))
        line.socket.close()
    wait_for(lambda: not server.browsers, "gone")
    server.inbox.take()
    assert b" 200 " in _get(server, "/").splitlines()[0]


def test_a_message_arrives_whole_however_it_is_cut() -> None:
    rng = random.Random(7)
    texts = [os.urandom(rng.choice((0, 5, 125, 126, 70000))) for _ in range(8)]
    wire = b"".join(client_frame(Opcode.BINARY, text) for text in texts)
    stream, found, at = _stream(1 << 20), [], 0
    while at < len(wire):
        step = rng.randrange(1, 5000)
        found += [m.payload for m in stream.feed(wire[at : at + step])]
        at += step
    assert found == texts


#: A request for a live connection, as browsers send it.
UPGRADE = {
    "connection": "keep-alive, Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "YWJjZGVmZ2hpamtsbW5vcA==",
    "sec-websocket-extensions": "permessage-deflate; client_max_window_bits",
}


def _stream(limit: int) -> MessageStream:
    return accept("/live", UPGRADE, limit)[0]


def _fragments(count: int, payload: bytes = b"x", *, is_whole: bool = True) -> bytes:
    """A binary message in fragments; the last one may be missing."""
    kinds = [Opcode.BINARY, *[Opcode.CONT] * (count - 1)]
    frames = [Frame(kind, payload, fin=False) for kind in kinds]
    frames[-1].fin = is_whole
    return b"".join(frame.serialize(mask=True) for frame in frames)


def test_every_message_is_compressed_separately() -> None:
    head = accept("/live", UPGRADE, 100)[1].decode()
    assert head.startswith("HTTP/1.1 101")
    assert "server_no_context_takeover; client_no_context_takeover" in head


@pytest.mark.parametrize(
    "change",
    [
        {"connection": "close"},
        {"sec-websocket-version": "12"},
        {"sec-websocket-key": "short"},
        {"sec-websocket-key": "\x7f"},
        {"sec-websocket-extensions": "x-other"},
    ],
)
def test_requests_that_open_no_websocket(server: Server, change: dict[str, str]) -> None:
    with pytest.raises(InvalidHandshake):
        accept("/live", UPGRADE | change, 100)
    own = f"127.0.0.1:{server.port}"
    headers = {**UPGRADE, **change, "Origin": f"http://{own}"}
    assert b" 400 " in _get(server, "/live", **headers).splitlines()[0]


#: Frames against the protocol or the limit of 100 bytes, and the code that closes the connection.
VIOLATIONS = {
    "not masked": (Frame(Opcode.TEXT, b"x").serialize(mask=False), 1002),
    "unknown opcode": (client_frame(3, b"x"), 1002),
    "continues nothing": (client_frame(Opcode.CONT, b"x"), 1002),
    "amid a message": (_fragments(2, is_whole=False) + client_frame(Opcode.TEXT, b"x"), 1002),
    "reserved bit": (b"\xa1" + client_frame(Opcode.TEXT, b"x")[1:], 1002),
    "not compressed": (b"\xc1" + client_frame(Opcode.TEXT, b"\xff")[1:], 1002),
    "long": (client_frame(Opcode.BINARY, b"x" * 101), 1009),
    "long in fragments": (_fragments(3, b"x" * 34), 1009),
    "many fragments": (_fragments(1026, b""), 1009),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_violations_of_the_protocol_have_their_codes(name: str) -> None:
    wire, code = VIOLATIONS[name]
    with pytest.raises(ProtocolError) as caught:
        list(_stream(100).feed(wire))
    assert caught.value.code == code


def test_fragments_become_one_message_and_pings_are_answered_between_them() -> None:
    stream = _stream(1024)
    ping = client_frame(Opcode.PING, b"p")
    messages = list(stream.feed(_fragments(1000, is_whole=False) + ping))
    messages += stream.feed(client_frame(Opcode.CONT, b"y"))
    assert [(m.opcode, m.payload) for m in messages] == [
        (Opcode.PING, b"p"),
        (Opcode.BINARY, b"x" * 1000 + b"y"),
    ]
    assert stream.replies() == Frame(Opcode.PONG, b"p").serialize(mask=False)
    assert not stream.is_closing


def test_a_limit_holds_from_the_next_message_on() -> None:
    stream = _stream(10)
    stream.set_limit(100)
    assert [m.payload for m in stream.feed(client_frame(Opcode.TEXT, b"x" * 100))] == [b"x" * 100]
    stream.set_limit(10)
    with pytest.raises(ProtocolError):
        list(stream.feed(client_frame(Opcode.TEXT, b"x" * 11)))


def test_a_page_that_closes_gets_its_code_back(server: Server) -> None:
    line = _known(server)
    line.send_raw(client_frame(Opcode.CLOSE, b"\x03\xe8"))
    assert _closed_with(line) == 1000
    line.close()
    wait_for(lambda: not server.browsers, "gone")


def test_text_that_is_not_utf8_ends_its_page(server: Server) -> None:
    line = _known(server)
    line.send_raw(client_frame(Opcode.TEXT, b"\xff"))
    assert _closed_with(line) == 1007
    line.close()
    wait_for(lambda: not server.browsers, "gone")
    server.inbox.take()


# Flow ---------------------------------------------------------------------------------------------


def test_who_does_not_acknowledge_gets_a_few_frames_and_no_more(server: Server) -> None:
    line = _known(server)
    (browser,) = server.browsers
    sent = 0
    while browser.is_ready and sent < 100:
        sent += 1
        browser.send_frame(binary_frames(b"frame"), sent)
    assert 2 <= sent <= 8
    line.send(["a", sent, 0])
    wait_for(lambda: browser.is_ready, "acknowledged")
    line.close()
    wait_for(lambda: not server.browsers, "gone")
    server.inbox.take()


def test_a_stuck_page_holds_nobody_up(server: Server) -> None:
    """Its socket is never read: the window's thread sends on, and memory stays bounded."""
    line = _known(server)
    (browser,) = server.browsers
    count = 0
    for seq in range(1, 500):
        if browser.is_ready:
            browser.send_frame(binary_frames(os.urandom(100_000)), seq)
            count += 1
    assert count < 10
    line.socket.close()
    wait_for(lambda: not server.browsers, "gone")
    server.inbox.take()


def test_the_inbox_keeps_order_and_wakes(server: Server) -> None:
    line = _known(server)
    server.inbox.take()
    for i in range(20):
        line.send(["m", i, i, i])
    found: list[tuple[Browser, Any]] = []

    def all_came() -> bool:
        found.extend(server.inbox.take())
        return len(found) >= 20

    wait_for(all_came, "all of them")
    assert [event[1] for _, event in found] == list(range(20))
    line.close()
    wait_for(lambda: not server.browsers, "gone")
