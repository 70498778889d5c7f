"""States that a WebSocket server sends: how often, and to readers that are slow."""

from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

from mjrig.components.bridges import websocket_server
from mjrig.components.bridges.protocol import JSON, LARGEST, MSGPACK
from mjrig.components.bridges.websocket_server import (
    MAX_UNANSWERED,
    WebSockets,
    _size_of,
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


@pytest.mark.parametrize(("seconds", "is_cut"), [(1.6, False), (2.5, True)])
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
