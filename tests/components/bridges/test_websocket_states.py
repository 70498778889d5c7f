"""States that a WebSocket server sends: how often, and to readers that are slow."""

import asyncio
import select
import socket
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

from mjrig.components.bridges import websocket_server
from mjrig.components.bridges.protocol import JSON, LARGEST, MSGPACK
from mjrig.components.bridges.websocket_server import (
    MAX_UNANSWERED,
    WebClient,
    WebConnections,
    WebSockets,
    _size_of,
    peer_has_left,
)

pytest.importorskip("websockets")


class _Transport:
    """A connection whose reader leaves some bytes unread."""

    def __init__(self) -> None:
        self.unread, self.written, self.is_aborted = 0, list[bytes](), False

    def is_closing(self) -> bool:
        return self.is_aborted

    def get_write_buffer_size(self) -> int:
        return self.unread

    def write(self, frame: bytes) -> None:
        self.written.append(frame)

    def abort(self) -> None:
        self.is_aborted = True


class _Server(WebSockets):
    """A server without a thread: its clients, and when it asks to be called."""

    def __init__(self, *formats: bytes) -> None:
        self.notes = deque()
        self.clients = [self._client(name) for name in formats]
        self._clients: Any = tuple(self.clients)
        self._is_sending, self._pause = True, 0.0
        self.formats = frozenset()
        self.delays: list[float] = []
        self._loop: Any = SimpleNamespace(call_later=self._later)

    def _later(self, delay: float, function: Any) -> None:
        self.delays.append(delay)

    @staticmethod
    def _client(name: bytes) -> Any:
        connection = SimpleNamespace(transport=_Transport(), state=SimpleNamespace(name="OPEN"))
        return SimpleNamespace(
            name="a client", format=name, connection=connection, stalled=None, is_connected=True
        )


class _Clock:
    """Time that passes as told; sending takes `cost`."""

    def __init__(self) -> None:
        self.now, self.cost = 100.0, 0.0

    def monotonic(self) -> float:
        return self.now

    def perf_counter(self) -> float:
        self.now += self.cost
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    clock = _Clock()
    monkeypatch.setattr(websocket_server, "time", clock)
    return clock


STATE = {JSON: b"{}", MSGPACK: b"\x80"}


def test_sending_takes_a_quarter_of_the_time(clock: _Clock) -> None:
    server, clock.cost = _Server(JSON), 0.01
    server._send(STATE)
    assert server.delays == pytest.approx([0.03])
    assert server.formats == frozenset()
    server._get_ready()
    assert server.formats == {JSON}


def test_pauses_below_a_millisecond_add_up(clock: _Clock) -> None:
    server, clock.cost = _Server(JSON), 0.0002
    server._send(STATE)
    assert not server.delays and server.formats == {JSON}
    server._send(STATE)
    assert server.delays == pytest.approx([0.0012])
    server._send(STATE)
    assert len(server.delays) == 1  # a pause that was taken is over


def test_each_client_gets_the_format_it_asked_for(clock: _Clock) -> None:
    server = _Server(JSON, MSGPACK, b"")
    server._send(STATE)
    frames = [b"".join(c.connection.transport.written) for c in server.clients]
    assert frames == [b"\x81\x02{}", b"\x82\x01\x80", b""]
    server._send({JSON: b"[]"})
    assert len(server.clients[1].connection.transport.written) == 1


def test_connections_that_end_get_nothing(clock: _Clock) -> None:
    server = _Server(JSON, JSON)
    server.clients[0].connection.state.name = "CLOSING"
    server.clients[1].connection.transport.is_aborted = True
    server._send(STATE)
    assert [c.connection.transport.written for c in server.clients] == [[], []]


@pytest.mark.parametrize(("seconds", "is_cut"), [(1.6, False), (2.0, False), (2.5, True)])
def test_a_reader_that_takes_nothing_for_two_seconds_is_disconnected(
    clock: _Clock, seconds: float, is_cut: bool
) -> None:
    server = _Server(JSON)
    (client,) = server.clients
    transport = client.connection.transport
    transport.unread = 10
    server._send(STATE)
    clock.now += seconds
    server._send(STATE)
    assert transport.is_aborted is is_cut is bool(server.notes)
    assert not transport.written


def test_a_reader_that_catches_up_is_slow_no_longer(clock: _Clock) -> None:
    server = _Server(JSON)
    (client,) = server.clients
    transport = client.connection.transport
    for unread in (10, 0, 10, 10):
        transport.unread = unread
        server._send(STATE)
        clock.now += 1.5
    assert not transport.is_aborted and len(transport.written) == 1


def test_a_client_without_a_connection_gets_no_states(clock: _Clock) -> None:
    server = _Server(b"", b"")
    server._is_sending = False
    server.clients[1].is_connected = False
    for client in server.clients:
        server.set_format(client, MSGPACK)
    assert [c.format for c in server.clients] == [MSGPACK, b""]
    assert server.formats == {MSGPACK}


@pytest.mark.parametrize(
    ("size", "count"),
    [
        (0, 1),
        (LARGEST // MAX_UNANSWERED - 1, 1),
        (LARGEST // MAX_UNANSWERED, 2),
        (LARGEST // 2, MAX_UNANSWERED // 2 + 1),
        (LARGEST - 1, MAX_UNANSWERED),
        (LARGEST, MAX_UNANSWERED),
    ],
)
def test_large_requests_count_for_several(size: int, count: int) -> None:
    assert _size_of(bytes(size)) == count


# Connections ------------------------------------------------------------------------------------


def _connection() -> Any:
    """A connection as the server makes it; equal only to itself."""
    connection = object.__new__(type("Connection", (), {}))
    connection.transport, connection.remote_address = _Transport(), ("::1", 4711, 0, 0)
    return connection


def test_the_oldest_of_65_handshakes_is_dropped() -> None:
    notes: deque[str] = deque()
    connections = WebConnections(notes)
    every = [_connection() for _ in range(64)]
    for connection in every:
        connections._opened(connection)
    assert not notes
    for _ in range(2):
        connections._opened(_connection())
    assert [c.transport.is_aborted for c in every] == [True, True] + [False] * 62
    assert len(notes) == 2
    connections.admit(_web_client(every[2]))  # its handshake is over: there is room again
    connections._opened(_connection())
    assert not any(c.transport.is_aborted for c in every[2:])


def _web_client(connection: Any) -> WebClient:
    server: Any = SimpleNamespace(call=lambda function, *arguments: function(*arguments))
    return WebClient(server, connection, 3)


def test_a_client_is_named_by_its_number_address_and_port() -> None:
    assert _web_client(_connection()).name == "WebSocket client 3 (::1:4711)"
    unknown = _connection()
    unknown.remote_address = None
    assert _web_client(unknown).name == "WebSocket client 3 (unknown address)"


def test_a_client_that_ends_during_its_handshake_has_left() -> None:
    connections, connection = WebConnections(deque()), _connection()
    for is_open in (True, False):
        connections._opened(connection)
        client = _web_client(connection)
        if not is_open:
            connections._closed(connection)
        connections.admit(client)
        assert client.is_connected is is_open
    connections._opened(connection)
    connections.admit(client := _web_client(connection))
    connections._closed(connection)
    assert not client.is_connected


@pytest.mark.parametrize(
    ("parts", "is_closing", "written"),
    [
        ([b"a", b"b"], False, [b"ab"]),
        ([], False, []),
        ([b"a", b""], False, [b"a", b"end"]),
        ([b""], False, [b"end"]),
        ([b"a", b""], True, []),
    ],
)
def test_a_connection_writes_once_and_nothing_when_it_ends(
    parts: list[bytes], is_closing: bool, written: list[bytes]
) -> None:
    transport = _Transport()
    transport.is_aborted = is_closing
    transport.write_eof = lambda: transport.written.append(b"end")  # type: ignore[attr-defined]
    connection: Any = SimpleNamespace(
        transport=transport, protocol=SimpleNamespace(data_to_send=lambda: parts)
    )
    WebConnections(deque()).connection_class().send_data(connection)
    assert transport.written == written


@pytest.mark.parametrize(
    ("clients", "origin", "status"),
    [(1, None, 0), (2, None, 503), (3, None, 503), (0, "http://localhost:8000", 0),
     (0, "http://example.com", 403)],
)  # fmt: skip
def test_a_server_with_all_its_clients_refuses_more(
    clients: int, origin: str | None, status: int
) -> None:
    server = _Server(*[JSON] * clients)
    server._max_clients = 2
    connection: Any = SimpleNamespace(respond=lambda status, text: status)
    request = SimpleNamespace(headers={"Origin": origin} if origin else {})
    assert (server._refusal(connection, request) or 0) == status


def test_requests_of_clients_that_left_are_dropped() -> None:
    server = _Server(JSON, JSON)
    server.clients[0].is_connected = False
    server._requests = deque((b"{}", client, 1) for client in [*server.clients, server.clients[0]])
    handled: list[Any] = []
    assert server.take(lambda message, client, reply: handled.append(client))
    assert handled == [server.clients[1]]
    assert not server.take(lambda message, client, reply: handled.append(client))
    assert len(handled) == 1


# Peers that leave -------------------------------------------------------------------------------


def _transport_of(peer: socket.socket | None, *, is_reading: bool = False) -> Any:
    aborted: list[bool] = []
    return SimpleNamespace(
        get_extra_info=lambda name: peer,
        is_reading=lambda: is_reading,
        abort=lambda: aborted.append(True),
        aborted=aborted,
    )


@pytest.mark.skipif(not hasattr(select, "POLLRDHUP"), reason="this system does not report it")
def test_a_peer_has_left_when_it_closes_its_side() -> None:
    here, there = socket.socketpair()
    with here, there:
        there.send(b"unread")
        assert not peer_has_left(_transport_of(here))
        there.shutdown(socket.SHUT_WR)
        assert peer_has_left(_transport_of(here))
    assert not peer_has_left(_transport_of(here))  # closed here
    assert not peer_has_left(_transport_of(None))


def test_connections_that_nothing_is_read_from_end_with_their_peer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(websocket_server, "WATCH_INTERVAL_S", 0.0)
    monkeypatch.setattr(websocket_server, "peer_has_left", lambda transport: transport.left)
    connections = WebConnections(deque())
    cases = {}
    for is_reading in (False, True):
        for left in (False, True):
            connection = _connection()
            connection.transport = _transport_of(None, is_reading=is_reading)
            connection.transport.left = left
            connections._open[connection] = None
            cases[is_reading, left] = connection.transport.aborted

    async def watch() -> None:
        task = asyncio.get_running_loop().create_task(connections.watch())
        for _ in range(20):
            await asyncio.sleep(0.0)
        task.cancel()

    asyncio.run(watch())
    assert {case for case, aborted in cases.items() if aborted} == {(False, True)}


def test_a_connection_whose_request_fails_is_closed_with_an_internal_error() -> None:
    closed: list[tuple[int, str]] = []

    async def close(code: int, reason: str) -> None:
        closed.append((code, reason))

    async def end() -> None:
        server = _Server(JSON)
        server._loop, server._replies = asyncio.get_running_loop(), set()
        server.clients[0].connection.close = close
        server.end(server.clients[0])
        (task,) = server._replies
        await task
        assert not server._replies

    asyncio.run(end())
    assert closed == [(1011, "the request failed")]
