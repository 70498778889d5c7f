"""WebSocket server of SocketBridge: its clients and connections, all on one thread."""

import asyncio
import contextlib
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol

from mjrig.components.bridges.clients import MAX_NOTES, Client, is_local_origin
from mjrig.components.bridges.protocol import JSON, LARGEST, MSGPACK, is_json
from mjrig.components.bridges.traffic import shortened
from mjrig.core.errors import MissingExtraError, MjrigError
from mjrig.core.library_logs import reporting_library_logs

if TYPE_CHECKING:
    from websockets.asyncio.server import Server, ServerConnection


# Web connections ----------------------------------------------------------------------------------
# WebConnections: the TCP connections of a WebSocket server, limited, and watched for their end.


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


# Web sockets --------------------------------------------------------------------------------------
# WebSockets: clients of SocketBridge that speak WebSocket, all on one thread.


#: Longest time that closing may take, and the handshake of a client [s].
ENDING_S, HANDSHAKE_S = 2.0, 2.0
#: Shorter pauses add up: event loops wait for whole milliseconds.
_MIN_PAUSE_S = 0.001
#: Bytes of states that wait in the kernel for one reader: what it has not read gets old.
_SEND_BUFFER_BYTES = 1 << 17
#: A subscriber that reads nothing for so long is disconnected [s]; busy clients pause for less.
SLOW_READER_S = 2.0
#: Largest fraction of the time that sending states may take; the interpreter is shared with the
#: thread that steps the world.
MAX_SENDING_FRACTION = 0.25


class AddressError(MjrigError, OSError):
    """An address cannot be listened on."""


class WebSockets:
    """A WebSocket server: text frames are JSON, binary ones msgpack.

    One thread serves all connections, and sends one frame to all subscribers of a format. States
    that a subscriber is too slow for are dropped, the newest is sent next; one that reads nothing
    for `SLOW_READER_S` seconds loses its connection.

    Args:
        max_clients: connections at once; further ones are answered 503.
        rouse: called when a request waits in `take`.
    """

    def __init__(
        self, host: str, port: int, label: str, max_clients: int, rouse: Callable[[], None]
    ) -> None:
        try:
            import websockets.asyncio.server
        except ImportError as error:
            raise MissingExtraError(f"{label}.websocket", "bridge", error) from error
        assert websockets
        self._host, self._label, self._max_clients = host, label, max_clients
        self._rouse = rouse
        self._requests: deque[tuple[bytes, WebClient, int]] = deque()
        #: Connections that were refused or closed, for the log of the bridge.
        self.notes: deque[str] = deque(maxlen=MAX_NOTES)
        self._clients: set[WebClient] = set()
        self._connections = WebConnections(self.notes)
        self._replies: set[asyncio.Task[None]] = set()
        self._number = 0
        #: Formats in which a state can be published now; empty while the last one is being sent.
        self.formats: frozenset[bytes] = frozenset()
        self._is_sending = False
        #: Time without sending that the last states have cost [s].
        self._pause = 0.0
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        started: Future[tuple[str, int]] = Future()
        self._thread = threading.Thread(
            target=self._run, args=(port, started), name="mjrig-websocket", daemon=True
        )
        self._thread.start()
        try:
            address, self._port = started.result()
        except OSError as error:
            raise AddressError(f"{label}: cannot listen on {host}:{port}: {error}") from None
        name = f"[{address}]" if ":" in address else address
        self.address = f"ws://{name}:{self._port}"

    # Life ---------------------------------------------------------------------------------------

    def _run(self, port: int, started: "Future[tuple[str, int]]") -> None:
        asyncio.set_event_loop(self._loop)
        try:
            with reporting_library_logs(self._note):
                self._loop.run_until_complete(self._main(port, started))
        except BaseException as error:
            if not started.done():
                started.set_exception(error)
            elif not self._stopping.is_set():
                self.notes.append(f"the WebSocket server failed: {shortened(error)}")
        finally:
            self._loop.close()

    async def _main(self, port: int, started: "Future[tuple[str, int]]") -> None:
        from websockets.asyncio.server import serve

        server: Server = await serve(
            self._serve,
            self._host,
            port,
            max_size=LARGEST,
            max_queue=2,
            process_request=self._refusal,
            compression=None,
            open_timeout=HANDSHAKE_S,
            close_timeout=ENDING_S,
            create_connection=self._connections.connection_class(),
        )
        watching = self._loop.create_task(self._connections.watch())
        try:
            bound = next(iter(server.sockets)).getsockname()
            started.set_result((str(bound[0]), int(bound[1])))
            await self._stopping.wait()
        finally:
            watching.cancel()
            self._connections.abort()  # a client that hangs must not hang this
            server.close()
            await asyncio.wait_for(server.wait_closed(), ENDING_S)

    def _note(self, line: str) -> None:
        self.notes.append(shortened(line))

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Have the server's thread call a function; nothing happens if the server has ended."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function, *arguments)

    def close(self) -> None:
        """Stop listening and end the connections."""
        self.call(self._stopping.set)
        self._thread.join(2 * ENDING_S)

    @property
    def is_alive(self) -> bool:
        """Whether it listens."""
        return self._thread.is_alive()

    def again(self) -> "WebSockets":
        """Another one at the same address.

        Raises:
            AddressError: the address is in use.
        """
        return WebSockets(self._host, self._port, self._label, self._max_clients, self._rouse)

    # Connections --------------------------------------------------------------------------------

    def _refusal(self, connection: "ServerConnection", request: Any) -> Any:
        """The answer to a handshake that is refused, or None."""
        if not is_local_origin(request.headers.get("Origin")):
            # A page of another site must not command a robot through the visitor's browser.
            return connection.respond(403, "pages of other sites may not connect\n")
        if len(self._clients) >= self._max_clients:
            self.notes.append(
                f"a WebSocket connection is refused: {self._max_clients} are open (max_clients)"
            )
            return connection.respond(503, f"{self._max_clients} clients are connected\n")
        return None

    async def _serve(self, connection: "ServerConnection") -> None:
        """One connection, until it ends; no exception leaves it."""
        from websockets.exceptions import ConnectionClosed

        self._number += 1
        client = WebClient(self, connection, self._number)
        self._clients.add(client)
        self._connections.admit(client)
        try:
            raw = connection.transport.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
            async for frame in connection:
                message = frame.encode() if isinstance(frame, str) else bytes(frame)
                size = _size_of(message)
                for _ in range(size):
                    await client.unanswered.acquire()
                if not client.is_connected:
                    break  # its requests are dropped with it
                self._requests.append((message, client, size))
                self._rouse()
        except (ConnectionClosed, OSError):
            pass  # the client has left
        except Exception as error:
            self.notes.append(f"{client.name} is disconnected: {shortened(error)}")
        finally:
            client.is_connected = False
            self._clients.discard(client)
            self._update_formats()

    def take(self, handle: Callable[[bytes, Client, Callable[[bytes], None]], None]) -> bool:
        """Handle one request, on the thread that calls; False: there is none."""
        while True:
            try:
                message, client, size = self._requests.popleft()
            except IndexError:
                return False
            if client.is_connected:  # else it has left, and waits for nothing
                break
        as_text = is_json(message)

        def reply(answer: bytes) -> None:
            self.call(self._start_reply, client, answer.decode() if as_text else answer, size)

        handle(message, client, reply)
        return True

    def _start_reply(self, client: WebClient, answer: str | bytes, size: int) -> None:
        task = self._loop.create_task(self._reply(client, answer, size, client.next_format))
        client.next_format = b""
        self._replies.add(task)
        task.add_done_callback(self._replies.discard)

    async def _reply(
        self, client: WebClient, answer: str | bytes, size: int, new_format: bytes
    ) -> None:
        try:
            if client.connection.transport.is_closing():
                return
            await client.connection.send(answer)
            if new_format:
                self.set_format(client, new_format)
        except Exception:
            client.connection.transport.abort()  # it has left, or cannot be sent anything
        finally:
            for _ in range(size):
                client.unanswered.release()

    def end(self, client: WebClient) -> None:
        """Close a connection after the replies that are being sent."""
        task = self._loop.create_task(client.connection.close(1011, "the request failed"))
        self._replies.add(task)
        task.add_done_callback(self._replies.discard)

    # States -------------------------------------------------------------------------------------

    def set_format(self, client: WebClient, name: bytes) -> None:
        """Send states in this format to a client, or none."""
        client.format = name if client.is_connected else b""
        self._update_formats()

    def _update_formats(self) -> None:
        is_ready = not self._is_sending
        self.formats = frozenset(c.format for c in self._clients if c.format) if is_ready else (
            frozenset()
        )  # fmt: skip

    def publish(self, encodings: Mapping[bytes, bytes]) -> None:
        """Send a state to the subscribers, on the server's thread."""
        self.formats, self._is_sending = frozenset(), True
        self.call(self._send, encodings)

    def _send(self, encodings: Mapping[bytes, bytes]) -> None:
        from websockets.frames import Frame, Opcode

        now, began = time.monotonic(), time.perf_counter()
        kinds = {JSON: Opcode.TEXT, MSGPACK: Opcode.BINARY}
        frames = {n: Frame(kinds[n], e).serialize(mask=False) for n, e in encodings.items()}
        try:
            for client in tuple(self._clients):
                if client.format in frames:
                    self._send_state(client, frames[client.format], now)
        finally:
            spent = time.perf_counter() - began  # by the clock: on a busy machine even less is sent
            self._pause += spent * (1.0 / MAX_SENDING_FRACTION - 1.0)
            if self._pause < _MIN_PAUSE_S:
                self._get_ready()
            else:
                self._loop.call_later(self._pause, self._get_ready)
                self._pause = 0.0

    def _send_state(self, client: WebClient, frame: bytes, now: float) -> None:
        """One frame for all, written as it is: making one for each would take most of the time."""
        transport = client.connection.transport
        if transport.is_closing() or client.connection.state.name != "OPEN":
            return
        if not transport.get_write_buffer_size():
            client.stalled = None
            transport.write(frame)
        elif client.stalled is None:
            client.stalled = now
        elif now - client.stalled > SLOW_READER_S:
            self.notes.append(
                f"{client.name} is disconnected: it reads no states for {SLOW_READER_S:g} s"
            )
            transport.abort()

    def _get_ready(self) -> None:
        self._is_sending = False
        self._update_formats()


def _size_of(message: bytes) -> int:
    """How many of `MAX_UNANSWERED` a request counts for: all have at most `LARGEST` bytes."""
    return min(1 + len(message) * MAX_UNANSWERED // LARGEST, MAX_UNANSWERED)
