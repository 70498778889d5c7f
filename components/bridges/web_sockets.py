"""WebSockets: clients of SocketBridge that speak WebSocket, all on one thread."""

import asyncio
import contextlib
import logging
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from mjrig.components.bridges.access import is_local_origin
from mjrig.components.bridges.clients import MAX_NOTES, Client
from mjrig.components.bridges.event_limits import shortened
from mjrig.components.bridges.protocol import JSON, LARGEST, MSGPACK, is_json
from mjrig.components.bridges.web_connections import MAX_UNANSWERED, WebClient, WebConnections
from mjrig.errors import MissingExtraError, MjrigError
from mjrig.workers.library_logs import record_line, reporting_library_logs

if TYPE_CHECKING:
    from websockets.asyncio.server import Server, ServerConnection

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

        logger = logging.Logger("mjrig.websocket", logging.ERROR)
        logger.addHandler(_Noting(self._note))
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
            logger=logger,
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


class _Noting(logging.Handler):
    """Turns what the library logs into notes."""

    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__()
        self._note = note

    def emit(self, record: logging.LogRecord) -> None:
        self._note(record_line(record))
