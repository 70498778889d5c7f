"""WebConnections: the TCP connections of a WebSocket server, limited, and watched for their end."""

import asyncio
import select
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from mjrig.components.bridges.clients import Client
from mjrig.components.bridges.protocol import JSON, MSGPACK

#: Connections that may be in the handshake at once; then the oldest is dropped. More than a
#: machine opens while one handshake takes place.
MAX_SHAKING = 64
#: Requests of one connection that wait for their reply before no more are read.
MAX_UNANSWERED = 16
#: Time between two checks of connections that nothing is read from [s].
WATCH_INTERVAL_S = 0.25
#: What `poll` reports when a peer ends its side, where there is such a thing; it always reports
#: connections that were reset.
_PEER_CLOSED = getattr(select, "POLLRDHUP", 0)


class WebServer(Protocol):
    """The server, as a client of it needs it."""

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Have the server's thread call a function."""

    def set_format(self, client: "WebClient", name: bytes) -> None:
        """Send states in this format to a client, or none."""

    def end(self, client: "WebClient") -> None:
        """Close a connection after the replies that are being sent."""


class WebClient(Client):
    """A WebSocket connection."""

    def __init__(self, server: WebServer, connection: Any, number: int) -> None:
        address = connection.remote_address or ("unknown address",)
        where = ":".join(str(part) for part in address[:2])
        super().__init__(f"WebSocket client {number} ({where})", keeps_token=True)
        self.connection = connection
        self.unanswered = asyncio.Semaphore(MAX_UNANSWERED)
        #: Format of the states it gets; empty: none.
        self.format = b""
        #: The same from its next reply on: the first state follows the reply to `subscribe`.
        self.next_format = b""
        #: When its connection began to take nothing more.
        self.stalled: float | None = None
        self._server = server

    def subscribe(self, as_json: bool) -> bool:
        self._server.call(setattr, self, "next_format", JSON if as_json else MSGPACK)
        return True

    def unsubscribe(self) -> bool:
        self._server.call(self._server.set_format, self, b"")
        return True

    def close(self) -> None:
        self._server.call(self._server.end, self)

    def leave(self) -> None:
        """Its connection has ended: nothing waits for its replies any more."""
        self.is_connected = False
        for _ in range(MAX_UNANSWERED):
            self.unanswered.release()


class WebConnections:
    """All connections of a server, on the server's thread.

    Args:
        notes: for what happened to connections.
    """

    def __init__(self, notes: deque[str]) -> None:
        self._notes = notes
        self._open: dict[Any, WebClient | None] = {}
        self._shaking: dict[Any, None] = {}

    def connection_class(self) -> Any:
        """The class of connections that the server makes."""
        from websockets.asyncio.server import ServerConnection

        parent = self

        class WatchedConnection(ServerConnection):
            """Reports its beginning and its end, and writes nothing once it ends."""

            def connection_made(self, transport: Any) -> None:
                super().connection_made(transport)
                parent._opened(self)

            def connection_lost(self, exc: Exception | None) -> None:
                parent._closed(self)
                super().connection_lost(exc)

            def send_data(self) -> None:
                # asyncio logs every write after a failed one: those of one call are one write.
                parts = self.protocol.data_to_send()
                data = b"".join(parts)
                if data and not self.transport.is_closing():
                    self.transport.write(data)
                if b"" in parts and not self.transport.is_closing():  # the end of the stream
                    self.transport.write_eof()

        return WatchedConnection

    def _opened(self, connection: Any) -> None:
        self._open[connection] = None
        self._shaking[connection] = None
        if len(self._shaking) > MAX_SHAKING:
            oldest = next(iter(self._shaking))
            del self._shaking[oldest]
            oldest.transport.abort()
            self._notes.append(
                f"a WebSocket connection without a handshake is dropped: {MAX_SHAKING} newer ones "
                "wait for theirs"
            )

    def _closed(self, connection: Any) -> None:
        self._shaking.pop(connection, None)
        client = self._open.pop(connection, None)
        if client is not None:
            client.leave()

    def admit(self, client: WebClient) -> None:
        """The handshake of a client is complete."""
        self._shaking.pop(client.connection, None)
        if client.connection in self._open:
            self._open[client.connection] = client
        else:
            client.leave()

    async def watch(self) -> None:
        """End connections whose peer has left while nothing is read from them."""
        while True:
            await asyncio.sleep(WATCH_INTERVAL_S)
            for connection in tuple(self._open):
                transport = connection.transport
                if not transport.is_reading() and peer_has_left(transport):
                    transport.abort()

    def abort(self) -> None:
        """End all connections."""
        for connection in tuple(self._open):
            connection.transport.abort()


def peer_has_left(transport: Any) -> bool:
    """Whether the other side has closed or reset a connection; unread data may still wait."""
    peer = transport.get_extra_info("socket")
    if peer is None or peer.fileno() < 0 or not hasattr(select, "poll"):
        return False
    poller = select.poll()
    poller.register(peer.fileno(), _PEER_CLOSED)
    return bool(poller.poll(0))
